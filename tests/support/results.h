// Looking into a Result<T>: the value that must be there, or the error that must be there.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.h"

namespace carillon::test {

// The value. An error ends the test with its message.
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error("unexpected error: " + result.error().message);
  return *std::move(result);
}

// The error. A value is a failure of the test.
template <typename T>
Error error_of(const Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "expected an error, got a value";
    return {};
  }
  return result.error();
}

// A message fits on one line of a terminal, whatever the input was.
inline void expect_one_line(const Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_LT(error.message.size(), 1000U) << error.message;
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  EXPECT_TRUE(std::ranges::none_of(error.message, is_control)) << error.message;
}

struct Refusal {
  std::string_view text;
  std::size_t column;     // where the error points, counted from 1
  std::string_view says;  // part of the message
};

// Each text is refused by `parse`, at that column and with these words.
template <typename Parse>
void expect_refused(Parse parse, std::initializer_list<Refusal> refusals) {
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(std::string(refusal.text));
    const Error error = error_of(parse(refusal.text));
    EXPECT_EQ(error.code, ErrorCode::invalid_request);
    EXPECT_EQ(error.column, refusal.column) << error.message;
    EXPECT_THAT(error.message, ::testing::HasSubstr(std::string(refusal.says)));
    expect_one_line(error);
  }
}

}  // namespace carillon::test
