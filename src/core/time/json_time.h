// Times as they are in JSON: an instant is a text as RFC 3339 or Unix milliseconds, which may be a number too; a
// duration is a text.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

// `value` lies in `text`, under the name `path`.
Result<Instant> read_json_instant(std::string_view text, const Json& value, const std::string& path);
// A number has no unit: the error says how to write one.
Result<Duration> read_json_duration(std::string_view text, const Json& value, const std::string& path);

}  // namespace carillon
