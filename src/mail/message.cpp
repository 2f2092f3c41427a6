#include "mail/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/utf8.h"
#include "net/digest.h"

namespace carillon::mail {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kPlainHeaderMax = 70;
constexpr std::size_t kWordBytesMax = 39;  // 52 characters of Base64, 64 with what surrounds them
constexpr std::size_t kLineMax = 75;       // and a soft line end
constexpr std::size_t kHashDigits = 32;

bool is_plain(std::string_view text) {
  return text.size() <= kPlainHeaderMax && text.find("=?") == std::string_view::npos && !text.starts_with(' ') &&
         !text.ends_with(' ') && std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; });
}

std::string encoded_words(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 0;
    while (taken < text.size()) {
      const std::size_t length = first_character(text.substr(taken)).bytes;
      if (taken + length > kWordBytesMax) break;
      taken += length;
    }
    if (!out.empty()) out += "\r\n ";
    out += fmt::format("=?UTF-8?B?{}?=", base64(text.substr(0, taken)));
    text.remove_prefix(taken);
  }
  return out;
}

std::string display_name(std::string_view name) {
  if (!is_plain(name)) return encoded_words(name);
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string write_address(const EmailAddress& address) {
  if (address.name.empty()) return address.address;
  return fmt::format("{}\r\n <{}>", display_name(address.name), address.address);
}

std::string write_addresses(const std::vector<EmailAddress>& addresses) {
  std::string out;
  for (const EmailAddress& address : addresses) {
    if (!out.empty()) out += ",\r\n ";
    out += write_address(address);
  }
  return out;
}

std::string write_date(Instant at) {
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto midnight = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(at - midnight)};
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} +0000", kDays[std::chrono::weekday(midnight).c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

std::string write_part(std::string_view type, std::string_view body) {
  return fmt::format("Content-Type: {}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{}", type,
                     quoted_printable(body));
}

constexpr std::size_t kNamePlainMax = 60;
constexpr std::size_t kNameChunk = 45;    // bytes of a line of an encoded name, and an escape
constexpr std::size_t kBase64Bytes = 57;  // of a line of 76 characters

bool is_attribute_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

// RFC 2231: what is not plain is escaped, and goes on over several lines.
std::string write_file_name(std::string_view name) {
  const bool is_plain_name = std::ranges::all_of(name, [](char c) { return is_attribute_character(c) || c == ' '; });
  if (is_plain_name && name.size() <= kNamePlainMax) return fmt::format(";\r\n filename=\"{}\"", name);
  std::string escaped;
  std::string out;
  std::size_t number = 0;
  const auto put_line = [&] {
    out += fmt::format(";\r\n filename*{}*={}{}", number, number == 0 ? "UTF-8''" : "", escaped);
    escaped.clear();
    ++number;
  };
  for (const char c : name) {
    if (escaped.size() > kNameChunk) put_line();
    escaped += is_attribute_character(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  put_line();
  return out;
}

std::string base64_lines(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 7 / 5 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += kBase64Bytes) {
    out += base64(bytes.substr(i, kBase64Bytes));
    out += kLineEnd;
  }
  return out;
}

std::string write_attachment(const MailAttachment& one) {
  std::string out = fmt::format("Content-Type: {}\r\nContent-Transfer-Encoding: base64\r\n", one.type);
  if (!one.cid.empty()) out += fmt::format("Content-ID:\r\n <{}>\r\n", one.cid);
  out += fmt::format("Content-Disposition: {}{}\r\n\r\n", one.cid.empty() ? "attachment" : "inline",
                     write_file_name(one.name));
  return out + base64_lines(one.content);
}

// "=_" occurs neither in quoted-printable nor in Base64, so that no body contains a boundary; `level` separates
// those of parts inside each other.
std::string boundary_of(const EmailMessage& message, std::string_view level) {
  return fmt::format("=_{}{}", level, sha256_hex(message.message_id).substr(0, kHashDigits));
}

std::string write_parts(std::string_view type, const std::string& boundary, const std::vector<std::string>& parts) {
  std::string out = fmt::format("Content-Type: multipart/{};\r\n boundary=\"{}\"\r\n\r\n", type, boundary);
  for (const std::string& part : parts) out += fmt::format("--{}\r\n{}", boundary, part);
  return out + fmt::format("--{}--\r\n", boundary);
}

std::vector<std::string> write_attachments(const EmailMessage& message, bool in_html) {
  std::vector<std::string> out;
  for (const MailAttachment& one : message.attachments) {
    if (one.cid.empty() != in_html) out.push_back(write_attachment(one));
  }
  return out;
}

// HTML with the pictures in it.
std::string write_html(const EmailMessage& message) {
  std::string html = write_part("text/html", message.html);
  std::vector<std::string> parts = write_attachments(message, true);
  if (parts.empty()) return html;
  parts.insert(parts.begin(), std::move(html));
  return write_parts("related; type=\"text/html\"", boundary_of(message, "r"), parts);
}

std::string write_body(const EmailMessage& message) {
  if (message.html.empty()) return write_part("text/plain", message.text);
  if (message.text.empty()) return write_html(message);
  return write_parts("alternative", boundary_of(message, ""),
                     {write_part("text/plain", message.text), write_html(message)});
}

}  // namespace

std::string header_text(std::string_view text) { return is_plain(text) ? std::string(text) : encoded_words(text); }

std::string quoted_printable(std::string_view text) {
  std::string out;
  std::size_t column = 0;
  const auto put = [&](std::string_view piece) {
    if (column + piece.size() > kLineMax) {
      out += "=\r\n";
      column = 0;
    }
    out += piece;
    column += piece.size();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r' || c == '\n') {
      if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      out += kLineEnd;
      column = 0;
      continue;
    }
    const bool before_end = i + 1 == text.size() || text[i + 1] == '\r' || text[i + 1] == '\n';
    const bool is_space = c == ' ' || c == '\t';
    if ((is_space && !before_end) || (c > ' ' && c < 0x7F && c != '=')) {
      put({&c, 1});
    } else {
      put(fmt::format("={:02X}", static_cast<unsigned char>(c)));
    }
  }
  if (column > 0) out += kLineEnd;
  return out;
}

std::string message_id_of(const MessageIdParts& parts, const EmailAddress& from) {
  // Lengths first: no two sets of parts read the same.
  const std::string hash = sha256_hex(fmt::format("{}:{}{}:{}{}:{}", parts.tenant.size(), parts.tenant,
                                                  parts.type.size(), parts.type, parts.key.size(), parts.key));
  const std::string domain = from.address.substr(from.address.rfind('@') + 1);
  return fmt::format("<{}@{}>", hash.substr(0, kHashDigits), domain);
}

std::string write_email(const EmailMessage& message) {
  std::string out = fmt::format("Date: {}\r\nFrom: {}\r\n", write_date(message.date), write_address(message.from));
  if (!message.to.empty()) out += fmt::format("To: {}\r\n", write_addresses(message.to));
  if (!message.cc.empty()) out += fmt::format("Cc: {}\r\n", write_addresses(message.cc));
  out += fmt::format("Subject: {}\r\nMessage-ID: {}\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n",
                     header_text(message.subject), message.message_id);
  std::string body = write_body(message);
  std::vector<std::string> parts = write_attachments(message, false);
  if (parts.empty()) return out + body;
  parts.insert(parts.begin(), std::move(body));
  return out + write_parts("mixed", boundary_of(message, "m"), parts);
}

}  // namespace carillon::mail
