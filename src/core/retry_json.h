// A retry policy as JSON: {"kind": "table", "delays": ["1m", "5m"], "jitter": 0.1}, {"kind": "exponential", "base":
// "60s"}, {"kind": "fixed", "delay": "10m"}, {"kind": "none"}.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/retry.h"

namespace carillon {

// `value` lies in `text`, under the name `path`.
Result<RetryPolicy> parse_retry_json(std::string_view text, const Json& value, const std::string& path);

// What parse_retry_json reads back as the same.
std::string format_retry_json(const RetryPolicy& policy);

}  // namespace carillon
