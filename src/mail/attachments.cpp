#include "mail/attachments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "mail/address.h"

namespace carillon::mail {

namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kTypeBytesMax = 127;
constexpr std::size_t kCidBytesMax = 127;
constexpr std::array<std::string_view, 4> kMembers{"name", "type", "content", "cid"};

std::unexpected<BadAttachment> bad(std::string why) {
  return std::unexpected(BadAttachment{.why = std::move(why), .breaks_headers = false});
}

bool is_word(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

// Without parameters: those would be headers of a job's choice. Parts that hold parts cannot be Base64.
bool is_type(std::string_view type) {
  const std::size_t slash = type.find('/');
  if (type.size() > kTypeBytesMax || slash == std::string_view::npos) return false;
  const std::string_view kind = type.substr(0, slash);
  return is_word(kind, "-") && is_word(type.substr(slash + 1), "-+._") && kind != "multipart" && kind != "message";
}

CheckedAttachments check(const MailAttachment& one) {
  for (const std::string* const header : {&one.name, &one.type, &one.cid}) {
    if (breaks_headers(*header)) {
      return std::unexpected(BadAttachment{.why = "an attachment", .breaks_headers = true});
    }
  }
  if (one.name.empty() || one.name.size() > kNameBytesMax || one.name.find_first_of("/\\") != std::string::npos ||
      !is_utf8(one.name)) {
    return bad(
        fmt::format("an attachment needs the name of a file, of at most {} bytes and without a folder", kNameBytesMax));
  }
  if (!is_type(one.type)) {
    return bad(fmt::format("the type of attachment {} must be like text/csv or image/png, in small letters, not {}",
                           quoted(one.name), quoted(one.type)));
  }
  if (!one.cid.empty() && (one.cid.size() > kCidBytesMax || !is_word(one.cid, "-._@"))) {
    return bad(fmt::format("the cid of attachment {} may have letters, digits and -._@, at most {}", quoted(one.name),
                           kCidBytesMax));
  }
  if (!one.cid.empty() && !one.type.starts_with("image/")) {
    return bad(fmt::format("attachment {} has a cid, which is for pictures (image/…)", quoted(one.name)));
  }
  return {};
}

std::string too_many() { return fmt::format("a mail may have {} attachments", kMailAttachmentsMax); }
std::string too_large() {
  return fmt::format("the attachments of a mail may have {} MiB together", kMailAttachmentBytesMax >> 20U);
}

}  // namespace

CheckedAttachments check_attachments(std::span<const MailAttachment> attachments, bool has_html) {
  if (attachments.size() > kMailAttachmentsMax) return bad(too_many());
  std::size_t bytes = 0;
  std::set<std::string_view> cids;
  for (const MailAttachment& one : attachments) {
    if (auto checked = check(one); !checked) return checked;
    bytes += one.content.size();
    if (bytes > kMailAttachmentBytesMax) return bad(too_large());
    if (one.cid.empty()) continue;
    if (!has_html) return bad(fmt::format("picture {} needs HTML to stand in", quoted(one.name)));
    if (!cids.insert(one.cid).second) return bad(fmt::format("two pictures have the cid {}", quoted(one.cid)));
  }
  return {};
}

std::expected<std::vector<MailAttachment>, BadAttachment> read_attachments(const JsonValue& list) {
  std::vector<MailAttachment> out;
  if (list.is_null()) return out;
  if (!list.is_array()) return bad("attachments must be a list");
  if (list.size() > kMailAttachmentsMax) return bad(too_many());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue given = list.at(i);
    const auto is_known = [](const std::string& name) { return std::ranges::find(kMembers, name) != kMembers.end(); };
    const std::vector<std::string> members = given.keys();
    const bool is_text = std::ranges::all_of(
        members, [&](const std::string& name) { return given.at(name).is_string() || given.at(name).is_null(); });
    if (!given.is_object() || !std::ranges::all_of(members, is_known) || !is_text) {
      return bad(R"(an attachment must be {"name", "type", "content", "cid"?}, all of them texts)");
    }
    const std::string encoded = given.at("content").as_string();
    bytes += encoded.size() / 4 * 3;
    if (bytes > kMailAttachmentBytesMax + 2 * kMailAttachmentsMax) return bad(too_large());
    auto content = from_base64(encoded);
    if (!content) return bad(fmt::format("the content of attachment {} must be Base64", i + 1));
    out.push_back({.name = given.at("name").as_string(),
                   .type = given.at("type").as_string(),
                   .content = *std::move(content),
                   .cid = given.at("cid").as_string()});
  }
  return out;
}

}  // namespace carillon::mail
