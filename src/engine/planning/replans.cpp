#include "engine/planning/replans.h"

#include "engine/planning/subject_planner.h"

namespace carillon {

Result<void> Replans::begin(Round& round, const ScheduleRow& row, const ScheduleRow& before) {
  Replan replan{.schedule = row.id,
                .tenant = row.tenant,
                .name = row.name,
                .at = round.now,
                .ran_until = {},
                .before = before.definition,
                .paused_before = before.paused_until,
                .after = {},
                .compiled_before = {}};
  if (runs_at(before, round.now)) {
    replan.ran_until = round.now;
  } else if (const Replan* begun = find(row.id)) {
    // What was due when it was paused is still being planned.
    replan.ran_until = begun->ran_until;
    replan.before = begun->before;
    replan.paused_before = begun->paused_before;
  }
  TRY(store_.admin().put_document(
      {.key = replan_key(row.tenant, row.name), .body = write_replan(replan), .if_revision = {}}, std::nullopt));
  round.on_failure.emplace_back(
      [this, id = row.id, key = replan_key(row.tenant, row.name)] { doubts_.insert_or_assign(id, key); });
  by_schedule_.insert_or_assign(row.id, std::move(replan));
  return {};
}

void Replans::resume(const Document& document) {
  auto replan = read_replan(document);
  if (!replan) return;
  const ScheduleId id = replan->schedule;
  by_schedule_.insert_or_assign(id, *std::move(replan));
}

Result<void> Replans::settle_doubts() {
  while (!doubts_.empty()) {
    const auto& [id, key] = *doubts_.begin();
    const auto document = store_.admin().document(key);
    if (!document && document.error().code != ErrorCode::not_found) return std::unexpected(document.error());
    by_schedule_.erase(id);
    if (document) resume(*document);
    doubts_.erase(doubts_.begin());
  }
  return {};
}

Replan* Replans::find(ScheduleId id) {
  const auto found = by_schedule_.find(id);
  return found == by_schedule_.end() ? nullptr : &found->second;
}

void Replans::advance(ScheduleId id, Replan further) {
  Replan* const known = find(id);
  if (known != nullptr && known->at == further.at) *known = std::move(further);
}

std::optional<Instant> Replans::first_time_behind_edit(const SubjectRow& subject) const {
  const auto replan = by_schedule_.find(subject.schedule);
  if (replan == by_schedule_.end() || !replan->second.is_ahead(subject.subject)) return std::nullopt;
  const Instant edited_at = replan->second.at;
  if (!subject.next_at || *subject.next_at > edited_at) return std::nullopt;
  return edited_at + Duration(1);
}

}  // namespace carillon
