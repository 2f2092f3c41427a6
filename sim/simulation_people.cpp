// What people do in a simulation.
#include <algorithm>
#include <array>

#include "sim/simulation.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

bool is_store_failure(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::store_full ||
         error.code == ErrorCode::database_error;
}

}  // namespace

// One after the other, or now and then many at once.
void Simulation::arrive() {
  const int count = random_.percent(3) ? random_.between(8, 40) : 1;
  for (int i = 0; i < count && !crash_now_ && !judge_.findings().any(); ++i) arrive_one();
}

void Simulation::arrive_one() {
  const World::Wanted wanted = world_.draw_job(recent_, now());
  // Who gets no answer asks again, under the same key.
  for (int i = 0; i < 3 && !crash_now_; ++i) {
    const KeyHolder* const held = judge_.holder(*wanted.spec);
    const auto holder = held ? std::optional(*held) : std::nullopt;
    const auto answer = site_.client().enqueue(wanted.request);
    if (judge_.findings().any() || crash_now_) return;
    judge_.answered(*wanted.spec, holder, answer);
    if (answer) {
      recent_.push_back(answer->id);
      if (recent_.size() > kRecentJobs) recent_.erase(recent_.begin());
      return;
    }
    if (!is_store_failure(answer.error())) {
      const bool expected = answer.error().code == ErrorCode::idempotency_conflict ||
                            answer.error().code == ErrorCode::dependency_not_met;
      judge_.findings().expect(expected, 4, "a job was refused: {}", answer.error().message);
      return;
    }
    if (wanted.spec->key.empty()) return;
  }
}

const ScheduleRow* Simulation::any_schedule() {
  std::vector<const ScheduleRow*> rows = judge_.slots().rows();
  std::erase_if(rows, [](const ScheduleRow* row) { return row->deleted_at.has_value(); });
  return rows.empty() ? nullptr : random_.pick(rows);
}

void Simulation::put(const ScheduleSpec& spec) {
  const auto answer = site_.client().put_schedule(spec.tenant, World::definition_of(spec));
  trace_.say(now(), "put {} {}: {}", spec.tenant, World::definition_of(spec), answer ? "ok" : answer.error().message);
  if (!answer && !crash_now_) {
    // One that follows another is refused if that one is gone, or the one before it.
    const bool may_be = spec.kind == Kind::after && answer.error().code == ErrorCode::invalid_configuration;
    judge_.findings().expect(may_be || is_store_failure(answer.error()), 26, "schedule {} was refused: {}", spec.name,
                             answer.error().message);
  }
}

void Simulation::put_after() {
  const ScheduleRow* const parent = any_schedule();
  if (parent == nullptr) return;
  if (judge_.subjects().knows(parent->id)) return put_after_subjects(ScheduleRow(*parent));
  ScheduleSpec& spec = world_.draw_schedule(parent->tenant, fmt::format("schedule-{}", ++names_), now());
  spec.kind = Kind::after;
  spec.after = parent->name;
  spec.overlap = Overlap::allow;
  put(spec);
}

void Simulation::edit_schedule() {
  const ScheduleRow* const chosen = any_schedule();
  if (chosen == nullptr) return;
  const ScheduleRow row = *chosen;
  const auto what = random_.below(10);
  if (what < 3) {
    const ScheduleSpec* const before = specs_.schedule(row.definition);
    if (before && before->kind == Kind::after) return;
    report_.faults.add(Fault::schedule_edit);
    if (before && before->fan_out) {
      put(world_.draw_with_subjects(before->kind, row.tenant, row.name));
    } else {
      put(world_.draw_schedule(row.tenant, row.name, now()));
    }
  } else if (what < 6) {
    report_.faults.add(Fault::schedule_pause);
    std::optional<Instant> until;
    if (random_.percent(60)) until = now() + random_.between(Duration(1min), Duration(10h));
    trace_.say(now(), "pause {} until {}", row.name, until ? format_instant(*until) : "resumed");
    [[maybe_unused]] const auto unheard = site_.client().pause(row.tenant, row.name, until);
  } else if (what < 8) {
    std::vector<const ScheduleRow*> rows = judge_.slots().rows();
    std::erase_if(rows, [](const ScheduleRow* one) { return one->deleted_at || !one->paused_until; });
    if (rows.empty()) return;
    report_.faults.add(Fault::schedule_resume);
    const ScheduleRow paused = *random_.pick(rows);
    trace_.say(now(), "resume {}", paused.name);
    [[maybe_unused]] const auto unheard = site_.client().resume(paused.tenant, paused.name);
  } else if (what < 9) {
    report_.faults.add(Fault::schedule_delete);
    trace_.say(now(), "delete {}", row.name);
    [[maybe_unused]] const auto unheard = site_.client().delete_schedule(row.tenant, row.name);
  } else {
    report_.faults.add(Fault::schedule_create);
    // Often under the name of one that was deleted.
    std::vector<const ScheduleRow*> rows = judge_.slots().rows();
    std::erase_if(rows, [](const ScheduleRow* one) { return !one->deleted_at; });
    if (!rows.empty() && random_.percent(70)) {
      const ScheduleRow gone = *random_.pick(rows);
      const ScheduleSpec* const before = specs_.schedule(gone.definition);
      if (before && before->fan_out && before->kind == Kind::after) return;
      if (before && before->fan_out) {
        put_with_subjects(before->kind, gone.tenant, gone.name, random_.between(1, 4));
      } else {
        put(world_.draw_schedule(gone.tenant, gone.name, now()));
      }
    } else if (random_.percent(30)) {
      put_after();
    } else {
      put(world_.draw_schedule(world_.any_tenant(), fmt::format("schedule-{}", ++names_), now()));
    }
  }
}

