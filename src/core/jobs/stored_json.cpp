#include "core/jobs/stored_json.h"

namespace carillon {

Result<Json> parse_stored(std::string_view what, std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return failed(ErrorCode::database_error, std::string(what) + ": " + parsed.error().message);
  return parsed;
}

std::string StoredObject::text(std::string_view name) const {
  const Json* const value = object_.find(name);
  return value != nullptr && value->type == JsonType::string ? value->text : std::string();
}

std::optional<std::int64_t> StoredObject::integer(std::string_view name) const {
  const Json* const value = object_.find(name);
  if (value == nullptr || value->type != JsonType::number) return std::nullopt;
  const auto read = JsonFields::integer_of(text_, *value, std::string(name), {.min = INT64_MIN, .max = INT64_MAX});
  return read ? std::optional(*read) : std::nullopt;
}

std::optional<Instant> StoredObject::instant(std::string_view name) const {
  const auto value = integer(name);
  return value ? std::optional(Instant(Duration(*value))) : std::nullopt;
}

bool StoredObject::flag(std::string_view name) const {
  const Json* const value = object_.find(name);
  return value != nullptr && value->type == JsonType::boolean && value->boolean;
}

std::vector<std::string> StoredObject::texts(std::string_view name) const {
  std::vector<std::string> texts;
  if (const Json* const value = object_.find(name)) {
    for (const Json& item : value->items) texts.push_back(item.text);
  }
  return texts;
}

std::vector<std::int64_t> StoredObject::integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  const Json* const list = object_.find(name);
  if (list == nullptr) return values;
  for (const Json& item : list->items) {
    const auto read = JsonFields::integer_of(text_, item, std::string(name), {.min = INT64_MIN, .max = INT64_MAX});
    if (read) values.push_back(*read);
  }
  return values;
}

void put_text(JsonObject& object, std::string_view name, std::string_view text) {
  if (!text.empty()) object.text(name, text);
}

void put_texts(JsonObject& object, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  JsonArray array;
  for (const std::string& text : texts) array.raw(json_string(text));
  object.raw(name, array.str());
}

void put_integers(JsonObject& object, std::string_view name, const std::vector<std::int64_t>& values) {
  if (values.empty()) return;
  JsonArray array;
  for (const std::int64_t value : values) array.raw(std::to_string(value));
  object.raw(name, array.str());
}

void put_count(JsonObject& object, std::string_view name, std::uint32_t count) {
  if (count != 0) object.integer(name, count);
}

void put_flag(JsonObject& object, std::string_view name, bool flag) {
  if (flag) object.boolean(name, true);
}

void put_instant(JsonObject& object, std::string_view name, std::optional<Instant> at) {
  if (at) object.integer(name, at->time_since_epoch().count());
}

}  // namespace carillon
