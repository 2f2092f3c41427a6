// What goes wrong in a simulation.
#include <algorithm>
#include <array>

#include "sim/simulation.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

}  // namespace

void Simulation::next_fault() {
  const auto often = [&](Duration every) { return every > Duration(0); };
  // One of those that this world suffers from, at the mean of its own time.
  struct Choice {
    Duration every;
    int what;
  };
  std::vector<Choice> choices;
  const auto all = std::to_array<Duration>(
      {plagues_.crash_every, plagues_.pause_every, plagues_.commit_every, plagues_.jump_every, plagues_.drain_every});
  double rate = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!often(all[i])) continue;
    choices.push_back({.every = all[i], .what = static_cast<int>(i)});
    rate += 1.0 / static_cast<double>(all[i].count());
  }
  if (choices.empty()) {
    next_fault_ = boot() + std::chrono::days(1000);
    return;
  }
  next_fault_ = boot() + random_.around(Duration(static_cast<std::int64_t>(1.0 / rate)));
  double drawn = static_cast<double>(random_.below(1'000'000)) / 1e6 * rate;
  int what = choices.back().what;
  for (const Choice& choice : choices) {
    drawn -= 1.0 / static_cast<double>(choice.every.count());
    if (drawn <= 0) {
      what = choice.what;
      break;
    }
  }
  if (!site_.is_up() || boot() < node_starts_) return;
  switch (what) {
    case 0:
      if (random_.percent(60)) {
        at_planning_ = random_.percent(40);
        at_claims_ahead_ = !at_planning_ && random_.percent(50);
        next_fate_ = random_.percent(50) ? CommitFate::refused : CommitFate::answer_lost;
        if (options_.store == StoreKind::sqlite && options_.power_loss && power_random_.percent(50)) {
          next_fate_.reset();
          site_.lose_power_soon(1 + power_random_.below(12));
        }
      } else {
        report_.faults.add(Fault::crash);
        crash(options_.store == StoreKind::sqlite && power_random_.percent(50));
      }
      return;
    case 1: return stall(random_.percent(50));
    case 2: {
      bad_commits_ = random_.percent(60) ? 1 : random_.between(2, 40);
      const auto kind = random_.below(5);
      bad_fate_ = kind < 2 ? CommitFate::refused : kind < 4 ? CommitFate::answer_lost : CommitFate::full;
      return;
    }
    case 3: return jump();
    default: return drain();
  }
}

// The whole process stands still, or only its driver, which waits for the disk while handlers go on.
void Simulation::stall(bool handlers_go_on) {
  handlers_go_on_ = handlers_go_on;
  report_.faults.add(handlers_go_on ? Fault::slow_disk : Fault::pause);
  trace_.say(now(), "the node {}", handlers_go_on ? "waits for its disk" : "is paused");
  site_.runner().set_alone(handlers_go_on);
  node_starts_ = boot() + random_.between(Duration(5s), Duration(5min));
}

void Simulation::crash(bool power) {
  crash_now_ = false;
  const bool lost_power = !site_.has_power();
  if (lost_power) report_.faults.add(Fault::power_loss_at_commit);
  if (power) report_.faults.add(Fault::power_loss);
  trace_.say(now(), "the node crashes{}", power || lost_power ? ", and the power fails" : "");
  end_node();
  if (power || lost_power) {
    site_.lose_power();
  } else {
    site_.crash();
  }
  resolve_unknown();
  node_starts_ = boot() + random_.between(Duration(1s), Duration(random_.percent(80) ? 2min : 3h));
}

