#include "core/retry_json.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json_writer.h"

namespace carillon {

namespace {

constexpr std::size_t kDelaysMax = 50;

Result<Duration> read_duration(JsonFields& fields, std::string_view text, std::string_view name) {
  TRY_ASSIGN(const Json* const value, fields.required(name, JsonType::string));
  auto duration = parse_duration(value->text);
  if (!duration) return json_error(text, value->offset, fields.path_of(name), duration.error().message);
  return duration;
}

Result<double> read_jitter(JsonFields& fields, std::string_view text, double otherwise) {
  TRY_ASSIGN(const Json* const value, fields.optional("jitter", JsonType::number));
  if (value == nullptr) return otherwise;
  double jitter = -1;
  const char* const end = value->text.data() + value->text.size();
  if (std::from_chars(value->text.data(), end, jitter).ptr != end || !(jitter >= 0 && jitter <= 1)) {
    return json_error(text, value->offset, fields.path_of("jitter"), "must lie between 0 and 1");
  }
  return jitter;
}

Result<RetryPolicy> read_table(JsonFields& fields, std::string_view text) {
  RetryTable table;
  TRY_ASSIGN(const Json* const delays, fields.optional("delays", JsonType::array));
  if (delays != nullptr) {
    const std::string path = fields.path_of("delays");
    if (delays->items.empty() || delays->items.size() > kDelaysMax) {
      return json_error(text, delays->offset, path, fmt::format("must name 1 to {} delays", kDelaysMax));
    }
    table.delays.clear();
    for (const Json& item : delays->items) {
      if (item.type != JsonType::string) {
        return json_error(text, item.offset, path, fmt::format("must be a duration, not {}", describe(item.type)));
      }
      auto delay = parse_duration(item.text);
      if (!delay) return json_error(text, item.offset, path, delay.error().message);
      table.delays.push_back(*delay);
    }
  }
  TRY_ASSIGN(table.jitter, read_jitter(fields, text, table.jitter));
  return table;
}

}  // namespace

Result<RetryPolicy> parse_retry_json(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("must be an object, not {}", describe(value.type)));
  }
  JsonFields fields(text, value, path);
  TRY_ASSIGN(const Json* const kind, fields.required("kind", JsonType::string));
  RetryPolicy policy;
  if (kind->text == "table") {
    TRY_ASSIGN(policy, read_table(fields, text));
  } else if (kind->text == "exponential") {
    RetryExponential exponential;
    TRY_ASSIGN(exponential.base, read_duration(fields, text, "base"));
    TRY_ASSIGN(exponential.jitter, read_jitter(fields, text, exponential.jitter));
    policy = exponential;
  } else if (kind->text == "fixed") {
    RetryFixed fixed;
    TRY_ASSIGN(fixed.delay, read_duration(fields, text, "delay"));
    policy = fixed;
  } else if (kind->text == "none") {
    policy = RetryNone{};
  } else {
    return json_error(text, kind->offset, fields.path_of("kind"),
                      fmt::format("{} is none of table, exponential, fixed, none", quoted(kind->text)));
  }
  TRY(fields.finish());
  return policy;
}

std::string format_retry_json(const RetryPolicy& policy) {
  JsonObject object;
  if (const auto* table = std::get_if<RetryTable>(&policy)) {
    JsonArray delays;
    for (const Duration delay : table->delays) delays.raw(json_string(format_duration(delay)));
    object.text("kind", "table").raw("delays", delays.str()).raw("jitter", fmt::format("{}", table->jitter));
  } else if (const auto* exponential = std::get_if<RetryExponential>(&policy)) {
    object.text("kind", "exponential").text("base", format_duration(exponential->base));
    object.raw("jitter", fmt::format("{}", exponential->jitter));
  } else if (const auto* fixed = std::get_if<RetryFixed>(&policy)) {
    object.text("kind", "fixed").text("delay", format_duration(fixed->delay));
  } else {
    object.text("kind", "none");
  }
  return object.str();
}

}  // namespace carillon
