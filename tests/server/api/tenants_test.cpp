// Who writes under a tenant is waited for when it is deleted, and nobody comes after that.
#include "server/api/tenants.h"

#include <gtest/gtest.h>

namespace carillon::server {
namespace {

using namespace std::chrono_literals;
using Fate = Tenants::Fate;

TEST(Tenants, WhoWritesIsWaitedForAndNobodyComesAfter) {
  Tenants tenants;
  tenants.add("acme");
  Tenants::Entered writer = tenants.enter("acme");
  EXPECT_EQ(writer.fate, Fate::there);
  ASSERT_TRUE(tenants.begin_deleting("acme"));
  EXPECT_EQ(tenants.enter("acme").fate, Fate::being_deleted);
  EXPECT_FALSE(tenants.wait_for_writers("acme", 5ms));
  writer.held.reset();
  EXPECT_TRUE(tenants.wait_for_writers("acme", 0ms));
  tenants.deleted("acme");
  EXPECT_EQ(tenants.enter("acme").fate, Fate::absent);
}

TEST(Tenants, OneThatIsKeptStillKnowsWhoWrites) {
  Tenants tenants;
  tenants.add("acme");
  const Tenants::Entered writer = tenants.enter("acme");
  ASSERT_TRUE(tenants.begin_deleting("acme"));
  tenants.keep("acme");
  EXPECT_TRUE(tenants.has("acme"));
  ASSERT_TRUE(tenants.begin_deleting("acme"));
  EXPECT_FALSE(tenants.wait_for_writers("acme", 5ms));
}

TEST(Tenants, FirstWritesAreWaitedForToo) {
  Tenants tenants;
  Tenants::Entered first = tenants.enter("acme");
  Tenants::Entered second = tenants.enter("acme");
  EXPECT_EQ(first.fate, Fate::absent);
  EXPECT_EQ(second.fate, Fate::absent);
  tenants.add("acme");
  first.held.reset();
  ASSERT_TRUE(tenants.begin_deleting("acme"));
  EXPECT_FALSE(tenants.wait_for_writers("acme", 5ms));
  second.held.reset();
  EXPECT_TRUE(tenants.wait_for_writers("acme", 0ms));
}

// Names that somebody only asks for leave nothing behind.
TEST(Tenants, AWriteThatMakesNothingIsForgotten) {
  Tenants tenants;
  tenants.enter("acme").held.reset();
  tenants.add("acme");
  ASSERT_TRUE(tenants.begin_deleting("acme"));
  EXPECT_TRUE(tenants.wait_for_writers("acme", 0ms));
}

}  // namespace
}  // namespace carillon::server
