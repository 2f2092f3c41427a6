// Members of a JSON object that may have nothing to say: they are null then.
#pragma once

#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "core/time/instant.h"

namespace carillon {

// "": nothing.
void put(JsonObject& object, std::string_view name, std::string_view text);
void put(JsonObject& object, std::string_view name, const std::optional<Instant>& at);

}  // namespace carillon
