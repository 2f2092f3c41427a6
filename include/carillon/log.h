// The log: what happens, a line each, for people and for programs that read lines.
//
//   carillon::Log log({.level = carillon::LogLevel::info});                    // lines on standard error
//   carillon::Log log({.sink = [](const carillon::LogLine& line) { ... }});    // or to a logger that is there already
//   engine.on_event([&](const carillon::Event& event) { log_event(log, event); });
//
// Whoever writes a line waits for nobody: lines stand in a queue of bounded length, and where their reader is slower
// than that they are dropped and counted. The log tells how many as soon as it can.
#pragma once

#include <carillon/events.h>
#include <carillon/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace carillon {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
enum class LogFormat : std::uint8_t { automatic, json, text };  // automatic: text on a terminal, else JSON

std::string_view to_string(LogLevel level);

// So long that a pipe takes it whole or not at all; longer values are cut.
inline constexpr std::size_t kLogLineBytesMax = 4096;

// One line: what happened, how grave it is, and to what.
//
//   LogLine line(LogLevel::debug, "attempt ended");
//   line.text("tenant", "acme").number("duration_ms", 12);
//
// As JSON it is one object; as text it is for a person at a terminal. Either way it is one line, whatever its values
// hold: what would end it, move the cursor or turn the direction of writing is escaped. No payload and no secret goes
// into a line; that is for those who write one.
class LogLine {
 public:
  struct Field {
    std::string name;
    std::variant<std::string, std::int64_t, double> value;
  };

  LogLine(LogLevel level, std::string message) : level_(level), message_(std::move(message)) {}

  // Empty ones are left out.
  LogLine& text(std::string_view name, std::string_view value);
  LogLine& number(std::string_view name, std::int64_t value);
  LogLine& decimal(std::string_view name, double value);
  LogLine& milliseconds(std::string_view name, std::chrono::microseconds value);

  LogLevel level() const { return level_; }
  const std::string& message() const { return message_; }
  const std::vector<Field>& fields() const { return fields_; }

  // Both end with a line end. `at` is the wall clock's.
  std::string json(Instant at) const;
  std::string plain(Instant at) const;

 private:
  template <typename Write>
  std::string fitting(Write write) const;

  LogLevel level_;
  std::string message_;
  std::vector<Field> fields_;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::automatic;
  int fd = 2;  // standard error
  std::size_t waiting_max = 10'000;
  std::chrono::milliseconds stop_time = std::chrono::seconds(2);  // for what waits, at the end
  // Where lines go instead of `fd`: called for one after the other, on the log's own thread. What it throws is ignored.
  std::function<void(const LogLine&)> sink = {};
};

class Log {
 public:
  using Options = LogOptions;
  explicit Log(Options options = {});
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Stops, if that was not done.
  ~Log();

  // Any thread.
  bool wants(LogLevel level) const;
  void set_level(LogLevel level);
  bool is_json() const;
  // One that is not wanted is ignored.
  void write(const LogLine& line);
  std::uint64_t dropped() const;

  // What waits is written, for `stop_time` at most. May be called twice; lines after it are dropped.
  void stop();

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

// Events as lines. At debug: attempts and how they ended, jobs that were not made because one like them is there, words
// that came too late. Above it only what an operator should know: leases whose worker is gone, handlers that ignore
// their timeout, a store that goes on failing. On the engine's thread.
void log_event(Log& log, const Event& event);

// So many rounds in a row that the store refused are no hiccup any more; after that it is told again now and then.
inline constexpr std::uint32_t kFailuresToWarn = 3;
inline constexpr std::uint32_t kFailuresToWarnAgain = 60;

}  // namespace carillon
