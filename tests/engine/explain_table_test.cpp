// What explain says of a job that is held, against what a table of reasons says: each alone, and each pair of them, for
// jobs of a handler in this process and for those of workers outside. The table knows of every reason when it ends and
// nothing of how the engine finds it. (invariant 33)
#include <algorithm>
#include <tuple>

#include "engine/support/pull_node.h"

namespace carillon::test::explain_table {
namespace {

constexpr std::string_view kTenant = "default";
constexpr Duration kNotDueFor = 5h;

class World {
 public:
  struct Options {
    bool pulled = false;
    bool one_slot = false;
    bool worker_asks = true;
  };
  explicit World(const Options& options) : options_(options) {
    const HandNode::Options node_options{.max_concurrency = options.one_slot ? 1U : 8U,
                                         .start = at("2026-03-02T11:59:00Z")};
    if (options.pulled) {
      pull_.emplace(node_options);
    } else {
      own_.emplace(node_options);
    }
    node().settle_down();
  }

  // Jobs of schedules come to be at noon, when everything else begins.
  void begin_at_noon() {
    node().pass(at("2026-03-02T12:00:00Z") - now());
    if (options_.worker_asks) ask();
  }
  // A worker outside waits for jobs.
  void ask() {
    if (pull_) waits_ = pull_->ask({.filter = {.types = {"work", "other"}}, .wait = 60s});
  }

  HandNode& node() { return own_ ? *own_ : *pull_->operator->(); }
  Client& client() { return node().client(); }
  Instant now() { return node().clock.now(); }
  std::string in(Duration duration) { return "\"" + format_instant(now() + duration) + "\""; }

  // An attempt that runs on and on, and takes what is named.
  void hold(std::vector<std::string> limits) {
    node().enqueue({.type = "holder", .queue = "q", .limits = std::move(limits)});
    if (pull_) {
      ASSERT_EQ(pull_->lease({.filter = {.types = {"holder"}}}).size(), 1U);
      return;
    }
    const RunPtr run = node().take();
    ASSERT_TRUE(run && node().begin(run));
  }
  void put_schedule(std::string definition) {
    value_of(client().put_schedule(kTenant, definition));
    definition_ = std::move(definition);
  }
  void turn_off_schedule() { value_of(client().put_schedule(kTenant, R"({"enabled":false,)" + definition_.substr(1))); }
  // One that is told to come again.
  void learn(std::string_view limit, Duration rest) {
    node().enqueue({.type = "learner", .queue = "learners", .limits = {std::string(limit)}});
    const Outcome word = rate_limited(std::string(limit), carillon::in(rest));
    if (pull_) {
      ASSERT_TRUE(pull_->settle(pull_->lease_one({.filter = {.types = {"learner"}}}), word).has_value());
      return;
    }
    const RunPtr run = node().take();
    ASSERT_TRUE(run && node().begin(run));
    node().finish(run, word);
  }

