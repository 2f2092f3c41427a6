// Addresses of mails, and templates of them.
//
// A value from a job never adds an address or a header: a template is divided at its own commas and angle brackets,
// each part is filled in apart and must be one address. Only where the operator says that a list may come, a part that
// is nothing but one {{…}} may be given several: as a list, or divided by commas.
#pragma once

#include <carillon/mail.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mail/template_text.h"

namespace carillon::mail {

struct EmailAddress {
  std::string name;  // as people read it; "": none
  std::string address;
  friend bool operator==(const EmailAddress&, const EmailAddress&) = default;
};

// Whether there is a character that would end a header or its line: CR, LF, NUL and all other controls.
bool breaks_headers(std::string_view text);

// "ada@example.com", "Ada <ada@example.com>", "\"Lovelace, Ada\" <ada@example.com>".
Result<EmailAddress> parse_email_address(std::string_view text);

class AddressTemplate {
 public:
  AddressTemplate() = default;
  // How many addresses one {{…}} may give.
  enum class Gives : std::uint8_t { one, several };
  // Errors: invalid_configuration.
  static Result<AddressTemplate> parse(std::string_view text, Gives gives);

  // At most kMailRecipientsMax. Errors: invalid_request with what is wrong about which address; invalid_configuration
  // if the job lacks a value.
  Result<std::vector<EmailAddress>> render(const TemplateScope& scope) const;
  // Whether what the job gives has a line end or a control character anywhere.
  bool breaks_headers(const TemplateScope& scope) const;

 private:
  struct Part {
    TemplateText name;
    TemplateText address;
  };
  Result<void> render_field(const Part& part, const TemplateScope& scope, std::vector<EmailAddress>& into) const;

  std::vector<Part> parts_;
  Gives gives_ = Gives::one;
};

}  // namespace carillon::mail
