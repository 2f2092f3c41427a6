#include "core/recurrence/rrule.h"

#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Frame frame = fuzz::take_frame(fuzz::as_text(data, size));
  if (const auto rule = parse_rrule(frame.text); !rule) {
    fuzz::expect_readable(rule.error(), frame.text);
    return 0;
  }
  fuzz::expect_sound_timetable(RruleTrigger{.rrule = std::string(frame.text), .start = frame.start}, frame);
  return 0;
}
