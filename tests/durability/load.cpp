#include "durability/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "durability/common_commits.h"

namespace carillon::test {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kBatchMax = 6;
// Beyond it, jobs are worked off before new ones come.
constexpr std::size_t kDueMax = 40;

// What a fault may make of an answer.
bool is_fault(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::store_full || code == ErrorCode::database_error;
}

template <typename Answers>
Result<void> first_error(const Answers& answers) {
  for (const auto& answer : answers) {
    if (!answer) return std::unexpected(answer.error());
  }
  return {};
}

}  // namespace

Way straight_to(Store& store) {
  return [&store](const Work& work) { return work(store); };
}

Way through(CommonCommits& commits) {
  return [&commits](const Work& work) { return commits.write(work); };
}

Load::Load(JobStore& jobs, Way way, Ledger& ledger, Options options)
    : jobs_(jobs), way_(std::move(way)), ledger_(ledger), options_(std::move(options)), random_(options_.seed) {}

Result<void> Load::step() {
  const auto dice = random_.below(100);
  if (dice < 40 && !leased_.empty()) return settle_some();
  if (dice < 65 && !due_.empty()) return claim_some();
  if (dice < 70 && !parked_.empty()) return retry_one();
  if (dice < 75 && !(due_.empty() && far_off_.empty())) return cancel_one();
  if (due_.size() > kDueMax) return claim_some();
  if (dice < 82) return enqueue_pair();
  return enqueue_some();
}

void Load::sort_in(JobId id, JobState state) {
  for (auto* list : {&due_, &far_off_, &leased_, &parked_}) std::erase(*list, id);
  switch (state) {
    case JobState::queued: return due_.push_back(id);
    case JobState::processing: return leased_.push_back(id);
    case JobState::dlq: return parked_.push_back(id);
    case JobState::waiting:
    case JobState::done:
    case JobState::skipped:
    case JobState::cancelled:
    case JobState::cutoff_reached:
    case JobState::missed: return;
  }
}

std::vector<JobId> Load::pick(const std::vector<JobId>& from, std::size_t count_max) {
  std::vector<JobId> picked;
  const std::size_t count = 1 + random_.below(std::min(count_max, from.size()));
  const std::size_t first = random_.below(from.size());
  for (std::size_t i = 0; i < count; ++i) picked.push_back(from[(first + i) % from.size()]);
  return picked;
}

Result<void> Load::write(const Facts& after, const Work& work) {
  const auto asked = ledger_.ask(after);
  Result<void> answer = way_(work);
  if (answer) {
    ledger_.acknowledge(asked);
    for (const auto& [id, facts] : after) sort_in(id, facts.state);
    return answer;
  }
  if (!is_fault(answer.error().code)) {
    ledger_.surprise(fmt::format("{}: {}", to_string(answer.error().code), answer.error().message));
  }
  if (options_.errors_change_nothing) ledger_.refuse(asked);
  return answer;
}

NewJob Load::new_job() {
  NewJob job{.id = jobs_.new_job_id(), .type = random_.coin() ? "mail.send" : "report.build"};
  job.queue = random_.coin() ? "default" : fmt::format("lane-{}", random_.below(3));
  const bool is_long = random_.below(8) == 0;
  const std::string fill(random_.below(is_long ? options_.payload_bytes_max : 200), 'x');
  job.payload = fmt::format(R"({{"n": {}, "fill": "{}"}})", job.id.value, fill);
  if (random_.below(4) == 0) {
    job.options.idempotency_key = fmt::format("{}-{}-{}", options_.name, options_.seed, ++keys_);
    if (random_.coin()) job.options.unique_until = {.until = KeyHold::Until::done};
  }
  return job;
}

JobFacts Load::facts_of_new(const NewJob& job) const {
  return {.payload_hash = payload_hash(job.payload), .key = job.options.idempotency_key.value_or(""), .worker = {}};
}

Result<void> Load::enqueue_some() {
  std::vector<NewJob> batch(1 + random_.below(kBatchMax));
  Facts after;
  for (NewJob& job : batch) {
    job = new_job();
    after[job.id] = facts_of_new(job);
  }
  NewJob& last = batch.back();
  const bool far_off = random_.below(4) == 0;
  if (far_off) last.run_at = jobs_.now() + 1h;
  if (random_.below(4) == 0) last.deadline = jobs_.now() + 2h;
  const Result<void> answer = write(after, [&](Store& store) { return first_error(store.jobs().enqueue(batch)); });
  if (!answer) return answer;
  for (const NewJob& job : batch) {
    key_goes_at_end_[job.id] = job.options.unique_until.until == KeyHold::Until::done;
  }
  if (far_off) {
    std::erase(due_, last.id);
    far_off_.push_back(last.id);
  }
  return {};
}

