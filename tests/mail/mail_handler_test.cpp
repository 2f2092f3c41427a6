// Mails to a real server on loopback, the npm package smtp-server.
#include <carillon/mail.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "base/json.h"
#include "mail/smtp_sink.h"
#include "server/handlers/exec_process.h"
#include "server/handlers/support/fake_context.h"
#include "support/scratch_folder.h"

namespace carillon {
namespace {

using namespace carillon::test;
using Kind = Outcome::Kind;

// A server and what is sent through it.
struct MailConfig : MailServer, MailTemplate {};

MailConfig config(const std::string& smtp) {
  MailConfig config;
  config.smtp = smtp;
  config.starttls = StartTls::never;
  config.from = "Carillon <noreply@example.com>";
  config.to = "{{payload.to}}";
  config.subject = "{{payload.subject}}";
  config.text = "{{payload.body}}";
  return config;
}

std::string payload(std::string_view to, std::string_view subject = "Hello", std::string_view body = "Text") {
  return fmt::format(R"({{"to":{},"subject":{},"body":{}}})", json_string(to), json_string(subject), json_string(body));
}

Result<Handler> make_email_handler(const MailConfig& config) {
  TRY_ASSIGN(const MailSender sender, MailSender::open(config));
  return sender.handler(config);
}

Outcome send(const MailConfig& config, const std::string& payload) {
  FakeContext context(payload);
  return value_of(make_email_handler(config))(context);
}

TEST(EmailHandler, AMailArrivesWithItsHeadersAndBody) {
  Sink sink;
  MailConfig with_all = config(sink.url());
  with_all.to_list = true;
  with_all.cc = "Ops <ops@example.com>";
  with_all.html = "<p>{{payload.body}}</p>";
  const Outcome sent =
      send(with_all, payload("Jürgen <j@example.com>, b@example.com", "Grüße ☃", "a <b>\n.\n.dot\nend"));
  ASSERT_EQ(sent.kind, Kind::done) << sent.error;
  const JsonValue mail = sink.mail();
  EXPECT_EQ(mail.at("from").as_string(), "noreply@example.com");
  EXPECT_EQ(mail.at("to").raw(), R"(["j@example.com","b@example.com","ops@example.com"])");
  const std::string data = mail.at("data").as_string();
  EXPECT_THAT(data, ::testing::HasSubstr("From: \"Carillon\"\r\n <noreply@example.com>\r\n"));
  EXPECT_THAT(data, ::testing::HasSubstr("To: =?UTF-8?B?SsO8cmdlbg==?=\r\n <j@example.com>,\r\n b@example.com\r\n"));
  EXPECT_THAT(data, ::testing::HasSubstr("Cc: \"Ops\"\r\n <ops@example.com>\r\n"));
  EXPECT_THAT(data, ::testing::HasSubstr("Subject: =?UTF-8?B?R3LDvMOfZSDimIM=?=\r\n"));
  EXPECT_THAT(data, ::testing::ContainsRegex("Date: [A-Z][a-z][a-z], [0-9][0-9] [A-Z][a-z][a-z] 20"));
  EXPECT_THAT(data, ::testing::HasSubstr("\r\n\r\na <b>\r\n.\r\n.dot\r\nend\r\n"));
  EXPECT_THAT(data, ::testing::HasSubstr("<p>a &lt;b&gt;\r\n.\r\n.dot\r\nend</p>\r\n"));
  const std::string id = value_of(JsonValue::parse(sent.output)).at("message_id").as_string();
  EXPECT_THAT(data, ::testing::HasSubstr("Message-ID: " + id + "\r\n"));
}

TEST(EmailHandler, TheMessageIdStaysTheSameOverAttempts) {
  Sink sink;
  const auto id_with = [&](std::uint32_t attempt, int job) {
    FakeContext context(payload("ada@example.com"));
    context.running.attempt = attempt;
    context.running.id = {.value = job};
    const Outcome sent = value_of(make_email_handler(config(sink.url())))(context);
    EXPECT_EQ(sent.kind, Kind::done) << sent.error;
    sink.mail();
    return sent.output;
  };
  EXPECT_EQ(id_with(1, 1), id_with(2, 1));
  EXPECT_NE(id_with(1, 1), id_with(1, 2));
}

TEST(EmailHandler, AnAttemptAfterOneThatIsRecordedSendsNothing) {
  Sink sink;
  FakeContext context(payload("ada@example.com"));
  const Handler handler = value_of(make_email_handler(config(sink.url())));
  EXPECT_EQ(handler(context).kind, Kind::done);
  EXPECT_EQ(handler(context).kind, Kind::done);
  FakeContext other(payload("bob@example.com"));
  EXPECT_EQ(handler(other).kind, Kind::done);
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["ada@example.com"])");
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["bob@example.com"])");
}

