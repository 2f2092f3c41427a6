#include "base/percent.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(Percent, OnlyWhatIsSafeStaysAsItIsInAPath) {
  EXPECT_EQ(percent_encoded("Az09-_.~"), "Az09-_.~");
  EXPECT_EQ(percent_encoded("a/b?c#d e%é"), "a%2Fb%3Fc%23d%20e%25%C3%A9");
}

}  // namespace
}  // namespace carillon
