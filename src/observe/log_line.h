// One line of the log: what happened, how grave it is, and to what.
//
//   LogLine line(LogLevel::debug, "attempt ended");
//   line.text("tenant", "acme").number("duration_ms", 12);
//
// As JSON it is one object; as text it is for a person at a terminal. Either way it is one line, whatever its values
// hold: what would end it, move the cursor or turn the direction of writing is escaped. No payload and no secret goes
// into a line; that is for those who write one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/instant.h"

namespace carillon {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
enum class LogFormat : std::uint8_t { automatic, json, text };  // automatic: text on a terminal, else JSON

std::string_view to_string(LogLevel level);

// So long that a pipe takes it whole or not at all; longer values are cut.
inline constexpr std::size_t kLogLineBytesMax = 4096;

class LogLine {
 public:
  LogLine(LogLevel level, std::string message) : level_(level), message_(std::move(message)) {}

  // Empty ones are left out.
  LogLine& text(std::string_view name, std::string_view value);
  LogLine& number(std::string_view name, std::int64_t value);
  LogLine& decimal(std::string_view name, double value);
  LogLine& milliseconds(std::string_view name, std::chrono::microseconds value);

  LogLevel level() const { return level_; }

  // Both end with a line end. `at` is the wall clock's.
  std::string json(Instant at) const;
  std::string plain(Instant at) const;

 private:
  struct Field {
    std::string name;
    std::variant<std::string, std::int64_t, double> value;
  };
  template <typename Write>
  std::string fitting(Write write) const;

  LogLevel level_;
  std::string message_;
  std::vector<Field> fields_;
};

}  // namespace carillon
