// A retry policy as JSON: {"kind": "table", "delays": ["1m", "5m"], "jitter": 0.1}, {"kind": "exponential", "base":
// "60s"}, {"kind": "fixed", "delay": "10m"}, {"kind": "none"}; or as S1 writes it: {"max_attempts": 3,
// "backoff_seconds": 60, "retry_on_failure": true}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/policies/retry.h"

namespace carillon {

struct RetryJson {
  RetryPolicy policy;
  std::optional<std::uint32_t> max_attempts;  // S1 says it here
};

// `value` lies in `text`, under the name `path`.
Result<RetryJson> read_retry_json(std::string_view text, const Json& value, const std::string& path);
// The policy alone.
Result<RetryPolicy> parse_retry_json(std::string_view text, const Json& value, const std::string& path);

// How many executions a job may have; in S1 0 means a job that is not retried.
Result<std::uint32_t> read_max_attempts(std::string_view text, const Json& value, const std::string& path);

// What parse_retry_json reads back as the same.
std::string format_retry_json(const RetryPolicy& policy);

}  // namespace carillon
