#include "core/recurrence/cron.h"

#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Frame frame = fuzz::take_frame(fuzz::as_text(data, size));
  if (const auto rule = parse_cron(frame.text); !rule) {
    fuzz::expect_readable(rule.error(), frame.text);
    return 0;
  }
  fuzz::expect_sound_timetable(CronTrigger{.cron = std::string(frame.text)}, frame);
  return 0;
}
