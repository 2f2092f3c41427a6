// The day that is simulated: who its users are, and what becomes of them.
#pragma once

#include <carillon/carillon.h>

#include <chrono>
#include <string>

namespace carillon::test {

// Day D. Users are made half a minute before it begins, so that D is the first day of each; it is over half a minute
// before it ends, when the last one is past his due time.
inline Instant day_begin() { return std::chrono::sys_days(std::chrono::year(2026) / 3 / 10); }
inline Instant made_at() { return day_begin() - std::chrono::seconds(30); }
inline Instant over_at() { return day_begin() + std::chrono::days(1) - std::chrono::seconds(30); }

inline constexpr long kMinutesOfDay = 1440;
inline constexpr long kKinds = 500;  // one user in so many never succeeds, and one only at the third attempt
inline bool never_succeeds(long user) { return user % kKinds == 7; }
inline bool succeeds_late(long user) { return user % kKinds == 8; }
// When users are made, the windows of those who are due in the first hour are open. Of one whose window has been open
// for longer than a retry takes, the first two attempts are both made then, and the third one ten minutes later, at
// 00:09:30: too late for those who are due before. No kill comes early enough to change that.
inline constexpr long kFirstDueInTime = 10;
inline bool runs_out_of_time(long user) { return succeeds_late(user) && user % kMinutesOfDay < kFirstDueInTime; }
inline constexpr long kFirstKillMinute = 1;

}  // namespace carillon::test