 private:
  const Options options_;
  std::optional<HandNode> own_;
  std::optional<PullNode> pull_;
  PullAnswer waits_;
  std::string definition_;  // of the schedule
};

// When a reason ends.
enum class End : std::uint8_t { by_others, by_time, by_hand };

struct Reason {
  std::string_view name;
  std::string_view why;
  End end = End::by_hand;
  std::optional<Duration> after{};    // of by_time
  std::string_view excludes{};        // two of the same kind cannot be
  std::vector<std::string> limits{};  // that the job names
  bool needs_holder = false;
  bool needs_schedule = false;
  std::function<void(World&)> rules{};         // before anything is there
  std::function<void(World&)> learn{};         // before anything holds on
  std::function<void(World&, JobId)> close{};  // when the job is there
};

void put(Result<void> done) { ASSERT_TRUE(done.has_value()) << done.error().message; }

std::string until_text(World& world, Duration after) { return R"({"until":)" + world.in(after) + "}"; }

// Those of one end and time hold in the order of the table, the last one binds.
std::vector<Reason> reasons(bool pulled) {
  std::vector<Reason> all;
  if (pulled) {
    all.push_back({.name = "no_worker", .why = "no_worker", .end = End::by_others});
  } else {
    all.push_back({.name = "node", .why = "cap:node", .end = End::by_others, .needs_holder = true});
  }
  all.push_back(
      {.name = "all", .why = "cap:all", .end = End::by_others, .needs_holder = true, .close = [](World& w, JobId) {
         put(w.client().put_config(R"({"max_concurrent_jobs":1})"));
       }});
  all.push_back({.name = "tenant_cap",
                 .why = "cap:tenant",
                 .end = End::by_others,
                 .needs_holder = true,
                 .close = [](World& w, JobId) { put(w.client().put_settings(kTenant, R"({"max_concurrency":1})")); }});
  all.push_back(
      {.name = "queue_cap",
       .why = "cap:queue",
       .end = End::by_others,
       .needs_holder = true,
       .close = [](World& w, JobId) { put(w.client().put_queue(kTenant, "q", R"({"max_concurrency":1})")); }});
  all.push_back({.name = "slots",
                 .why = "limit:slots",
                 .end = End::by_others,
                 .limits = {"slots"},
                 .needs_holder = true,
                 .rules = [](World& w) { put(w.client().put_limit(kTenant, "slots", R"({"concurrency":1})")); }});
  all.push_back({.name = "global_slots",
                 .why = "limit:global_slots",
                 .end = End::by_others,
                 .limits = {"global_slots"},
                 .needs_holder = true,
                 .rules = [](World& w) { put(w.client().put_limit("", "global_slots", R"({"concurrency":1})")); }});
  // Whoever ends, its next token comes later.
  all.push_back({.name = "slots_and_rate",
                 .why = "limit:both",
                 .end = End::by_time,
                 .after = 20min,
                 .limits = {"both"},
                 .needs_holder = true,
                 .rules = [](World& w) {
                   put(w.client().put_limit(kTenant, "both", R"({"concurrency":1,"rate":3,"per":"1h","burst":1})"));
                 }});
  all.push_back(
      {.name = "rate",
       .why = "limit:rate",
       .end = End::by_time,
       .after = 30min,
       .limits = {"rate"},
       .needs_holder = true,
       .rules = [](World& w) { put(w.client().put_limit(kTenant, "rate", R"({"rate":2,"per":"1h","burst":1})")); }});
  all.push_back({.name = "learnt",
                 .why = "limit:learnt",
                 .end = End::by_time,
                 .after = 10min,
                 .limits = {"learnt"},
                 .rules = [](World& w) { put(w.client().put_limit(kTenant, "learnt", R"({"rate":1000,"per":"1s"})")); },
                 .learn = [](World& w) { w.learn("learnt", 10min); }});
  all.push_back({.name = "global",
                 .why = "limit:global",
                 .end = End::by_time,
                 .after = 40min,
                 .limits = {"global"},
                 .rules = [](World& w) { put(w.client().put_limit("", "global", R"({"rate":1000,"per":"1s"})")); },
                 .learn = [](World& w) { w.learn("global", 40min); }});
  all.push_back(
      {.name = "not_due", .why = "not_due", .end = End::by_time, .after = kNotDueFor, .close = [](World& w, JobId id) {
         ASSERT_TRUE(w.client().change(kTenant, id, {.run_at = w.now() + kNotDueFor}).has_value());
       }});
  all.push_back({.name = "quiet", .why = "quiet_hours", .end = End::by_time, .after = 1h, .close = [](World& w, JobId) {
                   put(w.client().put_settings(kTenant, R"({"quiet_hours":{"start":"11:00","end":"13:00"}})"));
                 }});
  all.push_back({.name = "maintenance_2h",
                 .why = "maintenance",
                 .end = End::by_time,
                 .after = 2h,
                 .excludes = "own",
                 .close = [](World& w, JobId) { put(w.client().put_maintenance(kTenant, until_text(w, 2h))); }});
  all.push_back({.name = "maintenance_8h",
                 .why = "maintenance",
                 .end = End::by_time,
                 .after = 8h,
                 .excludes = "own",
                 .close = [](World& w, JobId) { put(w.client().put_maintenance(kTenant, until_text(w, 8h))); }});
  all.push_back({.name = "all_3h",
                 .why = "maintenance:all",
                 .end = End::by_time,
                 .after = 3h,
                 .excludes = "everybody",
                 .close = [](World& w, JobId) { put(w.client().put_maintenance("", until_text(w, 3h))); }});
  all.push_back(
      {.name = "schedule_4h",
       .why = "paused",
       .end = End::by_time,
       .after = 4h,
       .excludes = "schedule",
       .needs_schedule = true,
       .close = [](World& w, JobId) { ASSERT_TRUE(w.client().pause(kTenant, "s", w.now() + 4h).has_value()); }});
  all.push_back({.name = "maintenance", .why = "maintenance", .excludes = "own", .close = [](World& w, JobId) {
                   put(w.client().put_maintenance(kTenant, "{}"));
                 }});
  all.push_back({.name = "all_closed", .why = "maintenance:all", .excludes = "everybody", .close = [](World& w, JobId) {
                   put(w.client().put_maintenance("", "{}"));
                 }});
  all.push_back({.name = "subject", .why = "disabled", .needs_schedule = true, .close = [](World& w, JobId) {
                   ASSERT_TRUE(w.client().put_subject(kTenant, "s", "ada", R"({"enabled":false})").has_value());
                 }});
  all.push_back({.name = "schedule",
                 .why = "paused",
                 .excludes = "schedule",
                 .needs_schedule = true,
                 .close = [](World& w, JobId) { ASSERT_TRUE(w.client().pause(kTenant, "s").has_value()); }});
  all.push_back({.name = "schedule_off",
                 .why = "disabled",
                 .excludes = "schedule",
                 .needs_schedule = true,
                 .close = [](World& w, JobId) { w.turn_off_schedule(); }});
  all.push_back({.name = "queue", .why = "paused"});
  all.push_back({.name = "tenant", .why = "paused", .close = [](World& w, JobId) {
                   put(w.client().put_settings(kTenant, R"({"paused":true})"));
                 }});
  all.push_back({.name = "disabled", .why = "disabled", .close = [](World& w, JobId) {
                   put(w.client().put_config(R"({"enabled":false})"));
                 }});
  return all;
}

struct Situation {
  bool pulled = false;
  std::vector<Reason> reasons;

