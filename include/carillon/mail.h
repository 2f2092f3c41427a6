// Mails over SMTP, once for each job. Link carillon::mail besides.
//
//   const auto mails = carillon::MailSender::open({.smtp = "smtp://127.0.0.1:25", .from = "News <news@example.com>"});
//   engine.handle("advice.send", [&](carillon::JobContext& ctx) {
//     return mails->send(ctx, {.to = {"ada@example.com"}, .subject = "Today", .html = page, .attachments = {chart}});
//   });
//   engine.handle("mail.send", mails->handler({.to = "{{payload.to}}", .subject = "Hello", .text = "…"}).value());
//
// A mail is sent once: an attempt after one that was recorded sends nothing, and after a crash in between the job's
// `on_ambiguous` decides. The Message-ID is the same each time, so that a receiver can tell.
//
// How it ends: a reply 4xx, no connection, no TLS, or a login that is refused is a failed attempt (class smtp_4xx,
// unreachable, tls, login); another reply 5xx is permanent (class smtp_5xx). A line end or a control character where a
// header would be is permanent (class header_injection), and so is what is no address (class address), an attachment
// beyond its bounds (class attachment), or a value that the payload lacks (class template).
#pragma once

#include <carillon/error.h>
#include <carillon/job_context.h>
#include <carillon/outcome.h>
#include <carillon/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace carillon {

inline constexpr std::size_t kMailRecipientsMax = 100;  // of `to`, and of `cc`
inline constexpr std::size_t kMailAttachmentsMax = 20;
inline constexpr std::size_t kMailAttachmentBytesMax = std::size_t{10} << 20U;  // of all of them

enum class StartTls : std::uint8_t { require, attempt, never };  // in configuration files: require, try, never

// Through whom, and as whom.
struct MailServer {
  std::string smtp;  // smtp://HOST:PORT or smtps://HOST:PORT
  StartTls starttls = StartTls::attempt;
  std::string user;           // "": no login. One needs TLS for sure, or loopback
  std::string password_file;  // read for each mail
  std::string ca_file;        // "": the system's
  std::string from;           // Name <name@example.com>
  Duration timeout = std::chrono::seconds(60);
};

// A file that goes along, or a picture inside of the HTML: <img src="cid:chart">.
struct MailAttachment {
  std::string name;     // chart.png
  std::string type;     // image/png
  std::string content;  // the bytes
  std::string cid;      // chart; "": an attachment. A picture needs HTML to stand in
};

struct Mail {
  std::vector<std::string> to;  // ada@example.com, or Ada <ada@example.com>
  std::vector<std::string> cc;
  std::string subject;
  std::string text;
  std::string html;  // as it is. With a text, they are alternatives
  std::vector<MailAttachment> attachments;
  // Which of several mails of its job: each is sent once. "": the only one.
  std::string key;
};

// A mail for each job of a type. Texts are templates: {{payload.a.b}}, {{job.id}}. In `html` values are escaped, but
// for
// {{{payload.a}}}, which puts them in as they are: only for those who may write your mails.
struct MailTemplate {
  std::string to;
  std::string cc;
  std::string subject;
  std::string text;
  std::string html;
  // One {{…}}: a list of {"name", "type", "content": Base64, "cid"?}; null or none: no attachments.
  std::string attachments;
  // Whether one {{…}} in it may give several addresses; else a job can add nobody.
  bool to_list = false;
  bool cc_list = false;
};

class MailSender {
 public:
  // Connects to nobody yet. Errors: invalid_configuration.
  static Result<MailSender> open(const MailServer& server);

  // Sends it once for the job of `context`, and waits for the answer. done() with {"message_id": …}, or why not.
  Outcome send(JobContext& context, const Mail& mail) const;

  // What sends a mail for each job. Errors: invalid_configuration.
  Result<Handler> handler(const MailTemplate& form) const;

 private:
  class Parts;
  explicit MailSender(std::shared_ptr<const Parts> parts);
  std::shared_ptr<const Parts> parts_;
};

}  // namespace carillon
