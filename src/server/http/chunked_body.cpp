#include "server/http/chunked_body.h"

#include <algorithm>

#include "base/check.h"

namespace carillon::server {

namespace {

constexpr std::size_t kDigitsMax = 16;
constexpr std::size_t kOverheadMax = std::size_t{8} * 1024;

// The value of a hexadecimal digit, or -1.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }

}  // namespace

ChunkedBody::Step ChunkedBody::read(std::string_view& input, std::string& body) {
  while (!input.empty()) {
    if (state_ == State::data) {
      const std::size_t part = std::min<std::uint64_t>(chunk_left_, input.size());
      body.append(input.substr(0, part));
      input.remove_prefix(part);
      chunk_left_ -= part;
      if (chunk_left_ == 0) go(State::data_return);
      continue;
    }
    if (++overhead_ > kOverheadMax) return fail("too many bytes between two chunks");
    const char c = input.front();
    const Step step = read_character(c);
    if (step == Step::malformed || step == Step::too_large) return step;
    input.remove_prefix(1);
    if (step == Step::done) return step;
  }
  return Step::need_more;
}

ChunkedBody::Step ChunkedBody::read_character(char c) {
  switch (state_) {
    case State::size_start:
      if (hex_value(c) < 0) return fail("a chunk must begin with its size in hexadecimal digits");
      return read_digit(c);
    case State::size:
      if (hex_value(c) >= 0) return read_digit(c);
      if (c == ';') return go(State::extension);
      if (c == '\r') return go(State::size_end);
      return fail("the size of a chunk must be followed by the end of its line");
    case State::extension:
      if (c == '\r') return go(State::size_end);
      return is_text(c) ? Step::need_more : fail("control characters are not allowed behind the size of a chunk");
    case State::size_end: return after_size(c);
    case State::data: UNREACHABLE();
    case State::data_return: return c == '\r' ? go(State::data_end) : fail("a chunk is longer than its size says");
    case State::data_end:
      if (c != '\n') return fail("a chunk is longer than its size says");
      overhead_ = 0;
      return go(State::size_start);
    case State::trailer_start: return begin_trailer(c);
    case State::trailer_name:
      if (c == ':') return go(State::trailer_value);
      return is_text(c) && c != ' ' && c != '\t' ? Step::need_more : fail("a header behind it has no name");
    case State::trailer_value:
      if (c == '\r') return go(State::trailer_end);
      return is_text(c) ? Step::need_more : fail("control characters are not allowed in headers");
    case State::trailer_end: return c == '\n' ? go(State::trailer_start) : fail("a line must end with CR and LF");
    case State::body_end: return c == '\n' ? Step::done : fail("a line must end with CR and LF");
  }
  UNREACHABLE();
}

ChunkedBody::Step ChunkedBody::read_digit(char c) {
  if (++digits_ > kDigitsMax) return fail("the size of a chunk has more than 16 digits");
  chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(hex_value(c));
  return go(State::size);
}

ChunkedBody::Step ChunkedBody::after_size(char c) {
  if (c != '\n') return fail("a line must end with CR and LF");
  digits_ = 0;
  if (chunk_left_ == 0) return go(State::trailer_start);
  if (chunk_left_ > body_max_ - size_) return Step::too_large;
  size_ += chunk_left_;
  return go(State::data);
}

ChunkedBody::Step ChunkedBody::begin_trailer(char c) {
  if (c == '\r') return go(State::body_end);
  if (!is_text(c) || c == ' ' || c == '\t' || c == ':') return fail("a header behind it has no name");
  return go(State::trailer_name);
}

ChunkedBody::Step ChunkedBody::go(State state) {
  state_ = state;
  return Step::need_more;
}

ChunkedBody::Step ChunkedBody::fail(std::string_view reason) {
  reason_ = reason;
  return Step::malformed;
}

}  // namespace carillon::server