TEST(EmailHandler, ARefusalIsPermanentOrNotAsTheReplySays) {
  Sink sink;
  MailConfig plain = config(sink.url());
  plain.to_list = true;
  for (const std::string_view to : {"550@example.com", "ada@example.com, 553@example.com", "data-554@example.com"}) {
    const Outcome refused = send(plain, payload(to));
    EXPECT_EQ(refused.kind, Kind::permanent) << to;
    EXPECT_EQ(refused.error_class, "smtp_5xx") << refused.error;
    EXPECT_THAT(refused.error, ::testing::HasSubstr("refused by the test"));
  }
  for (const std::string_view to : {"450@example.com", "451@example.com", "data-452@example.com"}) {
    const Outcome refused = send(plain, payload(to));
    EXPECT_EQ(refused.kind, Kind::failed) << to;
    EXPECT_EQ(refused.error_class, "smtp_4xx") << refused.error;
  }
}

TEST(EmailHandler, AMailThatWasNotSentMayBeTriedAgain) {
  Sink sink;
  FakeContext context(payload("451@example.com"));
  EXPECT_EQ(value_of(make_email_handler(config(sink.url())))(context).kind, Kind::failed);
  EXPECT_TRUE(context.effects.empty());
}

TEST(EmailHandler, NobodyThereIsAFailedAttempt) {
  std::string url;
  {
    const Sink gone;
    url = gone.url();
  }
  const Outcome failed = send(config(url), payload("ada@example.com"));
  EXPECT_EQ(failed.kind, Kind::failed);
  EXPECT_EQ(failed.error_class, "unreachable") << failed.error;
}

TEST(EmailHandler, NoValueBreaksAHeader) {
  Sink sink;
  MailConfig named = config(sink.url());
  named.to = "{{payload.name}} <{{payload.to}}>";
  MailConfig copied = config(sink.url());
  copied.cc = "{{payload.cc}}";
  int tried = 0;
  for (const std::string_view ending :
       {"\r\nBcc: eve@evil.example", "\nBcc: eve@evil.example", "\rBcc: eve@evil.example", "\r\n\r\nbody", "\r\n .",
        "\r\n.\r\nMAIL FROM:<eve@evil.example>", "\n.\n", "\r", "\n", "\x0b", "\x0c", "\x01", "\x1b[31m", "\x7f", "\t",
        "%0d%0a\r\n", "\r\n\tfolded", "\x08"}) {
    const std::string bad = json_string(std::string("x") + std::string(ending));
    for (const std::string& text :
         {fmt::format(R"({{"to":"ada@example.com","subject":{},"body":"b","name":"n","cc":"c@example.com"}})", bad),
          fmt::format(R"({{"to":{},"subject":"s","body":"b","name":"n","cc":"c@example.com"}})", bad),
          fmt::format(R"({{"to":[{}],"subject":"s","body":"b","name":"n","cc":"c@example.com"}})", bad)}) {
      const Outcome refused = send(config(sink.url()), text);
      EXPECT_EQ(refused.kind, Kind::permanent) << text;
      EXPECT_EQ(refused.error_class, "header_injection") << text;
      ++tried;
    }
    const Outcome name =
        send(named, fmt::format(R"({{"to":"ada@example.com","subject":"s","body":"b","name":{}}})", bad));
    EXPECT_EQ(name.error_class, "header_injection") << bad;
    const Outcome cc = send(copied, fmt::format(R"({{"to":"ada@example.com","subject":"s","body":"b","cc":{}}})", bad));
    EXPECT_EQ(cc.error_class, "header_injection") << bad;
    tried += 2;
  }
  const Outcome nul = send(config(sink.url()), R"({"to":"ada@example.com","subject":"a\u0000b","body":"b"})");
  EXPECT_EQ(nul.error_class, "header_injection");
  EXPECT_GE(tried, 90);
  // None of them has arrived: the next mail is the first.
  ASSERT_EQ(send(config(sink.url()), payload("ada@example.com", "last")).kind, Kind::done);
  EXPECT_THAT(sink.mail().at("data").as_string(), ::testing::HasSubstr("Subject: last\r\n"));
}

