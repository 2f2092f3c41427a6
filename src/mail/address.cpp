#include "mail/address.h"

#include <fmt/format.h>

#include <algorithm>

namespace carillon::mail {

namespace {

constexpr std::size_t kAddressBytesMax = 254;
constexpr std::size_t kLocalBytesMax = 64;
constexpr std::size_t kNameBytesMax = 500;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas outside quotes and {{ }}.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  bool quoted_now = false;
  int braces = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quoted_now) {
      ++i;
    } else if (c == '"') {
      quoted_now = !quoted_now;
    } else if (text.substr(i).starts_with("{{")) {
      ++braces;
    } else if (text.substr(i).starts_with("}}") && braces > 0) {
      --braces;
    } else if (c == ',' && !quoted_now && braces == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

// Without the quotes around it, and the backslashes in them.
std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

bool is_dotted(std::string_view text, std::string_view others) {
  return !text.empty() && text.front() != '.' && text.back() != '.' && text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [&](char c) {
           return is_letter_or_digit(c) || c == '.' || others.find(c) != std::string_view::npos;
         });
}

Result<EmailAddress> checked(EmailAddress address) {
  if (breaks_headers(address.name) || breaks_headers(address.address)) {
    return invalid_request(
        fmt::format("an address must not have line ends or control characters: {}", quoted(address.address)));
  }
  if (address.name.size() > kNameBytesMax) {
    return invalid_request(fmt::format("the name before an address may have {} bytes", kNameBytesMax));
  }
  const std::size_t at = address.address.rfind('@');
  const std::string_view whole = address.address;
  if (at == std::string::npos || whole.size() > kAddressBytesMax || at > kLocalBytesMax ||
      !is_dotted(whole.substr(0, at), "!#$%&'*+-/=?^_`{|}~") || !is_dotted(whole.substr(at + 1), "-")) {
    return invalid_request(
        fmt::format("{} is not an address of the form name@example.com, in plain letters", quoted(address.address)));
  }
  return address;
}

}  // namespace

bool breaks_headers(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

Result<EmailAddress> parse_email_address(std::string_view text) {
  text = trimmed(text);
  const std::size_t open = text.rfind('<');
  if (open == std::string_view::npos || !text.ends_with('>')) {
    return checked({.name = {}, .address = std::string(text)});
  }
  return checked({.name = unquoted(text.substr(0, open)),
                  .address = std::string(trimmed(text.substr(open + 1, text.size() - open - 2)))});
}

Result<AddressTemplate> AddressTemplate::parse(std::string_view text, Gives gives) {
  AddressTemplate parsed;
  parsed.gives_ = gives;
  if (trimmed(text).empty()) return parsed;
  for (const std::string_view part : split(text)) {
    Part made;
    const std::size_t open = part.rfind('<');
    if (open != std::string_view::npos && part.ends_with('>')) {
      TRY_ASSIGN(made.name, TemplateText::parse(unquoted(part.substr(0, open))));
      TRY_ASSIGN(made.address, TemplateText::parse(trimmed(part.substr(open + 1, part.size() - open - 2))));
    } else {
      TRY_ASSIGN(made.address, TemplateText::parse(part));
    }
    if (made.address.empty()) {
      return invalid_configuration(fmt::format("a list of addresses has an empty one: {}", quoted(text)));
    }
    parsed.parts_.push_back(std::move(made));
  }
  return parsed;
}

bool AddressTemplate::breaks_headers(const TemplateScope& scope) const {
  const auto breaks = [&](const TemplateText& text) {
    const JsonValue list = text.field(scope);
    for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
      if (mail::breaks_headers(list.at(i).as_string())) return true;
    }
    if (list.is_array()) return false;
    const auto rendered = text.render(scope);
    return rendered && mail::breaks_headers(*rendered);
  };
  return std::ranges::any_of(parts_, [&](const Part& part) { return breaks(part.name) || breaks(part.address); });
}

// A single place: one address, or as many as the operator lets it give.
Result<void> AddressTemplate::render_field(const Part& part, const TemplateScope& scope,
                                           std::vector<EmailAddress>& into) const {
  std::vector<std::string> given;
  const JsonValue list = part.address.field(scope);
  if (list.is_array()) {
    for (std::size_t i = 0; i < list.size() && i <= kMailRecipientsMax; ++i) given.push_back(list.at(i).as_string());
  } else {
    TRY_ASSIGN(const std::string text, part.address.render(scope));
    for (const std::string_view one : split(text)) given.emplace_back(one);
  }
  if (gives_ == Gives::one && given.size() > 1) {
    return invalid_request(fmt::format("the job gives {} addresses where one is allowed", given.size()));
  }
  for (const std::string& one : given) {
    TRY_ASSIGN(EmailAddress address, parse_email_address(one));
    into.push_back(std::move(address));
  }
  return {};
}

Result<std::vector<EmailAddress>> AddressTemplate::render(const TemplateScope& scope) const {
  std::vector<EmailAddress> addresses;
  for (const Part& part : parts_) {
    if (part.name.empty() && part.address.is_one_field()) {
      TRY(render_field(part, scope, addresses));
      continue;
    }
    EmailAddress address;
    TRY_ASSIGN(address.name, part.name.render(scope));
    TRY_ASSIGN(address.address, part.address.render(scope));
    TRY_ASSIGN(address, checked(std::move(address)));
    addresses.push_back(std::move(address));
  }
  if (addresses.size() > kMailRecipientsMax) {
    return invalid_request(fmt::format("a mail may go to {} addresses", kMailRecipientsMax));
  }
  return addresses;
}

}  // namespace carillon::mail
