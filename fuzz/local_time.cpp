#include "core/time/local_time.h"

#include "base/check.h"
#include "expect.h"

using namespace carillon;

namespace {

// What reads is written and reads back as the same; what does not is refused readably.
template <typename T>
void expect_round_trip(std::string_view text, Result<T> (*parse)(std::string_view), std::string (*format)(T)) {
  const auto value = parse(text);
  if (!value) return fuzz::expect_readable(value.error(), text);
  CHECK(parse(format(*value)) == *value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  expect_round_trip(text, parse_time_of_day, format_time_of_day);
  expect_round_trip(text, parse_date, format_date);
  expect_round_trip(text, parse_local_seconds, format_local_seconds);

  TextCursor cursor("day", text);
  if (const auto day = parse_weekday(cursor); !day) {
    fuzz::expect_readable(day.error(), text);
  } else {
    TextCursor again("day", short_name(*day));
    CHECK(parse_weekday(again) == *day);
  }
  return 0;
}
