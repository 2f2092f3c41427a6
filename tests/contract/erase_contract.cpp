// A tenant that is erased leaves nothing, and takes nothing of others with it.
#include <string>
#include <vector>

#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NewJob job_of(std::string tenant) {
  NewJob made = job();
  made.tenant = std::move(tenant);
  return made;
}

// Until nothing is left, or something stands in the way.
struct Erased {
  std::uint64_t rows = 0;
  std::vector<DocumentKey> documents;
  EraseStep last;
};
Erased erase(Store& store, std::string_view tenant, std::size_t step = 100) {
  Erased erased;
  ErasePosition position;
  for (int i = 0; i < 1000; ++i) {
    erased.last = value_of(store.admin().erase_tenant(tenant, position, step));
    erased.rows += erased.last.erased;
    for (const DocumentKey& key : erased.last.documents) erased.documents.push_back(key);
    if (erased.last.end || erased.last.live_jobs > 0 || !erased.last.schedules.empty()) return erased;
    position = erased.last.position;
  }
  ADD_FAILURE() << "it does not come to an end";
  return erased;
}

class TenantContract : public StoreContract {
 protected:
  // One of each that a tenant can leave behind, and nothing that lives.
  void leave_something(const std::string& tenant) {
    NewJob keyed = job_of(tenant);
    keyed.options.idempotency_key = "once";
    const LeasedJob leased = claim_one(enqueue(keyed));
    value_of(jobs().claim_effect(tenant, "mail", leased.id, leased.token));
    settle(completed(leased));
    for (int i = 0; i < 4; ++i) settle(completed(claim_one(enqueue(job_of(tenant)))));
    const ScheduleId id = schedule("standup", tenant);
    for (const char* subject : {"", "a", "b"}) put_subject(id, {.subject = subject});
    NewJob occurrence = occurrence_job(now(), "a");
    occurrence.tenant = tenant;
    settle(completed(claim_one(enqueue(occurrence))));
    ASSERT_TRUE(plans().delete_schedule(tenant, "standup"));
    for (const char* kind : {"bounds", "handler", "hook", "limit", "settings", "tenant"}) {
      value_of(admin().put_document({.key = {.tenant = tenant, .kind = kind, .name = {}}, .body = "{}"},
                                    AuditWord{.tenant = tenant, .actor = "ada", .action = kind, .target = {}}));
    }
  }
  void expect_something(const std::string& tenant) {
    EXPECT_THAT(all_ids({.tenant = tenant}), SizeIs(6));
    EXPECT_THAT(value_of(reader().audit(tenant, INT64_MAX, 100)), SizeIs(6));
    EXPECT_TRUE(reader().document({.tenant = tenant, .kind = "hook", .name = {}}));
    NewJob again = job_of(tenant);
    again.options.idempotency_key = "once";
    EXPECT_TRUE(enqueued(again).deduplicated);
  }
  void expect_nothing(const std::string& tenant) {
    EXPECT_THAT(all_ids({.tenant = tenant}), IsEmpty());
    EXPECT_THAT(value_of(reader().audit(tenant, INT64_MAX, 100)), IsEmpty());
    EXPECT_THAT(value_of(reader().counts(tenant)), IsEmpty());
    for (const char* kind : {"bounds", "handler", "hook", "limit", "settings", "tenant"}) {
      EXPECT_FALSE(reader().document({.tenant = tenant, .kind = kind, .name = {}})) << kind;
    }
  }
  // The next of that name finds neither a key, nor an effect, nor a position.
  void expect_a_new_beginning(const std::string& tenant) {
    NewJob again = job_of(tenant);
    again.options.idempotency_key = "once";
    const Enqueued made = enqueued(again);
    EXPECT_FALSE(made.deduplicated);
    const LeasedJob leased = claim_one(made.id);
    EXPECT_EQ(value_of(jobs().claim_effect(tenant, "mail", leased.id, leased.token)).kind, EffectClaim::Kind::first);
    const ScheduleId id = schedule("standup", tenant);
    for (const char* subject : {"", "a"}) {
      EXPECT_FALSE(put_subject(id, {.subject = subject}).position);
      EXPECT_THAT(outcomes_of(id, subject), IsEmpty());
    }
  }
};

TEST_P(TenantContract, NothingIsLeftOfATenantThatIsErased) {
  for (const std::size_t step : {1U, 2U, 100U}) {
    const std::string tenant = "acme" + std::to_string(step);
    leave_something(tenant);
    const Erased erased = erase(store(), tenant, step);
    EXPECT_TRUE(erased.last.end) << step;
    EXPECT_THAT(erased.documents, SizeIs(6));
    EXPECT_GT(erased.rows, 20U);
    expect_nothing(tenant);
    expect_a_new_beginning(tenant);
  }
}

TEST_P(TenantContract, NothingOfOthersGoesWithIt) {
  for (const char* tenant : {"acm", "acme", "acme2"}) leave_something(tenant);
  EXPECT_TRUE(erase(store(), "acme", 3).last.end);
  expect_nothing("acme");
  for (const char* tenant : {"acm", "acme2"}) expect_something(tenant);
}

TEST_P(TenantContract, AnErasureGoesOnWhereItStood) {
  leave_something("acme");
  ErasePosition position;
  for (int i = 0; i < 4; ++i) position = value_of(admin().erase_tenant("acme", position, 1)).position;
  reopen();
  EXPECT_TRUE(erase(store(), "acme", 1).last.end);
  expect_nothing("acme");
}

TEST_P(TenantContract, WhatLivesIsLeftAloneAndTold) {
  const JobId live = enqueue(job_of("acme"));
  const Erased beside = erase(store(), "acme");
  EXPECT_FALSE(beside.last.end);
  EXPECT_EQ(beside.last.live_jobs, 1);
  EXPECT_TRUE(exists(live, "acme"));

  settle(completed(claim_one(live)));
  schedule("standup", "acme");
  const Erased before = erase(store(), "acme");
  EXPECT_FALSE(before.last.end);
  EXPECT_THAT(before.last.schedules, ElementsAre("standup"));
  ASSERT_TRUE(plans().delete_schedule("acme", "standup"));
  EXPECT_TRUE(erase(store(), "acme").last.end);
}

TEST_P(TenantContract, ATenantThatNeverWasIsErasedAtOnce) { EXPECT_TRUE(erase(store(), "nobody").last.end); }

RUN_OVER_EVERY_STORE(TenantContract);

}  // namespace
}  // namespace carillon::test