TEST(EmailHandler, APayloadAddsNobody) {
  Sink sink;
  MailConfig copied = config(sink.url());
  copied.cc = "{{payload.subject}}";
  for (const std::string& bad :
       {payload("ada@example.com, eve@evil.example"), payload("Ada <ada@example.com>, Eve <eve@evil.example>"),
        std::string(R"({"to":["ada@example.com","eve@evil.example"],"subject":"s","body":"b"})")}) {
    const Outcome refused = send(config(sink.url()), bad);
    EXPECT_EQ(refused.kind, Kind::permanent);
    EXPECT_EQ(refused.error_class, "address");
  }
  EXPECT_EQ(send(copied, payload("ada@example.com", "bob@example.com, eve@evil.example")).error_class, "address");
  // None of them has arrived: the next mail is the first.
  ASSERT_EQ(send(config(sink.url()), payload("ada@example.com", "last")).kind, Kind::done);
  EXPECT_EQ(sink.mail().at("to").raw(), R"(["ada@example.com"])");
}

TEST(EmailHandler, ABodyMayHoldAnythingAndStaysABody) {
  Sink sink;
  ASSERT_EQ(send(config(sink.url()), payload("ada@example.com", "s", "a\r\n.\r\nRCPT TO:<eve@evil.example>\r\n")).kind,
            Kind::done);
  const JsonValue mail = sink.mail();
  EXPECT_EQ(mail.at("to").raw(), R"(["ada@example.com"])");
  EXPECT_THAT(mail.at("data").as_string(), ::testing::HasSubstr("\r\n\r\na\r\n.\r\nRCPT TO:<eve@evil.example>\r\n"));
}

TEST(EmailHandler, WhatTheJobLacksOrIsNoAddressIsPermanent) {
  const MailConfig unused = config("smtp://127.0.0.1:9");
  EXPECT_EQ(send(unused, R"({"subject":"s","body":"b"})").error_class, "template");
  EXPECT_EQ(send(unused, R"({"to":"ada@example.com","body":"b"})").error_class, "template");
  EXPECT_EQ(send(unused, R"({"to":"ada@example.com","subject":"s"})").error_class, "template");
  EXPECT_EQ(send(unused, R"({"to":"nobody","subject":"s","body":"b"})").error_class, "address");
  EXPECT_EQ(send(unused, R"({"to":[],"subject":"s","body":"b"})").error_class, "address");
  EXPECT_EQ(send(unused, R"({"to":"nobody","subject":"s","body":"b"})").kind, Kind::permanent);
}

// ---- TLS and login
// ----------------------------------------------------------------------------------------------------

class EmailTls : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = folder_.path() / "key.pem";
    certificate_ = folder_.path() / "cert.pem";
    const auto made =
        server::run_process({.argv = {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                      "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key_, "-out", certificate_,
                                      "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"},
                             .environment = {},
                             .cwd = "/"});
    ASSERT_EQ(value_of(made).code, 0) << made->errors.text;
    password_ = folder_.path() / "password";
    std::ofstream(password_) << "se cret\n";
  }
  std::string options(std::string_view more) const {
    return fmt::format(R"({{"key":"{}","cert":"{}",{}}})", key_, certificate_, more);
  }

  ScratchFolder folder_;
  std::string key_;
  std::string certificate_;
  std::string password_;
};

TEST_F(EmailTls, StartTlsIsUsedRequiredOrLeftAlone) {
  Sink with(options(R"("starttls":true)"));
  Sink without;
  const auto try_it = [&](Sink& sink, StartTls starttls) {
    MailConfig tls = config(sink.url());
    tls.starttls = starttls;
    tls.ca_file = certificate_;
    return send(tls, payload("ada@example.com"));
  };
  EXPECT_EQ(try_it(with, StartTls::require).kind, Kind::done);
  EXPECT_TRUE(with.mail().at("tls").as_bool());
  EXPECT_EQ(try_it(with, StartTls::attempt).kind, Kind::done);
  EXPECT_TRUE(with.mail().at("tls").as_bool());
  EXPECT_EQ(try_it(with, StartTls::never).kind, Kind::done);
  EXPECT_FALSE(with.mail().at("tls").as_bool());
  const Outcome refused = try_it(without, StartTls::require);
  EXPECT_EQ(refused.kind, Kind::failed);
  EXPECT_EQ(refused.error_class, "tls") << refused.error;
  EXPECT_EQ(try_it(without, StartTls::attempt).kind, Kind::done);
  EXPECT_FALSE(without.mail().at("tls").as_bool());
}

