// A time zone: absolute time to local time and back.
//
// Between two changes of its offset a zone is plain arithmetic: local = UTC + offset. Such a span is a Stretch, and all
// rules of local time here are worked out stretch by stretch: that is where gaps and overlaps become visible.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/time/instant.h"
#include "core/time/local_time.h"

namespace carillon {

using UnixSeconds = std::chrono::sys_seconds;

// A span of constant offset: begin <= t < end. The first and the last one reach beyond the calendar.
struct Stretch {
  UnixSeconds begin;
  UnixSeconds end;
  std::chrono::seconds offset;
  std::chrono::seconds offset_before;  // of the stretch that ends at `begin`
  std::chrono::seconds offset_after;   // of the stretch that begins at `end`

  LocalSeconds to_local(UnixSeconds t) const { return LocalSeconds(t.time_since_epoch() + offset); }
  UnixSeconds to_utc(LocalSeconds t) const { return UnixSeconds(t.time_since_epoch() - offset); }
  LocalSeconds local_begin() const { return to_local(begin); }
  LocalSeconds local_end() const { return to_local(end); }
  // Where local time was when the stretch began, had the clocks not changed.
  LocalSeconds local_before_begin() const { return LocalSeconds(begin.time_since_epoch() + offset_before); }
  LocalSeconds local_after_end() const { return LocalSeconds(end.time_since_epoch() + offset_after); }
};

class Zone {
 public:
  // By its name in the IANA database ("Europe/London", "UTC"), spelled as there. No paths, no POSIX strings.
  static Result<Zone> load(std::string_view name);
  static const Zone& utc();
  // All names that `load` knows, in order.
  static std::vector<std::string> names();

  const std::string& name() const;

  Stretch stretch_at(UnixSeconds t) const;
  std::chrono::seconds offset_at(Instant t) const;
  // The local time at `t`, cut to the second.
  LocalSeconds to_local(Instant t) const;

  // The instants at which local clocks show `local`: one, none (a gap: both are the shifted instant), or two.
  struct Mapping {
    enum class Kind : std::uint8_t { unique, gap, overlap };
    Kind kind = Kind::unique;
    UnixSeconds first;
    UnixSeconds second;
  };
  Mapping resolve(LocalSeconds local) const;

 private:
  struct Data;
  explicit Zone(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace carillon
