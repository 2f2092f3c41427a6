// Files and inline pictures that go along with a mail: what they may be, and how a payload gives them.
#pragma once

#include <carillon/json.h>
#include <carillon/mail.h>

#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace carillon::mail {

// Why a mail cannot have them. `breaks_headers`: something of them would end a header.
struct BadAttachment {
  std::string why;
  bool breaks_headers = false;
};
using CheckedAttachments = std::expected<void, BadAttachment>;

// At most kMailAttachmentsMax of kMailAttachmentBytesMax together, each with a plain file name and a type that a part
// of a mail may have; inline ones are pictures, each with its own name, in a mail that has HTML.
CheckedAttachments check_attachments(std::span<const MailAttachment> attachments, bool has_html);

// A list of {"name", "type", "content": Base64, "cid"?}; null: none. Looks at sizes before it decodes.
std::expected<std::vector<MailAttachment>, BadAttachment> read_attachments(const JsonValue& list);

}  // namespace carillon::mail
