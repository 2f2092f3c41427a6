#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/json.h"

namespace carillon {

std::string json_number(double value) {
  CHECK(std::isfinite(value));
  constexpr double kMillion = 1e6;
  const double rounded = std::round(value * kMillion) / kMillion;
  return fmt::format("{}", std::isfinite(rounded) ? rounded : value);
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view value) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(name);
  members_ += ':';
  members_ += value;
  return *this;
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) { return raw(name, json_string(value)); }

JsonObject& JsonObject::integer(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }

JsonObject& JsonObject::number(std::string_view name, double value) { return raw(name, json_number(value)); }

JsonObject& JsonObject::boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

JsonArray& JsonArray::raw(std::string_view value) {
  if (!items_.empty()) items_ += ',';
  items_ += value;
  return *this;
}

}  // namespace carillon