  bool has(std::string_view name) const {
    return std::ranges::any_of(reasons, [&](const Reason& one) { return one.name == name; });
  }
  std::string name() const {
    std::string text = pulled ? "pull" : "library";
    for (const Reason& one : reasons) text.append(" ").append(one.name);
    return text;
  }
};

// What is to be said: the reasons in order, each with its time.
std::vector<std::string> oracle(const Situation& situation, Instant now) {
  std::vector<std::tuple<End, Duration, std::size_t, std::string>> told;
  for (std::size_t i = 0; i < situation.reasons.size(); ++i) {
    const Reason& one = situation.reasons[i];
    // What is over by the time the job is due does not hold it; and what others may end by then is not known to.
    const bool lasts = one.end == End::by_hand || one.name == "not_due" || (one.after && *one.after > kNotDueFor);
    if (situation.has("not_due") && !lasts) continue;
    const std::string until = one.after ? format_instant(now + *one.after) : "-";
    told.emplace_back(one.end, one.after.value_or(0s), i, std::string(one.why) + " " + until);
  }
  std::ranges::sort(told);
  std::vector<std::string> texts;
  for (const auto& [end, after, place, text] : told) texts.push_back(text);
  return texts;
}

std::vector<std::string> said(const Explanation& explanation) {
  std::vector<std::string> texts;
  for (const ExplainStep& step : explanation.steps) {
    if (step.what != "held") continue;
    const JsonValue detail = value_of(JsonValue::parse(step.detail));
    texts.push_back(step.why + " " +
                    (detail.at("until").is_null() ? "-" : std::string(detail.at("until").as_string())));
  }
  return texts;
}

std::vector<std::string> limits_of(const Situation& situation) {
  std::vector<std::string> limits;
  for (const Reason& one : situation.reasons) limits.insert(limits.end(), one.limits.begin(), one.limits.end());
  return limits;
}

// A subject's job that a schedule makes at noon, when its queue is paused.
JobId plan_job(World& world, const Situation& situation) {
  std::string names;
  for (const std::string& limit : limits_of(situation)) names += (names.empty() ? "\"" : ",\"") + limit + "\"";
  const std::string definition =
      R"({"name":"s","fan_out":true,"trigger":{"kind":"every","every":"1m"},"job":{"type":"work","queue":"q","limits":[)" +
      names + R"(],"notifies":)" + (situation.has("quiet") ? "true" : "false") + "}}";
  world.put_schedule(definition);
  value_of(world.client().put_subject(kTenant, "s", "ada", "{}"));
  world.begin_at_noon();
  const auto made = value_of(world.client().jobs({.tenant = std::string(kTenant), .schedule = "s"}, {}, 10)).jobs;
  EXPECT_EQ(made.size(), 1U) << situation.name();
  return made.at(0).id;
}

void expect_told(World& world, JobId id, const Situation& situation, const char* when) {
  const std::vector<std::string> expected = oracle(situation, world.now());
  const Explanation explanation = value_of(world.client().explain(kTenant, id));
  EXPECT_EQ(said(explanation), expected) << situation.name() << ", " << when;
  const std::string next = explanation.next_at ? format_instant(*explanation.next_at) : "-";
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(expected.back().substr(expected.back().rfind(' ') + 1), next) << situation.name() << ", " << when;
  EXPECT_THAT(explanation.summary, ::testing::StartsWith("waiting: ")) << situation.name();
}

void play(const Situation& situation) {
  World world(
      {.pulled = situation.pulled, .one_slot = situation.has("node"), .worker_asks = !situation.has("no_worker")});
  std::vector<std::string> held;
  bool needs_holder = false;
  bool by_schedule = false;
  for (const Reason& one : situation.reasons) {
    if (one.rules) one.rules(world);
    by_schedule = by_schedule || one.needs_schedule;
    if (!one.needs_holder) continue;
    needs_holder = true;
    held.insert(held.end(), one.limits.begin(), one.limits.end());
  }
  const auto close = [&](JobId id, bool of_schedule) {
    for (const Reason& one : situation.reasons) {
      if (one.close && one.needs_schedule == of_schedule) one.close(world, id);
    }
    world.node().settle_down();
  };
  const auto pause = [&](bool paused) {
    put(world.client().put_queue(kTenant, "q", paused ? R"({"paused":true})" : R"({"paused":false})"));
  };
  // Until all of it is arranged the job is held by one thing or another, so that it does not start meanwhile.
  JobId id;
  if (by_schedule) {
    pause(true);
    id = plan_job(world, situation);
    close(id, true);
    pause(false);
    world.node().settle_down();
  } else {
    world.begin_at_noon();
  }
  for (const Reason& one : situation.reasons) {
    if (one.learn) one.learn(world);
  }
  if (needs_holder) world.hold(held);
  pause(true);
  if (!by_schedule) {
    id = world.node().enqueue(
        {.type = "work", .queue = "q", .limits = limits_of(situation), .notifies = situation.has("quiet")});
    world.node().settle_down();
  }
  close(id, false);
  if (!situation.has("queue")) pause(false);
  expect_told(world, id, situation, "at once");
  world.node().settle_down();
  expect_told(world, id, situation, "later");
}

class ExplainTable : public ::testing::TestWithParam<bool> {};

TEST_P(ExplainTable, EveryReasonAlone) {
  for (const Reason& one : reasons(GetParam())) play({.pulled = GetParam(), .reasons = {one}});
}

TEST_P(ExplainTable, EveryPairOfReasons) {
  const std::vector<Reason> all = reasons(GetParam());
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (!all[i].excludes.empty() && all[i].excludes == all[j].excludes) continue;
      play({.pulled = GetParam(), .reasons = {all[i], all[j]}});
      ++count;
    }
  }
  EXPECT_GT(count, 150U);
}

