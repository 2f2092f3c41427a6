#include <carillon/mail.h>
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "mail/address.h"
#include "mail/mail_template.h"
#include "mail/message.h"
#include "mail/smtp.h"
#include "net/curl_ready.h"

namespace carillon {

namespace {

// Says to JobContext::once that the mail was not sent.
class NotSent : public std::runtime_error {
 public:
  NotSent() : std::runtime_error("the mail was not sent") {}
};

// Each as one address; what is returned is why that cannot be.
std::optional<Outcome> read_addresses(const std::vector<std::string>& given, std::string_view field,
                                      std::vector<mail::EmailAddress>& into) {
  if (given.size() > kMailRecipientsMax) {
    return permanent(fmt::format("a mail may go to {} addresses", kMailRecipientsMax), "address");
  }
  for (const std::string& one : given) {
    if (mail::breaks_headers(one)) return mail::injected(field);
    auto address = mail::parse_email_address(one);
    if (!address) {
      return permanent(fmt::format("cannot write the mail's {}: {}", field, address.error().message), "address");
    }
    into.push_back(*std::move(address));
  }
  return std::nullopt;
}

std::optional<Outcome> fill_in(const Mail& from, mail::EmailMessage& message) {
  if (auto bad = read_addresses(from.to, "to", message.to)) return bad;
  if (auto bad = read_addresses(from.cc, "cc", message.cc)) return bad;
  if (message.to.empty()) return permanent("the mail has nobody to go to", "address");
  if (auto bad = mail::refusal_of_subject(from.subject)) return bad;
  if (from.text.empty() && from.html.empty()) return permanent("the mail has neither a text nor HTML", "template");
  message.subject = from.subject;
  message.text = from.text;
  message.html = from.html;
  message.attachments = from.attachments;
  return mail::refusal_of_attachments(message);
}

}  // namespace

class MailSender::Parts {
 public:
  Parts(MailServer server, mail::EmailAddress from) : server_(std::move(server)), from_(std::move(from)) {}

  // `key`: which of several mails of the job.
  Outcome send_once(JobContext& context, mail::EmailMessage message, std::string_view key) const {
    const RunningJob& job = context.job();
    const std::string id = format_job_id(job.id);
    // Without a key as ever, so that an update sends nothing twice.
    const std::string suffix = key.empty() ? std::string() : fmt::format(":{}", key);
    message.from = from_;
    message.message_id =
        mail::message_id_of({.tenant = job.tenant, .type = job.type, .key = "id:" + id + suffix}, from_);
    message.date = system_now();
    Outcome outcome = done();
    try {
      context.once("email:" + id + suffix, [&] {
        outcome = mail::send_mail(server_, message, [&] { return context.cancelled(); });
        if (outcome.kind != Outcome::Kind::done) throw NotSent();
      });
    } catch (const NotSent&) {
      return outcome;
    }
    return done(fmt::format(R"({{"message_id":"{}"}})", message.message_id));
  }

 private:
  const MailServer server_;
  const mail::EmailAddress from_;
};

MailSender::MailSender(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Result<MailSender> MailSender::open(const MailServer& server) {
  prepare_curl();
  TRY(mail::check_server(server));
  auto from = mail::parse_email_address(server.from);
  if (!from) return invalid_configuration(fmt::format("cannot use a mail server: from: {}", from.error().message));
  return MailSender(std::make_shared<const Parts>(server, *std::move(from)));
}

Outcome MailSender::send(JobContext& context, const Mail& mail) const {
  mail::EmailMessage message;
  if (auto bad = fill_in(mail, message)) return *std::move(bad);
  return parts_->send_once(context, std::move(message), mail.key);
}

Result<Handler> MailSender::handler(const MailTemplate& form) const {
  TRY_ASSIGN(mail::MailForm parsed, mail::MailForm::parse(form));
  return [parts = parts_,
          shared = std::make_shared<const mail::MailForm>(std::move(parsed))](JobContext& context) -> Outcome {
    mail::EmailMessage message;
    if (auto bad = shared->fill_in({context.job(), context.payload()}, message)) return *std::move(bad);
    return parts->send_once(context, std::move(message), {});
  };
}

}  // namespace carillon
