// The JSON texts inside of rows: whatever stands there is read or refused, and what was read is written back as the
// same.
#include "base/check.h"
#include "core/policies/retry_json.h"
#include "expect.h"
#include "store/job_text.h"
#include "store/subject_text.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);

  if (const auto options = read_options(text)) {
    const std::string written = write_options(*options);
    const auto again = read_options(written);
    CHECK(again && write_options(*again) == written);
  }
  if (const auto detail = read_detail(text)) CHECK(read_detail(write_detail(*detail)) == *detail);
  SubjectRow subject;
  subject.state = text;
  if (const auto state = read_subject_state(subject)) {
    SubjectRow written;
    write_subject_state(*state, written);
    CHECK(read_subject_state(written) == *state);
  }
  if (const auto json = parse_json(text)) {
    const auto retry = parse_retry_json(text, *json, "retry");
    if (retry) {
      const std::string written = format_retry_json(*retry);
      const auto value = parse_json(written);
      CHECK(value && parse_retry_json(written, *value, "retry") == *retry);
    } else {
      fuzz::expect_readable(retry.error(), text);
    }
  }
  return 0;
}
