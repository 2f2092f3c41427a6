#include "mail/mail_template.h"

#include <fmt/format.h>

#include <utility>

#include "mail/attachments.h"

namespace carillon::mail {

namespace {

constexpr std::size_t kSubjectBytesMax = 1000;

std::unexpected<Error> refuse(std::string_view why) {
  return invalid_configuration(fmt::format("cannot make an email handler: {}", why));
}

template <typename T>
Result<T> about(std::string_view field, Result<T> result) {
  if (!result) return std::unexpected(with_context(field, std::move(result).error()));
  return result;
}

Outcome unusable(std::string_view field, const Error& error) {
  // Templates say invalid_configuration: a value that is not there.
  const bool missing = error.code == ErrorCode::invalid_configuration;
  return permanent(fmt::format("cannot write the mail's {}: {}", field, error.message),
                   missing ? "template" : "address");
}

Outcome refused(const BadAttachment& bad) {
  if (bad.breaks_headers) return injected("attachments");
  return permanent("cannot write the mail's attachments: " + bad.why, "attachment");
}

std::optional<Outcome> render_addresses(const AddressTemplate& from, const TemplateScope& scope, std::string_view field,
                                        std::vector<EmailAddress>& into) {
  if (from.breaks_headers(scope)) return injected(field);
  auto addresses = from.render(scope);
  if (!addresses) return unusable(field, addresses.error());
  into = *std::move(addresses);
  return std::nullopt;
}

std::optional<Outcome> render_body(const TemplateText& from, const TemplateScope& scope, TemplateText::Escape escape,
                                   std::string& into) {
  auto body = from.render(scope, escape);
  if (!body) return unusable("body", body.error());
  into = *std::move(body);
  return std::nullopt;
}

}  // namespace

Outcome injected(std::string_view field) {
  return permanent(fmt::format("the mail's {} has a line end or a control character: it is not sent", field),
                   "header_injection");
}

std::optional<Outcome> refusal_of_subject(std::string_view subject) {
  if (breaks_headers(subject)) return injected("subject");
  if (subject.size() <= kSubjectBytesMax) return std::nullopt;
  return permanent(fmt::format("the mail's subject may have {} bytes", kSubjectBytesMax), "template");
}

std::optional<Outcome> refusal_of_attachments(const EmailMessage& message) {
  const auto checked = check_attachments(message.attachments, !message.html.empty());
  if (checked) return std::nullopt;
  return refused(checked.error());
}

Result<MailForm> MailForm::parse(const MailTemplate& form) {
  if (form.to.empty()) return refuse("to must be given");
  if (form.text.empty() && form.html.empty()) return refuse("text or html must be given");
  const auto gives = [](bool list) { return list ? AddressTemplate::Gives::several : AddressTemplate::Gives::one; };
  MailForm parsed;
  TRY_ASSIGN(parsed.to_, about("to", AddressTemplate::parse(form.to, gives(form.to_list))));
  TRY_ASSIGN(parsed.cc_, about("cc", AddressTemplate::parse(form.cc, gives(form.cc_list))));
  TRY_ASSIGN(parsed.subject_, about("subject", TemplateText::parse(form.subject)));
  TRY_ASSIGN(parsed.text_, about("text", TemplateText::parse(form.text)));
  TRY_ASSIGN(parsed.html_, about("html", TemplateText::parse(form.html, TemplateText::Raw::allowed)));
  TRY_ASSIGN(parsed.attachments_, about("attachments", TemplateText::parse(form.attachments)));
  if (!parsed.attachments_.empty() && !parsed.attachments_.is_one_field()) {
    return refuse("attachments must be nothing but one {{payload.…}}, which gives a list");
  }
  return parsed;
}

std::optional<Outcome> MailForm::fill_in(const TemplateScope& scope, EmailMessage& message) const {
  if (auto bad = render_addresses(to_, scope, "to", message.to)) return bad;
  if (auto bad = render_addresses(cc_, scope, "cc", message.cc)) return bad;
  if (message.to.empty()) return permanent("the mail has nobody to go to", "address");
  auto subject = subject_.render(scope);
  if (!subject) return unusable("subject", subject.error());
  if (auto bad = refusal_of_subject(*subject)) return bad;
  message.subject = *std::move(subject);
  if (auto bad = render_body(text_, scope, TemplateText::Escape::none, message.text)) return bad;
  if (auto bad = render_body(html_, scope, TemplateText::Escape::html, message.html)) return bad;
  if (attachments_.empty()) return std::nullopt;
  auto attachments = read_attachments(attachments_.field(scope));
  if (!attachments) return refused(attachments.error());
  message.attachments = *std::move(attachments);
  return refusal_of_attachments(message);
}

}  // namespace carillon::mail
