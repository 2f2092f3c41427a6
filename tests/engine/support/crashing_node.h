// A node over a file that ends without a word, as a killed process does, and is started again later.
//
//   CrashingNode node(at("2026-03-03T06:00:00Z"));
//   const RunPtr lost = node->take();                 // leased, and never settled
//   node.crash_until(at("2026-03-03T07:25:00Z"));     // only what is stored is left
#pragma once

#include <optional>

#include "engine/support/hand_node.h"

namespace carillon::test {

class CrashingNode {
 public:
  explicit CrashingNode(Instant start) { live_from(start); }
  HandNode* operator->() { return &*node_; }
  void crash_until(Instant start) {
    node_.reset();
    live_from(start);
  }
  // An attempt of what is due now, whose handler was entered.
  RunPtr begin_one() {
    RunPtr run = node_->take();
    EXPECT_TRUE(run && node_->begin(run)) << "nothing is eligible";
    return run;
  }

 private:
  void live_from(Instant start) {
    node_.emplace(HandNode::Options{.sqlite = folder_.path() / "jobs.db", .start = start});
  }

  TestFolder folder_;
  std::optional<HandNode> node_;
};

}  // namespace carillon::test