TEST_F(EmailTls, ACertificateThatNobodyVouchesForIsRefused) {
  Sink sink(options(R"("starttls":true)"));
  MailConfig tls = config(sink.url());
  tls.starttls = StartTls::require;
  const Outcome refused = send(tls, payload("ada@example.com"));
  EXPECT_EQ(refused.kind, Kind::failed);
  EXPECT_EQ(refused.error_class, "tls") << refused.error;
}

TEST_F(EmailTls, SmtpsIsEncryptedFromTheStartAndALoginIsMade) {
  Sink sink(options(R"("secure":true,"user":"ada","password":"se cret")"));
  MailConfig tls = config(sink.url("smtps"));
  tls.ca_file = certificate_;
  tls.user = "ada";
  tls.password_file = password_;
  const Outcome sent = send(tls, payload("ada@example.com"));
  EXPECT_EQ(sent.kind, Kind::done) << sent.error;
  const JsonValue mail = sink.mail();
  EXPECT_TRUE(mail.at("tls").as_bool());
  EXPECT_EQ(mail.at("user").as_string(), "ada");
  tls.user = "eve";
  const Outcome refused = send(tls, payload("ada@example.com"));
  EXPECT_EQ(refused.kind, Kind::failed);
  EXPECT_EQ(refused.error_class, "login") << refused.error;
  EXPECT_THAT(refused.error, ::testing::Not(::testing::HasSubstr("se cret")));
  tls.password_file = "/nowhere/password";
  EXPECT_EQ(send(tls, payload("ada@example.com")).error_class, "login");
}

// ---- Raw HTML, attachments, pictures
// ----------------------------------------------------------------------------------

TEST(EmailHandler, HtmlIsRawOnlyWhereTheTemplateSaysSo) {
  Sink sink;
  MailConfig raw = config(sink.url());
  raw.html = "{{payload.body}}|{{{payload.body}}}";
  ASSERT_EQ(send(raw, payload("ada@example.com", "s", "<b>x</b>")).kind, Kind::done);
  EXPECT_THAT(sink.mail().at("data").as_string(), ::testing::HasSubstr("&lt;b&gt;x&lt;/b&gt;|<b>x</b>\r\n"));
  for (const auto member : {&MailTemplate::to, &MailTemplate::cc, &MailTemplate::subject, &MailTemplate::text,
                            &MailTemplate::attachments}) {
    MailConfig elsewhere = config("smtp://mail.example:25");
    elsewhere.*member = "{{{payload.body}}}";
    EXPECT_EQ(error_of(make_email_handler(elsewhere)).code, ErrorCode::invalid_configuration);
  }
}

std::string with_attachments(std::string_view list) {
  return fmt::format(R"({{"to":"ada@example.com","subject":"s","body":"b","files":{}}})", list);
}

TEST(EmailHandler, AttachmentsAndPicturesArriveAsParts) {
  Sink sink;
  MailConfig with = config(sink.url());
  with.html = "<img src=\"cid:chart\">";
  with.attachments = "{{payload.files}}";
  const Outcome sent =
      send(with, with_attachments(R"([{"name":"Bericht ä.csv","type":"text/csv","content":"YTtiCg=="},)"
                                  R"({"name":"chart.png","type":"image/png","content":"iVBORw==","cid":"chart"}])"));
  ASSERT_EQ(sent.kind, Kind::done) << sent.error;
  const std::string data = sink.mail().at("data").as_string();
  EXPECT_THAT(data, ::testing::HasSubstr("Content-Type: multipart/mixed;\r\n boundary="));
  EXPECT_THAT(data, ::testing::HasSubstr("Content-Type: multipart/related; type=\"text/html\";\r\n boundary="));
  EXPECT_THAT(data, ::testing::HasSubstr("Content-Type: text/csv\r\nContent-Transfer-Encoding: base64\r\n"
                                         "Content-Disposition: attachment;\r\n"
                                         " filename*0*=UTF-8''Bericht%20%C3%A4.csv\r\n\r\nYTtiCg==\r\n"));
  EXPECT_THAT(data, ::testing::HasSubstr("Content-ID:\r\n <chart>\r\nContent-Disposition: inline;\r\n"
                                         " filename=\"chart.png\"\r\n\r\niVBORw==\r\n"));
  // A job that has none sends a mail without.
  ASSERT_EQ(send(with, payload("ada@example.com")).kind, Kind::done);
  EXPECT_THAT(sink.mail().at("data").as_string(), ::testing::Not(::testing::HasSubstr("multipart/mixed")));
}

