// Documents with revisions, and the trail of who did what.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

DocumentPut limit(std::string name, std::string body = R"({"rate": 10})", std::string tenant = "default") {
  DocumentPut put;
  put.key = {.tenant = std::move(tenant), .kind = "limit", .name = std::move(name)};
  put.body = std::move(body);
  return put;
}

AuditWord word(std::string action, std::string tenant = "default") {
  return {.tenant = std::move(tenant), .actor = "key-1", .action = std::move(action), .target = "limit/smtp"};
}

AuditDetail what_changed() { return new_fields(JsonObject().integer("from", 1)); }

TEST_P(StoreContract, ADocumentIsKeptAsItWasPut) {
  const Document put = value_of(admin().put_document(limit("smtp", R"({"rate":  1.50})"), {}));
  EXPECT_EQ(put.revision, 1);
  EXPECT_EQ(put.updated_at, now());

  const Document read = value_of(reader().document(put.key));
  EXPECT_EQ(read, put);
  EXPECT_EQ(read.body, R"({"rate":  1.50})");
}

TEST_P(StoreContract, ADocumentsRevisionMovesOnlyIfItsBodyChanged) {
  const Document first = value_of(admin().put_document(limit("smtp"), {}));
  clock().advance(1s);
  EXPECT_EQ(value_of(admin().put_document(limit("smtp"), {})), first);
  const Document second = value_of(admin().put_document(limit("smtp", "{}"), {}));

  EXPECT_EQ(second.revision, 2);
  EXPECT_EQ(second.updated_at, now());
}

TEST_P(StoreContract, ADocumentIsGuardedByItsRevision) {
  DocumentPut put = limit("smtp");
  put.if_revision = 1;
  EXPECT_EQ(error_of(admin().put_document(put, {})).code, ErrorCode::conflict);
  put.if_revision = 0;
  value_of(admin().put_document(put, {}));
  EXPECT_EQ(error_of(admin().put_document(put, {})).code, ErrorCode::conflict);
  put.if_revision = 1;
  put.body = "{}";
  EXPECT_EQ(value_of(admin().put_document(put, {})).revision, 2);
  put.body = R"({"a":1})";

  EXPECT_EQ(error_of(admin().put_document(put, {})).code, ErrorCode::conflict);
  EXPECT_EQ(value_of(reader().document(put.key)).body, "{}");
}

TEST_P(StoreContract, ADocumentIsAJsonObject) {
  for (const char* body : {"", "{", "[]", "5", "null", R"({"a":1,"a":2})"}) {
    EXPECT_EQ(error_of(admin().put_document(limit("smtp", body), {})).code, ErrorCode::invalid_request) << body;
  }
  EXPECT_EQ(error_of(reader().document(limit("smtp").key)).code, ErrorCode::not_found);
}

TEST_P(StoreContract, ADeletedDocumentIsGone) {
  const DocumentKey key = value_of(admin().put_document(limit("smtp"), {})).key;
  EXPECT_TRUE(admin().delete_document(key, {}));

  EXPECT_EQ(error_of(reader().document(key)).code, ErrorCode::not_found);
  EXPECT_EQ(error_of(admin().delete_document(key, {})).code, ErrorCode::not_found);
  DocumentPut again = limit("smtp");
  again.if_revision = 0;
  EXPECT_TRUE(admin().put_document(again, {}));
}

