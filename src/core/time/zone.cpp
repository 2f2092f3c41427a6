#include "core/time/zone.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "base/nearest_name.h"

namespace carillon {

using std::chrono::days;
using std::chrono::seconds;

namespace {

constexpr const char* kZoneList = "/usr/share/zoneinfo/tzdata.zi";

// Beyond the calendar on both sides, with room for any offset.
constexpr UnixSeconds kFarPast{std::chrono::floor<seconds>(kInstantMin) - days(10)};
constexpr UnixSeconds kFarFuture{std::chrono::floor<seconds>(kInstantMax) + days(10)};

// Rules of daylight saving repeat with the calendar, every 400 years of 146,097 days. Abseil extends a zone's last rule
// by such a cycle; what lies beyond its last change is looked up one or more cycles earlier.
constexpr seconds kCycle = days(146097);
// A zone whose table reaches this far still changes its clocks; those that no longer do end long before.
constexpr UnixSeconds kExtended{std::chrono::sys_days(std::chrono::year(2200) / 1 / 1)};

// Larger than any change of an offset (Samoa crossed the date line by 24 h) plus any offset.
constexpr seconds kLocalSlack = days(3);

// Lines "Z <name> …" and "L <target> <name>" of the compiled database.
using Names = std::set<std::string, std::less<>>;

Names read_zone_names() {
  Names names;
  std::ifstream file(kZoneList);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Z ") && !line.starts_with("L ")) continue;
    const std::size_t begin = line.starts_with("Z ") ? 2 : line.find(' ', 2) + 1;
    names.insert(line.substr(begin, line.find(' ', begin) - begin));
  }
  return names;
}

const Names& zone_names() {
  static const Names names = read_zone_names();
  return names;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// A name that the user may have meant: the same but for case, or the same city, or one that is nearly so.
std::string suggestion(const Names& names, std::string_view name) {
  const std::string_view city = name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
  for (const std::string& known : names) {
    if (equal_ignoring_case(known, name)) return did_you_mean(known);
  }
  for (const std::string& known : names) {
    if (city.size() > 2 && equal_ignoring_case(known.substr(known.rfind('/') + 1), city)) {
      return did_you_mean(known);
    }
  }
  return did_you_mean(name, names);
}

}  // namespace

namespace {

seconds absl_offset(const absl::TimeZone& zone, UnixSeconds t) {
  return seconds(zone.At(absl::FromUnixSeconds(t.time_since_epoch().count())).offset);
}

}  // namespace

struct Zone::Data {
  std::string name;
  // changes[i] is the instant from which offsets[i + 1] holds; before the first, offsets[0].
  std::vector<UnixSeconds> changes;
  std::vector<seconds> offsets;

  bool repeats() const { return !changes.empty() && changes.back() >= kExtended; }

  // Takes over all changes of the offset, up to one calendar cycle after the last one that the zone's file names.
  void read(const absl::TimeZone& zone) {
    absl::TimeZone::CivilTransition transition;
    absl::Time t = absl::InfinitePast();
    offsets.push_back(absl_offset(zone, kFarPast));
    while (zone.NextTransition(t, &transition)) {
      t = zone.At(transition.to).trans;
      const UnixSeconds at{seconds(absl::ToUnixSeconds(t))};
      const seconds offset = absl_offset(zone, at);
      if (offset == offsets.back()) continue;  // only the abbreviation changed
      if (at <= kFarPast) {
        offsets.back() = offset;
        continue;
      }
      changes.push_back(at);
      offsets.push_back(offset);
    }
  }
};

Result<Zone> Zone::load(std::string_view name) {
  const Names& names = zone_names();
  if (names.empty()) {
    return std::unexpected(Error{.code = ErrorCode::unavailable,
                                 .message = fmt::format("cannot read time zones from {}: install tzdata", kZoneList)});
  }
  if (!names.contains(name)) {
    return std::unexpected(Error{
        .code = ErrorCode::invalid_configuration,
        .message = fmt::format("time zone {}, column 1: unknown{}; allowed are the names of the IANA database, like "
                               "Europe/London or UTC",
                               quoted(name), suggestion(names, name)),
        .column = 1});
  }

  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Data>> loaded;  // at most one entry per known name
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Data>& entry = loaded[std::string(name)];
  if (entry == nullptr) {
    absl::TimeZone zone;
    if (!absl::LoadTimeZone(absl::string_view(name.data(), name.size()), &zone)) {
      return std::unexpected(Error{.code = ErrorCode::unavailable,
                                   .message = fmt::format("cannot read time zone {}: install tzdata", quoted(name))});
    }
    auto data = std::make_shared<Data>();
    data->name = name;
    data->read(zone);
    entry = std::move(data);
  }
  return Zone(entry);
}

std::vector<std::string> Zone::names() { return {zone_names().begin(), zone_names().end()}; }

const Zone& Zone::utc() {
  static const Zone zone = [] {
    auto data = std::make_shared<Data>();
    data->name = "UTC";
    data->offsets.emplace_back(0);
    return Zone(std::move(data));
  }();
  return zone;
}

const std::string& Zone::name() const { return data_->name; }

Stretch Zone::stretch_at(UnixSeconds t) const {
  const std::vector<UnixSeconds>& changes = data_->changes;
  const std::vector<seconds>& offsets = data_->offsets;

  seconds shifted{0};
  if (data_->repeats() && t >= changes.back()) shifted = kCycle * ((t - changes.back()) / kCycle + 1);
  const UnixSeconds within = t - shifted;

  const auto next = std::ranges::upper_bound(changes, within);
  const auto index = static_cast<std::size_t>(next - changes.begin());
  Stretch stretch{.begin = index == 0 ? kFarPast : changes[index - 1] + shifted,
                  .end = kFarFuture,
                  .offset = offsets[index],
                  .offset_before = offsets[index == 0 ? 0 : index - 1],
                  .offset_after = offsets[index]};
  if (next != changes.end()) {
    stretch.end = *next + shifted;
    stretch.offset_after = offsets[index + 1];
  }
  return stretch;
}

seconds Zone::offset_at(Instant t) const { return stretch_at(std::chrono::floor<seconds>(t)).offset; }

LocalSeconds Zone::to_local(Instant t) const {
  const auto second = std::chrono::floor<seconds>(t);
  return stretch_at(second).to_local(second);
}

Zone::Mapping Zone::resolve(LocalSeconds local) const {
  const UnixSeconds as_utc(local.time_since_epoch());
  Stretch stretch = stretch_at(std::max(as_utc - kLocalSlack, kFarPast));
  while (true) {
    const UnixSeconds t = stretch.to_utc(local);
    if (t < stretch.begin) {
      // Past the end of the stretch before, not yet at the beginning of this one.
      const UnixSeconds shifted(local.time_since_epoch() - stretch.offset_before);
      return {Mapping::Kind::gap, shifted, shifted};
    }
    if (t < stretch.end) {
      const UnixSeconds again(local.time_since_epoch() - stretch.offset_after);
      if (again >= stretch.end) return {Mapping::Kind::overlap, t, again};
      return {Mapping::Kind::unique, t, t};
    }
    CHECK(stretch.end < kFarFuture);
    stretch = stretch_at(stretch.end);
  }
}

}  // namespace carillon
