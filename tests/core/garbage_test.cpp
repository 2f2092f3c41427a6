// Every parser, given anything at all, answers with a value or with an error of one line that points into the text.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/random_triggers.h"
#include "core/recurrence/cron.h"
#include "core/recurrence/rrule.h"
#include "core/schedules/misfire.h"
#include "core/times.h"

namespace carillon {
namespace {

struct Parser {
  std::string_view name;
  std::function<std::optional<Error>(std::string_view)> parse;
};

template <typename T>
std::optional<Error> error_in(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

template <typename T>
Parser parser(std::string_view name, Result<T> (*parse)(std::string_view)) {
  return {name, [parse](std::string_view text) { return error_in(parse(text)); }};
}

Result<Trigger> read_trigger(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  return parse_trigger_json(text, json, "trigger");
}

Result<Timetable> make_cron(std::string_view text) {
  return Timetable::make(CronTrigger{.cron = std::string(text)}, {});
}

Result<Timetable> make_rrule(std::string_view text) {
  return Timetable::make(RruleTrigger{.rrule = std::string(text), .start = test::local("2026-01-05T09:00:00")}, {});
}

const std::vector<Parser> kParsers{
    parser("json", parse_json),
    parser("duration", parse_duration),
    parser("instant", parse_instant),
    parser("time of day", parse_time_of_day),
    parser("date", parse_date),
    parser("local time", parse_local_seconds),
    parser("zone", Zone::load),
    parser("cron", parse_cron),
    parser("cron, made", make_cron),
    parser("rrule", parse_rrule),
    parser("rrule, made", make_rrule),
    parser("trigger text", parse_trigger_text),
    parser("trigger json", read_trigger),
    parser("dst gap", parse_dst_gap),
    parser("dst overlap", parse_dst_overlap),
    parser("misfire", parse_misfire_kind),
    parser("overlap", parse_overlap),
};

std::string complaint(const Parser& parser, std::string_view text) {
  const auto error = parser.parse(text);
  if (!error) return {};
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const std::string who = std::string(parser.name) + ": " + error->message;
  if (error->message.empty() || error->message.size() > 1000) return who + " (its length)";
  if (std::ranges::any_of(error->message, is_control)) return who + " (has control characters)";
  if (error->column && (*error->column < 1 || *error->column > text.size() + 1)) return who + " (points outside)";
  return {};
}

TEST(Garbage, TenKilobytesOfOneByteAreRefusedByEveryParser) {
  for (const Parser& parser : kParsers) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text(10'000, static_cast<char>(byte));
      EXPECT_EQ(complaint(parser, text), "");
      if (parser.name == "json" && byte >= '1' && byte <= '9') continue;  // a number of 10,000 digits is one
      EXPECT_TRUE(parser.parse(text).has_value()) << parser.name << " accepts byte " << byte;
    }
  }
}

TEST(Garbage, ALongRepetitionOfWhatIsAlmostRightIsRefusedByEveryParser) {
  for (const std::string_view piece : {"* ",        "*/1,",        "1,",     "1-2,",   "L,",          "FREQ=DAILY;",
                                       "BYDAY=MO,", "5m",          "1h",     "mon,",   "2026-",       "[",
                                       "{\"a\":",   "\"\\u00",     "\"a\",", "cron:",  "weekly:mon,", "Europe/",
                                       "../",       "99999999999", "-",      "@daily", "\xed\xa0\x80"}) {
    std::string text;
    while (text.size() < 10'000) text += piece;
    for (const Parser& parser : kParsers) {
      EXPECT_EQ(complaint(parser, text), "");
      if (parser.name == "json" && piece == "99999999999") continue;    // a long number
      if (parser.name == "trigger text" && piece == "cron:") continue;  // judged when a timetable is made
      EXPECT_TRUE(parser.parse(text).has_value()) << parser.name << " accepts " << piece << " again and again";
    }
  }
}

TEST(Garbage, TheEmptyTextIsRefusedByEveryParser) {
  for (const Parser& parser : kParsers) {
    EXPECT_TRUE(parser.parse("").has_value()) << parser.name;
    EXPECT_EQ(complaint(parser, ""), "");
  }
}

RC_GTEST_PROP(Garbage, RandomBytesNeverDoHarm, (const std::vector<std::uint8_t>& bytes)) {
  std::string text(bytes.begin(), bytes.end());
  for (const Parser& parser : kParsers) RC_ASSERT(complaint(parser, text) == "");
  text.resize(10'000, text.empty() ? '*' : text.back());
  for (const Parser& parser : kParsers) RC_ASSERT(complaint(parser, text) == "");
}

// A valid text with one byte changed, inserted or removed.
RC_GTEST_PROP(Garbage, AlmostValidTextsNeverDoHarm, ()) {
  const std::vector<std::string> valid{"1h30m",
                                       "2026-03-29T01:00:00.5+01:00",
                                       "1774746000000",
                                       "23:59:59",
                                       "2026-03-29",
                                       "2026-03-29T01:30",
                                       "Europe/London",
                                       "0 8 L * fri#2",
                                       "*/5 1-5/2 15W jan,mar mon-fri",
                                       "FREQ=MONTHLY;INTERVAL=2;BYDAY=MO,-1FR;BYSETPOS=-1;UNTIL=20301231T235959Z",
                                       "weekly:mon,fri@08:00",
                                       R"({"kind": "weekly", "on": ["mon"], "at": "08:00"})",
                                       R"({"type":"weekly","day":4,"hour":6,"minute":0})"};
  std::string text = test::pick(valid);
  for (int changes = test::draw(1, 3); changes > 0 && !text.empty(); --changes) {
    const auto at = test::draw<std::size_t>(0, text.size() - 1);
    const char byte = static_cast<char>(test::draw(0, 1) == 0 ? test::draw(0x20, 0x7e) : test::draw(-128, 127));
    switch (test::draw(0, 2)) {
      case 0: text[at] = byte; break;
      case 1: text.insert(at, 1, byte); break;
      default: text.erase(at, 1); break;
    }
  }
  for (const Parser& parser : kParsers) RC_ASSERT(complaint(parser, text) == "");
}

}  // namespace
}  // namespace carillon
