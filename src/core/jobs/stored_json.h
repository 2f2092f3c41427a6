// Reading JSON that we keep and wrote ourselves. Lenient: what is absent, or of another type, reads as nothing, so that
// an older version can read what a later one wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/instant.h"

namespace carillon {

// `what` names it in the error, which is `database_error`.
Result<Json> parse_stored(std::string_view what, std::string_view text);

class StoredObject {
 public:
  StoredObject(std::string_view text, const Json& object) : text_(text), object_(object) {}
  StoredObject(const StoredObject&) = delete;
  StoredObject& operator=(const StoredObject&) = delete;
  ~StoredObject() = default;

  std::string text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::uint32_t count(std::string_view name) const { return static_cast<std::uint32_t>(integer(name).value_or(0)); }
  std::optional<Instant> instant(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;

 private:
  std::string_view text_;
  const Json& object_;
};

// Each writes nothing for nothing.
void put_text(JsonObject& object, std::string_view name, std::string_view text);
void put_texts(JsonObject& object, std::string_view name, const std::vector<std::string>& texts);
void put_integers(JsonObject& object, std::string_view name, const std::vector<std::int64_t>& values);
void put_count(JsonObject& object, std::string_view name, std::uint32_t count);
void put_flag(JsonObject& object, std::string_view name, bool flag);
void put_instant(JsonObject& object, std::string_view name, std::optional<Instant> at);  // in microseconds

}  // namespace carillon
