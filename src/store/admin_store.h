// What operators and tenants set: documents, and the trail of who did what.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/rows.h"

namespace carillon {

struct DocumentPut {
  DocumentKey key;
  std::string body;                         // a JSON object
  std::optional<std::int64_t> if_revision;  // else `conflict`; 0: must not exist
};

// Where the erasing of a tenant stands: what is walked through goes by number, everything else from its beginning.
struct ErasePosition {
  enum class Part : std::uint8_t { archive, schedules, rest };
  Part part = Part::archive;
  std::int64_t after = 0;  // the job or schedule
  friend bool operator==(const ErasePosition&, const ErasePosition&) = default;
};

struct EraseStep {
  ErasePosition position;
  std::uint64_t erased = 0;            // rows
  std::vector<DocumentKey> documents;  // of these, in order
  std::vector<std::string> schedules;  // that are not deleted: they stand in the way
  std::int64_t live_jobs = 0;          // the same, where the step has come to the end
  bool end = false;                    // nothing of the tenant is left
};

class AdminStore {
 public:
  AdminStore() = default;
  AdminStore(const AdminStore&) = delete;
  AdminStore& operator=(const AdminStore&) = delete;
  virtual ~AdminStore() = default;

  // The revision moves only if the body changed. With a word for the trail, both or neither: the row says which fields
  // changed, and if none did there is no row.
  virtual Result<Document> put_document(const DocumentPut& put, const std::optional<AuditWord>& audit) = 0;
  virtual Result<void> delete_document(const DocumentKey& key, const std::optional<AuditWord>& audit) = 0;
  // As this transaction sees it: inside of `atomically` too.
  virtual Result<Document> document(const DocumentKey& key) = 0;
  // Of all tenants and kinds, by key, from above `after`. As this transaction sees them: inside of `atomically` too.
  virtual Result<std::vector<Document>> documents_above(const DocumentKey& after, std::size_t limit) = 0;
  // Erases what a tenant has left behind, a step at a time: finished jobs, deleted schedules with their subjects'
  // positions and outcomes, keys, effects, documents, its audit trail. What lives is left alone and told. Only names of
  // queues and types stay: they are nobody's. Looks at up to `limit` rows.
  virtual Result<EraseStep> erase_tenant(std::string_view tenant, const ErasePosition& from, std::size_t limit) = 0;
  // Of what is no document.
  virtual Result<void> append_audit(const AuditWord& word, const AuditDetail& detail) = 0;
};

}  // namespace carillon
