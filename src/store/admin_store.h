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
  // Of what is no document.
  virtual Result<void> append_audit(const AuditWord& word, const AuditDetail& detail) = 0;
};

}  // namespace carillon
