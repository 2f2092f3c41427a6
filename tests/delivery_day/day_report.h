// What a store's file says about a day, counted by SQL that is nobody's but this.
#pragma once

#include <string>
#include <vector>

namespace carillon::test {

struct DayReport {
  long outcomes = 0;   // of the day
  long successes = 0;  // of these
  long cutoffs = 0;
  // In words; none: each user has exactly one outcome of the day, no second success, and a record that says the same.
  std::vector<std::string> faults;
};

// Users user-0 to user-(users - 1) of the schedule with id 1.
DayReport report_of_day(const std::string& path, long users);

// Attempts that were claimed and neither settled nor lost.
long leases_on_disk(const std::string& path);

}  // namespace carillon::test
