// Workers outside, over every store, on a node that is driven by hand.
#pragma once

#include "engine/support/pull_node.h"

namespace carillon::test {

class Pulls : public ::testing::TestWithParam<std::string> {
 protected:
  HandNode::Options options(Instant start = at("2026-03-02T12:00:00Z")) const {
    HandNode::Options options{.start = start};
    if (GetParam() == "sqlite") options.sqlite = folder_.path() / "jobs.db";
    return options;
  }
  JobId enqueue(const JobRequest& request) { return node->enqueue(request); }
  std::vector<JobId> enqueue(int count, const JobRequest& request) {
    std::vector<JobId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(enqueue(request));
    return ids;
  }
  JobInfo job(JobId id, std::string_view tenant = "default") { return value_of(node->client().job(tenant, id)); }
  std::string why(JobId id, std::string_view tenant = "default") {
    return value_of(node->client().explain(tenant, id)).steps.back().why;
  }
  static std::vector<std::string> tenants_of(const std::vector<PulledJob>& jobs) {
    std::vector<std::string> tenants;
    for (const PulledJob& one : jobs) tenants.push_back(one.job.tenant);
    return tenants;
  }
  static std::vector<JobId> ids_of(const std::vector<PulledJob>& jobs) {
    std::vector<JobId> ids;
    for (const PulledJob& one : jobs) ids.push_back(one.job.id);
    return ids;
  }

 private:
  TestFolder folder_;

 public:
  PullNode node{options()};
};

}  // namespace carillon::test
