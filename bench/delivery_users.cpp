#include "bench/delivery_users.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace carillon {

namespace {

using std::chrono::minutes;

constexpr std::int64_t kGroupsMax = 40;
constexpr std::int64_t kFirstDue = 360;  // minutes of the day
constexpr std::int64_t kEvening = 1200;
constexpr std::int64_t kEveningMinutes = 180;

}  // namespace

Instant bench_day() { return std::chrono::sys_days(std::chrono::year(2026) / 3 / 2); }

std::int64_t DeliveryUsers::groups() const { return std::min(kGroupsMax, count_ / kGroup); }

Instant DeliveryUsers::opens_at(std::int64_t group) {
  return bench_day() + minutes(kFirstDue - kWindowMinutes + group);
}

std::int64_t DeliveryUsers::due_minute(std::int64_t number) const {
  const std::int64_t group = number % std::max<std::int64_t>(count_ / kGroup, 1);
  return group < groups() ? kFirstDue + group : kEvening + number % kEveningMinutes;
}

std::string DeliveryUsers::name(std::int64_t number) { return fmt::format("user-{:08}", number); }

std::string DeliveryUsers::overrides(std::int64_t number) const {
  const std::int64_t minute = due_minute(number);
  return fmt::format(R"({{"due":"{:02}:{:02}"}})", minute / 60, minute % 60);
}

Instant DeliveryUsers::next_at(std::int64_t number) const {
  return bench_day() + minutes(due_minute(number) - kWindowMinutes);
}

std::string DeliveryUsers::lines(std::int64_t first, std::int64_t count) const {
  std::string text;
  for (std::int64_t number = first; number < first + count; ++number) {
    const std::int64_t minute = due_minute(number);
    fmt::format_to(std::back_inserter(text), "{{\"subject\":\"user-{:08}\",\"due\":\"{:02}:{:02}\"}}\n", number,
                   minute / 60, minute % 60);
  }
  return text;
}

std::string DeliveryUsers::schedule() {
  return R"({"name":"digest","trigger":{"kind":"delivery","due":"12:00","window":"60m","retry_delay":"10m"},)"
         R"("job":{"type":"digest.send","payload":{"template":"digest","top":10}}})";
}

}  // namespace carillon
