// Reading a short text from left to right, with errors that point at the character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon {

class TextCursor {
 public:
  // `kind` names what is being read ("duration", "cron expression") in every error.
  TextCursor(std::string_view kind, std::string_view text) : kind_(kind), text_(text) {}

  bool at_end() const { return position_ == text_.size(); }
  std::size_t position() const { return position_; }
  std::string_view text() const { return text_; }
  std::string_view rest() const { return text_.substr(position_); }

  // The next character, or '\0' at the end.
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool at_digit() const { return peek() >= '0' && peek() <= '9'; }

  void advance(std::size_t count = 1) { position_ += count; }

  // Steps over `expected` if it is next.
  bool eat(char expected) {
    if (at_end() || peek() != expected) return false;
    ++position_;
    return true;
  }

  // Steps over the longest run of ASCII letters and returns it.
  std::string_view letters();

  struct Digits {
    int min = 1;
    int max = 19;
  };
  // A run of decimal digits. `what` names the number in the error.
  Result<std::int64_t> number(std::string_view what, Digits digits);
  Result<std::int64_t> number(std::string_view what) { return number(what, Digits{}); }

  // An error at the current position, or at `position`: `<kind> "<text>", column N: <message>`.
  std::unexpected<Error> fail(std::string message) const { return fail_at(position_, std::move(message)); }
  std::unexpected<Error> fail_at(std::size_t position, std::string message) const;
  // "expected <what>, found <what stands there>".
  std::unexpected<Error> expected(std::string_view what) const;

 private:
  std::string_view kind_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace carillon
