#include "contract/model_player.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/store_text.h"

namespace carillon::test {

namespace {

constexpr std::size_t kEverything = 1'000'000;

// What jobs are made of.
const std::vector<std::string> kQueues{"default", "slow"};
const std::vector<std::string> kTypes{"a", "b"};
const std::vector<std::optional<std::string>> kKeys{std::nullopt, std::nullopt, std::nullopt, "k1", "k2"};
const std::vector<std::string> kPayloads{"1", "1", "2"};
const std::vector<Duration> kDelays{0s, 0s, 0s, 30s, 20min};
const std::vector<std::optional<std::uint32_t>> kMaxAttempts{5, 1, 5, 2, std::nullopt};
const std::vector<RetryPolicy> kPolicies{RetryFixed{.delay = 30s}, RetryExponential{.base = 10s},
                                         RetryFixed{.delay = 5s}, RetryExponential{.base = 1s}, RetryNone{}};
const std::vector<KeyHold> kHolds{
    {}, {.until = KeyHold::Until::done}, {.until = KeyHold::Until::elapsed, .duration = 2h}};

template <typename List>
const auto& choose(const List& list, std::uint32_t number) {
  return list[number % list.size()];
}

AttemptEnd any_end(std::uint32_t number, Instant now) {
  static constexpr std::array kEnds{
      AttemptEnd{.result = AttemptResult::ok},
      AttemptEnd{.result = AttemptResult::error},
      AttemptEnd{.result = AttemptResult::ok, .skipped = true},
      AttemptEnd{.result = AttemptResult::error, .permanent = true},
      AttemptEnd{.result = AttemptResult::released},
      AttemptEnd{.result = AttemptResult::released, .started = false},
      AttemptEnd{.result = AttemptResult::rate_limited},
      AttemptEnd{.result = AttemptResult::cancelled},
  };
  AttemptEnd end = choose(kEnds, number);
  if (end.result == AttemptResult::rate_limited && number % 3 == 0) end.retry_at = now + 7s;
  return end;
}

}  // namespace

ModelPlayer::ModelPlayer(ManualStoreClock& clock, Store& store, Store* reference)
    : clock_(clock), store_(store), reference_(reference), oracle_(clock) {
  const auto prepare = [&](Store& into) {
    NewSchedule put;
    put.name = "standup";
    put.definition = "{}";
    const ScheduleId id = value_of(into.plans().put_schedule(put)).id;
    for (const std::string& subject : kSubjects) {
      const SubjectEdit edit{.subject = subject, .next_at = std::optional(clock.wall()), .cursor = clock.wall()};
      value_of(into.plans().put_subjects(id, {&edit, 1}));
    }
    return id;
  };
  schedule_ = prepare(store_);
  if (reference_ != nullptr) reference_schedule_ = prepare(*reference_);
  for (const std::string& subject : kSubjects) planned_[subject] = clock.wall();
}

void ModelPlayer::report(std::string problem) {
  if (!problem.empty() && !failed()) problem_ = problem + "\nafter:\n" + log_;
}

template <typename Call>
auto ModelPlayer::ask(std::string_view what, Call call) {
  auto answer = call(store_);
  const std::string said = text_of(store_, answer);
  log_ += fmt::format("{} -> {}\n", what, said);
  if (reference_ != nullptr) {
    const std::string expected = text_of(*reference_, call(*reference_));
    if (said != expected) report(fmt::format("{}\nsays {}\nthe memory store says {}", what, said, expected));
  }
  return answer;
}

void ModelPlayer::play(const std::vector<Step>& steps) {
  constexpr std::size_t kBetweenChecks = 8;
  for (std::size_t i = 0; i < steps.size() && !failed(); ++i) {
    const bool grouped = steps[i][1] % 16 == 15;
    const auto play_some = [&] {
      for (std::size_t end = std::min(i + 4, steps.size()); i < end && !failed(); ++i) play_one(steps[i]);
    };
    if (grouped) {
      // Several calls in one transaction, on both.
      in_transaction_ = true;
      const auto done = store_.atomically([&] {
        if (reference_ == nullptr) return play_some();
        if (!reference_->atomically(play_some)) report("the memory store could not commit");
      });
      in_transaction_ = false;
      if (!done) report("could not commit: " + done.error().message);
      --i;
    } else {
      play_one(steps[i]);
    }
    if (i % kBetweenChecks == 0) check_state();
  }
  check_state();
}

void ModelPlayer::play_one(const Step& step) {
  const std::uint32_t kind = step[0] % 40;
  if (kind < 6) return enqueue(step);
  if (kind < 13) return claim(step);
  if (kind < 21) return settle(step);
  if (kind < 24) return move_clock(step);
  if (kind < 26) return extend(step);
  if (kind < 28) return act(step);
  if (kind < 30) return plan(step);
  switch (kind) {
    case 30: return patch(step);
    case 31: return act_on(step);
    case 32: return prune(step);
    case 33: return edit_subject(step);
    case 34:
    case 35: return finish_overdue();
    case 36:
    case 37: return reap();
    default: return move_clock(step);
  }
}

void ModelPlayer::reap() {
  report(oracle_.reap(value_of(ask("reap", [](Store& store) { return store.jobs().reap(kEverything); }))));
}

void ModelPlayer::finish_overdue() {
  report(oracle_.finish_overdue(
      value_of(ask("finish_overdue", [](Store& store) { return store.jobs().finish_overdue(kEverything, {}); }))));
}

// ---- What to ask ----

JobId ModelPlayer::any_id(std::uint32_t number) const {
  constexpr std::size_t kRecent = 12;
  if (ids_.empty()) return JobId{1};
  return ids_[ids_.size() - 1 - number % std::min(ids_.size(), kRecent)];
}

const LeasedJob* ModelPlayer::any_lease(std::uint32_t number) const {
  constexpr std::size_t kRecent = 6;
  if (leased_.empty()) return nullptr;
  return &leased_[leased_.size() - 1 - number % std::min(leased_.size(), kRecent)];
}

JobId ModelPlayer::fresh_id() {
  if (reference_ != nullptr) reference_->jobs().new_job_id();
  return store_.jobs().new_job_id();
}

NewJob ModelPlayer::any_job(const Step& step) {
  NewJob job;
  job.id = fresh_id();
  job.tenant = step[1] % 7 == 6 ? "acme" : "default";
  job.queue = choose(kQueues, step[1] / 7);
  job.type = choose(kTypes, step[1] / 14);
  job.priority = 1 + static_cast<int>(step[1] % 5);
  job.options.idempotency_key = choose(kKeys, step[2]);
  job.options.unique_until = choose(kHolds, step[2] / 5);
  job.payload = choose(kPayloads, step[2] / 15);
  job.run_at = clock_.wall() + choose(kDelays, step[3]);
  // No two the same: which of two would come first is not said.
  if (step[3] % 6 == 5) job.deadline = clock_.wall() + 1min * (1 + step[3] % 20) + 1us * fresh_number();
  job.options.max_attempts = choose(kMaxAttempts, step[3] / 5);
  job.options.retry = choose(kPolicies, step[4]);
  job.options.timeout = step[4] % 4 == 3 ? Duration(20s) : Duration(5min);
  if (step[4] % 5 == 4) job.options.lease = 10s;
  job.options.run_anyway = step[4] % 7 == 6;
  const std::uint32_t parents = step[4] % 4 == 3 ? 1 + step[4] / 4 % 3 : 0;
  for (std::uint32_t i = 0; i < parents && !ids_.empty(); ++i) {
    job.depends_on.push_back(any_id(step[4] / 12 + i * 5));
  }
  return job;
}

void ModelPlayer::enqueue(const Step& step) {
  NewJob job = any_job(step);
  bool asked_before = false;
  if (step[1] % 11 == 10 && oracle_.knows(any_id(step[2]))) {
    // The answer to this one was lost. (Nobody asks again after retention has ended.)
    job.id = any_id(step[2]);
    asked_before = true;
  }
  const auto answer = ask(fmt::format("enqueue {} key {} parents {}", job.id.value,
                                      job.options.idempotency_key.value_or("none"), job.depends_on.size()),
                          [&](Store& store) { return store.jobs().enqueue({&job, 1}).front(); });
  report(oracle_.enqueue(job, answer));
  if (answer && !answer->deduplicated && !asked_before) ids_.push_back(job.id);
}

void ModelPlayer::claim(const Step& step) {
  std::vector<JobId> wanted;
  for (std::uint32_t i = 0; i <= step[1] % 4; ++i) wanted.push_back(any_id(step[2] + i * step[3]));
  ClaimRequest request;
  request.worker = step[4] % 2 == 0 ? "ada" : "bob";
  request.in_process = step[4] % 4 == 3;
  if (step[4] % 3 == 2) request.lease = 15s;
  request.jobs = wanted;
  if (step[4] % 5 > 2) request.slots = step[1] % 3;
  const auto answer = value_of(ask("claim", [&](Store& store) { return store.jobs().claim(request); }));
  report(oracle_.claim(request, answer));
  for (const LeasedJob& leased : answer.jobs) {
    if (leased.token <= tokens_[leased.id]) report("a token did not rise");  // invariant 9
    tokens_[leased.id] = leased.token;
    leased_.push_back(leased);
  }
}

void ModelPlayer::extend(const Step& step) {
  const LeasedJob* const leased = any_lease(step[1]);
  if (leased == nullptr) return;
  if (step[2] % 4 == 3) {
    const LeaseKey key{.job = leased->id, .token = leased->token};
    for (Store* const store : {&store_, reference_}) {
      if (store != nullptr && !store->jobs().begun({&key, 1})) report("that it began could not be stored");
    }
    return oracle_.begun(key);
  }
  Extension extension{.job = leased->id, .token = leased->token, .started = step[2] % 3 != 2};
  if (step[3] % 3 == 2) extension.progress = std::to_string(step[3]);
  report(oracle_.extend(extension, ask(fmt::format("extend {}", leased->id.value),
                                       [&](Store& store) { return store.jobs().extend({&extension, 1}).front(); })));
}

void ModelPlayer::settle(const Step& step) {
  const LeasedJob* const leased = any_lease(step[1]);
  if (leased == nullptr) return;
  Settlement settlement = completed(*leased);
  settlement.end = any_end(step[2], clock_.wall());
  if (settlement.end.result == AttemptResult::error) settlement.error = {.message = "broke", .error_class = "req"};
  if (step[2] % 11 == 10) {
    settlement.defer = Settlement::Deferral{.reason = "gate"};
    if (step[2] % 2 == 0) settlement.defer->until = clock_.wall() + 45s;
  }
  if (step[3] % 6 == 5) settlement.output = "7";
  if (step[3] % 8 == 7) {
    NewJob follow_up = doubling_job();
    follow_up.id = fresh_id();
    follow_up.tenant = leased->tenant;
    follow_up.run_at = clock_.wall();
    settlement.then = {follow_up};
    if (step[4] % 5 == 4) settlement.then.push_back(job(""));
  }
  const auto answer = ask(fmt::format("settle {} token {} {} {}", leased->id.value, leased->token,
                                      to_string(settlement.end.result), settlement.defer ? "deferred" : ""),
                          [&](Store& store) { return store.jobs().settle({&settlement, 1}).front(); });
  report(oracle_.settle(settlement, answer));
  if (!answer) return;
  for (const ReadyJob& ready : answer->ready) {
    if (!settlement.then.empty() && ready.id == settlement.then.front().id) ids_.push_back(ready.id);
  }
}

void ModelPlayer::act(const Step& step) {
  static constexpr std::array kActions{JobAction::cancel, JobAction::retry, JobAction::run_now, JobAction::discard};
  const JobAction action = choose(kActions, step[1]);
  const JobId id = any_id(step[2]);
  const std::string& tenant = kTenants[step[3] % 5 == 4 ? 1 : 0];
  report(oracle_.act(tenant, action, id, ask(fmt::format("act {} on {}", step[1] % 4, id.value), [&](Store& store) {
                       return store.jobs().act(tenant, action, {&id, 1}).front();
                     })));
}

void ModelPlayer::patch(const Step& step) {
  const JobId id = any_id(step[1]);
  JobPatch patch;
  if (step[2] % 2 == 0) patch.priority = 1 + static_cast<int>(step[2] % 5);
  if (step[3] % 2 == 0) patch.run_at = clock_.wall() + 1min * (step[3] % 30);
  report(oracle_.patch("default", id, patch, ask(fmt::format("patch {}", id.value), [&](Store& store) {
                         return store.jobs().patch("default", id, patch);
                       })));
}

void ModelPlayer::act_on(const Step& step) {
  static constexpr std::array kActions{JobAction::retry, JobAction::discard, JobAction::run_now, JobAction::cancel};
  static constexpr std::array kStates{JobState::dlq, JobState::queued, JobState::waiting, JobState::processing};
  const JobAction action = choose(kActions, step[1]);
  JobQuery filter;
  filter.tenant = choose(kTenants, step[2] / 4);
  filter.states = {choose(kStates, step[2])};
  const auto all_of = [&](Store& store) {
    JobOracle::BulkTotal total;
    JobId after;
    for (bool end = false; !end;) {
      const BulkStep done = value_of(store.jobs().act_on(filter, action, after, 1 + step[3] % 7));
      total.changed += done.changed;
      total.refused += done.refused;
      after = done.next_after;
      end = done.end;
    }
    return total;
  };
  const JobOracle::BulkTotal total = all_of(store_);
  log_ += fmt::format("act_on {} {} -> {}\n", step[1] % 4, to_string(filter.states[0]), total.changed);
  report(oracle_.act_on(filter.tenant, filter.states[0], action, total));
  if (reference_ != nullptr && all_of(*reference_).changed != total.changed) report("act_on: the stores differ");
}

// ---- Time ----

void ModelPlayer::prune(const Step& step) {
  if (in_transaction_) return;  // the oracle has to look what is left
  JobStore::PruneRequest request;
  // Never to the very microsecond: whether that is longer ago is not said.
  request.keep.otherwise = choose(std::array<Duration, 3>{1h, 5min, 24h}, step[1]) + 1us;
  request.limit = kEverything;
  const auto erased = value_of(store_.jobs().prune(request)).erased;
  log_ += fmt::format("prune -> {}\n", erased);
  if (reference_ != nullptr && value_of(reference_->jobs().prune(request)).erased != erased) {
    report("prune: the stores differ");
  }
  oracle_.pruned(request.keep.otherwise, store_.reader());
}

void ModelPlayer::move_clock(const Step& step) {
  static constexpr std::array<Duration, 8> kSteps{1s, 10s, 15s, 30s, 1min, 6min, 1h, 26h};
  if (in_transaction_) return;  // which reads it once
  if (step[2] % 5 == 4) {
    clock_.step_wall(choose(std::array<Duration, 3>{-1h, 1h, -10s}, step[1]));
  } else {
    clock_.advance(choose(kSteps, step[1]));
  }
  log_ += fmt::format("now {} boot {}\n", format_instant(clock_.wall()), clock_.boot().count());
}

// ---- Windows ----

std::optional<SubjectRow> ModelPlayer::subject_in(Store& store, const std::string& name) const {
  for (SubjectRow& row : value_of(store.plans().subjects_due(schedule_in(store), kInstantMax, kEverything))) {
    if (row.subject == name) return std::move(row);
  }
  return std::nullopt;
}

void ModelPlayer::plan(const Step& step) {
  const std::string& subject = choose(kSubjects, step[1]);
  if (!subject_in(store_, subject)) return;
  Instant next = planned_[subject];
  Advance advance;
  advance.subject = subject;
  advance.next_at = clock_.wall();
  if (step[3] % 4 == 3) {
    const JobState outcome = step[3] % 8 == 7 ? JobState::skipped : JobState::missed;
    advance.closed = {{.first = next, .until = next + 2h, .count = 2, .outcome = outcome, .reason = "max_age"}};
    next += 2h;
  }
  for (std::uint32_t i = 0; i < 1 + step[2] % 3; ++i) {
    NewJob window = occurrence_job(next, subject, next + 1h);
    window.id = fresh_id();
    window.options.retry = RetryNone{};
    window.options.max_attempts = 1;
    window.run_at = clock_.wall();
    advance.jobs.push_back(window);
    advance.position = next;
    next += 1h;
  }
  const auto answer = ask(fmt::format("advance {} by {} windows", subject, advance.jobs.size()), [&](Store& store) {
    Advance own = advance;
    own.schedule = schedule_in(store);
    own.version = subject_in(store, subject)->version - (step[4] % 7 == 6 ? 1 : 0);
    return store.plans().advance({&own, 1}).front();
  });
  if (!answer) return;
  planned_[subject] = next;
  for (std::size_t i = 0; i < advance.jobs.size(); ++i) {
    report(oracle_.enqueue(advance.jobs[i], answer->jobs.at(i)));
    ids_.push_back(advance.jobs[i].id);
  }
}

void ModelPlayer::edit_subject(const Step& step) {
  const std::string& subject = choose(kSubjects, step[1]);
  const auto row = subject_in(store_, subject);
  if (row && step[2] % 4 == 3) {
    log_ += "delete " + subject + "\n";
    for (Store* store : {&store_, reference_}) {
      if (store != nullptr && !store->plans().delete_subject(schedule_in(*store), subject)) report("cannot delete");
    }
    return;
  }
  SubjectEdit edit{.subject = subject, .next_at = std::optional(clock_.wall())};
  if (row && row->cursor)
    edit.cursor = *row->cursor + (step[2] % 4 == 2 ? Duration(-1h) : Duration(1h)) * (step[3] % 2);
  const auto answer = ask("put subject " + subject,
                          [&](Store& store) { return store.plans().put_subjects(schedule_in(store), {&edit, 1}); });
  const bool falls = row && row->cursor && edit.cursor < row->cursor;
  if (answer.has_value() == falls) report("a cursor fell, or could not be raised");  // invariant 20
}

}  // namespace carillon::test
