// Mails of a program, to a real server on loopback: once each, whatever the engine does.
#include <carillon/carillon.h>
#include <carillon/mail.h>
#include <carillon/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library/collected.h"
#include "mail/smtp_sink.h"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class LibraryMail : public ::testing::Test {
 protected:
  MailServer server() const {
    return {.smtp = sink.url(), .starttls = StartTls::never, .from = "News <news@example.com>"};
  }
  // Runs one job that says this, and gives what became of it.
  JobInfo run(const Handler& handler, std::string payload = "null") {
    engine.handle("mail", handler);
    const JobId id = engine.client().enqueue({.type = "mail", .payload = std::move(payload)}).value().id;
    engine.run_due();
    return engine.client().job("default", id).value();
  }
  JobInfo send(const Mail& mail) {
    const MailSender sender = MailSender::open(server()).value();
    return run([&](JobContext& context) { return sender.send(context, mail); });
  }

  Sink sink;
  carillon::testing::ManualClock clock{at("2026-03-03T00:00:00Z")};
  carillon::testing::TestEngine engine{clock};
};

TEST_F(LibraryMail, AMailWithAPictureAndAFileArrives) {  // S1: include_charts
  const JobInfo job =
      send({.to = {"Ada <ada@example.com>"},
            .cc = {"bob@example.com"},
            .subject = "Today",
            .text = "See the chart.",
            .html = "<p>Today</p><img src=\"cid:chart\">",
            .attachments = {{.name = "chart.png", .type = "image/png", .content = "\x89PNG", .cid = "chart"},
                            {.name = "week.csv", .type = "text/csv", .content = "a;b\n", .cid = {}}},
            .key = {}});
  EXPECT_EQ(job.state, JobState::done) << job.last_error;
  const JsonValue mail = sink.mail();
  EXPECT_EQ(mail.at("from").as_string(), "news@example.com");
  EXPECT_EQ(mail.at("to").raw(), R"(["ada@example.com","bob@example.com"])");
  const std::string data = mail.at("data").as_string();
  EXPECT_THAT(data, HasSubstr("<p>Today</p><img src=3D\"cid:chart\">")) << "as it is";
  EXPECT_THAT(data, HasSubstr("Content-ID:\r\n <chart>\r\n"));
  EXPECT_THAT(data, HasSubstr("iVBORw=="));
  EXPECT_THAT(data, HasSubstr("YTtiCg=="));
  EXPECT_THAT(data, HasSubstr("Message-ID: " + JsonValue::parse(job.output).value().at("message_id").as_string()));
}

TEST_F(LibraryMail, ItIsSentOnceThoughItsJobIsTriedAgain) {
  const MailSender sender = MailSender::open(server()).value();
  const JobInfo job = run([&](JobContext& context) {
    const Outcome ada = sender.send(context, {.to = {"ada@example.com"}, .subject = "s", .text = "t", .key = "ada"});
    const Outcome bob = sender.send(context, {.to = {"bob@example.com"}, .subject = "s", .text = "t", .key = "bob"});
    EXPECT_EQ(ada.kind, Outcome::Kind::done);
    EXPECT_EQ(bob.kind, Outcome::Kind::done);
    EXPECT_NE(ada.output, bob.output) << "each has a Message-ID of its own";
    return context.attempt() == 1 ? fail("after the mails") : done();
  });
  EXPECT_EQ(job.state, JobState::queued);
  engine.advance(10min);
  EXPECT_EQ(engine.client().job("default", job.id).value().state, JobState::done);
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["ada@example.com"])");
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["bob@example.com"])");
  send({.to = {"last@example.com"}, .subject = "s", .text = "t"});
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["last@example.com"])") << "nothing came twice before it";
}

