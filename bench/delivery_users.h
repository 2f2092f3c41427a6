// The users of a bench's delivery schedule: their names, when each is due, and how an import says it.
#pragma once

#include <cstdint>
#include <string>

#include "core/time/instant.h"

namespace carillon {

// The day on which the benches begin, at midnight in UTC.
Instant bench_day();

// A user's job may run in the hour before his due time.
inline constexpr std::int64_t kWindowMinutes = 60;

// What `carillon subjects import` sends in one call.
inline constexpr std::int64_t kImportLines = 5000;

// Of `count` users, groups of `kGroup` fall due together, a minute after each other, scattered evenly over all names.
// What is left is due in the evening.
class DeliveryUsers {
 public:
  static constexpr std::int64_t kGroup = 1000;

  explicit DeliveryUsers(std::int64_t count) : count_(count) {}

  std::int64_t count() const { return count_; }
  // At most so many groups are due before the evening.
  std::int64_t groups() const;
  // When the windows of a group open, on the first day.
  static Instant opens_at(std::int64_t group);

  static std::string name(std::int64_t number);
  std::string overrides(std::int64_t number) const;
  Instant next_at(std::int64_t number) const;
  // The lines of an import, from `first` on, each with its line end.
  std::string lines(std::int64_t first, std::int64_t count) const;

  static std::string schedule();

 private:
  std::int64_t due_minute(std::int64_t number) const;

  std::int64_t count_;
};

}  // namespace carillon
