// Triggers as JSON, in S1's form and in our own.
#include "base/json.h"
#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Frame frame = fuzz::take_frame(fuzz::as_text(data, size));
  const auto json = parse_json(frame.text);
  if (!json) {
    fuzz::expect_readable(json.error(), frame.text);
    return 0;
  }
  const auto trigger = parse_trigger_json(frame.text, *json, "trigger");
  if (!trigger) {
    fuzz::expect_readable(trigger.error(), frame.text);
    return 0;
  }
  fuzz::expect_sound_timetable(*trigger, frame);
  return 0;
}
