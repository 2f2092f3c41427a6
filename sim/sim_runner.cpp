#include "sim/sim_runner.h"

#include "engine/attempts/execution.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

}  // namespace

SimRunner::~SimRunner() {
  if (slots_) slots_->leave(number_);
}

void SimRunner::connect(Node& node) {
  port_ = node.port();
  finished_ = node.finished();
  slots_ = node.slots();
  number_ = slots_->join([this](NodeSlots::Slot slot) { return offer(std::move(slot)); });
}

void SimRunner::start(RunPtr run) {
  parts_.judge->given(*run);
  waiting_.push_back(std::move(run));
  admit();
}

void SimRunner::admit() {
  while (!waiting_.empty()) {
    auto slot = slots_->take(number_);
    if (!slot) return;
    go(*std::move(slot));
  }
}

// The next of those that wait.
void SimRunner::go(NodeSlots::Slot slot) {
  const std::size_t number = ++next_going_;
  Going& going = going_[number];
  going.run = std::move(waiting_.front());
  waiting_.pop_front();
  going.slot.emplace(std::move(slot));
  going.spec = parts_.specs->job(going.run->job.payload, going.run->job.slot.has_value());
  add(Step::begin, number, draw_wait(going));
}

bool SimRunner::offer(NodeSlots::Slot slot) {
  if (waiting_.empty()) return false;
  go(std::move(slot));
  return !waiting_.empty();
}

void SimRunner::gone(std::size_t number) {
  going_.erase(number);
  admit();
}

// How long it takes from its slot to its start. Now and then that is just after the quiet hours of the job began.
Duration SimRunner::draw_wait(const Going& going) const {
  Random& random = *parts_.random;
  if (going.spec->notifies) {
    const auto quiet = parts_.judge->rules().until_quiet(going.spec->tenant, parts_.clock->wall());
    if (quiet && *quiet < 10min && random.percent(50)) return *quiet + random.between(Duration(0), Duration(30s));
  }
  const Duration most = random.percent(10) ? Duration(90s) : Duration(4s);
  return random.permille(parts_.habits->slow_start) ? random.between(Duration(50ms), most) : Duration(0);
}

void SimRunner::add(Step step, std::size_t going, Duration after) {
  events_.push({.at = parts_.clock->boot() + after, .sequence = ++sequence_, .step = step, .going = going});
}

std::optional<BootTime> SimRunner::next_at() const {
  return events_.empty() ? std::nullopt : std::optional(events_.top().at);
}

bool SimRunner::run_due() {
  bool any = false;
  while (!events_.empty() && events_.top().at <= parts_.clock->boot()) {
    const Event event = events_.top();
    events_.pop();
    any = true;
    switch (event.step) {
      case Step::begin: begin(event.going); break;
      case Step::effect: effect(event.going); break;
      case Step::finish: finish(event.going); break;
    }
  }
  return any;
}

void SimRunner::wake_all() {
  for (auto& [number, going] : going_) {
    if (going.hangs) add(Step::finish, number, 0s);
    going.hangs = false;
  }
}

void SimRunner::begin(std::size_t number) {
  Going& going = going_.at(number);
  NodeSlots::Slot slot = *std::move(going.slot);
  going.slot.reset();
  const bool begins = going.run->begin(std::move(slot));
  auto refused = begins ? refuse_to_start(going.run, *port_) : std::nullopt;
  if (!begins || refused) {
    if (refused) {
      parts_.judge->said(*refused);
      finished_->put(*std::move(refused));
    }
    return gone(number);
  }
  parts_.judge->started(*going.run);
  draw(going, number);
}

Duration SimRunner::draw_duration(const Going& going) const {
  const JobSpec& spec = *going.spec;
  Random& random = *parts_.random;
  Duration takes = random.between(Duration(20ms), Duration(4s));
  const auto kind = random.below(100);
  if (kind < 20) takes = random.between(Duration(4s), Duration(40s));
  if (kind < 4) takes = random.between(Duration(40s), Duration(4min));
  if (spec.at_most > Duration(0) && kind < 10) takes = random.between(Duration(1s), spec.at_most);
  if (random.permille(parts_.habits->quick)) takes = random.between(Duration(0), Duration(8ms));
  takes = std::min(takes, spec.timeout * 9 / 10);
  // The last moments before a cutoff, its very instant, and the first ones after it are where mistakes are.
  if (!going.run->job.deadline) return takes;
  const Duration left = *going.run->job.deadline - parts_.clock->wall();
  if (left > Duration(5s) && left < spec.timeout && random.percent(30)) {
    // At the very instant it is too late already.
    takes = random.percent(20) ? left : left + random.between(Duration(-2s), Duration(8s));
  }
  return takes;
}

