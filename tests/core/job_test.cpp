#include "core/jobs/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace carillon {
namespace {

using namespace std::chrono_literals;

struct Refused {
  const char* name;
  std::function<void(NewJob&)> spoil;
  const char* says;
};

class CheckNewJob : public testing::TestWithParam<Refused> {};

TEST_P(CheckNewJob, RefusesWithWhatWasGivenAndWhatIsAllowed) {
  NewJob job{.type = "mail.send"};
  ASSERT_TRUE(check_new_job(job).has_value());
  GetParam().spoil(job);
  const auto checked = check_new_job(job);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_request);
  EXPECT_THAT(checked.error().message, testing::HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Each, CheckNewJob,
    testing::Values(
        Refused{"no_type", [](NewJob& j) { j.type = ""; }, "type is empty"},
        Refused{"slash", [](NewJob& j) { j.type = "a/b"; }, "type \"a/b\": only printable ASCII"},
        Refused{"space", [](NewJob& j) { j.queue = "a b"; }, "queue \"a b\""},
        Refused{"control", [](NewJob& j) { j.tenant = "a\n"; }, "tenant \"a\\x0a\""},
        Refused{"long_name", [](NewJob& j) { j.type = std::string(201, 'x'); }, "type has 201 bytes; at most 200"},
        Refused{"priority_0", [](NewJob& j) { j.priority = 0; }, "priority is 0; it must lie between 1 and 5"},
        Refused{"priority_6", [](NewJob& j) { j.priority = 6; }, "priority is 6"},
        Refused{"no_attempts", [](NewJob& j) { j.options.max_attempts = 0; }, "max_attempts is 0"},
        Refused{"many_attempts", [](NewJob& j) { j.options.max_attempts = 1001; }, "between 1 and 1000"},
        Refused{"no_timeout", [](NewJob& j) { j.options.timeout = 0s; },
                "timeout is 0s; it must lie between 1ms and 30d"},
        Refused{"short_lease", [](NewJob& j) { j.options.lease = 1ms; }, "lease is 1ms; it must lie between 1s and 1d"},
        Refused{"limits", [](NewJob& j) { j.options.limits.assign(5, "x"); }, "limits names 5; at most 4"},
        Refused{"tags", [](NewJob& j) { j.options.tags.assign(21, "x"); }, "tags names 21; at most 20"},
        Refused{"tag", [](NewJob& j) { j.options.tags = {""}; }, "tag is empty"},
        Refused{"meta", [](NewJob& j) { j.options.meta = "[1]"; }, "meta must be an object"},
        Refused{"meta_json", [](NewJob& j) { j.options.meta = "{"; }, "meta: JSON (line 1, column 2)"},
        Refused{"payload", [](NewJob& j) { j.payload = "{\"a\":1,\"a\":2}"; }, "\"a\" is given twice"},
        Refused{"payload_big", [](NewJob& j) { j.payload = "\"" + std::string(1 << 20, 'x') + "\""; },
                "payload has 1048578 bytes; at most 1048576"},
        Refused{"key", [](NewJob& j) { j.options.idempotency_key = std::string(513, 'x'); }, "idempotency_key has 513"},
        Refused{"key_empty", [](NewJob& j) { j.options.idempotency_key = ""; },
                "idempotency_key is empty; it must have 1 to 512 bytes, or be left out"},
        Refused{"key_control", [](NewJob& j) { j.options.idempotency_key = std::string("a\0b", 3); },
                "idempotency_key \"a\\x00b\" contains a control character"},
        Refused{"subject", [](NewJob& j) { j.subject = std::string(513, 'x'); }, "subject has 513 bytes"},
        Refused{"run_at", [](NewJob& j) { j.run_at = kInstantMax + 1us; }, "run_at lies outside of the years"},
        Refused{"deadline", [](NewJob& j) { j.deadline = kInstantMin - 1us; }, "deadline lies outside of the years"},
        Refused{"unique_until",
                [](NewJob& j) { j.options.unique_until = {.until = KeyHold::Until::elapsed, .duration = 0s}; },
                "unique_until is 0s"},
        Refused{"parents", [](NewJob& j) { j.depends_on.assign(1001, JobId{1}); }, "depends_on names 1001"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(CheckNewJob, TakesWhatIsAtTheLimit) {
  NewJob job{.tenant = std::string(200, 't'), .type = "a.b-c_d:e@f"};
  job.payload = "\"" + std::string((1 << 20) - 2, 'x') + "\"";
  job.options.limits.assign(4, "x");
  job.options.tags.assign(20, "x");
  job.options.max_attempts = 1000;
  job.subject = std::string(512, 's');
  EXPECT_TRUE(check_new_job(job).has_value());
}

}  // namespace
}  // namespace carillon
