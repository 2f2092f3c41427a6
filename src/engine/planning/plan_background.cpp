#include "engine/planning/plan_background.h"

#include <vector>

namespace carillon {

namespace {

constexpr std::size_t kReplanAtOnce = 500;
constexpr std::size_t kRezoneAtOnce = 200;
constexpr std::size_t kCancelAtOnce = 1000;

}  // namespace

void PlanBackground::zone_changed(std::string_view tenant) {
  ++zone_changes_;
  for (const ScheduleId id : index_.ids_of(tenant)) rezone_[id] = zone_changes_;
}

void PlanBackground::go_on_cancelling(Round& round, ScheduleId id, const OutcomeKey& from) {
  round.on_commit.emplace_back([this, id, from] { cancelling_[id] = from; });
}

Result<void> PlanBackground::step(Round& round) {
  if (!rezone_.empty()) TRY(rezone(round));
  if (!replans_.empty()) TRY(replan_step(round));
  if (!cancelling_.empty()) TRY(cancel_step(round));
  return {};
}

Result<void> PlanBackground::rezone(Round& round) {
  std::vector<std::pair<ScheduleId, std::uint64_t>> slice;
  for (auto next = rezone_.begin(); next != rezone_.end() && slice.size() < kRezoneAtOnce; ++next) {
    slice.emplace_back(*next);
  }
  // One that has changed again in this very round comes again.
  round.on_commit.emplace_back([this, slice] {
    for (const auto& [id, change] : slice) {
      if (const auto found = rezone_.find(id); found != rezone_.end() && found->second == change) rezone_.erase(found);
    }
  });
  for (const auto& [id, change] : slice) {
    const auto row = store_.plans().schedule(id);
    if (!row) continue;
    const auto compiled = compiler_.compile(*row);
    if (!compiled || (*compiled)->schedule.timezone || !has_times((*compiled)->schedule)) continue;
    if ((*compiled)->schedule.fan_out) {
      TRY(replans_.begin(round, *row, *row));
    } else {
      TRY(due_.plan_what_is_due(round, *row));
      const auto anchored = subjects_.anchor_only(
          round, {*row, **compiled}, {.what = SubjectChange::What::edited, .at = round.now, .cursor_end = {}});
      if (!anchored && !is_refusal(anchored.error())) return anchored;
    }
    TRY(index_.remember(round, *row));
  }
  return {};
}

Result<void> PlanBackground::replan_step(Round& round) {
  Replan& replan = replans_.first();
  const ScheduleId id = replan.schedule;
  const DocumentKey key = replan_key(replan.tenant, replan.name);
  const auto drop = [&] { round.on_commit.emplace_back([this, id] { replans_.erase(id); }); };
  const auto document = store_.admin().document(key);
  const auto row = store_.plans().schedule(id);
  const auto compiled = row ? compiler_.compile(*row) : Result<CompiledPtr>(std::unexpected(Error()));
  if (!document || !row || !compiled) {
    if (document) TRY(store_.admin().delete_document(key, std::nullopt));
    drop();
    return {};
  }
  TRY_ASSIGN(const SubjectSlice slice, store_.plans().subjects_after(id, replan.after, kReplanAtOnce));
  for (const SubjectRow& subject : slice.rows) TRY(due_.bring_up_to_date(round, {*row, **compiled}, replan, subject));
  if (slice.end) {
    TRY(store_.admin().delete_document(key, std::nullopt));
    drop();
  } else {
    Replan further = replan;
    further.after = slice.next_after;
    further.done += std::ssize(slice.rows);
    TRY(store_.admin().put_document({.key = key, .body = write_replan(further), .if_revision = {}}, std::nullopt));
    round.on_commit.emplace_back(
        [this, id, further = std::move(further)]() mutable { replans_.advance(id, std::move(further)); });
  }
  return index_.remember(round, *row);
}

// What it does not come by before the engine ends is cancelled when it is claimed.
Result<void> PlanBackground::cancel_step(Round& round) {
  const ScheduleId id = cancelling_.begin()->first;
  TRY_ASSIGN(const CancelStep step, store_.plans().cancel_unstarted(cancelling_.begin()->second, kCancelAtOnce));
  note_moved(round, step.cancelled);
  round.on_commit.emplace_back([this, id, next = step.next_after, end = step.end] {
    if (end) {
      cancelling_.erase(id);
    } else {
      cancelling_[id] = next;
    }
  });
  return {};
}

}  // namespace carillon
