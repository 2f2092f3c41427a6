// Pages, lists and counts; and that no tenant sees another.
#include <algorithm>
#include <array>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

NewJob of_tenant(std::string tenant, std::string type = "mail.send") {
  NewJob made = job(std::move(type));
  made.tenant = std::move(tenant);
  return made;
}

// Some two hundred jobs in all states, of two tenants, and what an honest list of them must say.
class ReaderContract : public StoreContract {
 protected:
  struct Expected {
    JobId id;
    Lane lane;
    std::string type;
    JobState state = JobState::queued;
    Instant made;
  };

  void SetUp() override {
    StoreContract::SetUp();
    for (int i = 0; i < 200; ++i) {
      NewJob asked = of_tenant(i % 7 == 0 ? "acme" : "default", i % 3 == 0 ? "a" : "b");
      asked.queue = i % 4 == 0 ? "slow" : "fast";
      asked.payload = R"({"n":)" + std::to_string(i) + "}";
      if (i % 5 == 0) asked.options.tags = {"red", "t" + std::to_string(i % 10)};
      asked.subject = "user-" + std::to_string(i % 6);
      const JobId id = enqueue(asked);
      expected_.push_back({.id = id,
                           .lane = {.tenant = asked.tenant, .queue = asked.queue},
                           .type = asked.type,
                           .state = bring_into_a_state(id, i),
                           .made = now()});
      clock().advance(1s);
    }
    std::ranges::reverse(expected_);
  }

  template <typename Matches>
  std::vector<JobId> expected(Matches matches, std::string_view tenant = kTenant) const {
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      // Its number, counted from the oldest.
      if (expected_[i].lane.tenant == tenant && matches(expected_[i], 199 - static_cast<int>(i))) {
        ids.push_back(expected_[i].id);
      }
    }
    return ids;
  }

  std::vector<Expected> expected_;

 private:
  JobState bring_into_a_state(JobId id, int i) {
    switch (i % 6) {
      case 0: return JobState::queued;
      case 1: claim_one(id, {.lease = 24h}); return JobState::processing;
      case 2: return settle(completed(claim_one(id))).state;
      case 3: return settle(failed_for_good(claim_one(id))).state;
      case 4: return settle(skipped(claim_one(id))).state;
      default: return value_of(try_act(JobAction::cancel, id, i % 7 == 0 ? "acme" : "default")).state;
    }
  }
};

RUN_OVER_EVERY_STORE(ReaderContract);

TEST_P(ReaderContract, JobsAreListedNewestFirstInPagesOfAnySize) {
  const auto all = expected([](const Expected&, int) { return true; });

  for (const std::size_t size : {1U, 2U, 7U, 100U, 500U}) EXPECT_THAT(all_ids({}, size), ElementsAreArray(all));
}

TEST_P(ReaderContract, APageShowsWhatEachJobIs) {
  for (const JobView& listed : all_jobs({}, 50)) {
    const JobView alone = view(listed.row.id);
    EXPECT_EQ(listed.row, alone.row);
    EXPECT_EQ(listed.lane, alone.lane);
    EXPECT_EQ(listed.type, alone.type);
    EXPECT_EQ(listed.payload, alone.payload);
    EXPECT_EQ(listed.state, alone.state);
    EXPECT_EQ(listed.lease, alone.lease);
    EXPECT_EQ(listed.lease_until, alone.lease_until);
    EXPECT_EQ(listed.finished_at, alone.finished_at);
    EXPECT_THAT(listed.attempts, IsEmpty());
  }
}

