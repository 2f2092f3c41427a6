// Templates of mails and what is put into them: a template, a line end, then a value for {{payload.a}}.
#include "mail/template_text.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/plain_text.h"
#include "expect.h"
#include "mail/address.h"
#include "mail/attachments.h"
#include "mail/message.h"

using namespace carillon;
using namespace carillon::mail;

namespace {

// No line is longer than a mail may have, and each line end is whole.
void expect_lines(std::string_view text) {
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      CHECK(i + 1 < text.size() && text[i + 1] == '\n');
      ++i;
      column = 0;
      continue;
    }
    CHECK(text[i] != '\n' && (text[i] == '\t' || (text[i] >= ' ' && text[i] < 0x7F)));
    CHECK(++column <= 998);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view form = text.substr(0, line);
  const std::string value = valid_utf8(text.substr(std::min(line + 1, text.size())));

  const RunningJob job;
  const auto payload = JsonValue::parse("{\"a\":" + json_string(value) + "}");
  CHECK(payload);
  const TemplateScope scope(job, *payload);

  const auto parsed = TemplateText::parse(form, TemplateText::Raw::allowed);
  if (!parsed) {
    fuzz::expect_readable(parsed.error(), form);
  } else if (const auto rendered = parsed->render(scope); rendered) {
    expect_lines(quoted_printable(*rendered));
  }

  // What a job gives adds nobody to whom the operator's own text names.
  if (const auto one = AddressTemplate::parse(form, AddressTemplate::Gives::one)) {
    const auto given = one->render(scope);
    CHECK(!given || std::ranges::ssize(*given) <= std::ranges::count(form, ',') + 1);
  }
  const auto addresses = AddressTemplate::parse(form, AddressTemplate::Gives::several);
  if (!addresses) return 0;
  const auto list = addresses->render(scope);
  if (!list) return 0;
  EmailMessage message;
  message.from = {.name = "Carillon", .address = "noreply@example.com"};
  message.message_id = "<1@example.com>";
  message.to = *list;
  message.subject = breaks_headers(value) ? std::string() : value;
  message.text = value;
  message.html = value;
  // An attachment that is let through is one part, whatever it is called.
  message.attachments = {{.name = value, .type = "image/png", .content = value, .cid = std::string(form)}};
  if (!check_attachments(message.attachments, !message.html.empty())) message.attachments.clear();
  const std::string mail = write_email(message);
  expect_lines(mail);
  // Nothing became a header of its own.
  const std::string_view head = std::string_view(mail).substr(0, mail.find("\r\n\r\n"));
  CHECK(head.find("\r\nBcc:") == std::string_view::npos);
  CHECK(std::ranges::count(head, '\n') < 2000);
  return 0;
}