INSTANTIATE_TEST_SUITE_P(Runners, ExplainTable, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& param_info) {
                           return std::string(param_info.param ? "pull" : "library");
                         });

// ---- What is not one of these ---------------------------------------------------------------------------------------

class ExplainAfterOpening : public ::testing::TestWithParam<bool> {
 protected:
  std::pair<std::string, std::optional<Instant>> last(World& world, JobId id) {
    const Explanation explanation = value_of(world.client().explain(kTenant, id));
    return {explanation.steps.back().why, explanation.next_at};
  }
};

// Those that a gate held are spread over seconds. Until its turn comes, it is said when that is.
TEST_P(ExplainAfterOpening, WhatWasHeldHasItsTurnTold) {
  using Close = std::function<void(World&, bool)>;
  const std::vector<Close> gates{
      [](World& w, bool closed) {
        put(w.client().put_maintenance(kTenant, closed ? std::optional("{}") : std::nullopt));
      },
      [](World& w, bool closed) { put(w.client().put_maintenance("", closed ? std::optional("{}") : std::nullopt)); },
      [](World& w, bool closed) {
        put(w.client().put_settings(kTenant, closed ? R"({"paused":true})" : R"({"paused":false})"));
      },
      [](World& w, bool closed) {
        put(w.client().put_config(closed ? R"({"enabled":false})" : R"({"enabled":true})"));
      }};
  for (const Close& close : gates) {
    World world({.pulled = GetParam()});
    world.begin_at_noon();
    close(world, true);
    world.node().settle_down();
    const JobId id = world.node().enqueue({.type = "work", .queue = "q"});
    world.node().settle_down();
    world.node().pass(1ms);
    close(world, false);
    world.ask();  // those who waited were sent away while nothing was to start
    world.node().settle_down();
    const auto [why, turn] = last(world, id);
    ASSERT_EQ(why, "not_due");
    ASSERT_TRUE(turn);
    ASSERT_LT(*turn, world.now() + 3s);
    world.node().pass(*turn - world.now() - 1us);
    EXPECT_EQ(value_of(world.client().job(kTenant, id)).state, JobState::queued);
    world.node().pass(1us);
    EXPECT_EQ(value_of(world.client().job(kTenant, id)).state, JobState::processing);
  }
}

