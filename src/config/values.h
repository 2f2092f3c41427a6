// Given values as what they must be. Each error says only what is allowed: who asks knows key, value and place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/toml.h"
#include "core/time/duration.h"

namespace carillon::config {

struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct NumberRange {
  double min = 0;
  double max = 0;
};

struct DurationRange {
  Duration min{};
  Duration max{};
};

Result<std::int64_t> read_integer(const GivenValue& value, IntegerRange range);
Result<double> read_number(const GivenValue& value, NumberRange range);
Result<bool> read_boolean(const GivenValue& value);
// Not empty, one line.
Result<std::string> read_text(const GivenValue& value);
// May hold line breaks, and may be empty.
Result<std::string> read_long_text(const GivenValue& value);
Result<Duration> read_duration(const GivenValue& value, DurationRange range);
// A list of texts in the file, else separated by commas.
Result<std::vector<std::string>> read_list(const GivenValue& value);

// The value for a message: quoted if it is a text.
std::string shown(const GivenValue& value);

// The URL without what is secret in it: smtp://ada:***@mail.
std::string without_password(std::string_view url);

}  // namespace carillon::config