void Simulation::change_rule(const RulePut& put) {
  report_.faults.add(Fault::rule_change);
  judge_.rules().intend(put.key, put.text);
  Client& client = site_.client();
  const auto json = put.json.empty() ? std::nullopt : std::optional<std::string_view>(put.json);
  trace_.say(now(), "rule {}/{}/{} {}", put.key.tenant, put.key.kind, put.key.name, put.json);
  Result<void> answer;
  if (put.key.kind == "settings") answer = client.put_settings(put.key.tenant, put.json);
  if (put.key.kind == "queue") answer = client.put_queue(put.key.tenant, put.key.name, put.json);
  if (put.key.kind == "config") answer = client.put_config(put.json);
  if (put.key.kind == "limit") answer = client.put_limit(put.key.tenant, put.key.name, json);
  if (put.key.kind == "maintenance") answer = client.put_maintenance(put.key.tenant, json);
  if (!answer && !crash_now_) {
    judge_.findings().expect(is_store_failure(answer.error()), 6, "a rule was refused: {}", answer.error().message);
  }
}

void Simulation::act_on_job() {
  const auto& live = judge_.model().live;
  if (live.empty()) return;
  if (!aim_ && random_.percent(20)) return aim_at_next_due();
  auto chosen = live.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(live.size())));
  // Parked ones first: they wait for somebody.
  if (random_.percent(50)) {
    const auto parked =
        std::ranges::find_if(live, [](const auto& entry) { return entry.second.row.state == JobState::dlq; });
    if (parked != live.end()) chosen = parked;
  }
  const JobId id = chosen->first;
  const std::string tenant = chosen->second.tenant;
  const bool follows = chosen->second.spec->follows.has_value();
  const bool has_key = !chosen->second.spec->key.empty();
  const bool has_deadline = chosen->second.spec->deadline.has_value();
  Client& client = site_.client();
  report_.faults.add(Fault::operator_word);
  const auto action = random_.below(9);
  trace_.say(now(), "action {} on {}", action, Shown{id});
  Result<JobState> answer;
  judge_.operator_asks(Judge::Asks::retry);
  switch (action) {
    case 0: answer = client.cancel(tenant, id); break;
    case 1:
    case 2: answer = client.retry(tenant, id); break;
    case 3: answer = client.discard(tenant, id); break;
    case 4: answer = client.run_now(tenant, id); break;
    case 5: answer = client.change(tenant, id, {.priority = random_.between(1, 5)}); break;
    case 6: answer = client.change(tenant, id, {.run_at = now() + random_.between(Duration(0), Duration(2h))}); break;
    case 7: {
      const auto info = client.job(tenant, id);
      judge_.findings().expect(info.has_value(), 4, "job {} cannot be read", Shown{id});
      if (info && info->state == JobState::queued && info->deferred_until && *info->deferred_until > now()) {
        judge_.findings().expect(!info->defer_reason.empty(), 33, "job {} was deferred without a reason", Shown{id});
      }
      const auto why = client.explain(tenant, id);
      judge_.findings().expect(why || is_store_failure(why.error()), 33, "job {} cannot be explained", Shown{id});
      judge_.findings().expect(!client.job("nobody", id), 28, "job {} is shown to a stranger", Shown{id});
      break;
    }
    default: {
      // A rerun has the defaults for what it does not take over.
      const JobSpec& spec = *chosen->second.spec;
      const bool plain = !spec.retry && spec.lease == kLeaseDefault && spec.on_ambiguous == OnAmbiguous::retry;
      if (follows || has_key || has_deadline || !plain) break;
      [[maybe_unused]] const auto unheard = client.rerun(tenant, id);
      break;
    }
  }
  judge_.operator_asks(bulk_ ? Judge::Asks::retry : Judge::Asks::nothing);
  trace_.add(answer ? static_cast<std::uint64_t>(*answer) : 99);
}

// The first to fall due is moved at that instant: the round that moves it has picked it in its old place.
void Simulation::aim_at_next_due() {
  const auto waits = [&](const auto& entry) {
    const JobRow& row = entry.second.row;
    return row.state == JobState::queued && !entry.second.lease && row.run_at > now();
  };
  std::optional<std::pair<Instant, JobId>> first;
  for (const auto& entry : judge_.model().live) {
    if (!waits(entry)) continue;
    const std::pair candidate(entry.second.row.run_at, entry.first);
    if (!first || candidate < *first) first = candidate;
  }
  if (first) aim_ = Aim{.job = first->second, .at = boot() + (first->first - now())};
}