namespace {

// Whether a write is there. Nothing if this kind of write cannot show it.
std::optional<bool> is_there(Transaction& tx, const Op& op) {
  if (const auto* inserted = std::get_if<JobInserted>(&op)) {
    return tx.job(inserted->row.id).has_value() || tx.archived(inserted->row.id).has_value();
  }
  if (const auto* archived = std::get_if<JobArchived>(&op)) return tx.archived(archived->row.job.id).has_value();
  if (const auto* erased = std::get_if<ArchivedErased>(&op)) return !tx.archived(erased->job);
  if (const auto* leased = std::get_if<LeaseInserted>(&op)) {
    const auto lease = tx.lease(leased->row.job);
    return lease && lease->token == leased->row.token;
  }
  if (const auto* put = std::get_if<OutcomePut>(&op)) {
    return tx.outcome(put->row.schedule, put->row.subject, put->row.slot) == put->row;
  }
  if (const auto* erased = std::get_if<OutcomeErased>(&op)) {
    return !tx.outcome(erased->key.schedule, erased->key.subject, erased->key.slot);
  }
  if (const auto* erased = std::get_if<SubjectErased>(&op)) {
    return !tx.subject(erased->key.schedule, erased->key.subject);
  }
  if (const auto* erased = std::get_if<ScheduleErased>(&op)) return !tx.schedule(erased->id);
  if (const auto* subject = std::get_if<SubjectPut>(&op)) {
    const auto row = tx.subject(subject->row.schedule, subject->row.subject);
    return row && row->version >= subject->row.version;
  }
  if (const auto* schedule = std::get_if<SchedulePut>(&op)) {
    const auto row = tx.schedule(schedule->row.id);
    return row && row->revision >= schedule->row.revision;
  }
  if (const auto* updated = std::get_if<JobUpdated>(&op)) {
    const auto row = tx.job(updated->after.id);
    return row && *row == updated->after;
  }
  if (const auto* put = std::get_if<DocumentPut>(&op)) return tx.document(put->document.key) == put->document;
  if (const auto* erased = std::get_if<DocumentErased>(&op)) return !tx.document(erased->key);
  return std::nullopt;
}

}  // namespace

// The power failed during a commit: all of it is there, or nothing. (invariant 4)
void Simulation::resolve_unknown() {
  if (!unknown_) return;
  const std::vector<Op> ops = *std::exchange(unknown_, std::nullopt);
  site_.open_store();
  std::optional<bool> there;
  Transaction& tx = site_.backend().begin();
  // The last write to a row is the one that stays.
  for (auto op = ops.rbegin(); op != ops.rend() && !there; ++op) there = is_there(tx, *op);
  site_.backend().roll_back();
  if (there.value_or(false)) {
    judge_.committed(ops, false);
  } else {
    judge_.undone(ops);
  }
  site_.close_store();
}

void Simulation::drain() {
  report_.faults.add(Fault::drain);
  trace_.say(now(), "the node drains");
  Node& node = site_.node();
  node.begin_drain();
  const BootTime end = boot() + random_.between(Duration(1s), Duration(40s));
  const auto step = [&] {
    for (int i = 0; i < 100 && !crash_now_ && !judge_.findings().any(); ++i) {
      site_.runner().run_due();
      const Duration sleep = node.step();
      ++report_.steps;
      const auto next = site_.runner().next_at();
      if (sleep > Duration(0) && (!next || *next > boot())) return sleep;
    }
    return Duration(10ms);
  };
  while (boot() < end && !node.is_idle() && !crash_now_ && !judge_.findings().any()) {
    BootTime next = std::min(end, boot() + std::max(step(), Duration(1)));
    if (const auto at = site_.runner().next_at()) next = std::min(next, std::max(*at, boot() + Duration(1)));
    clock_.advance(next - boot());
  }
  node.release_all();
  for (int i = 0; i < 20 && !node.is_idle() && !crash_now_ && !judge_.findings().any(); ++i) {
    clock_.advance(std::max(step(), Duration(1)));
  }
  if (judge_.findings().any()) return;
  if (crash_now_) return crash(false);
  // Whatever ran was put back, and used no attempt. (semantics: Shutdown)
  if (node.is_idle() && !failed_) {
    for (const auto& [id, job] : judge_.model().live) {
      judge_.findings().expect(!job.lease, 5, "job {} is leased after a drain", Shown{id});
    }
  }
  end_node();
  site_.crash();
  node_starts_ = boot() + random_.between(Duration(1s), Duration(2min));
}

void Simulation::jump() {
  report_.faults.add(Fault::clock_jump);
  static constexpr auto kJumps = std::to_array<Duration>({1h, -1h, 24h, -24h, 90s, -90s});
  const Duration by = random_.pick(kJumps);
  trace_.say(now(), "the wall clock jumps by {} s", std::chrono::duration_cast<std::chrono::seconds>(by).count());
  judge_.rules().clock_is_set(now(), by);
  clock_.step(by);
  judge_.clock_was_set();
  node_wakes_ = boot();
}

}  // namespace carillon::sim
