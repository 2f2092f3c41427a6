#include "engine/round/node.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "base/mutant.h"
#include "core/schedules/schedule.h"
#include "engine/attempts/node_port.h"
#include "engine/attempts/settlement.h"
#include "store/local_minute.h"

namespace carillon {

namespace {

constexpr std::size_t kCallsMax = 1000;  // in one round
constexpr std::size_t kAnnouncedMax = 1000;
constexpr std::size_t kDoubtsMax = 100'000;
constexpr Duration kRetryFirst = std::chrono::milliseconds(10);
constexpr Duration kRetryMax = std::chrono::seconds(1);
// Jobs due within this are held in memory even if the loader has not come so far: more than what makes a job far-off
// for the store (10 minutes), whose clock is a little ahead of the round's.
constexpr Duration kAhead = std::chrono::minutes(11);

void keep_shorter(Duration& sleep, Duration until) { sleep = std::clamp(until, Duration::zero(), sleep); }

}  // namespace

Node::Node(Store& store, const StoreClock& clock, Options options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      bell_(std::make_shared<Bell>()),
      finished_(std::make_shared<FinishedQueue>(bell_)),
      slots_(std::make_shared<Slots>(options_.max_concurrency)),
      port_(std::make_shared<NodePort>(*this, clock)),
      inbox_(*bell_),
      rules_(options_.rules),
      dispatcher_(store.jobs()),
      planner_(store, rules_, [this](Round& round, JobId job) { ask_to_stop(round, job); }),
      bulk_(
          store, [this](Round& round, JobId job) { ask_to_stop(round, job); },
          [this](Round& round, const BulkState& state, std::size_t most) {
            return planner_.backfill(round, state, most);
          }),
      imports_(store, planner_),
      erasure_(store, planner_,
               {.document_erased = [this](Round& round,
                                          const DocumentKey& key) { apply_document(round, key, std::nullopt); },
                .ask_to_stop = [this](Round& round, JobId job) { ask_to_stop(round, job); },
                .erased =
                    [this](const std::string& tenant) {
                      dispatcher_.ready().forget_tenant(tenant, store_.jobs().now());
                      if (tenant_erased_) tenant_erased_(tenant);
                    }}),
      loader_(store, dispatcher_, planner_, rules_, bulk_, imports_, erasure_),
      pruner_(store, clock, options_.prune_every),
      sweeper_(store, planner_) {
  mutant_node_begins();
}

Node::~Node() {
  inbox_.close();
  port_->close();
  for (const PullCallPtr& call : desk_.take_all(dispatcher_)) {
    if (call->begin_answer()) call->done(failed(ErrorCode::unavailable, "the engine has ended"));
  }
}

std::shared_ptr<Port> Node::port() { return port_; }

Round Node::begin_round() const {
  return {.now = store_.jobs().now(), .boot = clock_.boot(), .listening = !listeners_.empty()};
}

bool Node::commit(Round& round, const std::function<Result<void>()>& body) {
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
    const Error& error = committed ? written.error() : committed.error();
    if (failures_++ == 0) failing_since_ = clock_.boot();
    commit_error_ = error;
    Round failed{.now = round.now, .listening = round.listening};
    failed.tell(StoreFailed{.code = error.code, .message = error.message, .in_a_row = failures_});
    tell(failed);
  } else {
    committed_at_ = clock_.boot();
    if (failures_ > 0) round.tell(StoreRecovered{.failures = failures_, .after = clock_.boot() - failing_since_});
    failures_ = 0;
  }
  if (!committed) {
    // Its claims may be stored all the same, if only the answer was lost.
    recover_ = true;
    doubt(round);
    // What did not happen is neither told nor counted (invariant 34).
    round.events.clear();
    round.counts = {};
    return false;
  }
  follow_queue(round);
  for (const auto& follow : round.on_commit) follow();
  planner_.committed(round);
  return true;
}

// ---- A round ----------------------------------------------------------------------------------------------------

Duration Node::step() {
  driver_ = std::this_thread::get_id();
  stepping_ = true;
  Round round = begin_round();
  // Calls wait for the rules, by which they are judged; but not for a store that does not answer.
  if (knows_rules() || failures_ > 0) calls_ = inbox_.take(kCallsMax);
  take_finished(round);
  runs_.look_for_begun(options_.max_concurrency);
  collect_due(round);
  dispatcher_.advance_to(round.now);
  open_gates(round);
  freed_ = false;
  pick(round);
  desk_.notice(dispatcher_, round.now);
  if (has_work(round)) {
    claimed_.reset();
    const bool committed = commit(round, [&] { return write(round); });
    commit_took_ = clock_.boot() - round.boot;
    if (committed) {
      start(round);
      start_pulls(round);
      if (round.is_tick) tell_levels(round);
    } else {
      for (const ReadySet::Pick& pick : picks_) dispatcher_.ready().put_back(pick, round.now);
      for (const Serving& serving : std::exchange(serving_, {})) put_back(serving, round.now);
      if (mutant(Mutant::settlements_forgotten)) settling_.clear();
    }
    picks_.clear();
    finish_calls(committed ? Result<void>() : Result<void>(std::unexpected(commit_error_)));
  }
  answer_pulls(round.boot);
  tell(round);
  stepping_ = false;
  desk_.notice(dispatcher_, round.now);
  return sleep_after(store_.jobs().now(), clock_.boot());
}

void Node::finish_calls(const Result<void>& committed) {
  for (const Call& call : std::exchange(calls_, {})) call.finish(committed);
}

// Not before it is open: who is to be told of the end may not be there yet.
bool Node::may_erase(BootTime boot) const {
  if (!dispatching_ || !loader_.is_done()) return false;
  const auto at = erasure_.next_at();
  return at && *at <= boot;
}

bool Node::has_work(const Round& round) const {
  const auto due = [&](std::optional<Instant> at) { return at && *at <= round.now; };
  const auto bulk_at = bulk_.next_at();
  const auto import_at = imports_.next_at();
  return !calls_.empty() || !settling_.empty() || !due_.beats.empty() || !picks_.empty() || !runs_.begun().empty() ||
         !loader_.is_done() || round.boot >= next_tick_ || due(planner_.next_due()) || planner_.has_background() ||
         pruner_.is_due(round.now, round.boot) || sweeper_.is_due(round.boot) || (bulk_at && *bulk_at <= round.boot) ||
         (import_at && *import_at <= round.boot) || may_erase(round.boot) || recover_ || !planner_.released().empty() ||
         desk_.has_to_look() || !gates_to_write_.empty();
}

Result<void> Node::write(Round& round) {
  // Nothing is added to so many: who calls is told to try again.
  if (recover_ && doubts_.size() >= kDoubtsMax) {
    TRY(recover_leases(round));
    TRY(settle_doubts(round));
    return add_ready(round);
  }
  // What people ask comes first: it must have its answer, by rules that are known. Settles come before deadlines
  // (invariant 23).
  TRY(planner_.look_up_open_days(round));
  if (!loader_.has_rules()) TRY(loader_.step(round));
  if (loader_.has_rules() && !adopted_) TRY(adopt_leases(round));
  TRY(write_gates(round));
  for (const Call& call : calls_) call.run(round);
  TRY(write_settlements(round));
  TRY(write_begun(round));
  TRY(write_heartbeats(round));
  if (recover_) {
    TRY(recover_leases(round));
    TRY(settle_doubts(round));
  }
  if (round.boot >= next_tick_) TRY(keep_up(round));
  if (loader_.has_rules()) TRY(plan(round));
  if (const auto at = bulk_.next_at(); at && *at <= round.boot) TRY(bulk_.step(round));
  if (const auto at = imports_.next_at(); at && *at <= round.boot) TRY(imports_.look_after(round));
  if (may_erase(round.boot)) TRY(erasure_.step(round));
  if (loader_.is_done() && pruner_.is_due(round.now, round.boot)) {
    TRY(pruner_.step(round, rules_.retention(options_.retention)));
  }
  if (loader_.is_done()) {
    sweeper_.begin(round.boot);
    if (sweeper_.is_due(round.boot)) {
      TRY(planner_.follow(round));  // what this very round has closed is no fault that it finds
      TRY(sweeper_.step(round));
    }
  }
  // After all that makes jobs: a page that it reads holds those too, so that none falls between the two. It steps over
  // those that stand in memory by then.
  if (loader_.has_rules() && !loader_.is_done()) {
    TRY(add_ready(round));
    TRY(loader_.step(round));
  }
  TRY(planner_.follow(round));
  TRY(add_ready(round));
  TRY(claim(round));
  TRY(lease_pulls(round));
  // A claim ends what is past its deadline.
  TRY(planner_.follow(round));
  TRY(add_ready(round));
  tell_ended(round);
  tell_tick(round);
  return {};
}

void Node::tell_tick(Round& round) const {
  TickStopped& tick = round.tick;
  tick.eligible_in_window = planner_.open_days(round);
  if (round.is_tick || tick.users_scanned > 0 || tick.enqueued > 0 || tick.cutoff_finalized > 0) round.tell(tick);
}

bool Node::is_delivery(const FinalizedSlot& slot) {
  if (!slot.deleted) return planner_.is_delivery(slot.id);
  const auto row = store_.plans().deleted_schedule(slot.id);
  if (!row) return false;
  const auto schedule = parse_schedule(row->definition);
  return schedule && traits_of(*schedule).has_cutoff;
}

void Node::tell_ended(Round& round) {
  for (Changed& job : store_.jobs().ended_along()) {
    round.tell(JobChanged{.job = job.id, .tenant = std::move(job.tenant), .state = job.state});
  }
  tell_deferred(round);
  ScheduleId known;  // many of one schedule stand together
  bool known_is_delivery = false;
  for (FinalizedSlot& slot : store_.plans().finalized()) {
    if (slot.id != known) {
      known = slot.id;
      known_is_delivery = is_delivery(slot);
    }
    const auto count = static_cast<std::uint64_t>(slot.count);
    std::optional<std::uint16_t> due_bucket;
    std::string today;
    if (known_is_delivery) {
      const DayMinute due = day_minute_of(slot.local_minute);
      due_bucket = static_cast<std::uint16_t>(due.minute);
      today = format_date(LocalDays(std::chrono::days(due.day)));
      if (slot.job) --round.open_days[{slot.id, due.day}];
    }
    if (slot.outcome == JobState::cutoff_reached) round.tick.cutoff_finalized += count;
    if (slot.outcome == JobState::missed) {
      round.tell(Missed{.tenant = slot.tenant,
                        .schedule = slot.schedule,
                        .subject = slot.subject,
                        .first = slot.slot,
                        .last = slot.until,
                        .count = count});
    }
    round.tell(Finalized{.job = slot.job,
                         .tenant = std::move(slot.tenant),
                         .schedule = std::move(slot.schedule),
                         .subject = std::move(slot.subject),
                         .slot = slot.slot,
                         .status = slot.outcome,
                         .count = count,
                         .due_bucket = due_bucket,
                         .today = std::move(today)});
  }
}

Instant Node::horizon(Instant now) const { return std::max(loader_.horizon(), add_clamped(now, kAhead)); }

Result<void> Node::add_ready(Round& round) {
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

Duration Node::sleep_after(Instant now, BootTime boot) {
  if ((!loader_.is_done() || !gates_noted_) && failures_ == 0) return {};
  Duration sleep = tick();
  if (failures_ > 0) {
    sleep = std::min(kRetryMax, kRetryFirst * (1U << std::min(failures_ - 1, 10U)));
    return sleep;
  }
  const auto until = [&](std::optional<Instant> at) {
    if (at) keep_shorter(sleep, *at <= now ? Duration::zero() : clock_.until(*at));
  };
  const auto until_boot = [&](std::optional<BootTime> at) {
    if (at) keep_shorter(sleep, *at - boot);
  };
  if (!settling_.empty() || !inbox_.empty() || !planner_.released().empty() || planner_.has_background()) return {};
  if (picked_all_) return {};
  if (pruner_.is_due(now, boot)) return {};
  if (dispatching_ && desk_.has_to_look()) return {};
  if (dispatching_ && freed_ && dispatcher_.ready().size() > 0) return {};
  until_boot(next_tick_);
  until_boot(runs_.next_due());
  until_boot(pruner_.next_step());
  until_boot(sweeper_.next_at());
  until_boot(bulk_.next_at());
  until_boot(imports_.next_at());
  if (dispatching_) until_boot(erasure_.next_at());
  until(dispatcher_.next_due());
  until(planner_.next_due());
  until(rules_.next_change());
  until(desk_.next_look());
  until_boot(desk_.next_end());
  if (starved_) until(dispatcher_.ready().next_opening(now));
  return sleep;
}

bool Node::is_settled(Duration sleep) const {
  return sleep > Duration::zero() && loader_.is_done() && failures_ == 0 && is_idle() && !pruner_.next_step();
}

std::optional<BootTime> Node::next_timer() const {
  std::optional<BootTime> first;
  for (const std::optional<BootTime> at : {runs_.next_due(), pruner_.next_step(), sweeper_.next_at(), bulk_.next_at(),
                                           imports_.next_at(), erasure_.next_at(), desk_.next_end()}) {
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

Result<std::optional<Instant>> Node::next_due(Instant now) {
  std::optional<Instant> first;
  const auto consider = [&](std::optional<Instant> at) {
    if (at && *at > now && (!first || *at < *first)) first = at;
  };
  Result<void> asked;
  TRY(store_.atomically([&] {
    asked = [&]() -> Result<void> {
      TRY_ASSIGN(const auto deadline, store_.jobs().next_deadline());
      TRY_ASSIGN(const auto later, store_.jobs().next_later(loader_.horizon()));
      consider(deadline);
      consider(later);
      return {};
    }();
  }));
  TRY(asked);
  consider(dispatcher_.next_due());
  consider(planner_.next_due());
  consider(rules_.next_change());
  consider(desk_.next_look());
  consider(dispatcher_.ready().next_opening(now));
  return first;
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
  while (!knows_rules()) {
    step();
    if (failures_ > 0) {
      call.finish(std::unexpected(commit_error_));
      return;
    }
  }
  Round round = begin_round();
  const bool committed = commit(round, [&]() -> Result<void> {
    call.run(round);
    TRY(planner_.follow(round));
    TRY(add_ready(round));
    tell_ended(round);
    tell_tick(round);
    return {};
  });
  const bool answers_well = committed || mutant(Mutant::answer_before_commit);
  call.finish(answers_well ? Result<void>() : Result<void>(std::unexpected(commit_error_)));
  tell(round);
  bell_->ring();
}

void Node::ask_to_stop(Round& round, JobId job) {
  round.on_commit.emplace_back([this, job] {
    if (const RunPtr run = runs_.find(job)) run->stop_requested = true;
  });
}

void Node::apply_document(Round& round, const DocumentKey& key, std::optional<std::string> body) {
  round.on_commit.emplace_back([this, key, body = std::move(body), now = round.now] {
    const Zone zone = rules_.zone_of(key.tenant);
    rules_.apply(key, body ? std::optional<std::string_view>(*body) : std::nullopt, dispatcher_.ready(), now);
    slots_->set_most(slot_count());
    if (rules_.zone_of(key.tenant).name() != zone.name()) planner_.zone_changed(key.tenant);
    desk_.room_is_there();
    // Attempts that wait for a slot were claimed by other rules. Gates are looked at when they start.
    const bool is_about_gates = key.kind == kMaintenanceKind || key.kind == kBoundsKind;
    if (is_about_gates || (key.kind == kSettingsKind && !rules_.is_paused(key.tenant))) return;
    take_back([&](const Run& run) { return key.tenant.empty() || run.job.tenant == key.tenant; });
  });
}

// ---- Claims -----------------------------------------------------------------------------------------------------

void Node::pick(const Round& round) {
  picked_all_ = false;
  starved_ = false;
  picked_at_ = round.now;
  if (!dispatching_ || !knows_rules()) return;
  const std::size_t slots = slot_count();
  slots_->set_most(slots);
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
    if (picks_.size() >= options_.claims_max) {
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

Node::Room Node::room_for_claims(const Round& round) {
  // Attempts whose handlers have returned are settled by the commit that claims: they make room in it already.
  const auto returned =
      std::min(runs_.size(), static_cast<std::size_t>(std::ranges::count_if(settling_, [](const Settling& settling) {
                 return settling.thread_is_back && !settling.run->pulled;
               })));
  const std::size_t running = runs_.size() - returned;
  const std::size_t slots = slot_count();
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
std::size_t Node::room_ahead(const Round& round, bool outside, bool all_idle) {
  const auto quick = static_cast<std::size_t>(std::ranges::count_if(
      settling_, [&](const Settling& settling) { return settling.quick && settling.run->outside == outside; }));
  const std::size_t ahead = std::max(runs_.lately_finished(outside, round.boot), all_idle ? 2 * quick : quick);
  const std::size_t most = std::min({ahead, options_.prefetch_max, options_.claims_max});
  return most - std::min(most, runs_.waiting_ahead(outside));
}

std::size_t Node::slot_count() const {
  std::size_t all = options_.max_concurrency;
  if (const auto cap = rules_.config().max_concurrent_jobs) {
    all = *cap - std::min<std::size_t>(*cap, desk_.lease_count());  // workers outside count too
  }
  return std::min<std::size_t>(all, options_.max_concurrency);
}

Result<void> Node::claim(Round& round) {
  // The transaction may have waited for the store since they were picked.
  if (round.now > picked_at_) dispatcher_.ready().claimed_at(picks_, round.now);
  pick(round);
  if (picks_.empty()) return {};
  std::vector<JobId> ids;
  ids.reserve(picks_.size());
  for (const ReadySet::Pick& pick : picks_) ids.push_back(pick.entry.id);
  TRY_ASSIGN(claimed_,
             claim_of(round, {.worker = options_.worker, .in_process = true, .jobs = ids, .slots = free_picks_}));
  return {};
}

Result<Claimed> Node::claim_of(Round& round, const ClaimRequest& request) {
  TRY_ASSIGN(Claimed claimed, store_.jobs().claim(request));
  for (const Changed& one : claimed.overdue) changed(round, one);
  // Picked where it stood before this very round moved it.
  const std::vector<ReadySet::Pick>& picks = request.in_process ? picks_ : serving_.back().picks;
  const auto stands_elsewhere = [&](const ReadyJob& job) {
    if (round.added.empty()) return false;
    const auto pick = std::ranges::find_if(picks, [&](const ReadySet::Pick& one) { return one.entry.id == job.id; });
    return pick != picks.end() && pick->entry != entry_of(job) && round.has_added(job.id);
  };
  for (const HeldJob& held : claimed.held) {
    if (stands_elsewhere(held.job)) continue;
    round.on_commit.emplace_back([this, held] { planner_.hold(held); });
  }
  // The clock was set back, or somebody moved them: they wait again.
  std::erase_if(claimed.last, stands_elsewhere);
  std::erase_if(claimed.early, stands_elsewhere);
  // Memory knew nothing of its attempts: they wait for a slot of their own.
  TRY(dispatcher_.add(claimed.last, horizon(round.now), round.now));
  round.add_read_back(claimed.last);
  if (mutant(Mutant::early_jobs_dropped)) return claimed;
  TRY(dispatcher_.add(claimed.early, horizon(round.now), round.now));
  round.add_read_back(claimed.early);
  return claimed;
}

// The attempt that a claim has made of a pick.
RunPtr Node::picked(Round& round, const ReadySet::Pick& pick, LeasedJob job) {
  auto run = std::make_shared<Run>();
  run->job = std::move(job);
  run->place = pick.place;
  run->notifies = dispatcher_.ready().place(pick.place).notifies;
  run->outside = dispatcher_.ready().waits_outside(pick.place);
  // It was claimed where it stood before somebody moved it: where it stands now is nothing left.
  for (const ReadyJob& moved : round.moved) {
    if (moved.id == pick.entry.id && entry_of(moved) != pick.entry) dispatcher_.left(moved);
  }
  round.tell(JobPicked{.job = run->job.id,
                       .tenant = run->job.tenant,
                       .type = run->job.type,
                       .lateness = std::max(Duration::zero(), round.now - run->job.run_at)});
  return run;
}

void Node::start(Round& round) {
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
    RunPtr run = picked(round, pick, std::move(*found->second));
    leased.erase(found);  // an entry that stood twice
    runs_.add(run, round.boot);
    runner_->start(std::move(run));
  }
}

// ---- Events -----------------------------------------------------------------------------------------------------

void Node::tell(Round& round) {
  {
    const std::scoped_lock lock(counters_mutex_);
    add(counters_, std::exchange(round.counts, {}));
  }
  std::vector<EventBody> events = std::exchange(round.events, {});
  {
    const std::scoped_lock lock(announced_mutex_);
    for (EventBody& body : announced_) events.push_back(std::move(body));
    announced_.clear();
  }
  for (EventBody& body : events) {
    const Event event{.at = round.now, .body = std::move(body)};
    for (const EventListener& listener : listeners_) {
      try {
        listener(event);
      } catch (...) {  // NOLINT(bugprone-empty-catch): who listens must not stop what he listens to
      }
    }
  }
}

void Node::announce(EventBody body) {
  {
    const std::scoped_lock lock(announced_mutex_);
    if (announced_.size() >= kAnnouncedMax) return;
    announced_.push_back(std::move(body));
  }
  bell_->ring();
}

Counters Node::counters() const {
  const std::scoped_lock lock(counters_mutex_);
  return counters_;
}

void Node::tell_levels(Round& round) {
  round.tell(QueueDepth{.depth = due_count(round.now)});
  round.tell(InFlight{.in_flight = static_cast<std::uint32_t>(runs_.running()),
                      .max_concurrency = static_cast<std::uint32_t>(slot_count())});
}

}  // namespace carillon
