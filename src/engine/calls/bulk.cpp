#include "engine/calls/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "base/json_writer.h"
#include "core/jobs/stored_json.h"

namespace carillon {

std::string_view to_string(BulkAction action) {
  switch (action) {
    case BulkAction::retry: return "retry";
    case BulkAction::cancel: return "cancel";
    case BulkAction::discard: return "discard";
    case BulkAction::backfill: return "backfill";
  }
  UNREACHABLE();
}

namespace {

constexpr std::size_t kStep = 500;
// Until a tenant that may have no more jobs is asked about again.
constexpr Duration kNoRoomPause = std::chrono::seconds(1);
// Each step takes some milliseconds from everybody: the works take turns.
constexpr std::size_t kStepsOfRound = 4;
constexpr std::size_t kRunningOfTenantMax = 20;
// How work has ended is kept as long, and looked at by so many when new work begins.
constexpr Duration kEndedKept = std::chrono::days(7);
constexpr std::size_t kEndedLookedAt = 20;
constexpr double kRateMax = 1e6;
constexpr std::uint64_t kCountedMax = 100'000;
constexpr Duration kCountingMax = std::chrono::seconds(1);

constexpr std::string_view kRunning = "running";
constexpr std::string_view kDone = "done";
constexpr std::string_view kStopped = "stopped";

JobAction action_of(BulkAction action) {
  switch (action) {
    case BulkAction::retry: return JobAction::retry;
    case BulkAction::cancel: return JobAction::cancel;
    case BulkAction::discard: return JobAction::discard;
    case BulkAction::backfill: break;  // makes jobs, and acts on none
  }
  UNREACHABLE();
}

void put_if(JsonObject& object, std::string_view name, const std::optional<std::string>& text) {
  if (text) object.text(name, *text);
}

std::optional<std::string> text_if(const Json& json, const StoredObject& object, std::string_view name) {
  if (!json.find(name)) return std::nullopt;
  return object.text(name);
}

template <typename Works>
Result<void> check_room(const Works& works, const std::string& tenant) {
  std::size_t running = 0;
  for (auto work = works.lower_bound({tenant, {}}); work != works.end() && work->first.first == tenant; ++work) {
    ++running;
  }
  if (running < kRunningOfTenantMax) return {};
  return failed(ErrorCode::conflict,
                fmt::format("tenant {} has {} bulk works under way, and may have {}: wait for one, or stop it",
                            quoted(tenant), running, kRunningOfTenantMax));
}

std::vector<JobState> states_meant(BulkAction action, std::vector<JobState> asked) {
  // Of others than parked ones these would only be refused and counted as failures.
  if (action == BulkAction::retry || action == BulkAction::discard) return {JobState::dlq};
  // A parked job waits for somebody to decide about it: who cancels what has not run yet has not.
  if (action == BulkAction::cancel && asked.empty()) return {JobState::waiting, JobState::queued, JobState::processing};
  return asked;
}

// What the store counts anyway: nothing if the filter asks for more than queue and state.
std::optional<std::uint64_t> counted_by_state(Store& store, const JobQuery& filter, Instant now) {
  const bool asks_for_more = filter.type || filter.schedule || filter.subject || filter.tag || filter.text ||
                             filter.since || (filter.until && *filter.until <= now);
  if (asks_for_more) return std::nullopt;
  const auto counts = store.reader().counts(filter.tenant);
  if (!counts) return std::nullopt;
  std::int64_t sum = 0;
  for (const StateCount& count : *counts) {
    if (filter.queue && count.lane.queue != *filter.queue) continue;
    if (std::ranges::find(filter.states, count.state) != filter.states.end()) sum += count.count;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

}  // namespace

JobQuery query_of(const BulkRequest& request, Instant now) {
  JobQuery query = request.query;
  query.states = states_meant(request.action, std::move(query.states));
  // What is made from now on is not meant. Ids know the time to the millisecond.
  query.until = std::min(query.until.value_or(kInstantMax), add_clamped(now, std::chrono::milliseconds(1)));
  return query;
}

Result<void> check_meant(const BulkRequest& request) {
  const JobQuery& query = request.query;
  const bool has_filter = !query.states.empty() || query.type || query.queue || query.schedule || query.subject ||
                          query.tag || query.text || query.since || query.until;
  if (request.all && has_filter) {
    return invalid_field("all", "all means every job of the tenant and goes with no filter: give one of the two");
  }
  if (!request.all && !has_filter) {
    return invalid_field("filter", fmt::format("to {} many jobs give a filter with at least one field, or all for "
                                               "every job of the tenant",
                                               to_string(request.action)));
  }
  const bool means_parked = request.action == BulkAction::retry || request.action == BulkAction::discard;
  if (means_parked && !query.states.empty() && query.states != std::vector{JobState::dlq}) {
    return invalid_field("filter.state", fmt::format("cannot {} jobs in other states than dlq: give that, or no state",
                                                     to_string(request.action)));
  }
  return {};
}

std::optional<std::uint64_t> count_matching(Store& store, const JobQuery& filter) {
  // Bulk work looks at live jobs alone.
  JobQuery live = filter;
  if (live.states.empty()) live.states = {JobState::waiting, JobState::queued, JobState::processing, JobState::dlq};
  std::erase_if(live.states, [](JobState state) { return is_final(state); });
  if (live.states.empty()) return 0;
  const Instant begun = store.jobs().now();
  if (const auto known = counted_by_state(store, live, begun)) return known;
  std::uint64_t counted = 0;
  for (JobId before;;) {
    const auto page = store.reader().jobs(live, before, kPageMax);
    if (!page) return std::nullopt;
    counted += page->jobs.size();
    if (!page->next_before) return counted <= kCountedMax ? std::optional(counted) : std::nullopt;
    if (counted > kCountedMax || store.jobs().now() - begun > kCountingMax) return std::nullopt;
    before = page->next_before;
  }
}

std::string write_bulk(const BulkState& bulk) {
  JsonObject object;
  object.text("id", bulk.info.id).text("action", to_string(bulk.info.action)).text("state", bulk.info.state);
  if (bulk.info.total) object.integer("total", static_cast<std::int64_t>(*bulk.info.total));
  object.integer("done", static_cast<std::int64_t>(bulk.info.done));
  object.integer("failed", static_cast<std::int64_t>(bulk.info.failed));
  object.integer("after", bulk.after.value).text("tenant", bulk.filter.tenant);
  std::vector<std::string> states;
  for (const JobState state : bulk.filter.states) states.emplace_back(to_string(state));
  put_texts(object, "states", states);
  put_if(object, "type", bulk.filter.type);
  put_if(object, "queue", bulk.filter.queue);
  put_if(object, "schedule", bulk.filter.schedule);
  put_if(object, "subject", bulk.filter.subject);
  put_if(object, "tag", bulk.filter.tag);
  put_if(object, "text", bulk.filter.text);
  put_instant(object, "since", bulk.filter.since);
  put_instant(object, "until", bulk.filter.until);
  // In thousandths: the store's numbers are whole.
  if (bulk.rate) object.integer("rate_milli", std::llround(*bulk.rate * 1000));
  if (bulk.backfill) {
    put_instant(object, "from", bulk.backfill->from);
    put_instant(object, "to", bulk.backfill->to);
    object.text("at_subject", bulk.backfill->subject).integer("at_window", bulk.backfill->window);
    if (!bulk.created_by.empty()) object.text("created_by", bulk.created_by);
  }
  return object.str();
}

Result<BulkState> read_bulk(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_stored("bulk", text));
  const StoredObject object(text, json);
  BulkState bulk;
  bulk.info.id = object.text("id");
  bulk.info.state = object.text("state");
  const std::string action = object.text("action");
  bulk.info.action = action == "cancel"     ? BulkAction::cancel
                     : action == "discard"  ? BulkAction::discard
                     : action == "backfill" ? BulkAction::backfill
                                            : BulkAction::retry;
  if (bulk.info.action == BulkAction::backfill) {
    bulk.backfill = BackfillState{.from = object.instant("from").value_or(kInstantMin),
                                  .to = object.instant("to").value_or(kInstantMin),
                                  .subject = object.text("at_subject"),
                                  .window = object.integer("at_window").value_or(0)};
    bulk.created_by = text_if(json, object, "created_by").value_or("");
  }
  if (const auto total = object.integer("total")) bulk.info.total = static_cast<std::uint64_t>(*total);
  bulk.info.done = static_cast<std::uint64_t>(object.integer("done").value_or(0));
  bulk.info.failed = static_cast<std::uint64_t>(object.integer("failed").value_or(0));
  bulk.after.value = object.integer("after").value_or(0);
  bulk.filter.tenant = object.text("tenant");
  for (const std::string& name : object.texts("states")) {
    if (const auto state = job_state_from(name)) bulk.filter.states.push_back(*state);
  }
  bulk.filter.states = states_meant(bulk.info.action, std::move(bulk.filter.states));
  bulk.filter.type = text_if(json, object, "type");
  bulk.filter.queue = text_if(json, object, "queue");
  bulk.filter.schedule = text_if(json, object, "schedule");
  bulk.filter.subject = text_if(json, object, "subject");
  bulk.filter.tag = text_if(json, object, "tag");
  bulk.filter.text = text_if(json, object, "text");
  bulk.filter.since = object.instant("since");
  bulk.filter.until = object.instant("until");
  if (const auto rate = object.integer("rate_milli")) bulk.rate = static_cast<double>(*rate) / 1000;
  return bulk;
}

DocumentKey BulkWork::key_of(const BulkState& state) {
  return {.tenant = state.filter.tenant, .kind = std::string(kBulkKind), .name = state.info.id};
}

Result<void> BulkWork::put(const BulkState& state) {
  TRY(store_.admin().put_document({.key = key_of(state), .body = write_bulk(state)}, std::nullopt));
  return {};
}

void BulkWork::remember(Round& round, const BulkState& state, BootTime next_at) {
  round.on_commit.emplace_back([this, state, next_at] {
    const std::pair key(state.filter.tenant, state.info.id);
    if (state.info.state == kRunning) {
      works_[key] = {.state = state, .next_at = next_at};
    } else {
      works_.erase(key);
    }
  });
}

namespace {

// Ids grow with time: the oldest come first.
Result<void> forget_ended(Store& store, const std::string& tenant, Instant now) {
  const DocumentKey before{.tenant = tenant, .kind = std::string(kBulkKind), .name = {}};
  TRY_ASSIGN(const std::vector<Document> oldest, store.admin().documents_above(before, kEndedLookedAt));
  for (const Document& document : oldest) {
    if (document.key.tenant != tenant || document.key.kind != kBulkKind) return {};
    if (now - document.updated_at < kEndedKept) continue;
    TRY_ASSIGN(const BulkState state, read_bulk(document.body));
    if (state.info.state != kRunning) TRY(store.admin().delete_document(document.key, std::nullopt));
  }
  return {};
}

}  // namespace

Result<BulkInfo> BulkWork::begin(Round& round, const Begin& begin) {
  const BulkRequest& request = begin.request;
  TRY(check_room(works_, request.query.tenant));
  TRY(forget_ended(store_, request.query.tenant, round.now));
  if (request.rate && (!(*request.rate >= 0.001) || *request.rate > kRateMax)) {
    return invalid_field(
        "rate", fmt::format("rate is {}; it must lie between 0.001 and {} jobs a second", *request.rate, kRateMax));
  }
  const BulkState state{.info = {.id = format_job_id(store_.jobs().new_job_id()),
                                 .action = request.action,
                                 .state = std::string(kRunning),
                                 .total = begin.total},
                        .backfill = {},
                        .created_by = {},
                        .filter = query_of(request, round.now),
                        .rate = request.rate};
  TRY(put(state));
  remember(round, state, round.boot);
  return state.info;
}

Result<BulkInfo> BulkWork::begin(Round& round, const BeginBackfill& begin) {
  TRY(check_room(works_, std::string(begin.tenant)));
  TRY(forget_ended(store_, std::string(begin.tenant), round.now));
  BulkState state{.info = {.id = format_job_id(store_.jobs().new_job_id()),
                           .action = BulkAction::backfill,
                           .state = std::string(kRunning),
                           .total = begin.total},
                  .backfill = BackfillState{.from = begin.from, .to = begin.to, .subject = {}},
                  .created_by = begin.created_by,
                  .filter = {.tenant = std::string(begin.tenant), .schedule = std::string(begin.schedule)}};
  if (!begin.subject.empty()) state.filter.subject = begin.subject;
  TRY(put(state));
  remember(round, state, round.boot);
  return state.info;
}

Result<BulkInfo> BulkWork::stop(Round& round, std::string_view tenant, std::string_view id) {
  const auto found = works_.find({std::string(tenant), std::string(id)});
  if (found == works_.end()) {
    // It has ended: there is nothing to stop, and it is told how.
    const auto ended = store_.admin().document(
        {.tenant = std::string(tenant), .kind = std::string(kBulkKind), .name = std::string(id)});
    if (!ended) return failed(ErrorCode::not_found, fmt::format("there is no bulk work {}", quoted(id)));
    TRY_ASSIGN(const BulkState state, read_bulk(ended->body));
    return state.info;
  }
  BulkState state = found->second.state;
  state.info.state = kStopped;
  TRY(put(state));
  remember(round, state, round.boot);
  return state.info;
}

void BulkWork::resume(const Document& document) {
  auto state = read_bulk(document.body);
  const std::pair key(document.key.tenant, document.key.name);
  if (!state || state->info.state != kRunning) {
    works_.erase(key);
    return;
  }
  works_[key] = {.state = *std::move(state)};
}

std::optional<BootTime> BulkWork::next_at() const {
  std::optional<BootTime> next;
  for (const auto& [key, work] : works_) {
    if (!next || work.next_at < *next) next = work.next_at;
  }
  return next;
}

Result<void> BulkWork::step(Round& round) {
  // Who has waited longest first, else by key; a step moves its work to the end of the line.
  std::multimap<decltype(Work::next_at), const Work*> due;
  for (const auto& [key, work] : works_) {
    if (work.next_at <= round.boot) due.emplace(work.next_at, &work);
  }
  std::size_t steps = 0;
  for (const auto& [at, work] : due) {
    if (++steps > kStepsOfRound) break;
    TRY(step(round, *work));
  }
  return {};
}

Result<void> BulkWork::step(Round& round, const Work& work) {
  // What is stored decides: it may have been stopped in this very round.
  const auto document = store_.admin().document(key_of(work.state));
  if (!document && document.error().code == ErrorCode::not_found) {
    // Its tenant is being deleted.
    round.on_commit.emplace_back(
        [this, key = std::pair(work.state.filter.tenant, work.state.info.id)] { works_.erase(key); });
    return {};
  }
  if (!document) return std::unexpected(document.error());
  TRY_ASSIGN(BulkState state, read_bulk(document->body));
  if (state.info.state != kRunning) {
    remember(round, state, round.boot);
    return {};
  }
  if (state.backfill) return step_backfill(round, std::move(state));
  // With a rate: a tenth of a second's worth at a time, at least one.
  const double share = state.rate ? std::max(1.0, *state.rate / 10) : static_cast<double>(kStep);
  const auto changes = static_cast<std::size_t>(std::min(share, static_cast<double>(kStep)));
  TRY_ASSIGN(const BulkStep step,
             store_.jobs().act_on(state.filter, action_of(state.info.action), state.after, {kStep, changes}));
  round.add_ready(step.ready);
  for (const Changed& job : step.jobs) {
    round.tell(JobChanged{.job = job.id, .tenant = job.tenant, .state = job.state});
    if (job.cancel_requested) ask_to_stop_(round, job.id);
  }
  state.info.done += step.changed;
  state.info.failed += step.refused;
  state.after = step.next_after;
  if (step.end || (state.filter.until && made_at(step.next_after) >= *state.filter.until)) state.info.state = kDone;
  TRY(put(state));
  Duration pause{};
  if (state.rate) {
    pause = std::chrono::microseconds(std::llround(1e6 * static_cast<double>(step.changed) / *state.rate));
  }
  remember(round, state, round.boot + pause);
  return {};
}

Result<void> BulkWork::step_backfill(Round& round, BulkState state) {
  const std::size_t room = room_.left ? room_.left(state.filter.tenant) : kStep;
  if (room == 0) {
    remember(round, state, round.boot + kNoRoomPause);
    return {};
  }
  TRY_ASSIGN(const BackfillStep step, make_windows_(round, state, std::min(kStep, room)));
  if (room_.made && step.made > 0) {
    round.on_commit.emplace_back([this, tenant = state.filter.tenant, made = step.made] { room_.made(tenant, made); });
  }
  state.backfill = step.next;
  state.info.done += step.made;
  state.info.failed += step.refused;
  if (step.end) state.info.state = kDone;
  TRY(put(state));
  remember(round, state, round.boot);
  return {};
}

}  // namespace carillon
