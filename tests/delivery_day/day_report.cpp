#include "delivery_day/day_report.h"

#include <fmt/format.h>

#include "delivery_day/day.h"
#include "durability/rows_on_disk.h"

namespace carillon::test {

namespace {

constexpr long kDone = 4;
constexpr long kCutoffReached = 7;

}  // namespace

DayReport report_of_day(const std::string& path, long users) {
  PlainConnection connection(path);
  const std::string slot = std::to_string(day_begin().time_since_epoch().count());
  const auto count = [&](const std::string& sql) { return std::stol(connection.answer(sql)); };
  const auto outcomes = [&](const std::string& which) {
    return count(fmt::format("SELECT count(*) FROM outcomes WHERE schedule = 1 AND slot = {} AND {}", slot, which));
  };
  DayReport report;
  report.outcomes = outcomes("outcome IS NOT NULL");
  report.successes = outcomes(fmt::format("outcome = {}", kDone));
  report.cutoffs = outcomes(fmt::format("outcome = {}", kCutoffReached));
  const auto expect = [&](const std::string& what, long found, long wanted) {
    if (found != wanted) report.faults.push_back(fmt::format("{}: {}, not {}", what, found, wanted));
  };
  expect("outcomes", report.outcomes, users);
  expect("open occurrences", outcomes("outcome IS NULL"), 0);
  expect("users without an outcome",
         count(fmt::format("WITH RECURSIVE users(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM users WHERE n + 1 < {}) "
                           "SELECT count(*) FROM users WHERE NOT EXISTS (SELECT 1 FROM subjects s JOIN outcomes o ON "
                           "o.schedule = 1 AND o.subject = s.id WHERE s.schedule = 1 AND s.subject = 'user-' || n AND "
                           "o.slot = {} AND o.outcome IS NOT NULL)",
                           users, slot)),
         0);
  expect("users with a second success",
         count(fmt::format("SELECT count(*) FROM (SELECT subject FROM archive WHERE schedule = 1 AND slot = {} AND "
                           "state = {} GROUP BY subject HAVING count(*) > 1)",
                           slot, kDone)),
         0);
  expect(
      "successful jobs",
      count(fmt::format("SELECT count(*) FROM archive WHERE schedule = 1 AND slot = {} AND state = {}", slot, kDone)),
      report.successes);
  expect("live jobs of the day", count(fmt::format("SELECT count(*) FROM jobs WHERE schedule = 1 AND slot = {}", slot)),
         0);
  expect("successes as they were counted",
         count(fmt::format("SELECT coalesce(sum(count), 0) FROM outcome_counts WHERE schedule = 1 AND day = {} AND "
                           "outcome = {}",
                           day_begin().time_since_epoch() / std::chrono::days(1), kDone)),
         report.successes);
  // The window of tomorrow opens in the last hour of the day for some, and may be over for them already.
  expect(
      "users whose own record is not that of their last outcome",
      count("SELECT count(*) FROM subjects s LEFT JOIN outcomes o ON o.schedule = 1 AND o.subject = s.id AND "
            "o.slot = (SELECT max(slot) FROM outcomes WHERE schedule = 1 AND subject = s.id AND outcome IS NOT NULL) "
            "WHERE s.schedule = 1 AND (o.slot IS NULL OR s.status IS NOT o.outcome OR s.last_slot IS NOT o.slot OR "
            "(s.status = 4 AND s.last_run_at IS NULL))"),
      0);
  return report;
}

long leases_on_disk(const std::string& path) {
  return std::stol(PlainConnection(path).answer("SELECT count(*) FROM leases"));
}

}  // namespace carillon::test
