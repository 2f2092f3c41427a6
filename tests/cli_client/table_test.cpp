#include "cli/table.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/progress.h"
#include "cli/watch_command.h"

namespace carillon {
namespace {

TEST(Table, TheWidthOfATextIsWhatATerminalShows) {
  EXPECT_EQ(shown_width(""), 0U);
  EXPECT_EQ(shown_width("abc"), 3U);
  EXPECT_EQ(shown_width("é"), 1U);
  EXPECT_EQ(shown_width("e\u0301"), 1U);
  EXPECT_EQ(shown_width("日本"), 4U);
  EXPECT_EQ(shown_width("🎉"), 2U);
  EXPECT_EQ(shown_width("\xff\xfe"), 2U);
}

TEST(Table, ATextIsCutBetweenCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to_width("日本語", 4), "日…");
  EXPECT_EQ(cut_to_width("日本語", 5), "日本…");
  EXPECT_EQ(cut_to_width("abc", 0), "");
  EXPECT_EQ(cut_to_width("abc", 1), "…");
}

TEST(Table, WhatCouldActOnATerminalIsReplaced) {
  EXPECT_EQ(harmless("plain é 日本"), "plain é 日本");
  EXPECT_EQ(harmless("a\x1b[2Jb"), "a\uFFFD[2Jb");
  EXPECT_EQ(harmless("a\nb\tc"), "a b c");
  EXPECT_EQ(harmless("a\u202Eb\u2066c\u009Bd"), "a\uFFFDb\uFFFDc\uFFFDd");
  EXPECT_EQ(harmless("a\xff\xc0\xaf\xed\xa0\x80z"), "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz");
  EXPECT_EQ(harmless("cut \xe6\x97"), "cut \uFFFD\uFFFD");
}

TEST(Table, ColumnsAreAlignedAndShrinkToTheWidth) {
  const std::vector<TableColumn> columns{{.title = "ID", .may_be_cut = false}, {.title = "NAME"}, {.title = "X"}};
  const std::vector<std::vector<Cell>> rows{{{.text = "1"}, {.text = "日本"}, {.text = "a"}},
                                            {{.text = "22"}, {.text = "a rather long name"}, {.text = ""}}};
  EXPECT_EQ(render_table(columns, rows, {.width = 80, .colours = false}),
            "ID  NAME                X\n1   日本                a\n22  a rather long name\n");
  EXPECT_EQ(render_table(columns, rows, {.width = 17, .colours = false}),
            "ID  NAME        X\n1   日本        a\n22  a rather …\n");
  EXPECT_EQ(render_table(columns, {}, {.width = 80, .colours = true}),
            "\033[1mID\033[0m  \033[1mNAME\033[0m  \033[1mX\033[0m\n");
}

TEST(Table, WhatMayNotBeCutStaysWholeHoweverNarrowTheTerminal) {
  EXPECT_EQ(render_table({{.title = "ID", .may_be_cut = false}}, {{{.text = "0123456789"}}}, {.width = 3}),
            "ID\n0123456789\n");
}

TEST(Progress, ABarIsFilledByItsShare) {
  EXPECT_EQ(progress_line("retry", {.done = 0, .total = 4}), "retry  [------------------------------]  0 %  0/4");
  EXPECT_EQ(progress_line("retry", {.done = 2, .total = 4}), "retry  [###############---------------]  50 %  2/4");
  EXPECT_EQ(progress_line("retry", {.done = 9, .total = 4}), "retry  [##############################]  100 %  9/4");
  EXPECT_EQ(progress_line("retry", {.done = 7, .total = 0}), "retry  7");
}

TEST(Events, AStreamIsReadTheSameHoweverItIsCut) {
  const std::string stream =
      ": a comment\n\nevent: a\ndata: 1\ndata: 2\n\nevent:b\r\ndata\r\n\r\nid: 7\n\nevent: c\ndata: 3\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EventReader reader;
    std::string seen;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      reader.push(std::string_view(stream).substr(at, size));
      while (const auto event = reader.next()) seen += event->name + "=" + event->data + ";";
    }
    EXPECT_EQ(seen, "a=1\n2;b=;") << size;
  }
}

}  // namespace
}  // namespace carillon
