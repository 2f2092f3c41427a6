// A zone's name up to the end of the line; what follows is read as instants, eight bytes each, which must map to local
// time and back.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "expect.h"

using namespace carillon;

namespace {

using std::chrono::seconds;

constexpr UnixSeconds kFirst = std::chrono::floor<seconds>(kInstantMin);
constexpr UnixSeconds kLast = std::chrono::floor<seconds>(kInstantMax);
constexpr std::size_t kInstantsMax = 8;

// Looked at in every zone: the ends of the calendar, ours, and where the table of changes begins to repeat.
constexpr std::array<std::int64_t, 6> kAlways{kFirst.time_since_epoch().count(),
                                              kLast.time_since_epoch().count(),
                                              0,
                                              1'774'746'000,
                                              14'736'816'000,
                                              200'000'000'000};

void expect_stretch_fits_its_neighbours(const Zone& zone, const Stretch& stretch) {
  if (stretch.begin > kFirst) {
    const Stretch before = zone.stretch_at(stretch.begin - seconds(1));
    CHECK(before.end == stretch.begin && before.offset == stretch.offset_before &&
          before.offset_after == stretch.offset);
  }
  if (stretch.end > kLast) return;
  const Stretch after = zone.stretch_at(stretch.end);
  CHECK(after.begin == stretch.end && after.offset == stretch.offset_after && after.offset_before == stretch.offset);

  // The local clock jumps at the end: forward over a gap, or back into an overlap.
  CHECK(stretch.offset != stretch.offset_after);
  if (stretch.offset_after > stretch.offset) {
    const auto lost = zone.resolve(stretch.local_end());
    CHECK(lost.kind == Zone::Mapping::Kind::gap && lost.first == stretch.end && lost.second == stretch.end);
  } else {
    const auto twice = zone.resolve(stretch.local_end() - seconds(1));
    CHECK(twice.kind == Zone::Mapping::Kind::overlap && twice.first == stretch.end - seconds(1));
    CHECK(twice.second - twice.first == stretch.offset - stretch.offset_after);
  }
}

void expect_consistent_at(const Zone& zone, UnixSeconds t) {
  const Stretch stretch = zone.stretch_at(t);
  CHECK(stretch.begin <= t && t < stretch.end);
  CHECK(zone.offset_at(Instant(t)) == stretch.offset && zone.to_local(Instant(t)) == stretch.to_local(t));
  const auto mapping = zone.resolve(stretch.to_local(t));
  CHECK(mapping.first == t || mapping.second == t);
  CHECK(mapping.kind != Zone::Mapping::Kind::gap);
  CHECK((mapping.kind == Zone::Mapping::Kind::overlap) == (mapping.first < mapping.second));
  expect_stretch_fits_its_neighbours(zone, stretch);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const std::size_t name_end = std::min(input.find('\n'), input.size());
  const std::string_view name = input.substr(0, name_end);
  const auto zone = Zone::load(name);
  if (!zone) {
    fuzz::expect_readable(zone.error(), name);
    return 0;
  }
  CHECK(zone->name() == name);
  for (const std::int64_t always : kAlways) expect_consistent_at(*zone, UnixSeconds(seconds(always)));

  std::string_view rest = input.substr(std::min(name_end + 1, input.size()));
  for (std::size_t i = 0; i < kInstantsMax && rest.size() >= sizeof(std::uint64_t); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, rest.data(), sizeof bits);
    rest.remove_prefix(sizeof bits);
    const auto seconds_of_calendar = static_cast<std::uint64_t>((kLast - kFirst).count()) + 1;
    expect_consistent_at(*zone, kFirst + seconds(static_cast<std::int64_t>(bits % seconds_of_calendar)));
  }
  return 0;
}
