#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/http/turns.h"

namespace carillon::server {
namespace {

using namespace std::chrono_literals;

class HttpTurns : public testing::Test {
 protected:
  // Writes its name when it is served.
  class Named final : public Turns::Guest {
   public:
    Named(std::string name, std::function<void(const std::string&)> serve)
        : name_(std::move(name)), serve_(std::move(serve)) {}
    void take_turn() override { serve_(name_); }

   private:
    const std::string name_;
    const std::function<void(const std::string&)> serve_;
  };

  void line_up(const std::shared_ptr<Account>& account, const std::string& name, std::function<void()> then = [] {}) {
    turns_.add(account, std::make_shared<Named>(name, [this, then = std::move(then)](const std::string& who) {
                 served_ += who + " ";
                 now_ += each_;
                 then();
               }));
  }

  std::chrono::steady_clock::time_point now_;
  std::chrono::microseconds each_ = 0us;  // that a turn takes
  std::string served_;
  int woken_ = 0;
  Turns turns_{[this] { ++woken_; }, [this] { return now_; }};
  const std::shared_ptr<Account> many_ = std::make_shared<Account>();
  const std::shared_ptr<Account> one_ = std::make_shared<Account>();
  const std::shared_ptr<Account> other_ = std::make_shared<Account>();
};

TEST_F(HttpTurns, WhoHasManyWaitsForHimself) {
  for (int i = 1; i <= 5; ++i) line_up(many_, "m" + std::to_string(i));
  line_up(one_, "one");
  line_up(other_, "other");
  turns_.run();
  EXPECT_EQ(served_, "m1 one other m2 m3 m4 m5 ");
}

TEST_F(HttpTurns, ThoseWithoutAKeyHaveFourOfAnAddressAtATime) {
  many_->of = AccountOf::address;
  for (int i = 1; i <= 6; ++i) line_up(many_, "m" + std::to_string(i));
  line_up(one_, "one");
  line_up(one_, "two");
  turns_.run();
  EXPECT_EQ(served_, "m1 m2 m3 m4 one m5 m6 two ");
}

TEST_F(HttpTurns, WhoComesWhileOthersWaitIsBehindOneOfThem) {
  line_up(many_, "m1", [&] { line_up(one_, "one"); });
  for (int i = 2; i <= 4; ++i) line_up(many_, "m" + std::to_string(i));
  turns_.run();
  turns_.run();
  EXPECT_EQ(served_, "m1 one m2 m3 m4 ");
}

TEST_F(HttpTurns, OneWhoLinesUpInHisTurnIsServedAgainWhenNewsWasSeenTo) {
  int left = 2;
  const std::function<void()> again = [&] {
    if (left-- > 0) line_up(many_, "again", again);
  };
  line_up(many_, "first", again);
  line_up(many_, "second");
  line_up(one_, "one");
  turns_.run();
  EXPECT_EQ(served_, "first one second ");
  turns_.run();
  EXPECT_EQ(served_, "first one second again ");
  turns_.run();
  EXPECT_EQ(served_, "first one second again again ");
}

TEST_F(HttpTurns, AfterAMomentNewsIsSeenToBeforeTheRest) {
  each_ = 400us;
  for (int i = 1; i <= 5; ++i) line_up(many_, "m" + std::to_string(i));
  EXPECT_EQ(woken_, 1);
  turns_.run();
  EXPECT_EQ(served_, "m1 m2 m3 ");
  EXPECT_EQ(woken_, 2) << "somebody is left";
  line_up(one_, "one");
  EXPECT_EQ(woken_, 2) << "asked for already";
  turns_.run();
  EXPECT_EQ(served_, "m1 m2 m3 m4 one m5 ");
  EXPECT_EQ(woken_, 2) << "nobody is left";
  line_up(one_, "one");
  EXPECT_EQ(woken_, 3);
}

}  // namespace
}  // namespace carillon::server
