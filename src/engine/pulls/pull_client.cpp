#include "engine/pulls/pull_client.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "engine/commands/workers.h"

namespace carillon {

namespace {

constexpr std::size_t kLimitMax = 1000;  // jobs of one call
constexpr Duration kWaitMax = std::chrono::hours(1);

// The same failure for each of them.
template <typename Answer>
std::vector<Result<Answer>> each(Result<std::vector<Result<Answer>>> answers, std::size_t count) {
  if (answers) return *std::move(answers);
  return std::vector<Result<Answer>>(count, std::unexpected(std::move(answers).error()));
}

}  // namespace

// The calls that have no answer yet, by number.
struct PullClient::Calls {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::unordered_map<std::uint64_t, PullCallPtr> open;

  void erase(std::uint64_t id) {
    const std::scoped_lock lock(mutex);
    open.erase(id);
  }
};

PullClient::PullClient(Node& node) : node_(node), commands_(node), calls_(std::make_shared<Calls>()) {}
PullClient::~PullClient() = default;

std::uint64_t PullClient::lease(PullRequest request, LeaseDone done) {
  auto call = std::make_shared<PullCall>();
  call->request = std::move(request);
  call->request.limit = std::clamp<std::size_t>(call->request.limit, 1, kLimitMax);
  call->request.wait = std::clamp<Duration>(call->request.wait, Duration::zero(), kWaitMax);
  {
    const std::scoped_lock lock(calls_->mutex);
    call->id = ++calls_->last;
    call->done = [calls = calls_, id = call->id, done = std::move(done)](Result<std::vector<PulledJob>> jobs) {
      calls->erase(id);
      done(std::move(jobs));
    };
    calls_->open.emplace(call->id, call);
  }
  const std::uint64_t id = call->id;
  commands_.submit(command::LeaseJobs{.call = call}, [call](const Result<void>& added) {
    if (!added && call->begin_answer()) call->done(std::unexpected(added.error()));
  });
  return id;
}

bool PullClient::forget(std::uint64_t call) {
  PullCallPtr found;
  {
    const std::scoped_lock lock(calls_->mutex);
    const auto open = calls_->open.find(call);
    if (open == calls_->open.end()) return false;
    found = std::move(open->second);
    calls_->open.erase(open);
  }
  if (!found->forget()) return false;
  node_.forget_pull(std::move(found));
  return true;
}

void PullClient::extend(std::vector<PullBeat> beats, ExtendDone done) {
  const std::size_t count = beats.size();
  commands_.submit(command::ExtendLeases{.beats = std::move(beats)},
                   [count, done = std::move(done)](Result<std::vector<Result<BeatAnswer>>> answers) {
                     done(each(std::move(answers), count));
                   });
}

void PullClient::settle(std::vector<PullWord> words, SettleDone done) {
  const std::size_t count = words.size();
  commands_.submit(command::Report{.words = std::move(words)},
                   [count, done = std::move(done)](Result<std::vector<Result<WordAnswer>>> answers) {
                     done(each(std::move(answers), count));
                   });
}

Result<EffectClaim> PullClient::claim_effect(std::string_view tenant, std::string_view key, JobId job,
                                             std::int64_t token) {
  return commands_.ask(
      command::ClaimEffect{.tenant = std::string(tenant), .key = std::string(key), .job = job, .token = token});
}

Result<void> PullClient::effect_done(std::string_view tenant, std::string_view key, JobId job, std::int64_t token,
                                     std::string_view result) {
  return commands_.ask(command::FinishEffect{.tenant = std::string(tenant),
                                             .key = std::string(key),
                                             .job = job,
                                             .token = token,
                                             .result = std::string(result)});
}

Result<void> PullClient::effect_undone(std::string_view tenant, std::string_view key, JobId job, std::int64_t token) {
  return commands_.ask(
      command::UndoEffect{.tenant = std::string(tenant), .key = std::string(key), .job = job, .token = token});
}

std::vector<PullWorker> PullClient::workers(const std::vector<std::string>& tenants) const {
  return node_.workers().list(tenants, node_.store().jobs().now());
}

}  // namespace carillon
