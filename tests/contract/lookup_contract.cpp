// What can be looked up inside of a transaction, where the reader must not be asked.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreContract, ATransactionFindsTheScheduleAndSubjectThatItPut) {
  ASSERT_TRUE(store().atomically([&] {
    const ScheduleId id = schedule();
    const SubjectRow put = put_subject(id, {.subject = "a", .overrides = "{}"});
    EXPECT_EQ(value_of(plans().schedule(id)).name, "standup");
    EXPECT_EQ(value_of(plans().schedule(kTenant, "standup")).id, id);
    EXPECT_EQ(value_of(plans().subject(id, "a")), put);
  }));

  const ScheduleRow read = value_of(reader().schedule(kTenant, "standup"));
  EXPECT_EQ(value_of(plans().schedule(read.id)), read);
  EXPECT_EQ(value_of(plans().schedule(kTenant, "standup")), read);
}

TEST_P(StoreContract, AScheduleThatIsNotThereIsNotFound) {  // invariant 28
  const ScheduleId id = schedule();
  put_subject(id, {.subject = "a"});
  EXPECT_EQ(error_of(plans().schedule({999})).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().schedule(kTenant, "absent")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().schedule("acme", "standup")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().subject(id, "absent")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().subject({999}, "a")).code, ErrorCode::not_found);
  value_of(plans().delete_schedule(kTenant, "standup"));

  EXPECT_EQ(error_of(plans().schedule(id)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().schedule(kTenant, "standup")).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(plans().subject(id, "a")).code, ErrorCode::not_found);
}

TEST_P(StoreContract, ADeletedScheduleCanBeLookedAtAsItWas) {
  const ScheduleId id = schedule();
  const ScheduleRow put = value_of(plans().schedule(id));
  EXPECT_EQ(error_of(plans().deleted_schedule(id)).code, ErrorCode::not_found) << "it is not deleted";
  EXPECT_EQ(error_of(plans().deleted_schedule({999})).code, ErrorCode::not_found);
  value_of(plans().delete_schedule(kTenant, "standup"));

  const ScheduleRow deleted = value_of(plans().deleted_schedule(id));
  EXPECT_EQ(deleted.name, put.name);
  EXPECT_EQ(deleted.definition, put.definition);
  EXPECT_TRUE(deleted.deleted_at);
}

TEST_P(StoreContract, ASubjectOfAnEarlierLifeIsNotFound) {
  put_subject(schedule(), {.subject = "a"});
  value_of(plans().delete_schedule(kTenant, "standup"));
  const ScheduleId id = schedule();
  EXPECT_EQ(error_of(plans().subject(id, "a")).code, ErrorCode::not_found);
  put_subject(id, {.subject = "a"});
  EXPECT_TRUE(plans().subject(id, "a"));
  ASSERT_TRUE(plans().delete_subject(id, "a"));

  EXPECT_EQ(error_of(plans().subject(id, "a")).code, ErrorCode::not_found);
}

TEST_P(StoreContract, AllDocumentsAreReadInTheOrderOfTheirKeys) {
  const std::vector<DocumentKey> keys{{"", "limit", "openai"},   {"", "settings", "all"},
                                      {"acme", "limit", "mail"}, {"acme", "limit", "mail-2"},
                                      {"acme", "queue", "a"},    {"default", "limit", "mail"}};
  const auto put = [&](const DocumentKey& key) {
    return value_of(admin().put_document({.key = key, .body = R"({"name":")" + key.name + "\"}"}, std::nullopt));
  };
  std::vector<Document> expected;
  for (const std::size_t i : {3U, 0U, 5U, 2U, 4U, 1U}) put(keys[i]);
  for (const DocumentKey& key : keys) expected.push_back(value_of(reader().document(key)));
  std::vector<Document> found;
  ASSERT_TRUE(store().atomically([&] {
    DocumentKey after;
    for (int i = 0; i < 10; ++i) {
      const auto page = value_of(admin().documents_above(after, 4));
      found.insert(found.end(), page.begin(), page.end());
      if (page.empty()) break;
      after = page.back().key;
    }
  }));

  EXPECT_EQ(found, expected);
  EXPECT_THAT(value_of(admin().documents_above(keys.back(), 4)), IsEmpty());
}

TEST_P(StoreContract, AGroupSeesTheDocumentsThatItPut) {
  const DocumentKey key{"default", "queue", "mail"};
  ASSERT_TRUE(store().atomically([&] {
    const Document put = value_of(admin().put_document({.key = key, .body = "{}"}, std::nullopt));
    EXPECT_THAT(value_of(admin().documents_above({}, 10)), ElementsAre(put));
    EXPECT_TRUE(admin().delete_document(key, std::nullopt));
    EXPECT_THAT(value_of(admin().documents_above({}, 10)), IsEmpty());
  }));
}

TEST_P(StoreContract, AChangeNamesTheTenantAndTypeOfItsJob) {  // invariant 34
  NewJob foreign = job("report.make");
  foreign.tenant = "acme";
  foreign.deadline = now() + 1h;
  const auto expect_named = [](const Changed& changed) {
    EXPECT_EQ(changed.tenant, "acme");
    EXPECT_EQ(changed.type, "report.make");
  };
  const JobId parked = enqueue(foreign);
  settle(failed_for_good(claim_one(parked)));
  expect_named(value_of(try_act(JobAction::retry, parked, "acme")));
  expect_named(value_of(try_act(JobAction::run_now, parked, "acme")));
  expect_named(value_of(jobs().patch("acme", parked, {.priority = 1})));
  const JobId running = claim_one(enqueue(foreign)).id;
  expect_named(value_of(try_act(JobAction::cancel, running, "acme")));
  expect_named(value_of(try_act(JobAction::cancel, parked, "acme")));
  expect_named(value_of(try_act(JobAction::cancel, parked, "acme")));  // again
  clock().advance(1h);

  expect_named(finish_overdue().at(0));
}

}  // namespace
}  // namespace carillon::test
