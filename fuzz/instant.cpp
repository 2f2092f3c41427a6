#include "core/time/instant.h"

#include <array>
#include <string>

#include "base/check.h"
#include "expect.h"

using namespace carillon;

namespace {

// Offsets up to the largest in use, one of them of local mean time.
constexpr std::array<int, 6> kOffsets{0, 3600, -12600, 50400, -43200, -75};

void expect_round_trips(Instant instant) {
  // Shown rounded up; the very end of the calendar, above its last millisecond, is shown as that.
  CHECK(parse_instant(format_instant(instant)) == cut_to_millisecond(up_to_millisecond(instant)));

  const Instant to_the_millisecond = cut_to_millisecond(instant);
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(to_the_millisecond.time_since_epoch()).count();
  CHECK(parse_instant(std::to_string(millis)) == to_the_millisecond);

  const Instant to_the_second = std::chrono::floor<std::chrono::seconds>(instant);
  for (const int offset : kOffsets) {
    // At the edge of the calendar the local clock may show a year that cannot be written.
    if (to_the_second < kInstantMin + std::chrono::days(1) || to_the_second > kInstantMax - std::chrono::days(1)) break;
    CHECK(parse_instant(format_with_offset(instant, std::chrono::seconds(offset))) == to_the_second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto instant = parse_instant(text);
  if (!instant) {
    fuzz::expect_readable(instant.error(), text);
    return 0;
  }
  CHECK(*instant >= kInstantMin && *instant <= kInstantMax);
  expect_round_trips(*instant);
  return 0;
}
