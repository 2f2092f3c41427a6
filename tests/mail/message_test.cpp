#include "mail/message.h"

#include "support/results.h"

namespace carillon::mail {
namespace {

using namespace carillon::test;

EmailMessage message() {
  return {.from = {"Carillon", "noreply@example.com"},
          .to = {{"", "ada@example.com"}},
          .cc = {},
          .subject = "Hello",
          .text = "Text\n",
          .html = {},
          .message_id = "<1@example.com>",
          .date = value_of(parse_instant("2026-03-02T04:05:06Z"))};
}

TEST(EmailMessage, APlainOneReadsAsItIsWritten) {
  EXPECT_EQ(write_email(message()),
            "Date: Mon, 02 Mar 2026 04:05:06 +0000\r\n"
            "From: \"Carillon\"\r\n <noreply@example.com>\r\n"
            "To: ada@example.com\r\n"
            "Subject: Hello\r\n"
            "Message-ID: <1@example.com>\r\n"
            "Auto-Submitted: auto-generated\r\n"
            "MIME-Version: 1.0\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Transfer-Encoding: quoted-printable\r\n"
            "\r\n"
            "Text\r\n");
}

TEST(EmailMessage, HeadersAreAsciiAndShortWhateverTheyCarry) {
  EmailMessage odd = message();
  odd.subject = "Grüße ☃ " + std::string(200, 'x') + " 🎉";
  odd.to = {{"Jürgen \"J\" Ä", "j@example.com"}, {"a\\b\"c", "b@example.com"}};
  odd.cc = odd.to;
  const std::string text = write_email(odd);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find("\r\n", begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_LE(end - begin, 78U) << text.substr(begin, end - begin);
    begin = end + 2;
  }
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7F) || c == '\r' || c == '\n'; }));
  EXPECT_THAT(text, ::testing::HasSubstr(R"("a\\b\"c")"));
}

TEST(EmailMessage, TextThatLooksEncodedIsEncoded) {
  EXPECT_EQ(header_text("plain"), "plain");
  EXPECT_EQ(header_text("=?UTF-8?B?ZXZpbA==?="), "=?UTF-8?B?PT9VVEYtOD9CP1pYWnBiQT09Pz0=?=");
  EXPECT_EQ(header_text("ä"), "=?UTF-8?B?w6Q=?=");
}

TEST(EmailMessage, QuotedPrintableKeepsLinesShortAndEveryByte) {
  EXPECT_EQ(quoted_printable(""), "");
  EXPECT_EQ(quoted_printable("a=b"), "a=3Db\r\n");
  EXPECT_EQ(quoted_printable("a \nb\t\r\nc\rd"), "a=20\r\nb=09\r\nc\r\nd\r\n");
  EXPECT_EQ(quoted_printable("ä"), "=C3=A4\r\n");
  EXPECT_EQ(quoted_printable(std::string_view("\0.", 2)), "=00.\r\n");
  EXPECT_EQ(quoted_printable(std::string(80, 'x')), std::string(75, 'x') + "=\r\n" + std::string(5, 'x') + "\r\n");
}

TEST(EmailMessage, TextAndHtmlAreAlternatives) {
  EmailMessage both = message();
  both.html = "<p>ä</p>";
  const std::string text = write_email(both);
  EXPECT_THAT(text, ::testing::HasSubstr("multipart/alternative;\r\n boundary=\"=_"));
  EXPECT_THAT(text, ::testing::HasSubstr("Content-Type: text/html; charset=utf-8"));
  EXPECT_THAT(text, ::testing::HasSubstr("<p>=C3=A4</p>"));
  EXPECT_TRUE(text.ends_with("--\r\n"));
}

TEST(EmailMessage, TheIdOfAMessageIsThatOfItsKey) {
  const EmailAddress from{"", "noreply@mail.example"};
  const std::string id = message_id_of({.tenant = "a", .type = "b", .key = "c"}, from);
  EXPECT_TRUE(id.starts_with("<") && id.ends_with("@mail.example>")) << id;
  EXPECT_EQ(id, message_id_of({.tenant = "a", .type = "b", .key = "c"}, from));
  EXPECT_NE(id, message_id_of({.tenant = "ab", .type = "", .key = "c"}, from));
  EXPECT_NE(id, message_id_of({.tenant = "a", .type = "b", .key = "d"}, from));
}

}  // namespace
}  // namespace carillon::mail
