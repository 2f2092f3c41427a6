#include "engine/planning/held_jobs.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/check.h"

namespace carillon {

void HeldJobs::hold(const HeldJob& held) {
  Held& at = held_[Key(held.schedule, held.subject)];
  at.tenant = held.tenant;
  held_to_ = std::max(held_to_, held.job.run_at);
  if (at.jobs.insert_or_assign(held.job.id, held.job).second) ++held_counts_[held.tenant];
}

void HeldJobs::left(const LeftQueue& left) {
  if (!left.schedule || held_.empty()) return;
  for (const std::string& subject : {std::string(), left.subject}) {
    const auto held = held_.find(Key(left.schedule, subject));
    if (held == held_.end()) continue;
    const auto job = held->second.jobs.find(left.job.id);
    if (job == held->second.jobs.end() || job->second != left.job) continue;
    take(held_counts_, held->second.tenant, 1);
    held->second.jobs.erase(job);
    if (held->second.jobs.empty()) held_.erase(held);
  }
}

std::size_t HeldJobs::count(Instant now, std::optional<std::string_view> tenant) const {
  const auto sum = [&](const Counts& counts) {
    std::size_t all = 0;
    for (const auto& [name, count] : counts) all += !tenant || name == *tenant ? count : 0;
    return all;
  };
  const std::size_t released = sum(released_counts_);
  if (now >= held_to_) return released + sum(held_counts_);
  // The clock was set back: some of them are not due any more.
  std::size_t due = 0;
  for (const auto& [key, held] : held_) {
    if (tenant && held.tenant != *tenant) continue;
    due += static_cast<std::size_t>(
        std::ranges::count_if(held.jobs, [&](const auto& job) { return job.second.run_at <= now; }));
  }
  return released + due;
}

void HeldJobs::release(ScheduleId schedule, std::string_view subject) {
  const auto held = held_.find(Key(schedule, std::string(subject)));
  if (held == held_.end()) return;
  const auto& [tenant, jobs] = held->second;
  std::ranges::copy(jobs | std::views::values, std::back_inserter(released_));
  take(held_counts_, tenant, jobs.size());
  released_counts_[tenant] += jobs.size();
  held_.erase(held);
}

void HeldJobs::release_subject(Round& round, ScheduleId schedule, std::string_view subject) {
  round.on_commit.emplace_back([this, schedule, subject = std::string(subject)] { release(schedule, subject); });
}

void HeldJobs::release_subjects() {
  for (auto held = held_.begin(); held != held_.end();) {
    const Key key = (held++)->first;
    if (!key.second.empty()) release(key.first, key.second);
  }
}

void HeldJobs::forget(ScheduleId schedule) {
  const auto first = held_.lower_bound(Key(schedule, ""));
  const auto last = held_.lower_bound(Key(ScheduleId{schedule.value + 1}, ""));
  for (auto held = first; held != last; ++held) take(held_counts_, held->second.tenant, held->second.jobs.size());
  held_.erase(first, last);
}

void HeldJobs::forget_released() {
  released_ = {};
  released_counts_.clear();
}

void HeldJobs::take(Counts& counts, const std::string& tenant, std::size_t count) {
  const auto found = counts.find(tenant);
  CHECK(found != counts.end() && found->second >= count);
  found->second -= count;
  if (found->second == 0) counts.erase(found);
}

}  // namespace carillon
