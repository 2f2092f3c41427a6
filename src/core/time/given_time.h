// A time as somebody wrote it: an instant, or what the clock on the wall shows in a zone that is known elsewhere.
//
//   parse_given_time("2026-01-05T09:00:00Z")   // an instant
//   parse_given_time("2026-01-05T09:00:00")    // local
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/json.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"
#include "core/time/zone.h"

namespace carillon {

class GivenTime {
 public:
  GivenTime() = default;
  GivenTime(Instant at) : time_(at) {}             // NOLINT(google-explicit-constructor): it is one as it is
  GivenTime(LocalSeconds local) : time_(local) {}  // NOLINT(google-explicit-constructor)

  // A local time that a clock change skips is moved on by the gap; one that it repeats is the first.
  Instant in(const Zone& zone) const;
  // What the clock of the zone shows then, cut to the second; a local time is taken as it is written.
  LocalSeconds local_in(const Zone& zone) const;
  // What parse_given_time reads back as the same.
  std::string text() const;

  friend bool operator==(const GivenTime&, const GivenTime&) = default;

 private:
  std::variant<Instant, LocalSeconds> time_;
};

Result<GivenTime> parse_given_time(std::string_view text);
// In JSON: a string, or a number of Unix milliseconds. `value` lies in `text`, under the name `path`.
Result<GivenTime> read_json_given_time(std::string_view text, const Json& value, const std::string& path);

}  // namespace carillon
