#include <carillon/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "support/results.h"

namespace carillon {
namespace {

using namespace std::chrono_literals;
using test::value_of;
using ::testing::HasSubstr;
using ::testing::Not;

const Instant kAt = value_of(parse_instant("2026-03-02T12:00:00.250Z"));

Json json_of(const LogLine& line) { return value_of(parse_json(line.json(kAt))); }

LogLine example() {
  LogLine line(LogLevel::debug, "attempt failed");
  line.text("tenant", "acme").text("err_code", "req").number("attempt", 2).milliseconds("duration_ms", 12'900us);
  return line;
}

TEST(LogLine, AsJsonItIsOneObject) {
  EXPECT_EQ(example().json(kAt),
            R"({"at":"2026-03-02T12:00:00.250Z","level":"debug","msg":"attempt failed","tenant":"acme",)"
            R"("err_code":"req","attempt":2,"duration_ms":12})"
            "\n");
}

TEST(LogLine, AsTextItIsForAPerson) {
  EXPECT_EQ(example().plain(kAt),
            "2026-03-02T12:00:00.250Z DEBUG attempt failed  tenant=acme  err_code=req  attempt=2  duration_ms=12\n");
  EXPECT_EQ(LogLine(LogLevel::warn, "x").text("path", "a b=\"c\"").plain(kAt),
            "2026-03-02T12:00:00.250Z WARN  x  path=\"a b=\\\"c\\\"\"\n");
}

TEST(LogLine, WhatIsEmptyIsLeftOut) {
  EXPECT_THAT(LogLine(LogLevel::info, "x").text("tenant", "").json(kAt), Not(HasSubstr("tenant")));
}

// What a tenant, a worker's name or a path could hold to write a line of its own or to move the cursor.
const std::vector<std::string>& evil() {
  static const std::vector<std::string> texts{
      "a\n{\"level\":\"error\",\"msg\":\"forged\"}",
      "a\r\n2026-01-01T00:00:00.000Z ERROR forged",
      "\x1b[2J\x1b]0;title\x07",
      std::string("nul\0byte", 8),
      "\x7f\b\t",
      "\u0085 next line, \u009b31m C1",
      "\u2028 line, \u2029 paragraph",
      "\u202e turned \u2066 round \u2069",
      "\xff\xfe no text \xc3",
  };
  return texts;
}

TEST(LogLine, NoValueEndsTheLineOrMovesTheCursor) {
  for (const std::string& text : evil()) {
    LogLine line(LogLevel::info, "say " + text);
    line.text("tenant", text);
    for (const std::string& out : {line.json(kAt), line.plain(kAt)}) {
      EXPECT_EQ(std::ranges::count(out, '\n'), 1) << out;
      EXPECT_EQ(out.back(), '\n');
      EXPECT_TRUE(std::ranges::none_of(out.substr(0, out.size() - 1), [](char c) {
        return static_cast<unsigned char>(c) < 0x20;
      })) << out;
    }
    const std::string plain = line.plain(kAt);
    for (const std::string_view acting : {"\x7f", "\u0085", "\u009b", "\u2028", "\u2029", "\u202e", "\u2066"}) {
      EXPECT_EQ(plain.find(acting), std::string::npos) << plain;
    }
  }
}

TEST(LogLine, JsonKeepsWhatItWasGiven) {
  for (const std::string& text : evil()) {
    if (text.starts_with('\xff')) continue;  // no text: it is replaced
    const Json json = json_of(LogLine(LogLevel::info, "x").text("tenant", text));
    EXPECT_EQ(json.find("tenant")->text, text);
    EXPECT_EQ(json.find("level")->text, "info");
    EXPECT_EQ(json.members.size(), 4U);
  }
}

TEST(LogLine, APipeTakesItWholeHoweverLongItsValuesAre) {
  for (const std::string& text : {std::string(100'000, 'x'), std::string(100'000, '\x01'), std::string(100'000, '"')}) {
    LogLine line(LogLevel::error, text);
    for (const char* const name : {"tenant", "job_id", "type", "state", "reason", "path", "worker", "err_code"}) {
      line.text(name, text);
    }
    EXPECT_LE(line.json(kAt).size(), kLogLineBytesMax);
    EXPECT_LE(line.plain(kAt).size(), kLogLineBytesMax);
    EXPECT_THAT(json_of(line).find("tenant")->text, HasSubstr("…"));
  }
  std::string wide;
  for (int i = 0; i < 2000; ++i) wide += "ü";
  EXPECT_THAT(json_of(LogLine(LogLevel::error, wide)).find("msg")->text, Not(HasSubstr("\uFFFD")));
}

}  // namespace
}  // namespace carillon