TEST_P(ExplainAfterOpening, ARetryAndWhatWaitsForOthersAreHeldByRulesToo) {
  World world({.pulled = GetParam()});
  world.begin_at_noon();
  const JobId parent = world.node().enqueue({.type = "work", .queue = "q", .run_at = in(1h)});
  const JobId child = world.node().enqueue({.type = "work", .queue = "q", .depends_on = {parent}});
  put(world.client().put_queue(kTenant, "q", R"({"paused":true})"));
  const Explanation waits = value_of(world.client().explain(kTenant, child));
  EXPECT_THAT(said(waits), ::testing::ElementsAre("paused -", "dependency -"));
  EXPECT_EQ(waits.summary, "waiting: for 1 other job");
  EXPECT_THAT(said(value_of(world.client().explain(kTenant, parent))),
              ::testing::ElementsAre("not_due 2026-03-02T13:00:00.000Z", "paused -"));
}

// What a tenant heard of a limit for all closes it for that tenant, what others heard for everybody.
TEST(ExplainLimitForAll, OfTwoPausesTheLongerOneIsTold) {
  PullNode node({.start = at("2026-03-02T12:00:00Z")});
  put(node->client().put_limit("", "api", R"({"rate":1000,"per":"1s"})"));
  for (int i = 0; i < 2; ++i) node->enqueue({.type = "learner", .limits = {"api"}});
  const auto learners = node.lease({.filter = {.types = {"learner"}}, .limit = 2});
  ASSERT_EQ(learners.size(), 2U);
  for (const auto& [learner, minutes] : {std::pair(learners[0], 40min), std::pair(learners[1], 10min)}) {
    ASSERT_TRUE(node.settle({.job = learner.job.id,
                             .token = learner.job.token,
                             .outcome = rate_limited("api", carillon::in(minutes)),
                             .speaks_for_all = minutes == 40min})
                    .has_value());
  }
  const JobId id = node->enqueue({.type = "work", .limits = {"api"}});
  const PullAnswer asks = node.ask({.filter = {.types = {"work"}}, .wait = 60s});
  EXPECT_THAT(said(value_of(node->client().explain(kTenant, id))),
              ::testing::ElementsAre("limit:api 2026-03-02T12:40:00.000Z"));
}

TEST_P(ExplainAfterOpening, AWorkerThatIsNotHeardOfIsNoWorker) {
  if (!GetParam()) GTEST_SKIP() << "a handler in the process is always there";
  World world({.pulled = true, .worker_asks = false});
  world.begin_at_noon();
  const JobId id = world.node().enqueue({.type = "other"});
  EXPECT_EQ(last(world, id).first, "no_worker");
}

INSTANTIATE_TEST_SUITE_P(Runners, ExplainAfterOpening, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& param_info) {
                           return std::string(param_info.param ? "pull" : "library");
                         });

}  // namespace
}  // namespace carillon::test::explain_table
