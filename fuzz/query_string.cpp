// The target of a request: path and query.
#include <algorithm>

#include "base/check.h"
#include "expect.h"
#include "server/http/target.h"

using namespace carillon;

namespace {

void expect_sound(std::string_view decoded) {
  CHECK(std::ranges::none_of(decoded, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto target = server::parse_target(text);
  if (!target) {
    fuzz::expect_readable(target.error(), text);
  } else {
    CHECK(target->query.size() <= server::kQueryItemsMax);
    for (const std::string& segment : target->segments) {
      expect_sound(segment);
    }
    for (const server::QueryItem& item : target->query) {
      expect_sound(item.name);
      expect_sound(item.value);
    }
  }
  const auto query = server::parse_query(text);
  if (!query) fuzz::expect_readable(query.error(), text);
  return 0;
}
