#include "daemon/own_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/results.h"

namespace carillon::daemon {
namespace {

using test::value_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ServerConfig config_of(const std::string& fields) {
  const std::string text = "[handlers.\"report.build\"]\nkind = \"exec\"\n" + fields;
  return value_of(load_config({}, {}, ConfigFile{.path = "carillon.toml", .text = text})).config;
}

TEST(OwnHandlers, AProgramThatIsNotThereIsToldWithItsHandler) {
  EXPECT_THAT(wrong_handlers(config_of("argv = [\"/nowhere/report\"]\nallow_root = true")),
              ElementsAre(AllOf(HasSubstr("handlers.\"report.build\""), HasSubstr("\"/nowhere/report\""),
                                HasSubstr("No such file"))));
  EXPECT_THAT(wrong_handlers(config_of("argv = [\"/bin/true\"]\nallow_root = true")), IsEmpty());
}

TEST(OwnHandlers, RootsRightsHaveToBeGiven) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has them";
  EXPECT_THAT(wrong_handlers(config_of("argv = [\"/bin/true\"]")),
              ElementsAre(AllOf(HasSubstr("handlers.\"report.build\""), HasSubstr("allow_root = true"))));
  EXPECT_THAT(wrong_handlers(config_of("argv = [\"/bin/true\"]\nuser = \"nobody\"")), IsEmpty());
}

}  // namespace
}  // namespace carillon::daemon
