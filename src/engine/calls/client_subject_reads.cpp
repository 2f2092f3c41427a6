// The client's questions about subjects and outcomes. Each goes to the store's reader, a page at a time.
#include <fmt/format.h>

#include <charconv>

#include "core/kinds/windows.h"
#include "core/time/local_time.h"
#include "core/time/slot_text.h"
#include "engine/calls/node_client.h"
#include "engine/calls/subject_view.h"
#include "store/subject_state.h"

namespace carillon {

namespace {

constexpr std::size_t kGapsListed = 10;  // of each subject in a list, the newest

// ---- Cursors: "n:user-17" of a list by name, "t:1774771200000000:user-17" of one by time
// ------------------------------

std::unexpected<Error> not_a_cursor(std::string_view cursor) {
  return invalid_field("cursor", fmt::format("cursor {} is not one that this list gave", quoted(cursor)));
}

std::string timed_cursor(Instant at, std::string_view subject) {
  return fmt::format("t:{}:{}", at.time_since_epoch().count(), subject);
}

std::optional<SubjectMark> read_timed_cursor(std::string_view cursor) {
  if (!cursor.starts_with("t:")) return std::nullopt;
  const char* const end = cursor.data() + cursor.size();
  std::int64_t at = 0;
  const auto [stopped, error] = std::from_chars(cursor.data() + 2, end, at);
  if (error != std::errc() || stopped == end || *stopped != ':') return std::nullopt;
  return SubjectMark{.subject = std::string(stopped + 1, end), .next_at = Instant(Duration(at))};
}

std::string cursor_of(const SubjectMark& mark) {
  return mark.next_at ? timed_cursor(*mark.next_at, mark.subject) : "n:" + mark.subject;
}

Result<std::optional<SubjectMark>> read_subject_cursor(std::string_view cursor, const SubjectQuery& query) {
  if (cursor.empty()) return std::nullopt;
  if (query.due_until) {
    if (auto mark = read_timed_cursor(cursor)) return mark;
    return not_a_cursor(cursor);
  }
  if (!cursor.starts_with("n:")) return not_a_cursor(cursor);
  return SubjectMark{.subject = std::string(cursor.substr(2)), .next_at = std::nullopt};
}

Result<std::optional<OutcomeMark>> read_outcome_cursor(std::string_view cursor) {
  if (cursor.empty()) return std::nullopt;
  auto mark = read_timed_cursor(cursor);
  if (!mark) return not_a_cursor(cursor);
  return OutcomeMark{.subject = std::move(mark->subject), .slot = *mark->next_at};
}

// ---- Outcomes -----------------------------------------------------------------------------------------------------

std::string outcome_text(const OutcomeRow& row) {
  if (row.outcome) return std::string(subject_status_text(row.outcome));
  return row.parked ? "dlq" : "open";
}

std::string outcome_text(const OutcomeCount& count) {
  return count.outcome == kOpenOutcome ? "open" : std::string(subject_status_text(count.outcome));
}

OutcomeItem item_of(const OutcomeRow& row, const Schedule& schedule) {
  return {.subject = row.subject,
          .slot = slot_text(row.slot, schedule),
          .until = row.until,
          .count = row.count,
          .outcome = outcome_text(row),
          .reason = row.reason,
          .job = row.job,
          .at = row.at};
}

WindowGap gap_of(const OutcomeRow& row) {
  return {.start = row.slot,
          .end = row.until.value_or(row.slot),
          .outcome = outcome_text(row),
          .reason = row.reason,
          .job = row.job};
}

bool stands_still(const ScheduleRow& row, Instant now) {
  return !row.enabled || (row.paused_until && *row.paused_until > now);
}

// Of a job that has failed and will be tried again.
std::optional<Instant> next_attempt_of(const JobView& job) {
  if (job.state != JobState::queued || job.row.attempts == 0) return std::nullopt;
  if (job.row.deadline && job.row.run_at >= *job.row.deadline) return std::nullopt;
  return job.row.run_at;
}

}  // namespace

Result<SubjectInfo> NodeClient::info_of(const ScheduleRow& row, const Schedule& schedule, const SubjectRow& subject) {
  TRY_ASSIGN(SubjectState state, read_subject_state(subject));
  SubjectInfo info{.subject = subject.subject,
                   .version = subject.version,
                   .enabled = subject.enabled,
                   .overrides = subject.overrides.empty() ? "{}" : subject.overrides,
                   .status = std::string(subject_status_text(state.status)),
                   .last_run_at = state.last_run_at,
                   .error_count = state.error_count,
                   .last_error = std::move(state.last_error),
                   .expected_at = state.expected_at,
                   .cadence_state = std::move(state.cadence),
                   .last_status = std::move(state.last_status),
                   .last_checked_at = state.last_checked_at,
                   .last_available_at = state.last_available_at};
  const bool runs = subject.enabled && !stands_still(row, node_.store().jobs().now());
  if (runs) info.next_at = subject.next_at;
  if (state.last_slot) info.last_slot = slot_text(*state.last_slot, schedule);
  if (traits_of(schedule).keeps_cursor) {
    info.cursor_end = subject.cursor;
    if (subject.cursor) info.planned_end = planned_end_of(subject.position);
  }
  if (!subject.open_job) return info;
  const auto job = node_.store().reader().job(row.tenant, subject.open_job);
  if (!job && job.error().code != ErrorCode::not_found) return std::unexpected(job.error());
  if (job && !is_final(job->state)) {
    info.open_job = subject.open_job;
    info.attempts = job->lease ? job->lease->attempt : job->row.attempts;
    const auto again_at = runs ? next_attempt_of(*job) : std::nullopt;
    if (again_at && (!info.next_at || *again_at < *info.next_at)) info.next_at = again_at;
  }
  return info;
}

Result<SubjectInfo> NodeClient::subject(std::string_view tenant, std::string_view schedule, std::string_view subject) {
  StoreReader& reader = node_.store().reader();
  TRY_ASSIGN(const ScheduleRow row, reader.schedule(tenant, schedule));
  TRY_ASSIGN(const Schedule definition, schedule_with_subjects(row));
  TRY_ASSIGN(const SubjectRow found, reader.subject(row.id, subject));
  TRY_ASSIGN(SubjectInfo info, info_of(row, definition, found));
  TRY(add_gaps(row, definition, info));
  return info;
}

Result<void> NodeClient::add_gaps(const ScheduleRow& row, const Schedule& schedule, SubjectInfo& info,
                                  std::size_t most) {
  if (!traits_of(schedule).keeps_cursor) return {};
  TRY_ASSIGN(const std::vector<OutcomeRow> gaps, node_.store().reader().gaps(row.id, info.subject, most));
  for (const OutcomeRow& gap : gaps) info.gaps.push_back(gap_of(gap));
  return {};
}

Result<SubjectList> NodeClient::subjects(std::string_view tenant, std::string_view schedule, const SubjectQuery& query,
                                         std::string_view cursor, std::size_t limit) {
  TRY_ASSIGN(const std::optional<SubjectMark> after, read_subject_cursor(cursor, query));
  StoreReader& reader = node_.store().reader();
  TRY_ASSIGN(const ScheduleRow row, reader.schedule(tenant, schedule));
  TRY_ASSIGN(const Schedule definition, schedule_with_subjects(row));
  const SubjectFilter filter{.schedule = row.id,
                             .prefix = query.prefix,
                             .enabled = query.enabled,
                             .status = query.status,
                             .due_until = query.due_until};
  TRY_ASSIGN(const SubjectPage page, reader.subjects(filter, after, limit));
  SubjectList list;
  for (const SubjectRow& found : page.subjects) {
    TRY_ASSIGN(SubjectInfo info, info_of(row, definition, found));
    TRY(add_gaps(row, definition, info, kGapsListed));
    list.subjects.push_back(std::move(info));
  }
  if (page.next) list.next_cursor = cursor_of(*page.next);
  return list;
}

Result<std::vector<OutcomeMinute>> NodeClient::outcomes_of_day(std::string_view tenant, std::string_view schedule,
                                                               std::string_view date) {
  const auto day = parse_date(date);
  if (!day) return std::unexpected(about_field("date", with_context("date", day.error())));
  StoreReader& reader = node_.store().reader();
  TRY_ASSIGN(const ScheduleRow row, reader.kept_schedule(tenant, schedule));
  TRY_ASSIGN(const std::vector<OutcomeCount> counts, reader.outcome_counts(row.id, day->time_since_epoch().count()));
  std::vector<OutcomeMinute> minutes;
  for (const OutcomeCount& count : counts) {
    minutes.push_back({.minute = count.minute, .outcome = outcome_text(count), .count = count.count});
  }
  return minutes;
}

Result<OutcomeList> NodeClient::outcome_items(std::string_view tenant, std::string_view schedule,
                                              const OutcomeItemQuery& query, std::string_view cursor,
                                              std::size_t limit) {
  TRY_ASSIGN(const std::optional<OutcomeMark> after, read_outcome_cursor(cursor));
  StoreReader& reader = node_.store().reader();
  TRY_ASSIGN(const ScheduleRow row, reader.kept_schedule(tenant, schedule));
  TRY_ASSIGN(const Schedule definition, parse_schedule(row.definition));
  StoreReader::OutcomeQuery wanted;
  wanted.schedule = row.id;
  wanted.subject = query.subject;
  wanted.from = query.from.value_or(kInstantMin);
  wanted.to = query.to.value_or(kInstantMax);
  wanted.limit = limit;
  TRY_ASSIGN(const OutcomePage page, reader.outcome_page(wanted, after));
  OutcomeList list;
  for (const OutcomeRow& found : page.outcomes) list.items.push_back(item_of(found, definition));
  if (page.next) list.next_cursor = timed_cursor(page.next->slot, page.next->subject);
  return list;
}

}  // namespace carillon
