#include "engine/ready/queue_follower.h"

#include <algorithm>
#include <unordered_set>

namespace carillon {

namespace {

constexpr std::size_t kDoubtsMax = 100'000;
// Jobs due within this are held in memory even if the loader has not come so far: more than what makes a job far-off
// for the store (10 minutes), whose clock is a little ahead of the round's.
constexpr Duration kHeldAhead = std::chrono::minutes(11);

}  // namespace

Instant QueueFollower::horizon(Instant now) const { return std::max(loader_.horizon(), add_clamped(now, kHeldAhead)); }

bool QueueFollower::is_full_of_doubts() const { return recover_ && doubts_.size() >= kDoubtsMax; }

Result<void> QueueFollower::add_ready(Round& round) {
  round.add_ready(planner_.released());
  std::vector<ReadyJob> ready = std::exchange(round.ready, {});
  if (ready.empty()) return {};
  const Instant until = horizon(round.now);
  if (!loader_.is_done()) {
    // What stays on disk is the loader's to find.
    std::erase_if(ready, [&](const ReadyJob& job) { return job.run_at > until; });
    loader_.step_over(ready, round.now);
  }
  const std::size_t count = ready.size();
  // Before they stand there: this may break off in the middle.
  round.note_added(std::move(ready));
  TRY(dispatcher_.add(std::span(round.added).last(count), until, round.now));
  planner_.forget_released();
  return {};
}

void QueueFollower::follow(Round& round) {
  // What is known of a job now is no doubt any more: `left` is told already.
  const auto no_doubt = [&](JobId job, const ReadyJob* left) {
    const auto doubt = doubts_.find(job);
    if (doubt == doubts_.end()) return;
    const auto& stood = doubt->second;
    if (stood && (left == nullptr || stood->entry != entry_of(*left))) dispatcher_.left(*stood);
    doubts_.erase(doubt);
  };
  std::unordered_set<JobId> ids;
  for (const LeftQueue& left : round.left) {
    dispatcher_.left(left.job);
    planner_.left(left);
    ids.insert(left.job.id);
    if (!doubts_.empty()) no_doubt(left.job.id, &left.job);
  }
  if (ids.empty() && doubts_.empty()) return;
  for (const ReadyJob& job : round.added) {
    if (ids.contains(job.id) || doubts_.contains(job.id)) round.moved.push_back(job);
    if (!doubts_.empty()) no_doubt(job.id, nullptr);
  }
}

Result<void> QueueFollower::settle_doubts(Round& round) {
  if (doubts_.empty()) return {};
  std::unordered_set<JobId> known;
  for (const ReadyJob& job : round.ready) known.insert(job.id);
  for (const ReadyJob& job : planner_.released()) known.insert(job.id);
  std::vector<JobId> asked;
  for (const auto& [id, stood] : doubts_) {
    if (!known.contains(id)) asked.push_back(id);
  }
  TRY_ASSIGN(const std::vector<ReadyJob> queued, store_.jobs().queued(asked));
  std::unordered_set<JobId> as_they_stood;
  for (const ReadyJob& job : queued) {
    const auto& stood = doubts_.at(job.id);
    if (stood && stood->entry == entry_of(job)) {
      as_they_stood.insert(job.id);
    } else {
      round.ready.push_back(job);
    }
  }
  round.on_commit.emplace_back([this, as_they_stood = std::move(as_they_stood)] {
    for (const auto& [id, stood] : doubts_) {
      if (stood && !as_they_stood.contains(id)) dispatcher_.left(*stood);
    }
    doubts_.clear();
  });
  return {};
}

void QueueFollower::commit_failed(const Round& round, const std::vector<ReadySet::Pick>& picked) {
  recover_ = true;
  std::unordered_map<JobId, ReadyEntry> added;
  for (const ReadyJob& job : round.added) {
    dispatcher_.left(job);
    added.insert_or_assign(job.id, entry_of(job));
  }
  // What stood before the round stands on, until the rows say otherwise.
  const auto stands = [&](const std::optional<ReadySet::Pick>& at) {
    if (!at) return;
    const auto made = added.find(at->entry.id);
    if (made == added.end() || made->second != at->entry) doubts_.try_emplace(at->entry.id, at);
  };
  for (const LeftQueue& left : round.left) stands(dispatcher_.standing(left.job));
  for (const ReadySet::Pick& pick : picked) stands(pick);
  for (const auto& [id, entry] : added) doubts_.try_emplace(id);
  for (const ReadyJob& job : round.read_back) dispatcher_.left(job);
}

}  // namespace carillon
