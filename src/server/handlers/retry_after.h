// The Retry-After of an answer: whole seconds, or one of the three dates of HTTP, as libcurl reads them.
#pragma once

#include <optional>
#include <string_view>

#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon::server {

// How long to wait from `now` on, at most a year. A date that has passed: no time at all. Nothing: it cannot be read.
std::optional<Duration> parse_retry_after(std::string_view text, Instant now);

}  // namespace carillon::server
