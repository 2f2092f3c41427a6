// A hand-driven node with workers outside: each call returns with what its `done` was given.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/pulls/pull_client.h"
#include "engine/support/hand_node.h"

namespace carillon::test {

// A call that may still wait.
struct PullAnswer {
  std::uint64_t id = 0;
  std::shared_ptr<std::optional<Result<std::vector<PulledJob>>>> got =
      std::make_shared<std::optional<Result<std::vector<PulledJob>>>>();
  bool is_there() const { return got->has_value(); }
  std::vector<PulledJob> jobs() const { return value_of(got->value()); }
  Error error() const { return error_of(got->value()); }
};

class PullNode {
 public:
  // Serves the type "own" and nothing else, unless told.
  explicit PullNode(const HandNode::Options& options) : node_(options), pulls_(node_.node()) {
    node_.node().serve_only([this](std::string_view tenant, std::string_view type) {
      return served.contains({std::string(tenant), std::string(type)}) || type == "own";
    });
    node_.settle_down();
  }
  HandNode* operator->() { return &node_; }
  PullClient& pulls() { return pulls_; }

  PullAnswer ask(PullRequest request) {
    PullAnswer answer;
    if (request.worker.empty()) request.worker = "ada";
    answer.id = pulls_.lease(std::move(request),
                             [got = answer.got](Result<std::vector<PulledJob>> jobs) { *got = std::move(jobs); });
    node_.settle_down();
    return answer;
  }
  std::vector<PulledJob> lease(PullRequest request = {}) { return ask(std::move(request)).jobs(); }
  PulledJob lease_one(PullRequest request = {}) {
    auto jobs = lease(std::move(request));
    if (jobs.size() != 1) throw std::runtime_error("leased " + std::to_string(jobs.size()) + " jobs, not one");
    return std::move(jobs.front());
  }
  Result<WordAnswer> settle(PullWord word) {
    std::vector<Result<WordAnswer>> got;
    pulls_.settle({std::move(word)}, [&](std::vector<Result<WordAnswer>> answers) { got = std::move(answers); });
    node_.settle_down();
    return got.at(0);
  }
  Result<WordAnswer> settle(const PulledJob& job, Outcome outcome) {
    return settle({.job = job.job.id, .token = job.job.token, .outcome = std::move(outcome)});
  }
  Result<BeatAnswer> beat(PullBeat beat) {
    std::vector<Result<BeatAnswer>> got;
    pulls_.extend({std::move(beat)}, [&](std::vector<Result<BeatAnswer>> answers) { got = std::move(answers); });
    node_.settle_down();
    return got.at(0);
  }
  Result<BeatAnswer> beat(const PulledJob& job) { return beat({.job = job.job.id, .token = job.job.token}); }

  // What the node serves besides, by tenant and type.
  std::set<std::pair<std::string, std::string>> served;

 private:
  HandNode node_;
  PullClient pulls_;
};

}  // namespace carillon::test
