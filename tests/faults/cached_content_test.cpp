#include "faults/cached_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {
namespace {

constexpr std::uint64_t kSeeds = 300;
constexpr std::size_t kPageBytes = 4096;

std::span<const char> bytes(std::string_view text) { return text; }

std::string page_of(char letter) { return std::string(kPageBytes, letter); }

std::string newest(const CachedContent& file) {
  std::string content(file.size(), '?');
  EXPECT_EQ(file.read(0, content), content.size());
  return content;
}

std::string after_power_failure(const CachedContent& file, Survivors survivors, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  const std::vector<char> content = file.after_power_failure(survivors, random);
  return {content.begin(), content.end()};
}

// All that can be there, over many seeds.
std::set<std::string> outcomes(const CachedContent& file) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    seen.insert(after_power_failure(file, Survivors::random, seed));
  }
  return seen;
}

TEST(CachedContent, ReadsSeeTheNewestContent) {
  CachedContent file;
  file.write(0, bytes("hello"));
  file.sync();
  file.write(4, bytes("p me"));
  file.truncate(6);

  EXPECT_EQ(newest(file), "hellp ");
  std::string beyond(4, '?');
  EXPECT_EQ(file.read(4, beyond), 2U);
  EXPECT_EQ(file.read(6, beyond), 0U);
  EXPECT_EQ(file.read(600, beyond), 0U);
}

TEST(CachedContent, AWriteBeyondTheEndLeavesZerosBetween) {
  CachedContent file;
  file.write(2, bytes("x"));

  EXPECT_EQ(newest(file), std::string("\0\0x", 3));
}

TEST(CachedContent, WhatWasSyncedSurvivesWhateverHappens) {
  CachedContent file;
  file.write(0, bytes(page_of('a')));
  file.truncate(3000);
  file.sync();
  const std::string synced = newest(file);

  EXPECT_THAT(outcomes(file), testing::ElementsAre(synced));
}

TEST(CachedContent, NoneAndAllAreTheTwoEnds) {
  CachedContent file;
  file.write(0, bytes("old"));
  file.sync();
  file.write(0, bytes("newer"));
  file.truncate(4);

  EXPECT_EQ(after_power_failure(file, Survivors::none), "old");
  EXPECT_EQ(after_power_failure(file, Survivors::all), "newe");
}

TEST(CachedContent, OneSeedAlwaysGivesTheSameSurvivors) {
  CachedContent file;
  for (std::size_t i = 0; i < 20; ++i) file.write(i * 1000, bytes(page_of(static_cast<char>('a' + i))));

  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(after_power_failure(file, Survivors::random, seed), after_power_failure(file, Survivors::random, seed));
  }
  EXPECT_GT(outcomes(file).size(), 50U);
}

TEST(CachedContent, APageCanBeTornButASectorCannot) {
  CachedContent file;
  file.write(0, bytes(page_of('a')));
  file.sync();
  file.write(0, bytes(page_of('b')));

  bool torn = false;
  for (const std::string& outcome : outcomes(file)) {
    ASSERT_EQ(outcome.size(), kPageBytes);
    torn |= outcome.find('a') != std::string::npos && outcome.find('b') != std::string::npos;
    for (std::size_t at = 0; at < kPageBytes; at += kSectorBytes) {
      const std::string_view sector = std::string_view(outcome).substr(at, kSectorBytes);
      EXPECT_TRUE(std::ranges::all_of(sector, [&](char c) { return c == sector.front(); }));
    }
  }
  EXPECT_TRUE(torn);
}

TEST(CachedContent, ALaterWriteCanSurviveAnEarlierOne) {
  CachedContent file;
  file.write(0, bytes(page_of('-') + page_of('-')));
  file.sync();
  file.write(0, bytes(page_of('1')));
  file.write(kPageBytes, bytes(page_of('2')));

  EXPECT_TRUE(std::ranges::any_of(outcomes(file), [](const std::string& outcome) {
    return outcome.find('1') == std::string::npos && outcome.find('2') != std::string::npos;
  }));
}

TEST(CachedContent, ASectorHoldsWhatItHeldAtSomeMoment) {
  CachedContent file;
  file.write(0, bytes("....."));
  file.sync();
  file.write(0, bytes("ab"));
  file.write(1, bytes("cd"));
  file.write(4, bytes("e"));

  EXPECT_THAT(outcomes(file), testing::UnorderedElementsAre(".....", "ab...", "acd..", "acd.e"));
}

TEST(CachedContent, BytesThatNobodyWroteToDoNotChange) {
  CachedContent file;
  file.write(0, bytes(page_of('a')));
  file.sync();
  file.write(700, bytes("0123456789"));
  file.write(1000, bytes(std::string(100, 'b')));

  for (const std::string& outcome : outcomes(file)) {
    EXPECT_EQ(outcome.substr(0, 700), page_of('a').substr(0, 700));
    EXPECT_EQ(outcome.substr(710, 290), page_of('a').substr(710, 290));
    EXPECT_EQ(outcome.substr(1100), page_of('a').substr(1100));
  }
}

TEST(CachedContent, AFileThatGrewCanReadAsZeros) {
  CachedContent file;
  file.write(0, bytes(page_of('a')));

  const std::set<std::string> seen = outcomes(file);
  EXPECT_TRUE(seen.contains(""));
  EXPECT_TRUE(seen.contains(page_of('\0')));
  EXPECT_TRUE(seen.contains(page_of('a')));
}

TEST(CachedContent, WhatWasCutOffDoesNotComeBackWhenTheFileGrowsAgain) {
  CachedContent file;
  file.write(0, bytes(page_of('a')));
  file.sync();
  file.truncate(0);
  file.write(2048, bytes(std::string(2048, 'b')));

  for (const std::string& outcome : outcomes(file)) {
    const bool before_the_cut = outcome == page_of('a');
    const bool after_the_cut = outcome.find('a') == std::string::npos;
    EXPECT_TRUE(before_the_cut || after_the_cut) << outcome.size();
  }
}

}  // namespace
}  // namespace carillon
