#include "base/json_writer.h"

#include "base/json.h"

namespace carillon {

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(name);
  members_ += ':';
  members_ += value;
  return *this;
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) { return raw(name, json_string(value)); }

JsonObject& JsonObject::integer(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }

JsonObject& JsonObject::boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

JsonArray& JsonArray::raw(std::string_view value) {
  if (!items_.empty()) items_ += ',';
  items_ += value;
  return *this;
}

}  // namespace carillon
