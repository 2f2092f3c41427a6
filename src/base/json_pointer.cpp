#include "base/json_pointer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace carillon {

namespace {

// "~1" is a slash, "~0" a tilde.
std::optional<std::string> unescaped(std::string_view step) {
  std::string plain;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      plain += step[i];
      continue;
    }
    ++i;
    if (i == step.size() || (step[i] != '0' && step[i] != '1')) return std::nullopt;
    plain += step[i] == '0' ? '~' : '/';
  }
  return plain;
}

// Digits without leading zeros; "-", the place after the last one, never has a value.
const Json* item(const Json& list, const std::string& step) {
  if (step.empty() || (step.size() > 1 && step.front() == '0')) return nullptr;
  std::size_t index = 0;
  const char* const end = step.data() + step.size();
  const auto [stopped, error] = std::from_chars(step.data(), end, index);
  if (error != std::errc() || stopped != end || index >= list.items.size()) return nullptr;
  return &list.items[index];
}

}  // namespace

Result<JsonPointer> JsonPointer::parse(std::string_view text) {
  JsonPointer pointer;
  std::string_view left = text;
  while (!left.empty()) {
    if (left.front() != '/') {
      return invalid_request(fmt::format("{} is not a JSON pointer: it must begin with /", quoted(text)));
    }
    left.remove_prefix(1);
    const std::size_t end = std::min(left.find('/'), left.size());
    auto step = unescaped(left.substr(0, end));
    if (!step)
      return invalid_request(fmt::format("{} is not a JSON pointer: ~ stands only in ~0 and ~1", quoted(text)));
    pointer.steps_.push_back(*std::move(step));
    left.remove_prefix(end);
  }
  return pointer;
}

const Json* JsonPointer::find(const Json& root) const {
  const Json* at = &root;
  for (const std::string& step : steps_) {
    if (at == nullptr) return nullptr;
    switch (at->type) {
      case JsonType::object: at = at->find(step); break;
      case JsonType::array: at = item(*at, step); break;
      default: return nullptr;
    }
  }
  return at;
}

}  // namespace carillon
