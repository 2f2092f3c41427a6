// What operators set, as the judge understands it: caps, limits, gates, pauses; and what runs under them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/time/instant.h"
#include "sim/model.h"
#include "sim/verdict.h"
#include "store/rows.h"

namespace carillon::sim {

struct QuietTime {
  Duration start{};
  Duration end{};
  std::string zone = "UTC";

  friend bool operator==(const QuietTime&, const QuietTime&) = default;
};

// A document as the judge keeps it; which parts mean something depends on its kind.
struct RuleText {
  bool exists = true;
  std::optional<std::uint32_t> cap;  // of a tenant, a queue, or all; of a limit: its concurrency
  std::uint32_t weight = 1;
  bool paused = false;
  std::optional<QuietTime> quiet;
  std::optional<Instant> until;  // of maintenance
  std::optional<double> rate;    // of a limit, as all below
  Duration per = std::chrono::seconds(1);
  double burst = 1;

  friend bool operator==(const RuleText&, const RuleText&) = default;
};

// The rules of a tenant and one of its queues: looked for once, as each audit asks for those of every job.
struct LaneRules {
  const RuleText* config = nullptr;
  const RuleText* settings = nullptr;
  const RuleText* queue = nullptr;
  const RuleText* default_queue = nullptr;
  const RuleText* maintenance = nullptr;
  const RuleText* maintenance_of_all = nullptr;
};

class Rules {
 public:
  explicit Rules(Findings& findings) : findings_(findings) {}
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;
  ~Rules() = default;

  // About to be asked for; it holds from when it is stored.
  void intend(const DocumentKey& key, RuleText text);
  void stored(const DocumentKey& key, Instant now, BootTime boot);

  // It stays where it is, and says what holds at any time.
  const LaneRules& lane(const std::string& tenant, const std::string& queue);

  // Held by hand: a pause of tenant, queue or everything. (invariant 32)
  static bool is_paused(const LaneRules& lane);
  // Before a closed gate. (invariant 27)
  static bool is_gated(const LaneRules& lane, bool notifies, Instant now);
  // Near enough to an opening or a change of clocks that the judge does not insist.
  bool is_settled(const std::string& tenant, const LaneRules& lane, Instant now, BootTime boot);
  // How long it is until the quiet hours of a tenant begin.
  std::optional<Duration> until_quiet(const std::string& tenant, Instant now) const;
  std::uint32_t weight(const std::string& tenant) const;

  // ---- What runs ----
  struct Running {
    std::string tenant;
    std::string queue;
    const JobSpec* spec = nullptr;
    BootTime until{};  // when its time is up, whether that is written or not
  };
  void begins(AttemptKey key, Running running, Instant now, BootTime boot);
  void ends(AttemptKey key, bool gave_back, Instant now);
  void rate_limited(const std::string& tenant, const std::string& limit, Instant until);
  // Holds begin after the round that heard of them.
  void round_over();
  // The clock is about to be set: buckets hold what they have by now.
  void clock_is_set(Instant now, Duration by);
  // A node begins: nothing runs, all buckets are full.
  void node_begins();
  // Whether one may be over that is not written as such: then caps may be freer than the node thinks.
  bool is_unsure(BootTime boot) const {
    return std::ranges::any_of(running_, [&](const auto& entry) { return entry.second.until <= boot; });
  }
  bool is_running(AttemptKey key) const { return running_.contains(key); }
  std::size_t running() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(running_, [this](const auto& entry) { return counts(entry.second); }));
  }
  std::size_t running(const std::string& tenant) const;
  std::size_t running(const std::string& tenant, const std::string& queue) const;
  std::optional<std::uint32_t> cap(const std::string& tenant) const;
  std::optional<std::uint32_t> cap_of_all() const;
  static std::optional<std::uint32_t> cap_of_tenant(const LaneRules& lane);
  static std::optional<std::uint32_t> cap_of_queue(const LaneRules& lane);
  // Whether all limits of a job let it start now, for certain.
  bool limits_allow(const std::string& tenant, const JobSpec& spec, Instant now);
  // Moves with each start and change of rules: what was startable may not be any more.
  std::uint64_t moves() const { return moves_; }

 private:
  struct Bucket {
    double tokens = 1;
    Instant seen;
    Instant held_until = kInstantMin;
    double returned = 0;   // came back to a full bucket in this round, perhaps after others had been taken
    bool learned = false;  // a provider has slowed it down
  };
  using LimitKey = std::pair<std::string, std::string>;  // tenant, or "" for all; name

  const RuleText* find(const DocumentKey& key) const;
  bool counts(const Running& running) const { return running.until > boot_; }
  std::optional<LimitKey> effective(const std::string& tenant, const std::string& name) const;
  Bucket& refilled(const LimitKey& key, Instant now);
  std::size_t running_under(const LimitKey& key) const;
  bool holds_some_of(const LimitKey& key, const std::string& tenant) const;

  Findings& findings_;
  std::map<DocumentKey, RuleText> intended_;
  std::map<DocumentKey, RuleText> rules_;
  std::map<std::pair<std::string, std::string>, LaneRules> lanes_;  // by tenant and queue
  std::map<AttemptKey, Running> running_;
  std::map<LimitKey, Bucket> buckets_;
  std::vector<std::pair<LimitKey, Instant>> holds_;
  std::set<LimitKey> set_;                  // in this round
  std::map<std::string, BootTime> opened_;  // by tenant: when something of it was last seen closed
  std::uint64_t moves_ = 0;
  BootTime boot_{};  // when an attempt began last
};

}  // namespace carillon::sim
