#include "sim/simulation.h"

#include <algorithm>
#include <array>

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeldRead = 20;  // jobs that gates held, after each audit
constexpr int kRoundsMax = 20'000;     // at one instant: more is a loop without an end
constexpr Duration kAuditEvery = 4min;
constexpr Duration kScanEvery = 8h;

// Around the changes of clocks, and some days far from them.
constexpr auto kBegins =
    std::to_array<const char*>({"2026-03-27T12:00:00Z", "2026-10-23T21:30:00Z", "2026-03-06T09:00:00Z",
                                "2026-10-30T12:00:00Z", "2026-06-10T03:17:00Z", "2026-12-30T18:00:00Z"});

Instant begin_of(std::uint64_t seed) {
  Random random(seed ^ 0xBE617ULL);
  return parse_instant(random.pick(kBegins)).value();
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : options_(options),
      random_(options.seed),
      commit_random_(random_.fork()),
      handler_random_(random_.fork()),
      power_random_(random_.fork()),
      manual_(begin_of(options.seed)),
      clock_(manual_.parts()),
      trace_(options.verbose),
      judge_(specs_, clock_, trace_),
      sink_(judge_.findings()),
      world_(specs_, random_.fork()),
      site_(options.store, options.seed, clock_, *this) {
  const auto maybe = [&](int percent, Duration low, Duration high) {
    const Duration every = random_.between(low, high);
    return random_.percent(percent) ? every : Duration(0);
  };
  plagues_.crash_every = maybe(60, 2h, 14h);
  plagues_.pause_every = maybe(40, 2h, 14h);
  plagues_.commit_every = maybe(60, 10min, 4h);
  plagues_.jump_every = maybe(35, 5h, 30h);
  plagues_.drain_every = maybe(40, 4h, 20h);
  habits_.failed = random_.between(10, 200);
  habits_.never = random_.percent(30) ? 4 : 0;
  habits_.slow_start = random_.between(0, 100);
  habits_.quick = random_.between(0, 500);
  node_options_ = {.max_concurrency = static_cast<std::uint32_t>(random_.between(2, 12)),
                   .tick = std::chrono::seconds(random_.percent(3) ? 1 : random_.between(10, 60)),
                   .retention = std::chrono::hours(random_.between(12, 72)),
                   .prune_every = 3h,
                   .threaded = false,
                   .posts_wait = true};
}

// ---- Commits ------------------------------------------------------------------------------------------------------

CommitFate Simulation::fate(const std::vector<Op>& ops) {
  if (calm_) return CommitFate::good;
  CommitFate fate = CommitFate::good;
  const auto plans = [](const Op& op) {
    const auto* const inserted = std::get_if<JobInserted>(&op);
    return inserted && inserted->row.slot;
  };
  const auto runs_ahead = [](const Op& op) {
    const auto* const leased = std::get_if<LeaseInserted>(&op);
    return leased && leased->row.ahead;
  };
  if (next_fate_ && !ops.empty() && (!at_planning_ || std::ranges::any_of(ops, plans)) &&
      (!at_claims_ahead_ || std::ranges::any_of(ops, runs_ahead))) {
    fate = *std::exchange(next_fate_, std::nullopt);
    crash_now_ = true;
    report_.faults.add(Fault::crash_at_commit);
  } else if (bad_commits_ > 0) {
    --bad_commits_;
    if (commit_random_.percent(70)) fate = bad_fate_;
  }
  switch (fate) {
    case CommitFate::good: break;
    case CommitFate::refused: report_.faults.add(Fault::refused_commit); break;
    case CommitFate::full: report_.faults.add(Fault::disk_full); break;
    case CommitFate::answer_lost: report_.faults.add(Fault::lost_answer); break;
  }
  failed_ = fate != CommitFate::good;
  trace_.add(static_cast<std::uint64_t>(fate));
  if (failed_) trace_.say(now(), "commit goes wrong: {}", static_cast<int>(fate));
  return fate;
}

void Simulation::committed(const std::vector<Op>& ops, bool answered) {
  for (const Op& op : ops) {
    if (std::holds_alternative<JobInserted>(op)) ++report_.jobs;
    if (std::holds_alternative<LeaseInserted>(op)) ++report_.starts;
  }
  judge_.committed(ops, answered);
}

void Simulation::unknown(const std::vector<Op>& ops, const Error& error) {
  failed_ = true;
  crash_now_ = true;
  unknown_ = ops;
  judge_.findings().expect(!site_.has_power(), 4, "a commit failed though nothing was broken: {}", error.message);
}

// ---- Time ---------------------------------------------------------------------------------------------------------

Judge::RoundState Simulation::round_state() {
  Node& node = site_.node();
  std::map<std::string, std::size_t> due{{"", node.due_count(now())}};
  for (const auto& [id, lane] : judge_.model().lanes) due[lane.tenant] = node.due_count(now(), lane.tenant);
  return {.is_loaded = site_.node().is_loaded(),
          .may_start = true,
          .failed = failed_,
          .runs = site_.node().runs().size(),
          .slots = node_options_.max_concurrency,
          .entries = site_.node().dispatcher().ready().size(),
          .tick = node_options_.tick,
          .due = std::move(due)};
}

void Simulation::start_node() {
  judge_.node_begins(node_options_.max_concurrency);
  site_.start(node_options_, {.judge = &judge_,
                              .specs = &specs_,
                              .sink = &sink_,
                              .clock = &clock_,
                              .random = &handler_random_,
                              .habits = &habits_});
  failed_ = false;
  trace_.say(now(), "node begins");
  judge_.compare_rows(site_.backend(), site_.node().store().reader());
}

void Simulation::end_node() {
  if (!site_.is_up()) return;
  judge_.compare(site_.node().counters());
  judge_.node_ends();
}

void Simulation::run_node() {
  if (boot() < node_starts_) {
    if (handlers_go_on_ && site_.is_up()) site_.runner().run_due();
    return;
  }
  if (!site_.is_up()) start_node();
  handlers_go_on_ = false;
  site_.runner().set_alone(false);
  for (int i = 0; !judge_.findings().any(); ++i) {
    if (i == kRoundsMax) return judge_.findings().add(7, "the node does not come to rest");
    site_.runner().run_due();
    const Duration sleep = crash_now_ ? Duration(0) : site_.node().step();
    ++report_.steps;
    if (crash_now_) return crash(false);
    node_wakes_ = boot() + sleep;
    const auto next = site_.runner().next_at();
    if (sleep > Duration(0) && (!next || *next > boot())) break;
  }
  if (!judge_.findings().any()) judge_.round_over(round_state());
}

BootTime Simulation::next_event(BootTime end) const {
  BootTime next = std::min({end, next_audit_, next_scan_});
  if (!calm_) next = std::min({next, next_arrival_, next_operation_, next_fault_});
  if (!calm_ && aim_) next = std::min(next, aim_->at);
  if (boot() < node_starts_) return std::min(next, node_starts_);
  next = std::min(next, node_wakes_);
  return next;
}

void Simulation::run_until(BootTime end) {
  while (boot() < end && !judge_.findings().any()) {
    BootTime next = next_event(end);
    if (site_.is_up() && (boot() >= node_starts_ || handlers_go_on_)) {
      if (const auto at = site_.runner().next_at()) next = std::min(next, *at);
    }
    next = std::max(next, boot());
    clock_.advance(next - boot());
    if (!calm_ && boot() >= next_fault_) next_fault();
    const bool reachable = boot() >= node_starts_ && site_.is_up();
    if (!calm_ && boot() >= next_arrival_) {
      next_arrival_ = boot() + random_.around(plagues_.arrival_every);
      if (reachable) arrive();
    }
    if (crash_now_) crash(false);
    if (!calm_ && boot() >= next_operation_) {
      next_operation_ = boot() + random_.around(plagues_.operation_every);
      if (site_.is_up() && boot() >= node_starts_) operate();
    }
    if (crash_now_) crash(false);
    if (aim_ && boot() >= aim_->at) move_at_its_time();
    if (crash_now_) crash(false);
    run_node();
    if (boot() >= next_audit_) {
      next_audit_ = boot() + kAuditEvery;
      if (site_.is_up() && boot() >= node_starts_) {
        judge_.audit(round_state(), node_options_.tick);
        read_held();
      }
    }
    if (boot() >= next_scan_) {
      next_scan_ = boot() + kScanEvery;
      if (site_.is_up()) judge_.compare_rows(site_.backend(), site_.node().store().reader());
    }
  }
}

// What gates have done is shown though nothing was written of it.
void Simulation::read_held() {
  if (failed_ || crash_now_ || !site_.node().is_loaded()) return;
  std::vector<std::pair<JobId, std::string>> some;
  for (const auto& [id, held] : judge_.held_by_gates()) {
    if (some.size() < kHeldRead) some.emplace_back(id, held.tenant);
  }
  for (const auto& [id, tenant] : some) {
    const auto info = site_.client().job(tenant, id);
    judge_.read(id, info, site_.client().explain(tenant, id));
    if (crash_now_) return;
  }
}

void Simulation::set_up() {
  const bool begin_calm = std::exchange(calm_, true);
  run_node();
  // About forty schedules in all.
  const int schedules = random_.between(25, 38);
  for (int i = 0; i < schedules && !judge_.findings().any(); ++i) {
    const std::string name = fmt::format("schedule-{}", ++names_);
    if (i > 4 && random_.percent(12)) {
      put_after();
    } else {
      put(world_.draw_schedule(world_.any_tenant(), name, now()));
    }
  }
  if (!judge_.findings().any()) set_up_subjects();
  for (int i = 0; i < 6; ++i) change_rule(world_.draw_rule(now()));
  calm_ = begin_calm;
  const BootTime start = boot();
  next_arrival_ = start + random_.around(plagues_.arrival_every);
  next_operation_ = start + random_.around(plagues_.operation_every);
  next_fault_ = start + random_.around(1h);
  next_audit_ = start + kAuditEvery;
  next_scan_ = start + kScanEvery;
}

SimulationReport Simulation::run() {
  const BootTime start = boot();
  set_up();
  run_until(boot() + std::chrono::hours(24) * options_.days);
  if (!judge_.findings().any()) settle();
  if (!judge_.findings().any()) end_node();
  if (options_.verbose && site_.is_up()) {
    const Node& node = site_.node();
    fmt::print("ready {}, later {}, runs {}, busy {}, up since {}\n", node.dispatcher().ready().size(),
               node.dispatcher().waiting(), node.runs().size(), site_.runner().busy(), node.is_loaded());
  }
  report_.days = std::chrono::duration<double>(boot() - start).count() / 86'400;
  report_.hash = trace_.hash();
  report_.violation = judge_.findings().first();
  report_.at = now();
  return report_;
}

// Faults stop, everything is opened: all must come to rest.
void Simulation::settle() {
  calm_ = true;
  bad_commits_ = 0;
  next_fate_.reset();
  node_starts_ = boot();
  trace_.say(now(), "all is calm");
  run_node();
  if (judge_.findings().any()) return;
  for (const RulePut& put : world_.all_open()) change_rule(put);
  for (const ScheduleRow* row : judge_.slots().rows()) {
    if (!row->deleted_at) [[maybe_unused]]
      const auto unheard = site_.client().resume(row->tenant, row->name);
  }
  habits_ = {.failed = 10, .permanent = 0, .retry_after = 0, .deferred = 0, .rate_limited = 0, .late = 0, .never = 0};
  site_.runner().wake_all();
  run_until(boot() + 4h);
  if (judge_.findings().any()) return;
  for (const ScheduleRow* row : judge_.slots().rows()) {
    if (row->deleted_at) continue;
    const ScheduleRow kept = *row;
    [[maybe_unused]] const auto unheard = site_.client().delete_schedule(kept.tenant, kept.name);
  }
  // However far the clock was set back, what waits for its time is waited for.
  BootTime end = boot() + 36h;
  for (const auto& [id, job] : judge_.model().live) end = std::max(end, boot() + (job.row.run_at - now()) + 36h);
  while (boot() < end && !judge_.is_settled() && !judge_.findings().any()) run_until(boot() + 1h);
  if (judge_.findings().any()) return;
  judge_.findings().expect(judge_.is_settled(), 5, "all was calm for 36 h, and {}", judge_.what_is_left());
  judge_.compare_rows(site_.backend(), site_.node().store().reader());
}

}  // namespace carillon::sim