TEST_F(LibraryMail, ATemplateFillsInOneForEachJob) {
  const MailSender sender = MailSender::open(server()).value();
  const Handler handler = sender
                              .handler({.to = "{{payload.to}}",
                                        .cc = {},
                                        .subject = "Hello {{payload.name}}",
                                        .text = {},
                                        .html = "<h1>{{payload.name}}</h1>{{{payload.body}}}",
                                        .attachments = "{{payload.files}}"})
                              .value();
  const JobInfo job = run(handler, R"({"to":"ada@example.com","name":"<Ada>","body":"<b>raw</b>",)"
                                   R"("files":[{"name":"a.txt","type":"text/plain","content":"aGk="}]})");
  EXPECT_EQ(job.state, JobState::done) << job.last_error;
  const std::string data = sink.mail().at("data").as_string();
  EXPECT_THAT(data, HasSubstr("<h1>&lt;Ada&gt;</h1><b>raw</b>"));
  EXPECT_THAT(data, HasSubstr("filename=\"a.txt\""));
}

TEST_F(LibraryMail, WhatWouldBreakAHeaderOrABoundParksTheJob) {
  const Mail good{.to = {"ada@example.com"}, .subject = "s", .text = "t"};
  const auto parked_with = [&](const std::function<void(Mail&)>& change, std::string_view error_class) {
    Mail bad = good;
    change(bad);
    const JobInfo job = send(bad);
    EXPECT_EQ(job.state, JobState::dlq);
    ASSERT_FALSE(job.attempts.empty());
    EXPECT_EQ(job.attempts.back().error_class, error_class) << job.attempts.back().error;
  };
  parked_with([](Mail& m) { m.subject = "s\r\nBcc: eve@evil.example"; }, "header_injection");
  parked_with([](Mail& m) { m.to = {"ada@example.com\r\nBcc: eve@evil.example"}; }, "header_injection");
  parked_with([](Mail& m) { m.cc = {"x\n <c@example.com>"}; }, "header_injection");
  parked_with([](Mail& m) { m.attachments = {{.name = "a\r\nX: y", .type = "text/plain", .content = "x", .cid = {}}}; },
              "header_injection");
  parked_with([](Mail& m) { m.to = {"ada@example.com, eve@evil.example"}; }, "address");
  parked_with([](Mail& m) { m.to.clear(); }, "address");
  parked_with([](Mail& m) { m.to = std::vector<std::string>(kMailRecipientsMax + 1, "a@example.com"); }, "address");
  parked_with([](Mail& m) { m.text.clear(); }, "template");
  parked_with(
      [](Mail& m) {
        m.attachments = {
            {.name = "a", .type = "text/plain", .content = std::string(kMailAttachmentBytesMax + 1, 'x'), .cid = {}}};
      },
      "attachment");
  parked_with([](Mail& m) { m.to = {"550@example.com"}; }, "smtp_5xx");
  send(good);
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["ada@example.com"])") << "none of them has arrived before it";
}

TEST_F(LibraryMail, AServerThatIsAwayIsAFailedAttempt) {
  MailServer away = server();
  {
    const Sink gone;
    away.smtp = gone.url();
  }
  const MailSender sender = MailSender::open(away).value();
  const JobInfo job = run([&](JobContext& context) {
    return sender.send(context, {.to = {"ada@example.com"}, .subject = "s", .text = "t"});
  });
  EXPECT_EQ(job.state, JobState::queued);
  ASSERT_FALSE(job.attempts.empty());
  EXPECT_EQ(job.attempts.back().error_class, "unreachable");
}

TEST_F(LibraryMail, AServerThatCannotBeIsRefusedAtOnce) {
  const auto refused = [&](const std::function<void(MailServer&)>& change) {
    MailServer bad{.smtp = "smtp://mail.example:25", .from = "news@example.com"};
    change(bad);
    const auto opened = MailSender::open(bad);
    EXPECT_FALSE(opened);
    if (opened) return;
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_configuration);
  };
  refused([](MailServer& s) { s.smtp = "http://mail.example"; });
  refused([](MailServer& s) { s.from = "nobody"; });
  refused([](MailServer& s) {
    s.user = "ada";
    s.password_file = "/password";
  });
  EXPECT_TRUE(MailSender::open({.smtp = "smtp://mail.example:25", .from = "news@example.com"}));
  EXPECT_FALSE(MailSender::open(server()).value().handler({.to = "{{user}}", .subject = "s", .text = "t"}));
}

}  // namespace
}  // namespace carillon::test
