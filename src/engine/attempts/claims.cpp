#include "engine/attempts/claims.h"

#include <algorithm>
#include <unordered_map>

namespace carillon {

void Claims::collect(const Round& round) {
  dispatcher_.advance_to(round.now);
  gates_.open(round);
  attempts_.forget_freed();
  claimed_.reset();
  pick(round);
}

void Claims::committed(Round& round, const Result<void>& commit) {
  if (commit) {
    start(round);
  } else {
    for (const ReadySet::Pick& pick : picks_) dispatcher_.ready().put_back(pick, round.now);
  }
  picks_.clear();
}

void Claims::next_at(Wake& wake) {
  ReadySet& ready = dispatcher_.ready();
  if (picked_all_ || (readiness_.is_open() && attempts_.has_freed() && ready.size() > 0)) wake.at_once = true;
  wake.by(dispatcher_.next_due());
  if ((starved_ && !wake.at_once) || wake.of_settled) wake.by(ready.next_opening(wake.now));
}

void Claims::pick(const Round& round) {
  picked_all_ = false;
  starved_ = false;
  picked_at_ = round.now;
  if (!readiness_.is_open() || !readiness_.knows_rules()) return;
  const std::size_t slots = attempts_.slot_count();
  slots_.set_most(slots);
  dispatcher_.set_slots(slots, round.now);
  Room room = room_for_claims(round);
  free_picks_ = room.now;
  const auto wait_for_a_slot = [&](const ReadySet::Pick& pick) {
    std::size_t& left = room.ahead_of(dispatcher_.ready().waits_outside(pick.place));
    if (left > 0) --left;
  };
  for (std::size_t i = room.now; i < picks_.size(); ++i) wait_for_a_slot(picks_[i]);
  for (;;) {
    const bool is_ahead = picks_.size() >= room.now;
    if (is_ahead && room.ahead == 0 && room.ahead_outside == 0) return;
    if (picks_.size() >= limits_.claims_max) {
      picked_all_ = true;
      return;
    }
    using For = ReadySet::For;
    const For later = room.ahead == 0 ? For::later_outside : room.ahead_outside == 0 ? For::later_here : For::later;
    auto pick = dispatcher_.pick(round.now, is_ahead ? later : For::a_free_slot);
    if (!pick) {
      starved_ = true;
      return;
    }
    if (is_ahead) wait_for_a_slot(*pick);
    picks_.push_back(*pick);
  }
}

Claims::Room Claims::room_for_claims(const Round& round) {
  // Attempts whose handlers have returned are settled by the commit that claims: they make room in it already.
  const auto returned =
      std::min(attempts_.runs().size(),
               static_cast<std::size_t>(std::ranges::count_if(
                   attempts_.words(), [](const Settling& word) { return word.thread_is_back && !word.run->pulled; })));
  const std::size_t running = attempts_.runs().size() - returned;
  const std::size_t slots = attempts_.slot_count();
  Room room{.now = slots - std::min(slots, running)};
  // Under a cap for all nothing runs ahead: workers outside draw on it too, and what only waits for a slot here would
  // keep them from what is free.
  if (!rules_.config().max_concurrent_jobs) {
    room.ahead = room_ahead(round, false, running == 0);
    room.ahead_outside = room_ahead(round, true, running == 0);
  }
  return room;
}

// Claims may run ahead of handlers, so that one commit serves many. By as many as were finished lately, or quickly
// during the last commit, which on a slow disk is longer ago; by twice that if the handlers had nothing left to do.
// Each runner by its own: who waits for somebody outside is slow, however quick the threads are.
std::size_t Claims::room_ahead(const Round& round, bool outside, bool all_idle) {
  const auto quick = static_cast<std::size_t>(std::ranges::count_if(
      attempts_.words(), [&](const Settling& word) { return word.quick && word.run->outside == outside; }));
  const std::size_t ahead =
      std::max(attempts_.runs().lately_finished(outside, round.boot), all_idle ? 2 * quick : quick);
  const std::size_t most = std::min({ahead, limits_.prefetch_max, limits_.claims_max});
  return most - std::min(most, attempts_.runs().waiting_ahead(outside));
}

Result<void> Claims::write(Round& round) {
  // The transaction may have waited for the store since they were picked.
  if (round.now > picked_at_) dispatcher_.ready().claimed_at(picks_, round.now);
  pick(round);
  if (picks_.empty()) return {};
  std::vector<JobId> ids;
  ids.reserve(picks_.size());
  for (const ReadySet::Pick& pick : picks_) ids.push_back(pick.entry.id);
  TRY_ASSIGN(claimed_,
             leasing_.claim(round, {.worker = worker_, .in_process = true, .jobs = ids, .slots = free_picks_}, picks_));
  return {};
}

void Claims::start(Round& round) {
  if (picks_.empty()) return;
  std::unordered_map<JobId, LeasedJob*> leased;
  if (claimed_) {
    for (LeasedJob& job : claimed_->jobs) leased.emplace(job.id, &job);
  }
  for (const ReadySet::Pick& pick : picks_) {
    const auto found = leased.find(pick.entry.id);
    if (found == leased.end()) {
      if (claimed_) {
        dispatcher_.ready().drop(pick, round.now);
        picked_all_ = true;  // its slot is free after all
      } else {
        dispatcher_.ready().put_back(pick, round.now);
      }
      continue;
    }
    RunPtr run = leasing_.picked(round, pick, std::move(*found->second));
    leased.erase(found);  // an entry that stood twice
    attempts_.runs().add(run, round.boot);
    runner_->start(std::move(run));
  }
}

}  // namespace carillon