TEST(EmailHandler, NoAttachmentBreaksAHeaderOrItsBounds) {
  Sink sink;
  MailConfig with = config(sink.url());
  with.attachments = "{{payload.files}}";
  int tried = 0;
  for (const std::string_view ending : {"\r\nBcc: eve@evil.example", "\n\nbody", "\r", "\x01", "\x7f", "\t"}) {
    const std::string bad = json_string("x" + std::string(ending));
    for (const std::string& one :
         {fmt::format(R"([{{"name":{},"type":"text/csv","content":"YQ=="}}])", bad),
          fmt::format(R"([{{"name":"n","type":{},"content":"YQ=="}}])", bad),
          fmt::format(R"([{{"name":"n","type":"image/png","content":"YQ==","cid":{}}}])", bad)}) {
      const Outcome refused = send(with, with_attachments(one));
      EXPECT_EQ(refused.kind, Kind::permanent) << one;
      EXPECT_EQ(refused.error_class, "header_injection") << one;
      ++tried;
    }
  }
  EXPECT_EQ(tried, 18);
  for (const std::string_view list :
       {R"("YQ==")", R"([1])", R"([{"name":"n","type":"text/csv"}])",
        R"([{"name":"n","type":"text/csv","content":"Y"}])",
        R"([{"name":"n","type":"text/csv","content":"YQ==","path":"/etc/passwd"}])",
        R"([{"name":"","type":"text/csv","content":"YQ=="}])",
        R"([{"name":"../x","type":"text/csv","content":"YQ=="}])", R"([{"name":"n","type":"csv","content":"YQ=="}])",
        R"([{"name":"n","type":"message/rfc822","content":"YQ=="}])",
        R"([{"name":"n","type":"multipart/mixed","content":"YQ=="}])",
        R"([{"name":"n","type":"text/csv; charset=x","content":"YQ=="}])",
        R"([{"name":"n","type":"image/png","content":"YQ==","cid":"a b"}])",
        R"([{"name":"n","type":"text/html","content":"YQ==","cid":"a"}])",
        R"([{"name":"n","type":"image/png","content":"YQ==","cid":"a"}])"}) {
    const Outcome refused = send(with, with_attachments(list));
    EXPECT_EQ(refused.kind, Kind::permanent) << list;
    EXPECT_EQ(refused.error_class, "attachment") << list << ": " << refused.error;
  }
  // None of them has arrived: the next mail is the first.
  ASSERT_EQ(send(with, payload("ada@example.com", "last")).kind, Kind::done);
  EXPECT_THAT(sink.mail().at("data").as_string(), ::testing::HasSubstr("Subject: last\r\n"));
}

TEST(EmailHandler, AConfigurationThatCannotWorkIsRefused) {
  const auto refused = [](const std::function<void(MailConfig&)>& change) {
    MailConfig changed = config("smtp://mail.example:25");
    change(changed);
    const Error error = error_of(make_email_handler(changed));
    EXPECT_EQ(error.code, ErrorCode::invalid_configuration) << error.message;
    expect_one_line(error);
    return error.message;
  };
  EXPECT_TRUE(make_email_handler(config("smtp://mail.example:25")));
  refused([](MailConfig& c) { c.smtp = "http://mail.example"; });
  refused([](MailConfig& c) { c.smtp = "smtp://user:pass@mail.example"; });
  refused([](MailConfig& c) { c.smtp = "smtp://"; });
  refused([](MailConfig& c) { c.from = "nobody"; });
  refused([](MailConfig& c) { c.from = "a@example.com\r\nBcc: b@example.com"; });
  refused([](MailConfig& c) { c.to = ""; });
  refused([](MailConfig& c) { c.text = ""; });
  refused([](MailConfig& c) { c.subject = "{{payload"; });
  refused([](MailConfig& c) { c.attachments = "{{payload.a}} {{payload.b}}"; });
  refused([](MailConfig& c) { c.attachments = "/etc/passwd"; });
  refused([](MailConfig& c) { c.html = "{{{payload.a}}"; });
  refused([](MailConfig& c) { c.timeout = {}; });
  refused([](MailConfig& c) { c.user = "ada"; });
  EXPECT_THAT(refused([](MailConfig& c) {
                c.user = "ada";
                c.password_file = "/x";
              }),
              ::testing::HasSubstr("require"));
}

}  // namespace
}  // namespace carillon
