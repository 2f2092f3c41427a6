// Bodies of requests that are JSON objects.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "server/api/route.h"

namespace carillon::server {

// Nothing if there is none.
Result<std::optional<Json>> optional_body(const CallRequest& request);
// What an edit must find: If-Match: "3". Nothing: whatever it finds.
Result<std::optional<std::int64_t>> if_match_of(const CallRequest& request);
// It may be left out, and says nothing.
Result<void> expect_no_body(const CallRequest& request);

}  // namespace carillon::server