TEST_P(StoreContract, DocumentsAreListedByNameOfOneTenantAndKind) {  // invariant 28
  for (const char* name : {"c", "a", "d", "b"}) value_of(admin().put_document(limit(name), {}));
  value_of(admin().put_document(limit("a", "{}", "acme"), {}));
  value_of(admin().put_document(limit("a", "{}", ""), {}));
  DocumentPut other = limit("a");
  other.key.kind = "queue";
  value_of(admin().put_document(other, {}));
  const auto names = [&](std::string_view tenant, std::string_view after, std::size_t most) {
    std::vector<std::string> found;
    for (const Document& document : value_of(reader().documents(tenant, "limit", after, most))) {
      EXPECT_EQ(document.key.tenant, tenant);
      EXPECT_EQ(document.key.kind, "limit");
      found.push_back(document.key.name);
    }
    return found;
  };

  EXPECT_THAT(names("default", "", 10), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(names("default", "b", 1), ElementsAre("c"));
  EXPECT_THAT(names("acme", "", 10), ElementsAre("a"));
  EXPECT_THAT(names("", "", 10), ElementsAre("a"));
  EXPECT_THAT(names("absent", "", 10), IsEmpty());
}

TEST_P(StoreContract, TheTrailIsReadNewestFirstInPages) {
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(admin().append_audit(word("step-" + std::to_string(i)), what_changed()));
    ASSERT_TRUE(admin().append_audit(word("foreign", "acme"), what_changed()));
    clock().advance(1s);
  }
  std::vector<std::string> actions;
  std::int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    const auto page = value_of(reader().audit(kTenant, before, 3));
    if (page.empty()) break;
    for (const AuditRow& row : page) {
      EXPECT_TRUE(before == 0 || row.sequence < before);
      before = row.sequence;
      actions.push_back(row.action);
    }
  }

  EXPECT_THAT(actions, ElementsAre("step-6", "step-5", "step-4", "step-3", "step-2", "step-1", "step-0"));
  EXPECT_THAT(value_of(reader().audit("acme", 0, 100)), SizeIs(7));
}

TEST_P(StoreContract, ARowOfTheTrailIsKeptAsItWasWritten) {
  ASSERT_TRUE(admin().append_audit(word("limit.put"), what_changed()));
  const AuditRow kept = value_of(reader().audit(kTenant, 0, 10)).at(0);

  EXPECT_GT(kept.sequence, 0);
  EXPECT_EQ(kept, (AuditRow{.sequence = kept.sequence,
                            .at = now(),
                            .tenant = "default",
                            .actor = "key-1",
                            .action = "limit.put",
                            .target = "limit/smtp",
                            .detail = what_changed()}));
}

TEST_P(StoreContract, AChangeAndItsTrailAreBothOrNeither) {
  value_of(admin().put_document(limit("smtp"), word("put")));
  EXPECT_THAT(value_of(reader().audit(kTenant, 0, 10)), SizeIs(1));
  DocumentPut refused = limit("smtp", "{}");
  refused.if_revision = 7;
  EXPECT_FALSE(admin().put_document(refused, word("put")));
  EXPECT_FALSE(admin().delete_document(limit("absent").key, word("delete")));
  EXPECT_THAT(value_of(reader().audit(kTenant, 0, 10)), SizeIs(1));

  ASSERT_TRUE(admin().delete_document(limit("smtp").key, word("delete")));
  EXPECT_THAT(value_of(reader().audit(kTenant, 0, 10)), SizeIs(2));
}

TEST_P(StoreContract, TheTrailSaysWhatBecameOfADocument) {
  value_of(admin().put_document(limit("smtp", R"({"rate":5,"secret":"s3cret"})"), word("made")));
  value_of(admin().put_document(limit("smtp", R"({"rate":9,"secret":"s3cret"})"), word("changed")));
  ASSERT_TRUE(admin().delete_document(limit("smtp").key, word("gone")));
  std::vector<std::string> details;
  for (const AuditRow& row : value_of(reader().audit(kTenant, 0, 10))) details.push_back(row.detail.json());

  EXPECT_THAT(details, ElementsAre(R"({"before":{"rate":9,"secret":"***"},"after":null})",
                                   R"({"before":{"rate":5},"after":{"rate":9}})",
                                   R"({"before":null,"after":{"rate":5,"secret":"***"}})"));
}

TEST_P(StoreContract, ADocumentThatStaysAsItIsLeavesNoTrail) {
  value_of(admin().put_document(limit("smtp", R"({"rate":5,"per":"1s"})"), word("put")));
  value_of(admin().put_document(limit("smtp", R"({"rate":5,"per":"1s"})"), word("put")));
  value_of(admin().put_document(limit("smtp", R"({"per":"1s", "rate":5})"), word("put")));

  EXPECT_THAT(value_of(reader().audit(kTenant, 0, 10)), SizeIs(1));
}

}  // namespace
}  // namespace carillon::test
