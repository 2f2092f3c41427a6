// One settings document, read field by field onto what is set already.
//
// Each read takes the name of a field and its place. A given field replaces the old value, null clears it,
// an absent one leaves it alone. Which ones there may be is said up front (JsonFields).
//
//   TRY_ASSIGN(SettingsReader reader, SettingsReader::of(json, root, "", kSettingsFields));
//   TRY(reader.zone("timezone", settings.timezone));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/time/duration.h"
#include "core/time/instant.h"

namespace carillon {

// The object that `text` is, or an error that calls it `name`.
Result<Json> parse_settings_object(std::string_view text, std::string_view name);

class SettingsReader {
 public:
  // `object` lies in `text`, under the name `path`; both outlive the reader.
  static Result<SettingsReader> of(std::string_view text, const Json& object, std::string path,
                                   JsonFields::Names names) {
    TRY_ASSIGN(JsonFields fields, JsonFields::of(text, object, std::move(path), names));
    return SettingsReader(text, std::move(fields));
  }

  struct Durations {
    Duration min{};
    Duration max{};
  };
  struct Numbers {
    double min = 0;
    double max = 0;
    bool above_min = false;  // `min` itself is not allowed
  };

  // A field that is true or false; null is `otherwise`.
  Result<void> flag(std::string_view name, bool& into, bool otherwise);
  // From 1 to `max`.
  Result<void> count(std::string_view name, std::optional<std::uint32_t>& into, std::uint32_t max);
  Result<void> duration(std::string_view name, std::optional<Duration>& into, Durations range);
  // As RFC 3339 or Unix milliseconds; what is finer than a millisecond is cut.
  Result<void> instant(std::string_view name, std::optional<Instant>& into);
  // A number that need not be whole, from `min` to `max`.
  Result<void> number(std::string_view name, std::optional<double>& into, Numbers range);
  // The name of a time zone that can be loaded.
  Result<void> zone(std::string_view name, std::optional<std::string>& into);
  // One line of at most `bytes_max` bytes; null is empty.
  Result<void> line(std::string_view name, std::string& into, std::size_t bytes_max);

  // For what is read otherwise. Absent and null are both nothing: `has` distinguishes them.
  bool has(std::string_view name) const { return fields_.has(name); }
  Result<const Json*> optional(std::string_view name, JsonType type) { return fields_.optional(name, type); }
  Result<const Json*> required(std::string_view name, JsonType type) { return fields_.required(name, type); }
  std::string path_of(std::string_view name) const { return fields_.path_of(name); }

  // The value can be read, but cannot work.
  std::unexpected<Error> cannot_work(const Json& at, const std::string& path, std::string_view message) const;

 private:
  SettingsReader(std::string_view text, JsonFields fields) : text_(text), fields_(std::move(fields)) {}

  std::string_view text_;
  JsonFields fields_;
};

}  // namespace carillon
