#include "core/settings/audit_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"

namespace carillon {

namespace {

// At any depth: what a user sends or keeps for himself, and what proves who somebody is.
constexpr std::array<std::string_view, 9> kHidden{"payload", "meta",  "output", "secret",  "previous_secret",
                                                  "hash",    "token", "key",    "password"};
constexpr std::string_view kHiddenValue = R"("***")";
// Deeper objects are compared and shown as a whole.
constexpr int kDepthMax = 8;
// A longer value that is no text is not shown at all: it is not worth its walk.
constexpr std::size_t kWalkedBytesMax = std::size_t{8} << 10U;
// What the text around the fields needs.
constexpr std::size_t kFrameBytes = 128;

bool is_hidden(std::string_view key) { return std::ranges::find(kHidden, key) != kHidden.end(); }

// ---- Reading --------------------------------------------------------------------------------------------------------

// Goes over JSON that is known to be valid, without a tree of it: payloads may be large, and this runs where writes do.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) { skip_space(); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool eat(char expected) {
    if (peek() != expected) return false;
    ++at_;
    skip_space();
    return true;
  }
  // The value that begins here, as it is written.
  std::string_view value() {
    const std::size_t begin = at_;
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        skip_string();
      } else {
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        ++at_;
        if (depth == 0 && c != '}' && c != ']') skip_word();
      }
    } while (depth > 0 && at_ < text_.size());
    const std::string_view whole = text_.substr(begin, at_ - begin);
    skip_space();
    return whole;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_word() {
    constexpr std::string_view kEnds = ",]} \n\r\t";
    while (at_ < text_.size() && !kEnds.contains(text_[at_])) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Member {
  std::string_view key;  // as it is written, without its quotes
  std::string_view value;
};

bool is_object(std::string_view value) { return value.starts_with('{'); }

std::vector<Member> members_of(std::string_view object) {
  std::vector<Member> members;
  Walk walk(object);
  walk.eat('{');
  while (walk.peek() == '"') {
    const std::string_view key = walk.value();
    walk.eat(':');
    members.push_back({.key = key.substr(1, key.size() - 2), .value = walk.value()});
    walk.eat(',');
  }
  return members;
}

// By key: two of them are walked side by side.
std::vector<Member> sorted_members_of(std::optional<std::string_view> object) {
  std::vector<Member> members;
  if (object) members = members_of(*object);
  std::ranges::sort(members, {}, &Member::key);
  return members;
}

// ---- Showing --------------------------------------------------------------------------------------------------------

std::string length_mark(std::size_t bytes) { return fmt::format("… ({} bytes)", bytes); }

std::string shown_text(std::string_view value) {
  const auto parsed = parse_json(value);
  if (!parsed) return std::string(kHiddenValue);
  std::string text = without_url_secrets(parsed->text);
  if (text.size() > kAuditValueBytesMax) {
    std::size_t kept = 0;
    while (kept < kAuditValueBytesMax) kept += first_character(std::string_view(text).substr(kept)).bytes;
    const std::size_t whole = text.size();
    text.resize(kept);
    text += length_mark(whole);
  }
  return json_string(text);
}

// A value without what must not be seen, cut where it is too long.
std::string shown(std::string_view value, int depth) {
  if (value.starts_with('"')) return shown_text(value);
  if (value.size() > kWalkedBytesMax || depth > kDepthMax) return json_string(length_mark(value.size()));
  std::string text;
  if (is_object(value)) {
    JsonObject object;
    for (const Member& member : members_of(value)) {
      object.raw(member.key, is_hidden(member.key) ? std::string(kHiddenValue) : shown(member.value, depth + 1));
    }
    text = object.str();
  } else if (value.starts_with('[')) {
    JsonArray items;
    Walk walk(value);
    walk.eat('[');
    while (walk.peek() != ']' && walk.peek() != '\0') {
      items.raw(shown(walk.value(), depth + 1));
      walk.eat(',');
    }
    text = items.str();
  } else {
    text = value;
  }
  if (text.size() > kAuditValueBytesMax) return json_string(length_mark(text.size()));
  return text;
}

// ---- Comparing ------------------------------------------------------------------------------------------------------

// What one side of a detail shows.
class Side {
 public:
  explicit Side(bool is_there) : is_there_(is_there) {}
  void add(std::string_view key, std::string_view value) { object_.raw(key, value); }
  std::string str() const { return is_there_ ? object_.str() : "null"; }

 private:
  bool is_there_;
  JsonObject object_;
};

class Comparison {
 public:
  Comparison(std::optional<std::string_view> before, std::optional<std::string_view> after)
      : before_(before.has_value()), after_(after.has_value()) {
    const std::vector<Member> old_members = sorted_members_of(before);
    const std::vector<Member> new_members = sorted_members_of(after);
    auto was = old_members.begin();
    auto is = new_members.begin();
    while (was != old_members.end() || is != new_members.end()) {
      if (is == new_members.end() || (was != old_members.end() && was->key < is->key)) {
        add(was->key, &*was, nullptr);
        ++was;
      } else if (was == old_members.end() || is->key < was->key) {
        add(is->key, nullptr, &*is);
        ++is;
      } else {
        if (was->value != is->value) add(was->key, &*was, &*is);
        ++was;
        ++is;
      }
    }
  }
  bool differs() const { return differs_; }
  std::string str() const {
    JsonObject detail;
    detail.raw("before", before_.str()).raw("after", after_.str());
    if (left_out_ > 0) detail.integer("left_out", left_out_);
    return detail.str();
  }

 private:
  // A field that one side does not have is only on the other side.
  void add(std::string_view key, const Member* before, const Member* after) {
    differs_ = true;
    std::optional<std::string> was;
    std::optional<std::string> is;
    if (is_hidden(key)) {
      if (before != nullptr) was = kHiddenValue;
      if (after != nullptr) is = kHiddenValue;
    } else if (before != nullptr && after != nullptr && is_object(before->value) && is_object(after->value)) {
      // Of an object that was changed in part, that part.
      const Comparison inner(before->value, after->value);
      was = inner.before_.str();
      is = inner.after_.str();
      left_out_ += inner.left_out_;
    } else {
      if (before != nullptr) was = shown(before->value, 1);
      if (after != nullptr) is = shown(after->value, 1);
    }
    // With its quotes, colon and comma on both sides.
    const std::size_t bytes = 2 * (key.size() + 4) + was.value_or("").size() + is.value_or("").size();
    if (bytes_ + bytes > kAuditDetailBytesMax - kFrameBytes) {
      ++left_out_;
      return;
    }
    bytes_ += bytes;
    if (was) before_.add(key, *was);
    if (is) after_.add(key, *is);
  }

  Side before_;
  Side after_;
  bool differs_ = false;
  std::size_t bytes_ = 0;
  std::int64_t left_out_ = 0;
};

}  // namespace

