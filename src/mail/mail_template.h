// From a job to a mail: the operator's texts, filled in with what the job carries.
#pragma once

#include <carillon/mail.h>
#include <carillon/outcome.h>

#include <optional>

#include "base/error.h"
#include "mail/address.h"
#include "mail/message.h"
#include "mail/template_text.h"

namespace carillon::mail {

// What is the same for every mail that cannot be written: all are permanent.
Outcome injected(std::string_view field);
// A subject that a mail may have; else what becomes of the job.
std::optional<Outcome> refusal_of_subject(std::string_view subject);
std::optional<Outcome> refusal_of_attachments(const EmailMessage& message);

class MailForm {
 public:
  // Errors: invalid_configuration.
  static Result<MailForm> parse(const MailTemplate& form);

  // Fills in recipients, subject, bodies and attachments; what is returned is why that cannot be.
  std::optional<Outcome> fill_in(const TemplateScope& scope, EmailMessage& message) const;

 private:
  AddressTemplate to_;
  AddressTemplate cc_;
  TemplateText subject_;
  TemplateText text_;
  TemplateText html_;
  TemplateText attachments_;
};

}  // namespace carillon::mail