void Simulation::move_at_its_time() {
  const Aim aim = *std::exchange(aim_, std::nullopt);
  const auto& live = judge_.model().live;
  const auto found = live.find(aim.job);
  if (calm_ || found == live.end() || !site_.is_up() || boot() < node_starts_) return;
  report_.faults.add(Fault::operator_word);
  trace_.say(now(), "moves {} as it falls due", Shown{aim.job});
  const std::string tenant = found->second.tenant;
  const Instant later = now() + random_.between(Duration(1min), Duration(2h));
  Node& node = site_.node();
  // As another thread calls: it goes into the round that has picked the job already.
  node.post<JobState>(
      [&node, tenant, job = aim.job, later](Round& round) -> Result<JobState> {
        TRY_ASSIGN(const Changed made, node.store().jobs().patch(tenant, job, {.run_at = later}));
        round.add_ready(made.ready);
        round.tell(JobChanged{.job = job, .tenant = tenant, .state = made.state});
        return made.state;
      },
      [](const Result<JobState>& /*unheard*/) {});
}

// A worker that comes back after its lease, or makes one up: nothing changes. (invariant 10)
void Simulation::say_stale_word() {
  const auto& live = judge_.model().live;
  if (live.empty()) return;
  auto chosen = live.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(live.size())));
  const auto leased = std::ranges::find_if(live, [](const auto& entry) { return entry.second.lease.has_value(); });
  if (leased != live.end() && random_.percent(80)) chosen = leased;
  const JobId id = chosen->first;
  const std::int64_t current = chosen->second.lease ? chosen->second.lease->token : chosen->second.row.token;
  const std::int64_t token = random_.percent(50) ? current + 1 : current - 1;
  if (token <= 0 || token == chosen->second.row.token) return;
  report_.faults.add(Fault::stale_word);
  Node& node = site_.node();
  const bool settle = random_.percent(60);
  const Result<void> answer = node.call<void>([&](Round&) -> Result<void> {
    JobStore& jobs = node.store().jobs();
    if (settle) {
      TRY(std::move(jobs.settle(std::array{Settlement{.job = id, .token = token}}).front()));
    } else {
      TRY(std::move(jobs.extend(std::array{Extension{.job = id, .token = token}}).front()));
    }
    return {};
  });
  judge_.findings().expect(!answer, 10, "a word about job {} with token {} was taken; the current one is {}", Shown{id},
                           token, current);
}

// What must be refused. (invariants 26, 31)
void Simulation::ask_for_the_impossible() {
  report_.faults.add(Fault::hopeless_request);
  const std::string tenant = world_.any_tenant();
  const auto never = site_.client().put_schedule(
      tenant,
      R"({"name":"never","trigger":{"kind":"rrule","rrule":"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},"job":{"type":"x"}})");
  judge_.findings().expect(!never, 26, "a rule that never fires was taken");
  if (crash_now_) return;
  for (const ScheduleRow* row : judge_.slots().rows()) {
    const ScheduleSpec* const spec = specs_.schedule(row->definition);
    if (row->deleted_at || !spec || spec->kind != Kind::after) continue;
    const auto circle = site_.client().put_schedule(
        row->tenant, fmt::format(R"({{"name":"{}","trigger":{{"kind":"after","schedule":"{}"}},"job":{{"type":"x"}}}})",
                                 spec->after, row->name));
    judge_.findings().expect(!circle, 31, "schedules {} and {} follow each other", row->name, spec->after);
    return;
  }
}

void Simulation::operate() {
  if (random_.percent(30)) return act_on_subject();
  const auto what = random_.below(100);
  if (what < 30) return edit_schedule();
  if (what < 50) {
    change_rule(world_.draw_rule(now()));
    if (plagues_.pause_every > Duration(0) && random_.percent(30) && !crash_now_) stall(true);
    return;
  }
  if (what < 75) return act_on_job();
  if (what < 88) return say_stale_word();
  if (what < 90) return ask_for_the_impossible();
  if (what < 95) {
    const ScheduleRow* const row = any_schedule();
    if (row == nullptr) return;
    report_.faults.add(Fault::operator_word);
    const std::string tenant = row->tenant;
    const std::string name = row->name;
    [[maybe_unused]] const auto unheard = site_.client().trigger(tenant, name, {});
    return;
  }
  report_.faults.add(Fault::bulk_retry);
  bulk_ = true;
  judge_.operator_asks(Judge::Asks::retry);
  BulkRequest request{.action = random_.percent(80) ? BulkAction::retry : BulkAction::discard,
                      .query = {.tenant = world_.any_tenant()},
                      .all = true};
  if (random_.percent(50)) request.rate = 2;
  [[maybe_unused]] const auto unheard = site_.client().bulk(request);
}

}  // namespace carillon::sim
