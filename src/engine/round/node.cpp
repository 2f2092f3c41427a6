#include "engine/round/node.h"

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/mutant.h"
#include "engine/attempts/node_port.h"

namespace carillon {

namespace {

constexpr Duration kRetryFirst = std::chrono::milliseconds(10);
constexpr Duration kRetryMax = std::chrono::seconds(1);

void keep_shorter(Duration& sleep, Duration until) { sleep = std::clamp(until, Duration::zero(), sleep); }

}  // namespace

Node::Node(Store& store, const StoreClock& clock, Options options)
    : NodeParts(store, clock, std::move(options)), port_(std::make_shared<NodePort>(*this, clock)) {
  mutant_node_begins();
}

Node::~Node() {
  inbox_.close();
  port_->close();
  for (const PullCallPtr& call : attempts_.desk().take_all(dispatcher_)) {
    if (call->begin_answer()) call->done(failed(ErrorCode::unavailable, "the engine has ended"));
  }
}

std::shared_ptr<Port> Node::port() { return port_; }

// ---- A round ----------------------------------------------------------------------------------------------------

Round Node::begin_round() const {
  return {.now = store_.jobs().now(), .boot = clock_.boot(), .listening = telling_.has_listeners()};
}

Result<void> Node::commit(Round& round, const std::function<Result<void>()>& body) {
  CHECK(!in_round_);
  in_round_ = true;
  Result<void> written;
  Result<void> committed = store_.atomically([&] {
    // Not before the transaction's own time, which may have had to wait for the store: what is due to it is due to us.
    round.now = store_.jobs().now();
    written = body();
    round.left = store_.jobs().take_left_queue();
  });
  in_round_ = false;
  if (!committed || !written) {
    commits_.note_failed(committed ? written.error() : committed.error(), clock_.boot());
    const Error& error = commits_.error();
    Round failed{.now = round.now, .listening = round.listening};
    failed.tell(StoreFailed{.code = error.code, .message = error.message, .in_a_row = commits_.failures_in_a_row()});
    telling_.tell(failed);
  } else if (const auto recovered = commits_.note_committed(clock_.boot())) {
    round.tell(StoreRecovered{.failures = recovered->failures, .after = recovered->after});
  }
  if (!committed) {
    // Its claims may be stored all the same, if only the answer was lost.
    std::vector<ReadySet::Pick> picked = claims_.picks();
    pulls_.add_picks(picked);
    queue_.commit_failed(round, picked);
    for (const auto& take_back : round.on_failure | std::views::reverse) take_back();
    // What did not happen is neither told nor counted (invariant 34).
    round.events.clear();
    round.counts = {};
    return std::unexpected(commits_.error());
  }
  queue_.follow(round);
  for (const auto& follow : round.on_commit) follow();
  planner_.committed(round);
  return {};
}

bool Node::has_work(const Round& round) const {
  return std::ranges::any_of(parts_, [&](const Part* part) { return part->has_work(round); });
}

Result<void> Node::write(Round& round) {
  if (queue_.is_full_of_doubts()) {
    TRY(recovery_.write(round));
    return queue_.add_ready(round);
  }
  for (Part* part : parts_) TRY(part->write(round));
  return {};
}

Duration Node::step() {
  driver_ = std::this_thread::get_id();
  stepping_ = true;
  Round round = begin_round();
  for (Part* part : parts_) part->collect(round);
  if (has_work(round)) {
    const Result<void> committed = commit(round, [&] { return write(round); });
    commits_.note_took(clock_.boot() - round.boot);
    for (Part* part : parts_) part->committed(round, committed);
  }
  for (Part* part : parts_) part->over(round);
  telling_.tell(round);
  stepping_ = false;
  pulls_.notice(round);
  return sleep_after(store_.jobs().now(), clock_.boot());
}

// ---- Until the next one -----------------------------------------------------------------------------------------

Wake Node::ask_parts(Wake wake) {
  for (Part* part : parts_) part->next_at(wake);
  return wake;
}

Duration Node::sleep_after(Instant now, BootTime boot) {
  if (const std::uint32_t failures = commits_.failures_in_a_row(); failures > 0) {
    return std::min(kRetryMax, kRetryFirst * (1U << std::min(failures - 1, 10U)));
  }
  const Wake wake = ask_parts({.now = now, .boot = boot});
  if (wake.at_once) return {};
  Duration sleep = upkeep_.tick();
  if (wake.at) keep_shorter(sleep, *wake.at <= now ? Duration::zero() : clock_.until(*wake.at));
  if (wake.timer) keep_shorter(sleep, *wake.timer - boot);
  return sleep;
}

bool Node::is_settled(Duration sleep) const {
  return sleep > Duration::zero() && loader_.is_done() && commits_.failures_in_a_row() == 0 && is_idle() &&
         !background_.is_pruning();
}

std::optional<BootTime> Node::next_timer() {
  return ask_parts({.now = store_.jobs().now(), .boot = clock_.boot(), .of_settled = true}).timer;
}

Result<std::optional<Instant>> Node::next_due(Instant now) {
  Wake wake{.now = now, .boot = clock_.boot(), .of_settled = true};
  Result<void> asked;
  TRY(store_.atomically([&] {
    asked = [&]() -> Result<void> {
      TRY_ASSIGN(const auto deadline, store_.jobs().next_deadline());
      TRY_ASSIGN(const auto later, store_.jobs().next_later(loader_.horizon()));
      wake.by(deadline);
      wake.by(later);
      return {};
    }();
  }));
  TRY(asked);
  return ask_parts(wake).at;
}

std::optional<Duration> Node::since_commit() const {
  const auto at = commits_.last_at();
  return at ? std::optional<Duration>(clock_.boot() - *at) : std::nullopt;
}

EngineConfig Node::config() const {
  EngineConfig config = rules_.config_now();
  const JobDefaults defaults = rules_.job_defaults();
  if (!config.check_interval) config.check_interval = options_.tick;
  if (!config.timezone) config.timezone = Zone::utc().name();
  if (!config.default_retry_max_attempts) config.default_retry_max_attempts = defaults.max_attempts;
  if (!config.retention) config.retention = options_.retention;
  return config;
}

// ---- Calls ------------------------------------------------------------------------------------------------------

void Node::perform(Call call) {
  if (options_.threaded && driver_.load() != std::this_thread::get_id()) {
    inbox_.put(std::move(call));
    return;
  }
  perform_here(call);
}

void Node::send(Call call) {
  if (options_.threaded || stepping_ || options_.posts_wait) {
    inbox_.put(std::move(call));
  } else {
    perform_here(call);
  }
}

void Node::perform_here(const Call& call) {
  while (!readiness_.knows_rules()) {
    step();
    if (commits_.failures_in_a_row() > 0) {
      call.finish(std::unexpected(commits_.error()));
      return;
    }
  }
  Round round = begin_round();
  const Result<void> committed = commit(round, [&]() -> Result<void> {
    call.run(round);
    return outcomes_.write(round);
  });
  const bool answers_well = committed || mutant(Mutant::answer_before_commit);
  call.finish(answers_well ? Result<void>() : committed);
  telling_.tell(round);
  bell_->ring();
}

// ---- The end ----------------------------------------------------------------------------------------------------

void Node::open() {
  readiness_.open();
  attempts_.desk().look_again();
}

void Node::begin_drain() {
  readiness_.begin_drain();
  attempts_.take_back([](const Run&) { return true; });
}

}  // namespace carillon
