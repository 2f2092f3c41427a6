// carillon.example.toml: whoever copies it as it stands gets what he had without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "daemon/config.h"
#include "support/results.h"

namespace carillon::daemon {
namespace {

using test::value_of;

std::string example() {
  std::ifstream file(std::string(CARILLON_SOURCE_FOLDER) + "/carillon.example.toml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

LoadedConfig load(const std::string& text) {
  return value_of(load_config({}, {}, ConfigFile{.path = "carillon.example.toml", .text = text}));
}

// What is commented out, as it would stand if it were not.
std::string with_examples() {
  static const std::regex kExample(R"(# ([a-z_]+ = .*|\[.*))");
  std::istringstream lines(example());
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    out += (std::regex_match(line, found, kExample) ? found.str(1) : line) + "\n";
  }
  const std::string authorities = "/etc/carillon/authorities.pem";
  out.replace(out.find(authorities), authorities.size(), std::string(CARILLON_SOURCE_FOLDER) + "/README.md");
  return out;
}

TEST(ExampleFile, EveryValueInItIsTheDefault) {
  const LoadedConfig defaults = value_of(load_config({}, {}, std::nullopt));
  const LoadedConfig copied = load(example());
  ASSERT_EQ(copied.settings.size(), defaults.settings.size());
  std::size_t given = 0;
  for (std::size_t i = 0; i < defaults.settings.size(); ++i) {
    EXPECT_EQ(copied.settings[i].value, defaults.settings[i].value) << copied.settings[i].key;
    if (copied.settings[i].source == ConfigSource::file) ++given;
  }
  EXPECT_GE(given, 20U);
  EXPECT_THAT(copied.config.webhooks_allow, testing::IsEmpty());
  EXPECT_THAT(copied.config.handlers, testing::IsEmpty());
}

TEST(ExampleFile, WhatIsCommentedOutNamesRealKeys) {
  const LoadedConfig all = load(with_examples());
  std::size_t changed = 0;
  for (const EffectiveSetting& setting : all.settings) {
    if (setting.source == ConfigSource::file) ++changed;
  }
  const LoadedConfig copied = load(example());
  std::size_t given = 0;
  for (const EffectiveSetting& setting : copied.settings) {
    if (setting.source == ConfigSource::file) ++given;
  }
  EXPECT_GE(changed, given + 8);
  EXPECT_EQ(all.config.webhooks_allow.size(), 3U);
  EXPECT_EQ(all.config.handlers.size(), 2U);
}

}  // namespace
}  // namespace carillon::daemon
