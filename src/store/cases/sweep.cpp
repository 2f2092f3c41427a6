#include "store/cases/sweep.h"

#include "store/cases/finish.h"
#include "store/cases/plan.h"

namespace carillon {

namespace {

// Of one subject in one pass: more than windows can be open.
constexpr std::size_t kOpenMax = 1000;
// Mostly a few lie above the cursor: what a longer page holds besides is of other subjects, and read for nothing.
constexpr std::size_t kOpenPage = 10;

// Occurrences whose jobs are not there any more get an outcome: nothing else will end them (invariants 3, 20).
bool close_lost(Context& context, const SubjectRow& row) {
  const auto is_lost = [&](const OutcomeRow& outcome) {
    return outcome.job && !outcome.outcome && !outcome.parked && !context.tx.job(outcome.job);
  };
  bool found = false;
  const auto look_at = [&](const OutcomeRow& outcome) {
    if (!is_lost(outcome)) return;
    found = true;
    close_lost_occurrence(context, outcome);
  };
  if (row.cursor) {
    OutcomeKey after{row.schedule, row.subject, *row.cursor - Duration(1)};
    for (std::size_t looked_at = 0; looked_at < kOpenMax; looked_at += kOpenPage) {
      const std::vector<OutcomeRow> page = context.tx.outcomes_above(after, kOpenPage);
      const auto is_ours = [&](const OutcomeRow& outcome) {
        return outcome.schedule == row.schedule && outcome.subject == row.subject;
      };
      for (const OutcomeRow& outcome : page) {
        if (!is_ours(outcome)) break;
        look_at(outcome);
      }
      if (page.size() < kOpenPage || !is_ours(page.back())) break;
      after.slot = page.back().slot;
    }
  } else if (const auto last = context.tx.outcome_until(row.schedule, row.subject, kInstantMax)) {
    look_at(*last);
  }
  return found;
}

void put_right(Context& context, SweptSubject& swept) {
  SubjectRow& row = swept.row;
  swept.lost_open_job = close_lost(context, row);
  if (row.open_job && !context.tx.job(row.open_job)) {
    row.open_job = {};
    swept.lost_open_job = true;
  }
  const std::optional<Instant> cursor = row.cursor;
  if (cursor) move_cursor(context, row);
  swept.moved_cursor = row.cursor != cursor;
  if (!swept.lost_open_job && !swept.moved_cursor) return;
  ++row.version;
  context.tx.update_subject(row.next_at, row);
}

}  // namespace

SweepStep sweep_subjects(Context& context, const SweepRequest& request) {
  SubjectSlice slice = subjects_of(context, request.schedule, request.after, request.limit);
  SweepStep step{.next_after = std::move(slice.next_after), .end = slice.end};
  for (SubjectRow& row : slice.rows) {
    ++step.looked_at;
    SweptSubject swept{.row = std::move(row)};
    swept.is_late = swept.row.next_at && *swept.row.next_at < request.late_before;
    swept.has_no_time = !swept.row.next_at && swept.row.enabled;
    put_right(context, swept);
    const bool is_worth_telling = swept.lost_open_job || swept.moved_cursor || swept.is_late || swept.has_no_time;
    if (is_worth_telling) step.found.push_back(std::move(swept));
  }
  return step;
}

}  // namespace carillon
