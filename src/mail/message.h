// A mail as it is sent: headers in ASCII (RFC 2047), bodies as UTF-8 in quoted-printable, lines that end in CR LF.
#pragma once

#include <carillon/mail.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/time/instant.h"
#include "mail/address.h"

namespace carillon::mail {

struct EmailMessage {
  EmailAddress from;
  std::vector<EmailAddress> to;
  std::vector<EmailAddress> cc;
  std::string subject;
  std::string text;
  std::string html;                         // "": none. With both, they are alternatives
  std::vector<MailAttachment> attachments;  // those with a cid are inside the HTML
  std::string message_id;
  Instant date;
};

// Names, addresses and subject have no control characters, and attachments were checked.
std::string write_email(const EmailMessage& message);

// The same for all attempts of a job, and for all jobs with its idempotency key: <HASH@DOMAIN>, the domain of `from`.
struct MessageIdParts {
  std::string_view tenant;
  std::string_view type;
  std::string_view key;
};
std::string message_id_of(const MessageIdParts& parts, const EmailAddress& from);

// For headers: as it is, if that is short and plain ASCII, else as encoded words (RFC 2047).
std::string header_text(std::string_view text);

std::string quoted_printable(std::string_view text);

}  // namespace carillon::mail