std::optional<AuditDetail> changed_fields(std::optional<std::string_view> before,
                                          std::optional<std::string_view> after) {
  const Comparison comparison(before, after);
  if (!comparison.differs() && before.has_value() == after.has_value()) return std::nullopt;
  return AuditDetail(comparison.str());
}

AuditDetail new_fields(const JsonObject& fields) {
  auto detail = changed_fields(std::nullopt, fields.str());
  CHECK(detail);
  return *std::move(detail);
}

AuditDetail old_fields(const JsonObject& fields) {
  auto detail = changed_fields(fields.str(), std::nullopt);
  CHECK(detail);
  return *std::move(detail);
}

std::string without_url_secrets(std::string_view text) {
  constexpr std::string_view kScheme = "://";
  const std::size_t scheme = text.find(kScheme);
  if (scheme == std::string_view::npos) return std::string(text);
  const std::size_t host = scheme + kScheme.size();
  const std::size_t path = std::min(text.find_first_of("/?#", host), text.size());
  const std::size_t at = text.substr(host, path - host).rfind('@');
  std::string kept(text.substr(0, host));
  if (at != std::string_view::npos) kept += "***@";
  const std::size_t from = at == std::string_view::npos ? host : host + at + 1;
  const std::size_t query = std::min(text.find('?', path), text.size());
  kept += text.substr(from, query - from);
  if (query < text.size()) kept += "?***";
  return kept;
}

}  // namespace carillon
