// Payloads come back byte for byte, or are refused with a clear word.
#include "contract/store_contract.h"

namespace carillon::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

NewJob carrying(std::string payload) {
  NewJob made = job();
  made.payload = std::move(payload);
  return made;
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

// A JSON string of `bytes` bytes, quotes included.
std::string text_of_size(std::size_t bytes) { return '"' + std::string(bytes - 2, 'x') + '"'; }

TEST_P(StoreContract, APayloadComesBackByteForByte) {
  const std::vector<std::string> payloads{
      "1e400",
      "-1E-400",
      "0.1000000000000000055511151231257827",
      "3.141592653589793115997963468544185161590576171875",
      "17976931348623157.0",
      "9007199254740993",
      "123456789012345678901234567890",
      "-0",
      "-0.0",
      R"("\u0000")",
      R"({"a\u0000b": "\u0000"})",
      R"("\ud83d\ude00 \u00e9 \/ \"")",
      "\"Zoë 漢字 😀 \xe2\x80\xa8\"",
      " \t\r\n{ \"b\" : 1 ,\n \"a\":2 } \n",
      R"({"z":1,"a":2})",
      R"({"":""})",
      "null",
      "true",
      "[]",
      R"("' OR 1=1; DROP TABLE jobs; --")",
      nested(64),
  };
  std::vector<JobId> ids;
  for (const std::string& payload : payloads) ids.push_back(enqueue(carrying(payload)));
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    SCOPED_TRACE(payloads[i]);
    EXPECT_EQ(view(ids[i]).payload, payloads[i]);
    const LeasedJob leased = claim_one(ids[i]);
    EXPECT_EQ(leased.payload, payloads[i]);
    settle(completed(leased));
    EXPECT_EQ(view(ids[i]).payload, payloads[i]);
  }
}

TEST_P(StoreContract, APayloadOfAMebibyteIsKeptAndOneByteMoreIsRefused) {
  const std::string largest = text_of_size(kPayloadBytesMax);
  const JobId id = enqueue(carrying(largest));
  EXPECT_EQ(claim_one(id).payload, largest);
  const Error error = error_of(try_enqueue(carrying(text_of_size(kPayloadBytesMax + 1))));

  EXPECT_EQ(error.code, ErrorCode::invalid_request);
  EXPECT_THAT(error.message, HasSubstr("payload"));
  EXPECT_THAT(error.message, HasSubstr("1048576"));
  expect_one_line(error);
  EXPECT_EQ(all_ids().size(), 1U);
}

TEST_P(StoreContract, APayloadIsNestedNoDeeperThanSixtyFour) {
  EXPECT_TRUE(try_enqueue(carrying(nested(64))));
  for (const int depth : {65, 1000, 500'000}) {
    const Error error = error_of(try_enqueue(carrying(nested(depth))));
    EXPECT_EQ(error.code, ErrorCode::invalid_request);
    expect_one_line(error);
  }
}

TEST_P(StoreContract, WhatIsNotJsonIsRefusedAndNamesThePayload) {
  const std::vector<std::string> wrong{
      "",
      " ",
      "{",
      "nul",
      "1 2",
      "01",
      "+1",
      ".5",
      "NaN",
      "Infinity",
      "'a'",
      "[1,]",
      R"({"a":1,"a":2})",              // a key given twice
      R"({"a":1,"b":{"c":1,"c":2}})",  // also further in
      R"({"a":1,"\u0061":2})",         // the same key in other letters
      "\"\x01\"",
      std::string("\"\0\"", 3),
      "\"\xff\"",
      "\"\xc0\xaf\"",
      R"("\ud800")",
  };
  for (const std::string& payload : wrong) {
    SCOPED_TRACE(payload);
    const Error error = error_of(try_enqueue(carrying(payload)));
    EXPECT_EQ(error.code, ErrorCode::invalid_request);
    EXPECT_THAT(error.message, HasSubstr("payload"));
    expect_one_line(error);
  }
  EXPECT_THAT(all_ids(), IsEmpty());
}

TEST_P(StoreContract, OtherTextsComeBackByteForByteToo) {
  const std::string odd = R"({"n":  1e400, "t": "\u0000 \" \\ Zoë 😀"})";
  NewJob asked = doubling_job();
  asked.subject = "Zoë/\"\\ 😀";
  asked.options.meta = odd;
  asked.options.idempotency_key = "k\"\\Zoë";
  const JobId id = enqueue(asked);
  LeasedJob leased = claim_one(id, {.worker = "wörker\"\\1"});
  extend({.job = id, .token = leased.token, .progress = odd});
  EXPECT_EQ(detail(id).progress, odd);
  settle(failed(leased, "line 1\nline 2 \"quoted\" \\ 😀"));
  EXPECT_EQ(view(id).attempts.at(0).error, "line 1\nline 2 \"quoted\" \\ 😀");
  EXPECT_EQ(view(id).attempts.at(0).worker, "wörker\"\\1");
  clock().advance(1h);
  Settlement said = completed(claim_one(id));
  said.output = odd;
  settle(said);

  EXPECT_EQ(detail(id).output, odd);
  EXPECT_EQ(view(id).row.subject, asked.subject);
  EXPECT_EQ(value_of(view(id).row.options.read()).meta, odd);
  EXPECT_EQ(enqueue(asked), id);
}

}  // namespace
}  // namespace carillon::test
