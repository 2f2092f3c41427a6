// What must hold in every state that a random sequence can reach.
#include <fmt/format.h>

#include <algorithm>

#include "contract/model_player.h"
#include "contract/store_text.h"
#include "store/local_minute.h"

namespace carillon::test {

namespace {

// Semantics 2, also over more than one step.
bool may_become(JobState from, JobState to) {
  using enum JobState;
  if (from == to) return true;
  if (from == done || from == skipped || from == cancelled || from == cutoff_reached || from == missed) return false;
  return to != waiting && to != missed;
}

std::string first_difference(const std::string& got, const std::string& expected) {
  const auto differ = std::ranges::mismatch(got, expected);
  const auto at = static_cast<std::size_t>(differ.in1 - got.begin());
  const std::size_t line = at == 0 ? 0 : got.rfind('\n', at - 1) + 1;
  const auto line_of = [&](const std::string& text) { return text.substr(line, text.find('\n', at) - line); };
  return fmt::format("it reads\n{}\nthe memory store reads\n{}", line_of(got), line_of(expected));
}

bool is_closed(const OutcomeRow& row) { return row.outcome || row.parked; }

bool is_a_success(const OutcomeRow& row) { return row.outcome == JobState::done || row.outcome == JobState::skipped; }

}  // namespace

void ModelPlayer::check_state() {
  if (failed()) return;
  report(oracle_.check(store_.reader()));
  if (reference_ != nullptr) {
    const std::string got = everything(store_, kTenants);
    const std::string expected = everything(*reference_, kTenants);
    if (got != expected) report(first_difference(got, expected));
  }
  check_invariants();
  check_schedule();
}

void ModelPlayer::check_invariants() {
  std::set<JobId> processing;
  for (const std::string& tenant : kTenants) {
    std::map<std::pair<Lane, JobState>, std::int64_t> counted;
    JobQuery filter;
    filter.tenant = tenant;
    JobId before;
    do {
      const JobPage page = value_of(store_.reader().jobs(filter, before, kPageMax));
      for (const JobView& view : page.jobs) {
        const JobId id = view.row.id;
        ++counted[{view.lane, view.state}];
        if (view.state == JobState::processing) processing.insert(id);
        const auto known = states_.find(id);
        if (known != states_.end() && !may_become(known->second, view.state)) {  // invariant 14
          report(fmt::format("{} went from {} to {}", id.value, to_string(known->second), to_string(view.state)));
        }
        states_[id] = view.state;
        const auto max_attempts = value_of(view.row.options.read()).max_attempts;
        if (max_attempts && view.row.attempts > *max_attempts) report("too many attempts");  // invariant 16
      }
      before = page.next_before;
    } while (before);
    for (const StateCount& kept : value_of(store_.reader().counts(tenant))) {  // invariant 34
      if (std::exchange(counted[{kept.lane, kept.state}], 0) != kept.count) {
        report(fmt::format("{} {} are said to be {}", kept.count, kept.lane.queue, to_string(kept.state)));
      }
    }
    for (const auto& [key, count] : counted) {
      if (count != 0) report(fmt::format("{} {} are not counted", count, to_string(key.second)));
    }
  }
  std::set<JobId> leased;
  for (const LeaseRow& lease : value_of(store_.jobs().leases())) {  // invariant 9
    if (!leased.insert(lease.job).second) report("a job is under two leases");
  }
  if (leased != processing) report("leases and processing jobs are not the same");
}

// What is open or parked is said to be so, day by day. (invariant 34)
void ModelPlayer::check_open_counts() {
  std::map<std::tuple<std::int64_t, int, JobState>, std::int64_t> counted;
  std::set<std::int64_t> days;
  for (const OutcomeRow& row : value_of(store_.reader().outcomes({.schedule = schedule_}))) {
    const DayMinute at = day_minute_of(row.local_minute);
    days.insert(at.day);
    if (!row.outcome) ++counted[{at.day, at.minute, row.parked ? JobState::dlq : kOpenOutcome}];
  }
  for (const std::int64_t day : days) {
    for (const OutcomeCount& kept : value_of(store_.reader().outcome_counts(schedule_, day))) {
      if (is_final(kept.outcome)) continue;
      if (std::exchange(counted[{day, kept.minute, kept.outcome}], 0) != kept.count) {
        report(fmt::format("{} occurrences are said to be {}", kept.count, to_string(kept.outcome)));
      }
    }
  }
  for (const auto& [key, count] : counted) {
    if (count != 0) report(fmt::format("{} open occurrences are not counted", count));
  }
}

void ModelPlayer::check_schedule() {
  check_open_counts();
  for (const std::string& name : kSubjects) {
    const auto subject = store_.reader().subject(schedule_, name);
    if (!subject || !subject->cursor) continue;
    const Instant cursor = *subject->cursor;
    Instant& before = cursors_.try_emplace(name, cursor).first->second;
    if (cursor < before) report("a cursor fell");  // invariant 20
    before = cursor;
    const auto gaps = value_of(store_.reader().gaps(schedule_, name, kPageMax));
    StoreReader::OutcomeQuery query;
    query.schedule = schedule_;
    query.subject = name;
    for (const OutcomeRow& row : value_of(store_.reader().outcomes(query))) {
      if (row.slot == cursor && is_closed(row)) {
        report(fmt::format("the cursor of {} stands before a closed window", name));
      }
      const bool shown = std::ranges::find(gaps, row) != gaps.end();
      if (is_closed(row) && shown == is_a_success(row)) report("a gap is not shown, or is none");
    }
  }
}

}  // namespace carillon::test
