#include "engine/attempts/attempts.h"

#include <algorithm>

namespace carillon {

Duration duration_of(const Run& run, BootTime now) {
  const BootTime started = run.started_boot;
  return started == BootTime::zero() ? Duration::zero() : now - started;
}

std::size_t Attempts::slot_count() const {
  std::size_t all = max_concurrency_;
  if (const auto cap = rules_.config().max_concurrent_jobs) {
    all = *cap - std::min<std::size_t>(*cap, desk_.lease_count());  // workers outside count too
  }
  return std::min<std::size_t>(all, max_concurrency_);
}

// ---- What they hold ---------------------------------------------------------------------------------------------

void Attempts::freed() {
  freed_ = true;
  desk_.room_is_there();
}

void Attempts::free_caps(Run& run, bool tokens_too, Instant now) {
  freed();
  if (!run.holds_caps) return;
  run.holds_caps = false;
  if (tokens_too && run.pulled) {
    dispatcher_.ready().pulled_back({.place = run.place, .entry = {}}, ReadySet::Entry::is_gone, now);
  } else if (tokens_too) {
    dispatcher_.ready().gave_back(run.place, now);
  } else {
    dispatcher_.ready().ended(run.place, now);
  }
}

void Attempts::lost(Run& run, Instant now) {
  run.stop_requested = true;
  run.lease_until = BootTime::zero();
  free_caps(run, false, now);
  if (run.pulled) {
    run.over = true;
    desk_.remove(run);
  } else if (run.withdraw()) {
    runs_.remove(run, clock_.boot());
  } else {
    run.over = true;
  }
}

void Attempts::lease_is_gone(JobId job, Instant now) {
  for (const RunPtr& run : {runs_.find(job), desk_.find(job)}) {
    if (run && !run->over) lost(*run, now);
  }
}

void Attempts::changed(Round& round, const Changed& changed) {
  round.add_ready(changed.ready);
  round.tell(JobChanged{.job = changed.id, .tenant = changed.tenant, .state = changed.state});
  if (!is_final(changed.state)) return;
  round.on_commit.emplace_back([this, id = changed.id, now = round.now] { lease_is_gone(id, now); });
}

// ---- Ending them --------------------------------------------------------------------------------------------------

void Attempts::ask_to_stop(Round& round, JobId job) {
  round.on_commit.emplace_back([this, job] {
    if (const RunPtr run = runs_.find(job)) run->stop_requested = true;
  });
}

void Attempts::take_back_of(Round& round, std::string_view tenant, std::string_view schedule,
                            std::optional<std::string_view> subject) {
  std::optional<std::string> only;
  if (subject) only = *subject;
  round.on_commit.emplace_back(
      [this, tenant = std::string(tenant), schedule = std::string(schedule), only = std::move(only)] {
        take_back([&](const Run& run) {
          const auto& held = run.job.occurrence_of;
          return held && run.job.tenant == tenant && run.job.schedule == schedule && (!only || held->subject == *only);
        });
      });
}

void Attempts::take_back(const std::function<bool(const Run&)>& which) {
  for (const RunPtr& run : runs_.all()) {
    if (!run->over && which(*run) && run->withdraw()) hand_back(run);
  }
}

void Attempts::hand_back(const RunPtr& run) {
  say({.run = run, .settlement = release_of(*run, false), .how = Finished::How::not_started});
}

void Attempts::release_all() {
  for (const RunPtr& run : runs_.all()) {
    if (run->over || run->ending) continue;
    run->stop_requested = true;
    run->ending = true;
    say({.run = run, .settlement = release_of(*run, true), .thread_is_back = false});
  }
}

bool Attempts::is_idle() const {
  return words_.empty() && std::ranges::all_of(runs_.all(), [](const RunPtr& run) { return run->over; });
}

}  // namespace carillon
