#include "daemon/config_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

// The library asserts that a table's name begins as one may, before it looks and says what is wrong with it. Without
// these it would end the process, or be optimised on the ground that it never happens.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

namespace carillon::daemon {

namespace {

// Tables nest by the dots of a key, and the library frees them one inside the other.
constexpr int kDotsMax = 16;

std::unexpected<Error> fail_at(std::size_t line, std::size_t column, std::string_view message) {
  return invalid_request(fmt::format("line {}, column {}: {}", line, column, message));
}

// Looks at every key before the library does: how deep it goes. Steps over texts and comments.
class DepthCheck {
 public:
  explicit DepthCheck(std::string_view text) : text_(text) {}

  Result<void> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_text(c);
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '\n') ++line_;
      if (std::string_view("=,[]{}\n").contains(c)) dots_ = 0;
      if (c == '.' && ++dots_ > kDotsMax) {
        return invalid_request(fmt::format("line {}: a key of more than {} parts", line_, kDotsMax));
      }
      ++at_;
    }
    return {};
  }

 private:
  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool many_lines = text_.substr(at_).starts_with(three);
    const std::string_view end = many_lines ? std::string_view(three) : std::string_view(three).substr(0, 1);
    at_ += end.size();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      if (text_[at_] == '\n') {
        if (!many_lines) return;  // not closed: an error that the reader finds
        ++line_;
      }
      const bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n';
      at_ += escapes ? std::size_t{2} : std::size_t{1};
    }
    at_ = std::min(at_ + end.size(), text_.size());
    // A text of many lines may end with up to two quotes of its own.
    while (many_lines && at_ < text_.size() && text_[at_] == quote) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  int dots_ = 0;
};

GivenValue value_of(const toml::node& node) {
  using Kind = GivenValue::Kind;
  GivenValue value{.kind = Kind::other, .text = {}, .items = {}};
  if (const auto* text = node.as_string()) {
    value = {.kind = Kind::text, .text = text->get(), .items = {}};
  } else if (const auto* integer = node.as_integer()) {
    value = {.kind = Kind::integer, .text = fmt::to_string(integer->get()), .items = {}};
  } else if (const auto* number = node.as_floating_point()) {
    value = {.kind = Kind::number, .text = fmt::to_string(number->get()), .items = {}};
  } else if (const auto* boolean = node.as_boolean()) {
    value = {.kind = Kind::boolean, .text = boolean->get() ? "true" : "false", .items = {}};
  } else if (const auto* list = node.as_array()) {
    value.kind = Kind::list;
    for (const toml::node& item : *list) value.items.push_back(value_of(item));
  } else if (node.is_table()) {
    value.text = "a table";
  } else {
    value.text = "a date or time";
  }
  return value;
}

void flatten(const toml::table& table, std::vector<std::string>& path, std::vector<TomlEntry>& out) {
  for (const auto& [key, node] : table) {
    path.emplace_back(key.str());
    const toml::table* const inner = node.as_table();
    if (inner != nullptr && !inner->empty()) {
      flatten(*inner, path, out);
    } else {
      out.push_back({.path = path, .value = value_of(node), .line = key.source().begin.line});
    }
    path.pop_back();
  }
}

}  // namespace

Result<std::vector<TomlEntry>> read_toml(std::string_view text) {
  if (text.size() > kConfigBytesMax) return invalid_request("larger than 1 MiB");
  TRY(DepthCheck(text).run());
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    // The library's words may quote the text: one line, plain characters, not too long.
    constexpr std::size_t kWordsMax = 200;
    std::string words(parsed.error().description().substr(0, kWordsMax));
    std::ranges::replace_if(words, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return fail_at(at.line, at.column, words);
  }
  std::vector<TomlEntry> entries;
  std::vector<std::string> path;
  flatten(parsed.table(), path, entries);
  std::ranges::sort(entries, [](const TomlEntry& a, const TomlEntry& b) {
    return std::tie(a.line, a.path) < std::tie(b.line, b.path);
  });
  return entries;
}

}  // namespace carillon::daemon