Result<void> Load::enqueue_pair() {
  std::vector<NewJob> pair{new_job(), new_job()};
  pair[1].depends_on = {pair[0].id};
  Facts after{{pair[0].id, facts_of_new(pair[0])}, {pair[1].id, facts_of_new(pair[1])}};
  after[pair[1].id].state = JobState::waiting;
  const Result<void> answer = write(after, [&](Store& store) -> Result<void> {
    TRY(store.jobs().enqueue_all(pair));
    return {};
  });
  if (!answer) return answer;
  dependent_[pair[0].id] = pair[1].id;
  for (const NewJob& job : pair) {
    key_goes_at_end_[job.id] = job.options.unique_until.until == KeyHold::Until::done;
  }
  return {};
}

Result<void> Load::claim_some() {
  const std::vector<JobId> wanted = pick(due_, 4);
  Facts after;
  for (const JobId id : wanted) {
    JobFacts& facts = after[id] = ledger_.facts_of(id);
    facts.state = JobState::processing;
    ++facts.token;
    facts.worker = options_.name;
  }
  std::vector<LeasedJob> leased;
  const Result<void> answer = write(after, [&](Store& store) -> Result<void> {
    TRY_ASSIGN(Claimed claimed, store.jobs().claim({.worker = options_.name, .lease = 1h, .jobs = wanted}));
    leased = std::move(claimed.jobs);
    return {};
  });
  if (!answer) return answer;
  if (leased.size() != wanted.size()) {
    ledger_.surprise(fmt::format("of {} jobs {} were claimed", wanted.size(), leased.size()));
  }
  for (const LeasedJob& job : leased) {
    const JobFacts& facts = after.at(job.id);
    if (job.token != facts.token || payload_hash(job.payload) != facts.payload_hash) {
      ledger_.surprise(
          fmt::format("job {} was claimed with token {} and {} bytes", job.id.value, job.token, job.payload.size()));
    }
  }
  return {};
}

void Load::add_dependent(JobId parent, JobState ended_as, Facts& after) const {
  const auto found = dependent_.find(parent);
  if (found == dependent_.end()) return;
  JobFacts& facts = after[found->second] = ledger_.facts_of(found->second);
  facts.state = ended_as == JobState::done ? JobState::queued : JobState::cancelled;
  if (facts.state == JobState::cancelled && key_goes_at_end_.at(found->second)) facts.key.clear();
}

Result<void> Load::settle_some() {
  Facts after;
  std::vector<Settlement> settlements;
  for (const JobId id : pick(leased_, 4)) {
    JobFacts& facts = after[id] = ledger_.facts_of(id);
    Settlement& settlement = settlements.emplace_back(Settlement{.job = id, .token = facts.token});
    const auto dice = random_.below(10);
    const std::string worker = std::exchange(facts.worker, {});
    facts.state = JobState::queued;
    if (dice < 6) {
      facts.state = JobState::done;
      facts.worker = worker;
      ++facts.attempts;
      if (key_goes_at_end_[id]) facts.key.clear();
      if (dice < 2) settlement.output = R"({"sent": true})";
      if (dice == 0) {
        NewJob follow_up = new_job();
        follow_up.options.idempotency_key.reset();
        after[follow_up.id] = facts_of_new(follow_up);
        settlement.then.push_back(std::move(follow_up));
      }
      add_dependent(id, JobState::done, after);
    } else if (dice == 6) {
      settlement.end = {.result = AttemptResult::error, .permanent = true};
      facts.state = JobState::dlq;
      ++facts.attempts;
      ++facts.attempt_rows;
    } else if (dice == 7) {
      settlement.end = {.result = AttemptResult::released, .started = false};
      ++facts.attempt_rows;
    } else if (dice == 8) {
      settlement.defer = Settlement::Deferral{.until = jobs_.now(), .reason = "maintenance"};
    } else {
      settlement.end = {.result = AttemptResult::error, .retry_at = jobs_.now()};
      settlement.error = {.message = "it broke", .error_class = "req"};
      ++facts.attempts;
      ++facts.attempt_rows;
      if (facts.attempts >= kMaxAttemptsDefault) facts.state = JobState::dlq;
    }
  }
  return write(after, [&](Store& store) { return first_error(store.jobs().settle(settlements)); });
}

Result<void> Load::cancel_one() {
  const bool far_off = due_.empty() || (!far_off_.empty() && random_.coin());
  const std::vector<JobId> one = pick(far_off ? far_off_ : due_, 1);
  Facts after{{one.front(), ledger_.facts_of(one.front())}};
  JobFacts& facts = after.begin()->second;
  facts.state = JobState::cancelled;
  if (key_goes_at_end_[one.front()]) facts.key.clear();
  add_dependent(one.front(), JobState::cancelled, after);
  return write(after, [&](Store& store) { return first_error(store.jobs().act("default", JobAction::cancel, one)); });
}

Result<void> Load::retry_one() {
  const std::vector<JobId> one = pick(parked_, 1);
  Facts after{{one.front(), ledger_.facts_of(one.front())}};
  JobFacts& facts = after.begin()->second;
  facts.state = JobState::queued;
  facts.attempts = 0;
  return write(after, [&](Store& store) { return first_error(store.jobs().act("default", JobAction::retry, one)); });
}

}  // namespace carillon::test
