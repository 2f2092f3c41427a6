#include "engine/pulls/pull_client.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace carillon {

namespace {

constexpr std::size_t kLimitMax = 1000;  // jobs of one call
constexpr Duration kWaitMax = std::chrono::hours(1);

Result<void> check(const PullRequest& request) {
  if (request.worker.empty()) return invalid_request("a worker that leases jobs must have a name");
  if (request.lease && *request.lease <= Duration::zero()) {
    return invalid_request("a lease must be longer than nothing");
  }
  return {};
}

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

PullClient::PullClient(Node& node) : node_(node), calls_(std::make_shared<Calls>()) {}
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
  node_.post<void>(
      [this, call](Round& round) -> Result<void> {
        TRY(check(call->request));
        return call->is_waiting() ? node_.add_pull(round, call) : Result<void>();
      },
      [call](const Result<void>& added) {
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
  node_.post<std::vector<Result<BeatAnswer>>>(
      [this, beats = std::move(beats)](Round& round) { return node_.extend_pulled(round, beats); },
      [count, done = std::move(done)](Result<std::vector<Result<BeatAnswer>>> answers) {
        done(each(std::move(answers), count));
      });
}

void PullClient::settle(std::vector<PullWord> words, SettleDone done) {
  const std::size_t count = words.size();
  node_.post<std::vector<Result<WordAnswer>>>(
      [this, words = std::move(words)](Round& round) { return node_.settle_pulled(round, words); },
      [count, done = std::move(done)](Result<std::vector<Result<WordAnswer>>> answers) {
        done(each(std::move(answers), count));
      });
}

Result<EffectClaim> PullClient::claim_effect(std::string_view tenant, std::string_view key, JobId job,
                                             std::int64_t token) {
  return node_.call<EffectClaim>([&](Round&) { return node_.store().jobs().claim_effect(tenant, key, job, token); });
}

Result<void> PullClient::effect_done(std::string_view tenant, std::string_view key, JobId job, std::int64_t token,
                                     std::string_view result) {
  return node_.call<void>([&](Round&) { return node_.store().jobs().effect_done(tenant, key, job, token, result); });
}

Result<void> PullClient::effect_undone(std::string_view tenant, std::string_view key, JobId job, std::int64_t token) {
  return node_.call<void>([&](Round&) { return node_.store().jobs().effect_undone(tenant, key, job, token); });
}

std::vector<PullWorker> PullClient::workers(const std::vector<std::string>& tenants) const {
  return node_.workers().list(tenants, node_.store().jobs().now());
}

}  // namespace carillon
