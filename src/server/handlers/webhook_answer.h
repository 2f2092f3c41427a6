// What the answer of a webhook's target means for the attempt.
#pragma once

#include <carillon/outcome.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "core/settings/job_defaults.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon::server {

struct WebhookAnswer {
  enum class Kind : std::uint8_t {
    answered,      // with `status`, `body` and what else is below
    blocked,       // no address of the host may be reached
    timed_out,     // no whole answer in time
    unreachable,   // no connection, or it broke
    breaker_open,  // not even asked: the host has not answered for a while; `wait`
    cancelled,     // by us
  };
  Kind kind = Kind::answered;
  int status = 0;
  std::string content_type;
  std::string retry_after;  // the header, "" if there was none
  std::string body;
  bool body_is_whole = true;  // false: longer than the cap, and cut there
  std::string error;          // of those without an answer
  Duration wait{};            // of breaker_open
};

// 2xx is done, and a JSON object may carry `output`, `skipped` (true, or a reason), `reason`, `then` (jobs) and
// `subject` ({expected_at, status}), which are read as a worker's are; with an `error` it is a failed attempt, and
// `error_class`, `permanent` and `retry_after` are read as well. Other members, and bodies that are no JSON, are the
// target's own. 429 and 503 with a readable Retry-After, or `retry_after` in the body, are rate_limited, 410 is
// permanent, a blocked address is permanent of class `blocked_address`, and all else is a failed attempt, of which a
// JSON object may say the same four; what there is otherwise than we know it is the target's own. `now` is the wall
// clock's; `defaults` are for jobs of `then`.
Outcome outcome_of(const WebhookAnswer& answer, std::string_view tenant, Instant now, const JobDefaults& defaults = {});

// What a JSON object in a 2xx says.
Result<Outcome> read_answer_body(std::string_view body, std::string_view tenant, const JobDefaults& defaults = {});

}  // namespace carillon::server
