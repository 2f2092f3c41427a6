// What a row of the audit trail says was changed.
//
//   changed_fields(R"({"rate":5,"per":"1s"})", R"({"rate":9,"per":"1s"})")
//       // {"before":{"rate":5},"after":{"rate":9}}
//
// There is no way to make a detail that says nothing: who changed nothing leaves no row. Secrets and payloads are never
// in it, only that they changed: which fields these are is decided here, once, for everybody who writes a row.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_writer.h"

namespace carillon {

inline constexpr std::size_t kAuditDetailBytesMax = std::size_t{16} << 10U;
// A longer value is cut, with a mark that says how long it was.
inline constexpr std::size_t kAuditValueBytesMax = std::size_t{1} << 10U;

class AuditDetail {
 public:
  // One that was written before; rows of earlier versions have none.
  static AuditDetail stored(std::string json) { return AuditDetail(json.empty() ? "{}" : std::move(json)); }

  const std::string& json() const { return json_; }
  friend bool operator==(const AuditDetail&, const AuditDetail&) = default;

 private:
  friend std::optional<AuditDetail> changed_fields(std::optional<std::string_view> before,
                                                   std::optional<std::string_view> after);
  explicit AuditDetail(std::string json) : json_(std::move(json)) {}
  std::string json_;
};

// The fields that differ, of two JSON objects as they are stored: valid, no key twice. Nothing for one that was not
// there, or is not any more: it is null then. Nothing, if there is no difference.
std::optional<AuditDetail> changed_fields(std::optional<std::string_view> before,
                                          std::optional<std::string_view> after);

// Of a deed that puts something new into the world and replaces nothing: a job, a session, bulk work.
AuditDetail new_fields(const JsonObject& fields);
// Of one that ends something.
AuditDetail old_fields(const JsonObject& fields);

// Without the name and the password of a URL, and without its query. Other texts stay as they are.
std::string without_url_secrets(std::string_view text);

}  // namespace carillon
