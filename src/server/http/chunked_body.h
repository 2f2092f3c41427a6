// A body that comes in chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace carillon::server {

class ChunkedBody {
 public:
  enum class Step : std::uint8_t { need_more, done, malformed, too_large };

  explicit ChunkedBody(std::size_t body_max) : body_max_(body_max) {}

  // Appends to `body` what `input` holds of it and removes from `input` what was used: all, unless the body is done or
  // refused. Extensions of chunks, and headers behind the last one, are passed over.
  Step read(std::string_view& input, std::string& body);

  // Why it is malformed.
  std::string_view reason() const { return reason_; }

 private:
  enum class State : std::uint8_t {
    size_start,  // the first digit of a size
    size,        // the other ones
    extension,
    size_end,  // the LF
    data,
    data_return,  // the CR and LF behind the data
    data_end,
    trailer_start,
    trailer_name,
    trailer_value,
    trailer_end,  // the LF
    body_end,     // the last LF
  };

  Step read_character(char c);
  Step read_digit(char c);
  Step after_size(char c);
  Step begin_trailer(char c);
  Step go(State state);
  Step fail(std::string_view reason);

  std::size_t body_max_;
  State state_ = State::size_start;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t size_ = 0;    // of all chunks so far
  std::size_t digits_ = 0;    // of the chunk's size
  std::size_t overhead_ = 0;  // bytes since the last data
  std::string_view reason_;
};

}  // namespace carillon::server
