#include "core/triggers/trigger_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/nearest_name.h"
#include "base/text_cursor.h"

namespace carillon {

namespace {

template <typename... Triggers>
std::array<const TriggerKind*, sizeof...(Triggers)> kinds_of(const std::variant<Triggers...>* /*types*/) {
  return {&Triggers::kind()...};
}

// How a trigger names what it is: {"kind": …}, or {"type": …} as S1 does.
struct Selector {
  std::string_view field;
  std::string_view (*name)(const TriggerKind& kind);  // "": it cannot be written so
  JsonFields::Names (*fields)(const TriggerKind& kind);
};
constexpr Selector kByKind{.field = "kind",
                           .name = [](const TriggerKind& kind) { return kind.name; },
                           .fields = [](const TriggerKind& kind) { return kind.fields; }};
constexpr Selector kByS1Type{.field = "type",
                             .name = [](const TriggerKind& kind) { return kind.s1_type; },
                             .fields = [](const TriggerKind& kind) { return kind.s1_fields; }};

std::vector<const TriggerKind*> kinds_with(const Selector& selector) {
  std::vector<const TriggerKind*> found;
  std::ranges::copy_if(trigger_kinds(), std::back_inserter(found),
                       [&](const TriggerKind* kind) { return !selector.name(*kind).empty(); });
  return found;
}

// Who does not say which kind he means, or one that there is not, first learns of a field that no kind has.
Result<const TriggerKind*> select_kind(std::string_view text, const Json& value, const std::string& path,
                                       const Selector& selector) {
  const std::vector<const TriggerKind*> kinds = kinds_with(selector);
  const Json* const selected = value.find(selector.field);
  const bool is_text = selected != nullptr && selected->type == JsonType::string;
  const auto known = std::ranges::find_if(
      kinds, [&](const TriggerKind* kind) { return is_text && selector.name(*kind) == selected->text; });
  if (known != kinds.end()) return *known;
  std::vector<std::string_view> fields_of_any;
  std::vector<std::string_view> names;
  for (const TriggerKind* const kind : kinds) {
    names.push_back(selector.name(*kind));
    for (const std::string_view name : selector.fields(*kind)) {
      if (std::ranges::find(fields_of_any, name) == fields_of_any.end()) fields_of_any.push_back(name);
    }
  }
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, value, path, fields_of_any));
  TRY_ASSIGN(const Json* const given, fields.required(selector.field, JsonType::string));
  return fields.fail(*given, selector.field,
                     fmt::format("unknown {} {}{}; allowed are {}", selector.field, quoted(given->text),
                                 did_you_mean(given->text, names), fmt::join(names, ", ")));
}

std::string all_examples() {
  std::string examples;
  for (const TriggerKind* const kind : trigger_kinds()) {
    if (!kind->example.empty()) examples.append(examples.empty() ? "" : ", ").append(kind->example);
  }
  return examples;
}

}  // namespace

std::span<const TriggerKind* const> trigger_kinds() {
  static const auto kinds = kinds_of(static_cast<const Trigger*>(nullptr));
  return kinds;
}

const TriggerKind& kind_of(const Trigger& trigger) { return *trigger_kinds()[trigger.index()]; }

const TriggerKind* find_kind(std::string_view name) {
  const auto kinds = trigger_kinds();
  const auto found = std::ranges::find(kinds, name, &TriggerKind::name);
  return found == kinds.end() ? nullptr : *found;
}

std::string kinds_where(bool (*is_meant)(const TriggerKind& kind)) {
  std::vector<std::string_view> names;
  for (const TriggerKind* const kind : trigger_kinds()) {
    if (is_meant(*kind)) names.push_back(kind->name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

bool may_be_of_kind(std::string_view definition, bool (*is_meant)(const TriggerKind& kind)) {
  if (definition.find('\\') != std::string_view::npos) return true;  // its name may be written with escapes
  return std::ranges::any_of(trigger_kinds(), [&](const TriggerKind* kind) {
    return is_meant(*kind) && definition.find(fmt::format("\"{}\"", kind->name)) != std::string_view::npos;
  });
}

bool plans_by_subject(const Trigger& trigger) { return kind_of(trigger).traits.plans_by_subject; }

Result<Trigger> parse_trigger_text(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return TextCursor("trigger", text).fail(fmt::format("expected a kind and a colon, like {}", all_examples()));
  }
  const std::string_view name = text.substr(0, colon);
  const TriggerKind* const kind = find_kind(name);
  if (kind != nullptr && kind->read_text != nullptr) return kind->read_text(text.substr(colon + 1));
  std::vector<std::string_view> known;
  for (const TriggerKind* const one : trigger_kinds()) {
    if (one->read_text != nullptr) known.push_back(one->name);
  }
  return TextCursor("trigger", text)
      .fail(fmt::format("unknown kind {}{}; allowed are {}", quoted(name), did_you_mean(name, known), all_examples()));
}

Result<Trigger> parse_trigger_json(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("expected an object, found {}", describe(value.type)));
  }
  const bool is_s1 = value.find("kind") == nullptr && value.find("type") != nullptr;
  TRY_ASSIGN(const TriggerKind* const kind, select_kind(text, value, path, is_s1 ? kByS1Type : kByKind));
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, value, path, is_s1 ? kind->s1_fields : kind->fields));
  return is_s1 ? kind->read_s1(text, fields) : kind->read(text, fields);
}

}  // namespace carillon
