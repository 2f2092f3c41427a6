#include "core/jobs/job_id.h"

#include <algorithm>

#include "base/check.h"
#include "expect.h"

using namespace carillon;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (const auto id = parse_job_id(text)) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    CHECK(format_job_id(*id) == lower);
  }
  return 0;
}
