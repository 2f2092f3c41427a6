#include "store/memory/memory_reader.h"

#include <algorithm>

#include "store/job_match.h"
#include "store/local_minute.h"
#include "store/reading.h"
#include "store/refusals.h"

namespace carillon {

namespace {

void keep_last(std::vector<OutcomeRow>& rows, std::size_t limit) {
  const std::size_t size = std::min(limit, kPageMax);
  if (rows.size() > size) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(size));
}

}  // namespace

bool MemoryReader::lives(const SubjectRow& row) const {
  const auto schedule = tables_.schedules.get(row.schedule);
  return schedule && !schedule->deleted_at && !row.deleted_at && row.generation == schedule->generation;
}

JobView MemoryReader::view_of(const JobRow& row) const {
  JobView view{.row = row,
               .lane = tables_.lanes.at(row.lane.value),
               .type = tables_.types.at(row.type.value),
               .payload = tables_.payloads.get(row.id).value_or(std::string()),
               .state = row.state};
  if (const auto schedule = tables_.schedules.get(row.schedule)) view.schedule = schedule->name;
  view.lease = tables_.leases.get(row.id);
  if (view.lease) {
    view.state = JobState::processing;
    view.lease_until = clock_.wall_at(view.lease->until);
  }
  if (const auto archived = tables_.archive.get(row.id)) {
    view.finished_at = archived->finished_at;
    view.started_at = archived->started_at;
  }
  return view;
}

bool MemoryReader::is_meant(const JobQuery& query, JobMatcher& matcher, const JobView& view) {
  const bool is_of_schedule = query.schedule && view.schedule == *query.schedule;
  return matcher.names(view.lane, view.type, view.row.id) && matcher.state(view.state) &&
         matcher.told(
             {.is_of_schedule = is_of_schedule, .subject = view.row.subject, .options = view.row.options.text()}) &&
         matcher.payload(view.payload);
}

Result<JobView> MemoryReader::job(std::string_view tenant, JobId id) {
  const std::scoped_lock lock(writing_);
  const auto live = tables_.jobs.get(id);
  const auto archived = tables_.archive.get(id);
  if (!live && !archived) return absent_job(id);
  JobView view = view_of(live ? *live : archived->job);
  if (view.lane.tenant != tenant) return absent_job(id);
  for (const auto& [key, attempt] : tables_.attempts.rows()) {
    if (key.first == id) view.attempts.push_back(attempt);
  }
  if (archived) append_ending_attempt(*archived, view);
  for (const auto& [edge, present] : tables_.dependencies.rows()) {
    if (edge.second == id) view.waits_for.push_back(edge.first);
  }
  return view;
}

Result<JobPage> MemoryReader::jobs(const JobQuery& query, JobId before, std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<JobView> found;
  // One that is not kept any more has none to list, though jobs may tell of it.
  const auto is_asked = [&](const auto& row) {
    return row.second.tenant == query.tenant && row.second.name == query.schedule;
  };
  if (query.schedule && std::ranges::none_of(tables_.schedules.rows(), is_asked)) return JobPage{};
  JobMatcher matcher(query);
  const auto look_at = [&](const JobRow& row) {
    if (before && row.id >= before) return;
    JobView view = view_of(row);
    if (is_meant(query, matcher, view)) found.push_back(std::move(view));
  };
  for (const auto& [id, row] : tables_.jobs.rows()) look_at(row);
  for (const auto& [id, row] : tables_.archive.rows()) look_at(row.job);
  std::ranges::sort(found, std::ranges::greater(), [](const JobView& view) { return view.row.id; });
  JobPage page;
  std::size_t size = 0;
  for (std::size_t bytes = 0; size < std::min({limit, kPageMax, found.size()}) && bytes < kPageBytesMax; ++size) {
    bytes += found[size].payload.size();
  }
  if (size > 0 && size < found.size()) page.next_before = found[size - 1].row.id;
  found.resize(size);
  page.jobs = std::move(found);
  return page;
}

