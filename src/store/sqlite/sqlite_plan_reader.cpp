// The reader's half about schedules, their subjects and outcomes.
#include <algorithm>

#include "store/reading.h"
#include "store/refusals.h"
#include "store/sqlite/reader_session.h"
#include "store/sqlite/sqlite_rows.h"

namespace carillon {

Result<ScheduleRow> SqliteReader::schedule(std::string_view tenant, std::string_view name) {
  TRY_ASSIGN(ScheduleRow row, kept_schedule(tenant, name));
  if (row.deleted_at) return absent("schedule", name);
  return row;
}

Result<ScheduleRow> SqliteReader::kept_schedule(std::string_view tenant, std::string_view name) {
  return read([&](Session& session) -> Result<ScheduleRow> {
    session.schedule.with(tenant, name);
    auto rows = rows_of(session.schedule, read_schedule_row);
    if (rows.empty()) return absent("schedule", name);
    return std::move(rows.front());
  });
}

Result<std::vector<ScheduleRow>> SqliteReader::schedules(std::string_view tenant, std::string_view after,
                                                         std::size_t limit) {
  return read([&](Session& session) -> Result<std::vector<ScheduleRow>> {
    session.schedules.with(tenant, after, page_size(limit));
    return rows_of(session.schedules, read_schedule_row);
  });
}

Result<SubjectRow> SqliteReader::subject(ScheduleId schedule, std::string_view subject) {
  return read([&](Session& session) -> Result<SubjectRow> {
    session.subject.with(schedule, subject);
    auto rows = rows_of(session.subject, read_subject_row);
    if (rows.empty()) return absent("subject", subject);
    return std::move(rows.front());
  });
}

Result<SubjectPage> SqliteReader::subjects(const SubjectFilter& filter, const std::optional<SubjectMark>& after,
                                           std::size_t limit) {
  return read([&](Session& session) -> Result<SubjectPage> {
    SubjectPage page;
    if (limit == 0) return page;
    Query& query = filter.due_until ? session.subjects_due : session.subjects;
    const std::string from = after ? after->subject : filter.due_until ? std::string() : filter.prefix;
    if (filter.due_until) {
      query.with(filter.schedule, after && after->next_at ? *after->next_at : kInstantMin, from, *filter.due_until);
    } else {
      query.with(filter.schedule, std::max(from, filter.prefix));
    }
    const BootTime stop_at = boot_now() + kListMax;
    std::optional<SubjectMark> last_seen = after;
    for (int looked = 1; query.next(); ++looked) {
      SubjectRow row = read_subject_row(query);
      const SubjectMark mark = mark_of(filter, row);
      if (after && mark == *after) continue;
      if (!filter.due_until && !row.subject.starts_with(filter.prefix)) break;  // those are listed by name
      const bool full = page.subjects.size() == page_size(limit);
      if (full || (looked % kRowsBetweenLooks == 0 && boot_now() > stop_at)) {
        // This one was not taken: the next page begins with it.
        page.next = last_seen;
        break;
      }
      last_seen = mark;
      if (matches(filter, row)) page.subjects.push_back(std::move(row));
    }
    query.reset();
    return page;
  });
}

Result<std::vector<OutcomeRow>> SqliteReader::outcomes(const OutcomeQuery& query) {
  return read([&](Session& session) -> Result<std::vector<OutcomeRow>> {
    if (query.subject) {
      session.outcomes_of.with(query.schedule, *query.subject, query.from, query.to, page_size(query.limit));
      return rows_of(session.outcomes_of, read_outcome_row);
    }
    session.outcomes.with(query.schedule, query.from, query.to, page_size(query.limit));
    return rows_of(session.outcomes, read_outcome_row);
  });
}

Result<OutcomePage> SqliteReader::outcome_page(const OutcomeQuery& query, const std::optional<OutcomeMark>& after) {
  return read([&](Session& session) -> Result<OutcomePage> {
    OutcomePage page;
    const std::size_t size = page_size(query.limit);
    if (size == 0) return page;
    const auto mark = [](const OutcomeRow& row) { return OutcomeMark{.subject = row.subject, .slot = row.slot}; };
    if (query.subject) {
      const Instant from = after ? std::max(query.from, after->slot + Duration(1)) : query.from;
      session.outcomes_of.with(query.schedule, *query.subject, from, query.to, size + 1);
      page.outcomes = rows_of(session.outcomes_of, read_outcome_row);
      if (page.outcomes.size() <= size) return page;
      page.outcomes.pop_back();
      page.next = mark(page.outcomes.back());
      return page;
    }
    const BootTime stop_at = boot_now() + kListMax;
    // The query reads it until it ends.
    const OutcomeMark begin = after.value_or(OutcomeMark{.subject = {}, .slot = kInstantMin});
    OutcomeMark last_seen = begin;
    Query& walk = session.outcomes_after;
    walk.with(query.schedule, begin.subject, begin.slot);
    for (int looked = 1; walk.next(); ++looked) {
      const bool has_none = walk.is_null(2);
      OutcomeRow row = has_none ? OutcomeRow{.subject = walk.string(1), .slot = kInstantMin} : read_outcome_row(walk);
      if (page.outcomes.size() == size || (looked % kRowsBetweenLooks == 0 && boot_now() > stop_at)) {
        // This one was not taken: the next page begins with it.
        page.next = last_seen;
        break;
      }
      last_seen = mark(row);
      if (!has_none && row.slot >= query.from && row.slot < query.to) page.outcomes.push_back(std::move(row));
    }
    walk.reset();
    return page;
  });
}

Result<std::vector<OutcomeRow>> SqliteReader::last_outcomes(ScheduleId schedule, std::string_view subject,
                                                            std::size_t limit) {
  return read([&](Session& session) -> Result<std::vector<OutcomeRow>> {
    std::vector<OutcomeRow> found;
    for (session.outcomes_back.with(schedule, subject);
         found.size() < page_size(limit) && session.outcomes_back.next();) {
      found.push_back(read_outcome_row(session.outcomes_back));
    }
    session.outcomes_back.reset();
    std::ranges::reverse(found);
    return found;
  });
}

Result<std::vector<OutcomeRow>> SqliteReader::gaps(ScheduleId schedule, std::string_view subject, std::size_t limit) {
  return read([&](Session& session) -> Result<std::vector<OutcomeRow>> {
    session.cursor.with(schedule, subject);
    const auto cursors = rows_of(session.cursor, [](const Query& query) { return query.optional_instant(0); });
    std::vector<OutcomeRow> found;
    if (cursors.empty()) return found;
    for (session.gaps_back.with(schedule, subject); found.size() < page_size(limit) && session.gaps_back.next();) {
      OutcomeRow row = read_outcome_row(session.gaps_back);
      if (is_gap(row, cursors.front())) found.push_back(std::move(row));
    }
    session.gaps_back.reset();
    std::ranges::reverse(found);
    return found;
  });
}

Result<std::vector<OutcomeCount>> SqliteReader::outcome_counts(ScheduleId schedule, std::int64_t day) {
  return read([&](Session& session) -> Result<std::vector<OutcomeCount>> {
    session.outcome_counts.with(schedule, day);
    return rows_of(session.outcome_counts, [&](const Query& query) {
      return OutcomeCount{.day = day,
                          .minute = static_cast<int>(query.integer(0)),
                          .outcome = read_state(query, 1),
                          .count = query.integer(2)};
    });
  });
}

}  // namespace carillon
