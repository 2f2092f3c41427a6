#include "mail/attachments.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "mail/message.h"
#include "support/results.h"

namespace carillon::mail {
namespace {

using namespace carillon::test;

MailAttachment picture(std::string cid) {
  return {.name = "a.png", .type = "image/png", .content = "x", .cid = std::move(cid)};
}

TEST(Attachments, SizeAndNumberAreBounded) {
  const MailAttachment small{.name = "a.txt", .type = "text/plain", .content = "x", .cid = {}};
  EXPECT_TRUE(check_attachments(std::vector(kMailAttachmentsMax, small), false));
  EXPECT_FALSE(check_attachments(std::vector(kMailAttachmentsMax + 1, small), false));
  MailAttachment half = small;
  half.content = std::string(kMailAttachmentBytesMax / 2, 'x');
  EXPECT_TRUE(check_attachments(std::vector(2, half), false));
  EXPECT_FALSE(check_attachments(std::vector{half, half, small}, false));
}

TEST(Attachments, APayloadsBoundsAreSeenBeforeItIsDecoded) {
  const auto list_of = [](std::size_t count, const std::string& content) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) {
      text += fmt::format(R"({}{{"name":"a","type":"text/plain","content":"{}"}})", i == 0 ? "" : ",", content);
    }
    return value_of(JsonValue::parse(text + "]"));
  };
  EXPECT_EQ(read_attachments(list_of(kMailAttachmentsMax, "YQ=="))->size(), kMailAttachmentsMax);
  EXPECT_FALSE(read_attachments(list_of(kMailAttachmentsMax + 1, "YQ==")));
  // Not Base64 at all, and refused for its size.
  const auto large = read_attachments(list_of(1, std::string(kMailAttachmentBytesMax * 4 / 3 + 1000, '!')));
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().why, ::testing::HasSubstr("10 MiB"));
  EXPECT_TRUE(read_attachments(JsonValue())->empty());
}

TEST(Attachments, APictureNeedsHtmlAndANameOfItsOwn) {
  EXPECT_TRUE(check_attachments(std::vector{picture("a"), picture("b")}, true));
  EXPECT_FALSE(check_attachments(std::vector{picture("a"), picture("a")}, true));
  EXPECT_FALSE(check_attachments(std::vector{picture("a")}, false));
}

TEST(Attachments, HeadersAreAsciiAndShortWhateverTheNameIs) {
  EmailMessage message{.from = {"", "noreply@example.com"},
                       .to = {{"", "ada@example.com"}},
                       .cc = {},
                       .subject = "s",
                       .text = "t",
                       .html = "<p>h</p>",
                       .attachments = {},
                       .message_id = "<1@example.com>",
                       .date = {}};
  for (const std::string& name :
       {std::string("Grüße \"☃\".pdf"), std::string(200, 'x'), std::string("a\\\"b;c=d'.txt")}) {
    MailAttachment one{.name = name, .type = "application/pdf", .content = std::string(1000, '\xFF'), .cid = {}};
    if (name.contains('\\')) one.name.erase(one.name.find('\\'), 1);
    message.attachments = {one, picture("chart@example.com")};
    ASSERT_TRUE(check_attachments(message.attachments, true)) << name;
    const std::string text = write_email(message);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find("\r\n", begin);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LE(end - begin, 78U) << text.substr(begin, end - begin);
      begin = end + 2;
    }
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7F) || c == '\r' || c == '\n'; }));
    EXPECT_THAT(text, ::testing::HasSubstr(" <chart@example.com>\r\n"));
  }
}

TEST(Attachments, PartsNestAndEachBoundaryIsClosedOnce) {
  EmailMessage message{.from = {"", "noreply@example.com"},
                       .to = {{"", "ada@example.com"}},
                       .cc = {},
                       .subject = "s",
                       .text = "t",
                       .html = "<img src=\"cid:a\">",
                       .attachments = {picture("a"), picture("")},
                       .message_id = "<1@example.com>",
                       .date = {}};
  const std::string text = write_email(message);
  std::vector<std::string> order;
  for (const std::string_view type : {"mixed", "alternative", "related"}) {
    const std::size_t at = text.find(fmt::format("multipart/{};", type));
    ASSERT_NE(at, std::string::npos) << type;
    const std::size_t begin = text.find("boundary=\"", at) + 10;
    const std::string boundary = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_EQ(text.find("--" + boundary + "--\r\n"), text.rfind("--" + boundary + "--\r\n"));
    order.push_back(boundary);
  }
  // What begins inside ends inside.
  const auto opens = [&](std::size_t i) { return text.find("--" + order[i] + "\r\n"); };
  const auto closes = [&](std::size_t i) { return text.find("--" + order[i] + "--\r\n"); };
  EXPECT_LT(opens(0), opens(1));
  EXPECT_LT(opens(1), opens(2));
  EXPECT_LT(closes(2), closes(1));
  EXPECT_LT(closes(1), closes(0));
}

}  // namespace
}  // namespace carillon::mail