Result<std::vector<StateCount>> MemoryReader::counts(std::string_view tenant) {
  const std::scoped_lock lock(writing_);
  std::vector<StateCount> counts;
  for (const auto& [key, count] : tables_.counts.rows()) {
    const Lane& lane = tables_.lanes.at(key.first.value);
    if (lane.tenant == tenant && count != 0) counts.push_back({.lane = lane, .state = key.second, .count = count});
  }
  std::ranges::sort(counts, {}, [](const StateCount& c) { return std::pair(c.lane, c.state); });
  return counts;
}

Result<std::int64_t> MemoryReader::count_of(JobState state) {
  const std::scoped_lock lock(writing_);
  std::int64_t sum = 0;
  for (const auto& [key, count] : tables_.counts.rows()) {
    if (key.second == state) sum += count;
  }
  return sum;
}

Result<ScheduleRow> MemoryReader::schedule(std::string_view tenant, std::string_view name) {
  const std::scoped_lock lock(writing_);
  for (const auto& [id, row] : tables_.schedules.rows()) {
    if (row.tenant == tenant && row.name == name && !row.deleted_at) return row;
  }
  return absent("schedule", name);
}

Result<ScheduleRow> MemoryReader::kept_schedule(std::string_view tenant, std::string_view name) {
  const std::scoped_lock lock(writing_);
  for (const auto& [id, row] : tables_.schedules.rows()) {
    if (row.tenant == tenant && row.name == name) return row;
  }
  return absent("schedule", name);
}

Result<std::vector<ScheduleRow>> MemoryReader::schedules(std::string_view tenant, std::string_view after,
                                                         std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<ScheduleRow> found;
  for (const auto& [id, row] : tables_.schedules.rows()) {
    if (row.tenant == tenant && row.name > after && !row.deleted_at) found.push_back(row);
  }
  std::ranges::sort(found, {}, &ScheduleRow::name);
  if (found.size() > std::min(limit, kPageMax)) found.resize(std::min(limit, kPageMax));
  return found;
}

Result<SubjectRow> MemoryReader::subject(ScheduleId schedule, std::string_view subject) {
  const std::scoped_lock lock(writing_);
  auto row = tables_.subjects.get({schedule, std::string(subject)});
  if (!row || !lives(*row)) return absent("subject", subject);
  return *std::move(row);
}

Result<SubjectPage> MemoryReader::subjects(const SubjectFilter& filter, const std::optional<SubjectMark>& after,
                                           std::size_t limit) {
  const std::scoped_lock lock(writing_);
  SubjectPage page;
  const auto& rows = tables_.subjects.rows();
  for (auto entry = rows.lower_bound({filter.schedule, {}});
       entry != rows.end() && entry->first.schedule == filter.schedule; ++entry) {
    if (lives(entry->second) && matches(filter, entry->second)) page.subjects.push_back(entry->second);
  }
  const auto order = [&](const SubjectRow& row) {
    const SubjectMark mark = mark_of(filter, row);
    return std::pair(mark.next_at, mark.subject);
  };
  std::ranges::sort(page.subjects, {}, order);
  if (after)
    std::erase_if(page.subjects,
                  [&](const SubjectRow& row) { return order(row) <= std::pair(after->next_at, after->subject); });
  const std::size_t size = std::min(limit, kPageMax);
  if (size > 0 && page.subjects.size() > size) page.next = mark_of(filter, page.subjects[size - 1]);
  if (page.subjects.size() > size) page.subjects.resize(size);
  return page;
}

Result<std::vector<OutcomeRow>> MemoryReader::outcomes(const OutcomeQuery& query) {
  const std::scoped_lock lock(writing_);
  std::vector<OutcomeRow> found;
  for (const auto& [key, row] : tables_.outcomes.rows()) {
    if (row.schedule != query.schedule || (query.subject && row.subject != *query.subject)) continue;
    if (row.slot < query.from || row.slot >= query.to) continue;
    if (found.size() < std::min(query.limit, kPageMax)) found.push_back(row);
  }
  return found;
}

