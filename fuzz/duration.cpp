#include "core/time/duration.h"

#include "base/check.h"
#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto duration = parse_duration(text);
  if (!duration) {
    fuzz::expect_readable(duration.error(), text);
    return 0;
  }
  CHECK(*duration >= Duration(0) && *duration <= kDurationMax);
  const std::string written = format_duration(*duration);
  CHECK(parse_duration(written) == *duration);
  return 0;
}
