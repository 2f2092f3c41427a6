#include "contract/store_text.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "store/local_minute.h"
#include "store/subject_text.h"
#include "support/results.h"

namespace carillon::test {

namespace {

std::string at(std::optional<Instant> instant) {
  return instant ? fmt::format("{}", instant->time_since_epoch().count()) : "-";
}

std::string lane_text(const Lane& lane) { return lane.tenant + "/" + lane.queue; }

std::string lease_text(const LeaseRow& lease) {
  return fmt::format("lease {} token {} attempt {} by {} in_process {} claimed {} length {} until {} timeout {}",
                     lease.job.value, lease.token, lease.attempt, lease.worker, lease.in_process, at(lease.claimed_at),
                     lease.length.count(), lease.until.count(), lease.timeout_at.count());
}

std::string outcome_text(const OutcomeRow& row) {
  return fmt::format("  outcome {} {} until {} count {} job {} {} parked {} \"{}\" at {} minute {}", row.subject,
                     at(row.slot), at(row.until), row.count, row.job.value,
                     row.outcome ? to_string(*row.outcome) : "open", row.parked, row.reason, at(row.at),
                     row.local_minute);
}

std::string job_text(StoreReader& reader, const std::string& tenant, const JobView& listed) {
  const JobView view = value_of(reader.job(tenant, listed.row.id));
  const JobRow& row = view.row;
  std::string text = fmt::format(
      "job {} {} {} {} priority {} run_at {} attempts {} token {} deadline {} later {} {}/{} slot {} finished {}\n",
      row.id.value, to_string(view.state), lane_text(view.lane), view.type, row.priority, at(row.run_at), row.attempts,
      row.token, at(row.deadline), row.later, view.schedule, row.subject, at(row.slot), at(view.finished_at));
  text += fmt::format("  options {} detail {} payload {}\n", row.options.text(), row.detail.text(), view.payload);
  if (view.lease) text += "  " + lease_text(*view.lease) + " wall " + at(view.lease_until) + "\n";
  for (const AttemptRow& attempt : view.attempts) {
    text += fmt::format("  attempt {} token {} {} by {} from {} to {} {} \"{}\"\n", attempt.number, attempt.token,
                        to_string(attempt.result), attempt.worker, at(attempt.started_at), at(attempt.finished_at),
                        attempt.error_class, attempt.error);
  }
  std::vector<JobId> parents = view.waits_for;
  std::ranges::sort(parents);
  for (const JobId parent : parents) text += fmt::format("  waits for {}\n", parent.value);
  if (listed.state != view.state || listed.row != view.row) text += "  (its list says otherwise)\n";
  return text;
}

std::string jobs_text(Store& store, const std::string& tenant) {
  std::string text;
  JobQuery filter;
  filter.tenant = tenant;
  JobId before;
  do {
    const JobPage page = value_of(store.reader().jobs(filter, before, 7));
    for (const JobView& view : page.jobs) text += job_text(store.reader(), tenant, view);
    before = page.next_before;
  } while (before);
  std::vector<std::string> lines;
  for (const StateCount& count : value_of(store.reader().counts(tenant))) {
    if (count.count == 0) continue;
    lines.push_back(fmt::format("count {} {} {}\n", lane_text(count.lane), to_string(count.state), count.count));
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) text += line;
  return text;
}

std::string schedules_text(Store& store, const std::string& tenant) {
  StoreReader& reader = store.reader();
  std::string text;
  for (const ScheduleRow& row : value_of(reader.schedules(tenant, "", kPageMax))) {
    text += fmt::format("schedule {} revision {} enabled {} paused {} subjects {} first {} last {} errors {} {} {}\n",
                        row.name, row.revision, row.enabled, at(row.paused_until), row.subjects, row.first_job.value,
                        row.results.last_outcome ? to_string(*row.results.last_outcome) : "-", row.results.error_count,
                        row.results.last_error, row.definition);
    for (const SubjectRow& subject : value_of(reader.subjects({.schedule = row.id}, {}, kPageMax)).subjects) {
      text += "  " + text_of(store, subject) + "\n";
      for (const OutcomeRow& gap : value_of(reader.gaps(row.id, subject.subject, kPageMax))) {
        text += "  gap" + outcome_text(gap) + "\n";
      }
    }
    std::set<std::int64_t> days;
    for (const OutcomeRow& outcome : value_of(reader.outcomes({.schedule = row.id}))) {
      text += outcome_text(outcome) + "\n";
      days.insert(day_minute_of(outcome.local_minute).day);
    }
    for (const std::int64_t day : days) {
      for (const OutcomeCount& count : value_of(reader.outcome_counts(row.id, day))) {
        text += fmt::format("  day {} minute {} {} {}\n", day, count.minute, to_string(count.outcome), count.count);
      }
    }
  }
  return text;
}

}  // namespace

std::string text_of(Store& store, const ReadyJob& job) {
  return fmt::format("ready {} {} {} priority {} at {} options {} last {}", job.id.value,
                     lane_text(store.jobs().lane(job.lane)), store.jobs().type_name(job.type), job.priority,
                     at(job.run_at), job.has_options, job.last_attempt);
}

std::string text_of(Store& store, const Enqueued& answer) {
  const bool queued = answer.state == JobState::queued;
  return fmt::format("{} {} {} {}", answer.id.value, answer.deduplicated ? "again" : "new", to_string(answer.state),
                     queued ? text_of(store, answer.ready) : "");
}

std::string text_of(Store& /*store*/, const LeasedJob& job) {
  return fmt::format("{} {}/{} {} {} priority {} attempt {} token {} run_at {} deadline {} until {} {} {} {}/{}/{} {}",
                     job.id.value, job.tenant, job.queue, job.type, job.payload, job.priority, job.attempt, job.token,
                     at(job.run_at), at(job.deadline), at(job.lease_until), job.lease.count(), job.timeout.count(),
                     job.schedule, job.subject, at(job.slot), job.options.text());
}

std::string text_of(Store& store, const Claimed& claimed) {
  std::string text = text_of(store, claimed.jobs) + " overdue " + text_of(store, claimed.overdue);
  for (const HeldJob& held : claimed.held) {
    text += fmt::format(" held by {} {}", held.schedule.value, text_of(store, held.job));
  }
  for (const LeasedJob& job : claimed.jobs) text += job.ahead ? " ahead" : " at once";
  for (const ReadyJob& last : claimed.last) text += " last " + text_of(store, last);
  return text;
}

std::string text_of(Store& /*store*/, const Extended& answer) {
  return fmt::format("until {} cancel {}", at(answer.lease_until), answer.cancel_requested);
}

std::string text_of(Store& store, const Settled& answer) {
  const bool queued = answer.state == JobState::queued;
  return fmt::format("{} {} {}\n{}", answer.id.value, to_string(answer.state), queued ? at(answer.run_at) : "",
                     text_of(store, answer.ready));
}

std::string text_of(Store& store, const Reaped& answer) {
  return fmt::format("{} {} {} {} by {} {}\n{}", answer.id.value, answer.tenant, answer.type, to_string(answer.result),
                     answer.worker, to_string(answer.state), text_of(store, answer.ready));
}

std::string text_of(Store& store, const Changed& answer) {
  return fmt::format("{} {} {} {} cancel {}\n{}", answer.id.value, answer.tenant, answer.type, to_string(answer.state),
                     answer.cancel_requested, text_of(store, answer.ready));
}

std::string text_of(Store& store, const Advanced& answer) {
  std::string text = fmt::format("version {}\n{}", answer.version, text_of(store, answer.jobs));
  text += text_of(store, answer.ready);
  for (const JobId id : answer.asked_to_stop) text += fmt::format(" {} is to stop", id.value);
  return text;
}

std::string text_of(Store& /*store*/, const SubjectRow& row) {
  return fmt::format(
      "subject {} version {} next {} position {} open {} cursor {} enabled {} overrides {} "
      "status {} last {} run {} state {}",
      row.subject, row.version, at(row.next_at), at(row.position), row.open_job.value, at(row.cursor), row.enabled,
      row.overrides, subject_status_text(row.status), at(row.last_slot), at(row.last_run_at), row.state);
}

std::string text_of(Store& store, const PutSubject& put) {
  const std::string_view fate = put.fate == SubjectFate::created   ? "created"
                                : put.fate == SubjectFate::updated ? "updated"
                                                                   : "unchanged";
  return fmt::format("{} {}", fate, text_of(store, put.row));
}

std::string everything(Store& store, const std::vector<std::string>& tenants) {
  std::string text;
  for (const std::string& tenant : tenants) text += jobs_text(store, tenant) + schedules_text(store, tenant);
  std::vector<std::string> leases;
  for (const LeaseRow& lease : value_of(store.jobs().leases())) leases.push_back(lease_text(lease) + "\n");
  std::ranges::sort(leases);
  for (const std::string& lease : leases) text += lease;
  text += "live\n" + text_of(store, value_of(store.jobs().load_live({}, kInstantMax, 1'000'000)).jobs);
  text += "far off\n" + text_of(store, value_of(store.jobs().load_later(kInstantMin, kInstantMax, 1'000'000)));
  return text;
}

}  // namespace carillon::test
