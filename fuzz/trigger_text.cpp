#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Frame frame = fuzz::take_frame(fuzz::as_text(data, size));
  const auto trigger = parse_trigger_text(frame.text);
  if (!trigger) {
    fuzz::expect_readable(trigger.error(), frame.text);
    return 0;
  }
  fuzz::expect_sound_timetable(*trigger, frame);
  return 0;
}
