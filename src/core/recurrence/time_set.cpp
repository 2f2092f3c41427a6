#include "core/recurrence/time_set.h"

#include "base/check.h"

namespace carillon {

namespace {

// The lowest member of `mask` that is not below `from`, or -1.
int first_bit_from(std::uint64_t mask, int from) {
  if (from >= 64) return -1;
  const std::uint64_t rest = mask & (~std::uint64_t{0} << from);
  return rest == 0 ? -1 : std::countr_zero(rest);
}

int count_below(std::uint64_t mask, int bound) { return std::popcount(mask & ((std::uint64_t{1} << bound) - 1)); }

int nth_bit(std::uint64_t mask, std::int64_t index) {
  for (; index > 0; --index) mask &= mask - 1;
  return std::countr_zero(mask);
}

TimeOfDay make_time(int hour, int minute, int second) { return TimeOfDay{(hour * 60 + minute) * 60 + second}; }

}  // namespace

std::optional<TimeOfDay> TimeSet::first_from(TimeOfDay time) const {
  const int hour = time.seconds / 3600;
  const int minute = time.seconds / 60 % 60;
  const int second = time.seconds % 60;
  const int first_minute = std::countr_zero(masks_.minutes);
  const int first_second = std::countr_zero(masks_.seconds);

  const int hour_found = first_bit_from(masks_.hours, hour);
  if (hour_found < 0) return std::nullopt;
  if (hour_found > hour) return make_time(hour_found, first_minute, first_second);

  const int minute_found = first_bit_from(masks_.minutes, minute);
  if (minute_found == minute) {
    const int second_found = first_bit_from(masks_.seconds, second);
    if (second_found >= 0) return make_time(hour, minute, second_found);
  }
  const int minute_later = minute_found == minute ? first_bit_from(masks_.minutes, minute + 1) : minute_found;
  if (minute_later >= 0) return make_time(hour, minute_later, first_second);

  const int hour_later = first_bit_from(masks_.hours, hour + 1);
  if (hour_later < 0) return std::nullopt;
  return make_time(hour_later, first_minute, first_second);
}

TimeOfDay TimeSet::at(std::int64_t index) const {
  CHECK(index >= 0 && index < size());
  const std::int64_t per_minute = std::popcount(masks_.seconds);
  const std::int64_t per_hour = per_minute * std::popcount(masks_.minutes);
  return make_time(nth_bit(masks_.hours, index / per_hour), nth_bit(masks_.minutes, index % per_hour / per_minute),
                   nth_bit(masks_.seconds, index % per_minute));
}

std::int64_t TimeSet::count_before(TimeOfDay time) const {
  if (time.seconds >= kSecondsPerDay) return size();
  const int hour = time.seconds / 3600;
  const int minute = time.seconds / 60 % 60;
  const std::int64_t per_minute = std::popcount(masks_.seconds);
  const std::int64_t per_hour = per_minute * std::popcount(masks_.minutes);
  std::int64_t count = count_below(masks_.hours, hour) * per_hour;
  if ((masks_.hours >> hour & 1) == 0) return count;
  count += count_below(masks_.minutes, minute) * per_minute;
  if ((masks_.minutes >> minute & 1) == 0) return count;
  return count + count_below(masks_.seconds, time.seconds % 60);
}

}  // namespace carillon