Result<OutcomePage> MemoryReader::outcome_page(const OutcomeQuery& query, const std::optional<OutcomeMark>& after) {
  const std::scoped_lock lock(writing_);
  OutcomePage page;
  const std::size_t size = std::min(query.limit, kPageMax);
  for (const auto& [key, row] : tables_.outcomes.rows()) {
    if (row.schedule != query.schedule || (query.subject && row.subject != *query.subject)) continue;
    if (row.slot < query.from || row.slot >= query.to) continue;
    if (after && OutcomeMark{.subject = row.subject, .slot = row.slot} <= *after) continue;
    if (page.outcomes.size() < size) {
      page.outcomes.push_back(row);
    } else if (size > 0) {
      page.next = OutcomeMark{.subject = page.outcomes.back().subject, .slot = page.outcomes.back().slot};
    }
  }
  return page;
}

Result<std::vector<OutcomeRow>> MemoryReader::last_outcomes(ScheduleId schedule, std::string_view subject,
                                                            std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<OutcomeRow> found;
  for (const auto& [key, row] : tables_.outcomes.rows()) {
    if (row.schedule == schedule && row.subject == subject) found.push_back(row);
  }
  keep_last(found, limit);
  return found;
}

Result<std::vector<OutcomeRow>> MemoryReader::gaps(ScheduleId schedule, std::string_view subject, std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<OutcomeRow> found;
  const auto row = tables_.subjects.get({schedule, std::string(subject)});
  if (!row) return found;
  for (const auto& [key, outcome] : tables_.outcomes.rows()) {
    if (outcome.schedule != schedule || outcome.subject != subject) continue;
    if (is_gap(outcome, row->cursor)) found.push_back(outcome);
  }
  keep_last(found, limit);
  return found;
}

Result<std::vector<OutcomeCount>> MemoryReader::outcome_counts(ScheduleId schedule, std::int64_t day) {
  const std::scoped_lock lock(writing_);
  std::vector<OutcomeCount> found;
  const auto& rows = tables_.outcome_counts.rows();
  for (auto row = rows.lower_bound({schedule, day * kMinutesOfDay, JobState{}}); row != rows.end(); ++row) {
    const auto& [of, local_minute, outcome] = row->first;
    const DayMinute at = day_minute_of(local_minute);
    if (of != schedule || at.day != day) break;
    if (row->second > 0) found.push_back({.day = day, .minute = at.minute, .outcome = outcome, .count = row->second});
  }
  return found;
}

Result<Document> MemoryReader::document(const DocumentKey& key) {
  const std::scoped_lock lock(writing_);
  auto found = tables_.documents.get(key);
  if (!found) return absent(key.kind, key.name);
  return *std::move(found);
}

Result<std::vector<Document>> MemoryReader::documents(std::string_view tenant, std::string_view kind,
                                                      std::string_view after, std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<Document> found;
  for (const auto& [key, document] : tables_.documents.rows()) {
    if (key.tenant != tenant || key.kind != kind || key.name <= after) continue;
    if (found.size() < std::min(limit, kPageMax)) found.push_back(document);
  }
  return found;
}

Result<std::vector<AuditRow>> MemoryReader::audit(std::string_view tenant, std::int64_t before, std::size_t limit) {
  const std::scoped_lock lock(writing_);
  std::vector<AuditRow> found;
  const auto& rows = tables_.audit.rows();
  for (auto row = rows.rbegin(); row != rows.rend() && found.size() < std::min(limit, kPageMax); ++row) {
    if (row->second.tenant == tenant && (before == 0 || row->first < before)) found.push_back(row->second);
  }
  return found;
}

}  // namespace carillon
