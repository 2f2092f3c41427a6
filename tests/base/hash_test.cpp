#include "base/hash.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace carillon {
namespace {

// Worked out with another implementation of XXH64. Jitter and spread of stored jobs hang on these numbers: if this test
// breaks, a restart would move them. (invariant 15)
TEST(StableHash, IsTheSameForEver) {
  EXPECT_EQ(stable_hash({}), 0xef46db3751d8e999U);  // XXH64's own value for the empty input
  EXPECT_EQ(stable_hash({""}), 0x34c96acdcadb1bbbU);
  EXPECT_EQ(stable_hash({"a"}), 0xbd1698eada10e1c3U);
  EXPECT_EQ(stable_hash({"a", "bc"}), 0xb96b9407e3be810dU);
  EXPECT_EQ(stable_hash({std::string(100, 'x')}), 0xeb88c48ff6f32beaU);
  EXPECT_EQ(stable_hash({"jitter", "default", "daily", "", "1774746000000000"}), 0xb7ae628ef5e05b07U);
}

TEST(StableHash, PartsDoNotRunIntoEachOther) {
  const std::array hashes{stable_hash({"abc"}),     stable_hash({"a", "bc"}), stable_hash({"ab", "c"}),
                          stable_hash({"", "abc"}), stable_hash({"abc", ""}), stable_hash({"a", "b", "c"}),
                          stable_hash({"c", "ab"}), stable_hash({}),          stable_hash({""}),
                          stable_hash({"", ""})};
  for (auto hash = hashes.begin(); hash != hashes.end(); ++hash) {
    EXPECT_EQ(std::find(hash + 1, hashes.end(), *hash), hashes.end());
  }
}

RC_GTEST_PROP(StableHash, OneByteMoreIsAnotherHash, (const std::string& text, char more)) {
  RC_ASSERT(stable_hash({text}) != stable_hash({text + more}));
}

TEST(ScaleHash, ReachesBothEnds) {
  EXPECT_EQ(scale_hash(0, 10), 0U);
  EXPECT_EQ(scale_hash(UINT64_MAX, 10), 10U);
  EXPECT_EQ(scale_hash(UINT64_MAX, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(scale_hash(0x8000000000000000U, 9), 5U);
  EXPECT_EQ(scale_hash(UINT64_MAX, 0), 0U);
}

TEST(ScaleHash, HitsEveryValueAboutEquallyOften) {
  std::array<int, 6> hits{};
  for (int i = 0; i < 6000; ++i) ++hits[scale_hash(stable_hash({std::to_string(i)}), 5)];
  for (const int count : hits) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

RC_GTEST_PROP(ScaleHash, StaysWithinTheBoundAndKeepsTheOrder, (std::uint64_t a, std::uint64_t b, std::uint64_t bound)) {
  RC_ASSERT(scale_hash(a, bound) <= bound);
  RC_ASSERT(scale_hash(std::min(a, b), bound) <= scale_hash(std::max(a, b), bound));
}

}  // namespace
}  // namespace carillon
