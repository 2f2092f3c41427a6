#include "base/text_cursor.h"

#include <fmt/format.h>

namespace carillon {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string_view TextCursor::letters() {
  const std::size_t begin = position_;
  while (!at_end() && is_letter(peek())) ++position_;
  return text_.substr(begin, position_ - begin);
}

Result<std::int64_t> TextCursor::number(std::string_view what, Digits digits) {
  const std::size_t begin = position_;
  std::int64_t value = 0;
  bool too_large = false;
  while (at_digit()) {
    too_large = too_large || __builtin_mul_overflow(value, std::int64_t{10}, &value) ||
                __builtin_add_overflow(value, std::int64_t{peek() - '0'}, &value);
    ++position_;
  }
  const auto length = static_cast<int>(position_ - begin);
  if (length == 0) return expected(what);
  if (digits.min == digits.max && length != digits.min) {
    return fail_at(begin, fmt::format("{} needs {} digits", what, digits.min));
  }
  if (length < digits.min) return fail_at(begin, fmt::format("{} needs at least {} digits", what, digits.min));
  if (too_large || length > digits.max) return fail_at(begin, fmt::format("{} is too large", what));
  return value;
}

std::unexpected<Error> TextCursor::fail_at(std::size_t position, std::string message) const {
  return std::unexpected(Error{
      .code = ErrorCode::invalid_request,
      .message = fmt::format("{} {}, column {}: {}", kind_, quoted(text_), position + 1, message),
      .column = position + 1,
  });
}

std::unexpected<Error> TextCursor::expected(std::string_view what) const {
  const std::string found = at_end() ? "the end" : quoted(text_.substr(position_, 1));
  return fail(fmt::format("expected {}, found {}", what, found));
}

}  // namespace carillon