void SimRunner::draw(Going& going, std::size_t number) {
  Random& random = *parts_.random;
  const Habits& habits = *parts_.habits;
  const JobSpec& spec = *going.spec;
  going.outcome = draw_outcome(going);
  Duration takes = draw_duration(going);
  if (random.permille(habits.effect)) add(Step::effect, number, takes / 2);
  if (random.permille(habits.late)) {
    takes = random.between(spec.timeout, std::min<Duration>(3 * spec.timeout, spec.timeout + 10min));
  }
  if (random.permille(habits.never)) {
    // While one hangs its node looks for lost leases every second: most come back after a while, or days would pass
    // slowly.
    going.hangs = random.percent(20);
    if (going.hangs) return;
    takes = spec.timeout + random.between(Duration(10min), Duration(90min));
  }
  add(Step::finish, number, takes);
}

// What a check has found out about its subject.
Outcome SimRunner::learnt(Outcome outcome, const JobSpec& spec) const {
  if (!spec.learns) return outcome;
  Random& random = *parts_.random;
  if (random.percent(25)) {
    outcome.expected_at =
        std::chrono::floor<std::chrono::seconds>(parts_.clock->wall()) + random.between(Duration(-2h), Duration(40h));
  }
  if (random.percent(60)) outcome.status = random.percent(20) ? "available" : "pending";
  return outcome;
}

Outcome SimRunner::draw_outcome(const Going& going) const {
  Random& random = *parts_.random;
  const Habits& habits = *parts_.habits;
  const JobSpec& spec = *going.spec;
  if (spec.failures > 0 && random.percent(spec.failures)) return learnt(fail("not this time", "req"), spec);
  if (random.permille(habits.failed)) return fail("it did not work", "req");
  if (random.permille(habits.permanent)) return permanent("it never will");
  if (random.permille(habits.retry_after)) return retry_after(random.between(Duration(1s), Duration(20min)));
  if (random.permille(habits.deferred)) return defer(in(random.between(Duration(1s), Duration(30min))), "not now");
  if (!spec.limits.empty() && random.permille(habits.rate_limited)) {
    return rate_limited(random.percent(50) ? spec.limits.back() : "",
                        in(random.between(Duration(1s), Duration(10min))));
  }
  if (random.permille(habits.skipped)) return skipped("nothing to do");
  Outcome outcome = learnt(random.percent(10) ? done("{\"sent\":1}") : done(), spec);
  if (random.permille(habits.follow_up)) {
    const int count = random.between(1, 2);
    for (int i = 0; i < count; ++i) {
      JobSpec& follow_up = parts_.specs->add_job();
      follow_up.tenant = spec.tenant;
      follow_up.queue = spec.queue;
      follow_up.type = "after." + spec.type;
      follow_up.follows = going.run->job.id;
      parts_.specs->index(follow_up);
      JobRequest request{.type = follow_up.type, .queue = follow_up.queue, .payload = follow_up.payload};
      if (random.percent(50)) request.run_at = in(random.between(Duration(1s), Duration(1h)));
      outcome.follow_ups.push_back(std::move(request));
    }
  }
  return outcome;
}

void SimRunner::effect(std::size_t number) {
  Going& going = going_.at(number);
  if (alone_ || going.run->stop_requested || port_->boot() >= going.run->lease_until.load()) return;
  const std::string key = "effect-" + format_job_id(going.run->job.id);
  const auto claim = port_->claim_effect(*going.run, key);
  if (!claim) {
    parts_.sink->may_be_begun(key);
    going.outcome = fail(claim.error().message, "exception");
    return;
  }
  parts_.sink->check(key, *claim);
  if (claim->kind == EffectClaim::Kind::done) return;
  if (claim->kind == EffectClaim::Kind::unknown && going.spec->on_ambiguous == OnAmbiguous::hold) {
    parts_.sink->hold(key);
    going.how = Finished::How::held;
    going.outcome = fail("nobody knows", "ambiguous_effect");
    return;
  }
  if (parts_.random->percent(5)) {
    // It threw: it did not happen.
    [[maybe_unused]] const auto unheard = port_->effect_undone(*going.run, key);
    going.outcome = fail("the effect threw", "exception");
    return;
  }
  parts_.sink->happen(key);
  if (!port_->effect_done(*going.run, key)) going.outcome = fail("the effect could not be recorded", "exception");
}

void SimRunner::finish(std::size_t number) {
  const auto found = going_.find(number);
  if (found == going_.end()) return;
  Finished finished{.run = found->second.run, .how = found->second.how, .outcome = std::move(found->second.outcome)};
  parts_.judge->said(finished);
  finished_->put(std::move(finished));
  gone(number);
}

}  // namespace carillon::sim