TEST_P(ReaderContract, JobsAreFilteredByAllThatIsGiven) {
  const Instant middle = expected_[100].made;
  struct Case {
    std::function<void(JobQuery&)> ask;
    std::function<bool(const Expected&, int)> matches;
  };
  const std::vector<Case> cases{
      {[](JobQuery& filter) { filter.type = "a"; }, [](const Expected& job, int) { return job.type == "a"; }},
      {[](JobQuery& filter) { filter.type = "absent"; }, [](const Expected&, int) { return false; }},
      {[](JobQuery& filter) { filter.queue = "slow"; },
       [](const Expected& job, int) { return job.lane.queue == "slow"; }},
      {[](JobQuery& filter) { filter.tag = "red"; }, [](const Expected&, int i) { return i % 5 == 0; }},
      {[](JobQuery& filter) { filter.tag = "t5"; }, [](const Expected&, int i) { return i % 10 == 5; }},
      {[](JobQuery& filter) { filter.subject = "user-2"; }, [](const Expected&, int i) { return i % 6 == 2; }},
      {[](JobQuery& filter) { filter.text = R"("n":19)"; },
       [](const Expected&, int i) { return i == 19 || (i >= 190 && i <= 199); }},
      {[](JobQuery& filter) { filter.schedule = "standup"; }, [](const Expected&, int) { return false; }},
      {[&](JobQuery& filter) { filter.since = middle; }, [&](const Expected& job, int) { return job.made >= middle; }},
      {[&](JobQuery& filter) { filter.until = middle; }, [&](const Expected& job, int) { return job.made < middle; }},
      {[](JobQuery& filter) {
         filter.states = {JobState::dlq, JobState::done};
         filter.type = "a";
         filter.queue = "fast";
       },
       [](const Expected& job, int) {
         return (job.state == JobState::dlq || job.state == JobState::done) && job.type == "a" &&
                job.lane.queue == "fast";
       }},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    JobQuery filter;
    cases[i].ask(filter);
    EXPECT_THAT(all_ids(filter, 9), ElementsAreArray(expected(cases[i].matches)));
  }
  for (const JobState state : kJobStates) {
    SCOPED_TRACE(to_string(state));
    JobQuery filter;
    filter.states = {state};
    EXPECT_THAT(all_ids(filter, 9),
                ElementsAreArray(expected([&](const Expected& job, int) { return job.state == state; })));
  }
}

TEST_P(ReaderContract, APageIsNoLongerThanWasAskedFor) {
  const JobPage page = value_of(reader().jobs({}, {}, 3));
  EXPECT_THAT(page.jobs, SizeIs(3));
  EXPECT_EQ(page.next_before, page.jobs.back().row.id);

  EXPECT_LE(value_of(reader().jobs({}, {}, 1'000'000)).jobs.size(), kPageMax);
}

TEST_P(ReaderContract, NewJobsDoNotDisturbTheWalkOverPages) {
  const auto all = expected([](const Expected&, int) { return true; });
  std::vector<JobId> seen;
  JobId before;
  for (int i = 0; i < 200; ++i) {
    const JobPage page = value_of(reader().jobs({}, before, 10));
    for (const JobView& view : page.jobs) seen.push_back(view.row.id);
    if (!page.next_before) break;
    before = page.next_before;
    enqueue(job());
  }

  EXPECT_EQ(seen, all);
}

TEST_P(ReaderContract, CountsAreWhatCountingGives) {  // invariant 34
  for (const std::string tenant : {"default", "acme"}) {
    Counts honest;
    for (const Expected& job : expected_) {
      if (job.lane.tenant == tenant) ++honest[{job.lane, job.state}];
    }
    EXPECT_EQ(kept_counts(tenant), honest);
    EXPECT_EQ(counted(tenant), honest);
  }
  EXPECT_THAT(kept_counts("absent"), IsEmpty());
}

TEST_P(ReaderContract, AStateIsCountedOverAllTenants) {  // invariant 34
  for (const JobState state : {JobState::dlq, JobState::queued, JobState::done, JobState::missed}) {
    EXPECT_EQ(value_of(reader().count_of(state)), std::ranges::count(expected_, state, &Expected::state))
        << to_string(state);
  }
  for (const Expected& job : expected_) {
    if (job.state == JobState::dlq) value_of(try_act(JobAction::discard, job.id, job.lane.tenant));
  }
  EXPECT_EQ(value_of(reader().count_of(JobState::dlq)), 0);
}

TEST_P(ReaderContract, CountsFollowEveryMove) {  // invariant 34
  for (const Expected& job : expected_) {
    const bool ours = job.lane.tenant == kTenant;
    if (job.state == JobState::processing) extend({.job = job.id, .token = 1});
    if (job.state == JobState::dlq && ours) act(job.id.value % 2 == 0 ? JobAction::retry : JobAction::discard, job.id);
    if (job.state == JobState::queued) try_claim(job.id, {.lease = 5s});
  }
  clock().advance(24h);
  reap(20);
  expect_counts_agree();
  reap();
  prune(1s);
  expect_counts_agree();
  expect_counts_agree("acme");
}

TEST_P(ReaderContract, ATenantSeesOnlyItsOwn) {  // invariant 28
  JobQuery filter;
  filter.tenant = "acme";
  EXPECT_THAT(all_ids(filter), ElementsAreArray(expected([](const Expected&, int) { return true; }, "acme")));
  filter.tenant = "absent";
  EXPECT_THAT(all_ids(filter), IsEmpty());
  for (const Expected& job : expected_) {
    EXPECT_EQ(exists(job.id, "default"), job.lane.tenant == "default");
    EXPECT_EQ(exists(job.id, "acme"), job.lane.tenant == "acme");
  }
}

