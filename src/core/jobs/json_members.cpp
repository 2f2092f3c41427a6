#include "core/jobs/json_members.h"

#include <string>

namespace carillon {

void put(JsonObject& object, std::string_view name, std::string_view text) {
  if (text.empty()) {
    object.raw(name, "null");
  } else {
    object.text(name, text);
  }
}

void put(JsonObject& object, std::string_view name, const std::optional<Instant>& at) {
  put(object, name, at ? format_instant(*at) : std::string());
}

}  // namespace carillon
