// Triggers and retry policies as JSON, in S1's form and in our own.
#include "base/check.h"
#include "base/json.h"
#include "core/policies/retry_json.h"
#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Frame frame = fuzz::take_frame(fuzz::as_text(data, size));
  const auto json = parse_json(frame.text);
  if (!json) {
    fuzz::expect_readable(json.error(), frame.text);
    return 0;
  }
  if (const auto retry = read_retry_json(frame.text, *json, "retry")) {
    CHECK(!retry->max_attempts || *retry->max_attempts >= 1);
    const std::string written = format_retry_json(retry->policy);
    const auto again = parse_json(written);
    CHECK(again && parse_retry_json(written, *again, "retry") == retry->policy);
  } else {
    fuzz::expect_readable(retry.error(), frame.text);
  }
  const auto trigger = parse_trigger_json(frame.text, *json, "trigger");
  if (!trigger) {
    fuzz::expect_readable(trigger.error(), frame.text);
    return 0;
  }
  fuzz::expect_sound_timetable(*trigger, frame);
  return 0;
}
