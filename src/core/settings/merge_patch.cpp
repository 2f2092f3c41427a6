#include "core/settings/merge_patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "core/jobs/job_fields.h"

namespace carillon {

namespace {

class Merge {
 public:
  Merge(std::string_view target, std::string_view patch, const MergeRules& rules)
      : target_(target), patch_(patch), rules_(rules) {}

  // `over` without its nulls.
  std::string stripped(const Json& over) const {
    JsonObject object;
    for (const JsonMember& member : over.members) add(object, member, nullptr);
    return object.str();
  }

  std::string merged(std::string_view name, const Json& under, const Json& over) const {
    if (changes_shape(name, under, over)) return stripped(over);
    JsonObject object;
    for (const JsonMember& member : under.members) {
      if (over.find(member.key) == nullptr) object.raw(member.key, json_slice(target_, member.value));
    }
    for (const JsonMember& member : over.members) add(object, member, under.find(member.key));
    return object.str();
  }

 private:
  void add(JsonObject& object, const JsonMember& member, const Json* under) const {
    const Json& value = member.value;
    if (value.type == JsonType::null) return;
    const bool goes_in =
        value.type == JsonType::object && std::ranges::find(rules_.whole, member.key) == rules_.whole.end();
    if (!goes_in) {
      object.raw(member.key, json_slice(patch_, value));
    } else if (under != nullptr && under->type == JsonType::object) {
      object.raw(member.key, merged(member.key, *under, value));
    } else {
      object.raw(member.key, stripped(value));
    }
  }

  bool changes_shape(std::string_view name, const Json& under, const Json& over) const {
    return std::ranges::any_of(rules_.shapes, [&](const MergeRules::Shape& shape) {
      const Json* const now = shape.object == name ? over.find(shape.member) : nullptr;
      if (now == nullptr || now->type == JsonType::null) return false;
      const Json* const before = under.find(shape.member);
      return before == nullptr || (!shape.alone && before->text != now->text);
    });
  }

  std::string_view target_;
  std::string_view patch_;
  const MergeRules& rules_;
};

// The member that a path like "trigger.on[0]" leads to, or the last one on the way that is there.
const Json* find_path(const Json& root, std::string_view path) {
  const Json* found = &root;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view name = path.substr(0, std::min(path.find('['), end));
    const Json* const next = found->type == JsonType::object ? found->find(name) : nullptr;
    if (next == nullptr) return nullptr;
    found = next;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return found;
}

}  // namespace

Result<std::string> merge_patch(std::string_view target, std::string_view patch, const MergeRules& rules) {
  TRY_ASSIGN(const Json under, parse_json(target));
  TRY_ASSIGN(const Json over, parse_json_object(patch));
  return Merge(target, patch, rules).merged("", under, over);
}

Error about_patch(Error error, std::string_view patch) {
  if (!error.line || !error.column || error.field.empty()) return error;
  const auto place_of = [](const Error& of) { return fmt::format(" (line {}, column {})", *of.line, *of.column); };
  const std::string place = place_of(error);
  const auto json = parse_json(patch);
  const Json* const value = json ? find_path(*json, error.field) : nullptr;
  error.line.reset();
  error.column.reset();
  std::string instead;
  if (value != nullptr) {
    const Error there = json_error(patch, value->offset, "", "").error();
    error.line = there.line;
    error.column = there.column;
    instead = place_of(error);
  }
  if (const std::size_t at = error.message.find(place); at != std::string::npos) {
    error.message.replace(at, place.size(), instead);
  }
  return error;
}

}  // namespace carillon