// The same words for what is foreign and for what is absent, but for the name that was asked for.
void expect_alike(const Error& foreign, const Error& absent, std::string_view foreign_name,
                  std::string_view absent_name) {
  EXPECT_EQ(foreign.code, absent.code);
  std::string message = foreign.message;
  const auto found = message.find(foreign_name);
  if (found != std::string::npos) message.replace(found, foreign_name.size(), absent_name);
  EXPECT_EQ(message, absent.message);
}

TEST_P(StoreContract, AForeignJobAnswersLikeAnAbsentOne) {  // invariant 28
  const JobId live = enqueue(of_tenant("acme"));
  const JobId parked = parked_job(of_tenant("acme"));
  const JobId ended = done_job(of_tenant("acme"));
  const JobId absent = jobs().new_job_id();
  const std::string absent_name = format_job_id(absent);
  for (const JobId foreign : {live, parked, ended}) {
    const std::string name = format_job_id(foreign);
    const JobView before = view(foreign, "acme");
    expect_alike(error_of(reader().job(kTenant, foreign)), error_of(reader().job(kTenant, absent)), name, absent_name);
    for (const JobAction action : {JobAction::cancel, JobAction::retry, JobAction::discard, JobAction::run_now}) {
      expect_alike(error_of(try_act(action, foreign)), error_of(try_act(action, absent)), name, absent_name);
    }
    expect_alike(error_of(jobs().patch(kTenant, foreign, {.priority = 1})),
                 error_of(jobs().patch(kTenant, absent, {.priority = 1})), name, absent_name);
    NewJob child = job();
    child.depends_on = {foreign};
    NewJob other = job();
    other.depends_on = {absent};
    expect_alike(error_of(try_enqueue(child)), error_of(try_enqueue(other)), name, absent_name);
    EXPECT_EQ(view(foreign, "acme").row, before.row);
  }
}

TEST_P(StoreContract, AForeignScheduleAnswersLikeAnAbsentOne) {  // invariant 28
  schedule("standup", "acme");
  expect_alike(error_of(reader().schedule(kTenant, "standup")), error_of(reader().schedule(kTenant, "absent")),
               "standup", "absent");
  expect_alike(error_of(plans().set_paused(kTenant, "standup", now())),
               error_of(plans().set_paused(kTenant, "absent", now())), "standup", "absent");
  expect_alike(error_of(plans().delete_schedule(kTenant, "standup")),
               error_of(plans().delete_schedule(kTenant, "absent")), "standup", "absent");
  NewJob absent = occurrence_job(now());
  absent.occurrence->schedule = "absent";
  expect_alike(error_of(try_enqueue(occurrence_job(now()))), error_of(try_enqueue(absent)), "standup", "absent");

  EXPECT_THAT(value_of(reader().schedules(kTenant, "", 10)), IsEmpty());
  EXPECT_TRUE(reader().schedule("acme", "standup"));
  EXPECT_NE(schedule("standup"), value_of(reader().schedule("acme", "standup")).id);
}

TEST_P(StoreContract, SchedulesAndSubjectsAreListedByNameInPages) {
  for (const char* name : {"delta", "alpha", "charlie", "bravo"}) schedule(name);
  std::vector<std::string> names;
  for (std::string after; names.size() < 10;) {
    const auto page = value_of(reader().schedules(kTenant, after, 3));
    if (page.empty()) break;
    for (const ScheduleRow& row : page) names.push_back(row.name);
    after = names.back();
  }
  EXPECT_THAT(names, ElementsAre("alpha", "bravo", "charlie", "delta"));

  const ScheduleId id = schedule("alpha");
  for (const char* name : {"z", "", "m", "é"}) put_subject(id, {.subject = name});
  std::vector<std::string> subjects;
  std::optional<SubjectMark> last;
  for (int i = 0; i < 10; ++i) {
    const SubjectPage page = value_of(reader().subjects({.schedule = id}, last, 1));
    for (const SubjectRow& row : page.subjects) subjects.push_back(row.subject);
    last = page.next;
    if (!last) break;
  }
  EXPECT_THAT(subjects, ElementsAre("", "m", "z", "é"));
}

TEST_P(StoreContract, APageOfLongPayloadsEndsEarlyAndGoesOn) {
  NewJob large = job();
  large.payload = '"' + std::string(1'000'000, 'x') + '"';
  for (int i = 0; i < 12; ++i) enqueue(large);
  const JobPage page = value_of(reader().jobs({}, {}, 12));

  EXPECT_THAT(page.jobs, SizeIs(5));
  EXPECT_TRUE(page.next_before);
  EXPECT_THAT(all_ids({}, 12), SizeIs(12));
}

}  // namespace
}  // namespace carillon::test
