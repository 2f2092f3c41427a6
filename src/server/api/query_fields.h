// The parameters of a request's query, read by name. `finish` refuses what nobody asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/time/duration.h"
#include "core/time/instant.h"
#include "server/api/route.h"

namespace carillon::server {

class QueryFields {
 public:
  explicit QueryFields(const CallRequest& request) : query_(&request.query) {}

  Result<std::optional<std::string>> text(std::string_view name);
  Result<std::optional<Instant>> instant(std::string_view name);
  Result<std::optional<Duration>> duration(std::string_view name);
  Result<std::optional<bool>> flag(std::string_view name);  // true or false
  Result<std::int64_t> integer(std::string_view name, std::int64_t otherwise, std::int64_t min, std::int64_t max);

  Result<void> finish() const;

 private:
  const std::vector<QueryItem>* query_;
  std::vector<std::string_view> asked_;
};

}  // namespace carillon::server
