// The Retry-After of an answer: whole seconds, or one of the three dates of HTTP.
#pragma once

#include <optional>
#include <string_view>

#include "core/duration.h"
#include "core/instant.h"

namespace carillon::server {

// How long to wait from `now` on, at most a year. A date that has passed: no time at all. Nothing: it cannot be read.
std::optional<Duration> parse_retry_after(std::string_view text, Instant now);

// "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994". Years of two digits
// are those nearest to `now`.
std::optional<Instant> parse_http_date(std::string_view text, Instant now);

}  // namespace carillon::server
