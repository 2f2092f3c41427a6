// The scheduling helper of S4, in its own words and with its own defaults, over any client.
//
//   carillon::Scheduler scheduler(engine.client());
//   scheduler.schedule_once({.guild_id = "g1", .type = "reminder.send", .payload = R"({"event":7})",
//                            .run_at = "2026-03-30T08:00:00Z", .idempotency_key = "reminder:7"});
//   scheduler.schedule_recurring({.guild_id = "g1", .type = "mentor.checkin.ping", .payload = R"({"pair":3})",
//                                 .rrule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=18", .tz = "Europe/London"});
#pragma once

#include <carillon/client.h>
#include <carillon/error.h>
#include <carillon/job_id.h>
#include <carillon/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace carillon {

// A time in any of the three ways: an instant, a text as RFC 3339, or Unix milliseconds.
class AnyTime {
 public:
  AnyTime() = default;  // not given
  // NOLINTBEGIN(google-explicit-constructor): each is a time
  AnyTime(Instant at) : given_(at) {}
  AnyTime(std::int64_t unix_milliseconds) : given_(unix_milliseconds) {}
  AnyTime(std::string text) : given_(std::move(text)) {}
  AnyTime(const char* text) : given_(std::string(text)) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_given() const { return !std::holds_alternative<std::monostate>(given_); }
  // `field` names it in an error.
  Result<Instant> read(std::string_view field) const;

 private:
  std::variant<std::monostate, Instant, std::int64_t, std::string> given_;
};

class Scheduler {
 public:
  // The client outlives it.
  explicit Scheduler(Client& client) : client_(client) {}

  struct Once {
    std::string guild_id;  // the tenant
    std::string type;
    std::string payload = "null";  // JSON
    AnyTime run_at;
    int priority = 3;
    std::optional<std::string> idempotency_key;  // optional, but recommended
    bool notifies = false;                       // it would notify users: quiet hours hold it
  };
  // The job's id: with a key that is held, of the job that was there.
  Result<JobId> schedule_once(const Once& once);

  struct Recurring {
    std::string guild_id;
    std::string type;
    std::string payload = "null";
    std::string rrule;   // RFC 5545
    std::string tz;      // IANA name
    AnyTime start_from;  // the first occurrence is not before it, and it gives the phase; not given: now
    int priority = 3;
    bool notifies = false;  // as of Once
  };
  // There is no job before it is due: the answer is the schedule, with `next_at`. Its name is made of what is given but
  // for `start_from`, `priority` and `notifies`, so that the same call again finds it. Without `start_from` it then
  // stays as it is.
  Result<ScheduleInfo> schedule_recurring(const Recurring& recurring);

 private:
  Client& client_;  // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members): it is a view of it
};

}  // namespace carillon
