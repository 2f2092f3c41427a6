#include "base/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace carillon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Mailbox, GivesInOrderWhatWasPutIn) {
  Mailbox<int> box;
  for (const int item : {1, 2, 3}) EXPECT_TRUE(box.put(item));
  EXPECT_THAT(box.take(2), ElementsAre(1, 2));
  EXPECT_FALSE(box.empty());
  EXPECT_THAT(box.take(), ElementsAre(3));
  EXPECT_TRUE(box.empty());
}

TEST(Mailbox, OnlyTheFirstIntoAnEmptyBoxWakesItsTaker) {
  int woken = 0;
  Mailbox<int> box([&] { ++woken; });
  box.put(1);
  box.put(2);
  EXPECT_EQ(woken, 1);
  EXPECT_THAT(box.take(), ElementsAre(1, 2));
  box.put(3);
  EXPECT_EQ(woken, 2);
}

TEST(Mailbox, ClosedItGivesBackWhatComesAndWakesNobody) {
  int woken = 0;
  Mailbox<std::unique_ptr<int>> box([&] { ++woken; });
  box.put(std::make_unique<int>(1));
  EXPECT_EQ(box.close().size(), 1U);
  const auto refused = box.offer(std::make_unique<int>(2));
  ASSERT_TRUE(refused);
  EXPECT_EQ(**refused, 2);
  EXPECT_EQ(woken, 1);
  EXPECT_THAT(box.take(), IsEmpty());
}

TEST(Mailbox, FullItTakesNothingIn) {
  Mailbox<int> box({}, 2);
  EXPECT_TRUE(box.put(1));
  EXPECT_TRUE(box.put(2));
  EXPECT_FALSE(box.put(3));
  EXPECT_THAT(box.take(), ElementsAre(1, 2));
  EXPECT_TRUE(box.put(4));
}

}  // namespace
}  // namespace carillon
