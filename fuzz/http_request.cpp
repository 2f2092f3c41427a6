// Requests as they come over the wire. Each input is read whole and in pieces: both must give the same.
#include <vector>

#include "base/check.h"
#include "expect.h"
#include "server/http/request_reader.h"

using namespace carillon;

namespace {

constexpr std::size_t kHeadMax = 1024;
constexpr std::size_t kBodyMax = 512;

struct Reading {
  std::vector<std::string> requests;
  std::string refusal;

  bool operator==(const Reading&) const = default;
};

void expect_sound(const server::HttpRequest& request) {
  CHECK(request.path.starts_with('/') || request.path == "*");
  CHECK(request.body.size() <= kBodyMax);
  for (const server::HttpHeader& header : request.headers) {
    CHECK(!header.name.empty());
    CHECK(header.value.find_first_of("\r\n") == std::string::npos && header.value.find('\0') == std::string::npos);
  }
}

Reading read(std::string_view input, std::size_t piece) {
  using Step = server::RequestReader::Step;
  server::RequestReader reader(kHeadMax);
  Reading reading;
  while (!input.empty()) {
    const std::string_view part = input.substr(0, piece);
    input.remove_prefix(part.size());
    reader.append(part);
    for (Step step = reader.next(); step != Step::need_more; step = reader.next()) {
      if (step == Step::head) reader.allow_body(kBodyMax);
      if (step == Step::request) {
        const server::HttpRequest request = reader.take();
        expect_sound(request);
        reading.requests.push_back(request.path + "\n" + request.body);
      }
      if (step == Step::refused) {
        reading.refusal = reader.refusal().message;
        fuzz::expect_readable({.message = reading.refusal}, input);
        CHECK(reader.refusal().status >= 400 && reader.refusal().status < 600);
        return reading;
      }
    }
  }
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const Reading whole = read(input, input.size());
  CHECK(read(input, 1) == whole);
  CHECK(read(input, 1 + size % 7) == whole);
  return 0;
}
