#include "core/policies/retry_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/json_writer.h"
#include "base/nearest_name.h"
#include "core/jobs/job.h"
#include "core/time/json_time.h"

namespace carillon {

namespace {

constexpr std::size_t kDelaysMax = 50;

constexpr auto kTableFields = field_names("kind", "delays", "jitter");
constexpr auto kExponentialFields = field_names("kind", "base", "jitter");
constexpr auto kFixedFields = field_names("kind", "delay");
constexpr auto kNoneFields = field_names("kind");
constexpr auto kS1Fields = field_names("max_attempts", "backoff_seconds", "retry_on_failure");
// Who does not say which kind he means, or one that there is not, first learns of a field that none has.
constexpr auto kAnyRetryFields = joined_fields(kTableFields, field_names("base", "delay"), kS1Fields);
constexpr auto kRetryKinds = field_names("table", "exponential", "fixed", "none");

constexpr std::int64_t kS1BackoffSecondsMax = 86'400;

Result<Duration> read_duration(const JsonFields& fields, std::string_view text, std::string_view name) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return fields.missing(name, "a duration like \"90s\"");
  return read_json_duration(text, *value, fields.path_of(name));
}

Result<double> read_jitter(const JsonFields& fields, std::string_view text, double otherwise) {
  TRY_ASSIGN(const Json* const value, fields.optional("jitter", JsonType::number));
  if (value == nullptr) return otherwise;
  double jitter = -1;
  const char* const end = value->text.data() + value->text.size();
  if (std::from_chars(value->text.data(), end, jitter).ptr != end || !(jitter >= 0 && jitter <= 1)) {
    return json_error(text, value->offset, fields.path_of("jitter"), "must lie between 0 and 1");
  }
  return jitter;
}

Result<RetryPolicy> read_table(const JsonFields& fields, std::string_view text) {
  RetryTable table;
  TRY_ASSIGN(const Json* const delays, fields.optional("delays", JsonType::array));
  if (delays != nullptr) {
    const std::string path = fields.path_of("delays");
    if (delays->items.empty() || delays->items.size() > kDelaysMax) {
      return json_error(text, delays->offset, path, fmt::format("must name 1 to {} delays", kDelaysMax));
    }
    table.delays.clear();
    for (const Json& item : delays->items) {
      TRY_ASSIGN(const Duration delay, read_json_duration(text, item, path));
      table.delays.push_back(delay);
    }
  }
  TRY_ASSIGN(table.jitter, read_jitter(fields, text, table.jitter));
  return table;
}

JsonFields::Names fields_of(std::string_view kind) {
  if (kind == "table") return kTableFields;
  if (kind == "exponential") return kExponentialFields;
  if (kind == "fixed") return kFixedFields;
  return kind == "none" ? JsonFields::Names(kNoneFields) : kAnyRetryFields;
}

Result<RetryPolicy> read_kind(std::string_view text, const Json& value, const std::string& path) {
  const Json* const given = value.find("kind");
  const bool is_text = given != nullptr && given->type == JsonType::string;
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, value, path, fields_of(is_text ? given->text : "")));
  TRY_ASSIGN(const Json* const kind, fields.required("kind", JsonType::string));
  if (kind->text == "table") return read_table(fields, text);
  if (kind->text == "exponential") {
    RetryExponential exponential;
    TRY_ASSIGN(exponential.base, read_duration(fields, text, "base"));
    TRY_ASSIGN(exponential.jitter, read_jitter(fields, text, exponential.jitter));
    return exponential;
  }
  if (kind->text == "fixed") {
    RetryFixed fixed;
    TRY_ASSIGN(fixed.delay, read_duration(fields, text, "delay"));
    return fixed;
  }
  if (kind->text == "none") return RetryNone{};
  return json_error(text, kind->offset, fields.path_of("kind"),
                    fmt::format("{} is none of {}{}", quoted(kind->text), fmt::join(kRetryKinds, ", "),
                                did_you_mean(kind->text, kRetryKinds)));
}

bool is_s1(const Json& value) {
  return value.find("kind") == nullptr &&
         std::ranges::any_of(kS1Fields, [&](std::string_view name) { return value.find(name) != nullptr; });
}

// base_seconds · 2^(failures - 1), at most 32 times the base: the same as ours.
Result<RetryJson> read_s1(std::string_view text, const Json& value, const std::string& path) {
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, value, path, kS1Fields));
  RetryJson read;
  if (const Json* const attempts = fields.optional("max_attempts")) {
    TRY_ASSIGN(read.max_attempts, read_max_attempts(text, *attempts, fields.path_of("max_attempts")));
  }
  RetryExponential exponential;
  if (fields.optional("backoff_seconds") != nullptr) {
    TRY_ASSIGN(const std::int64_t seconds, fields.integer("backoff_seconds", {0, kS1BackoffSecondsMax}));
    exponential.base = std::chrono::seconds(seconds);
  }
  TRY_ASSIGN(const Json* const retries, fields.optional("retry_on_failure", JsonType::boolean));
  if (retries != nullptr && !retries->boolean) {
    read.policy = RetryNone{};
    read.max_attempts = 1;
  } else {
    read.policy = exponential;
  }
  return read;
}

}  // namespace

Result<std::uint32_t> read_max_attempts(std::string_view text, const Json& value, const std::string& path) {
  TRY_ASSIGN(const std::int64_t most, JsonFields::integer_of(text, value, path, {0, kMaxAttemptsMax}));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(most, 1));
}

Result<RetryJson> read_retry_json(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("must be an object, not {}", describe(value.type)));
  }
  if (is_s1(value)) return read_s1(text, value, path);
  TRY_ASSIGN(RetryPolicy policy, read_kind(text, value, path));
  return RetryJson{.policy = std::move(policy), .max_attempts = {}};
}

Result<RetryPolicy> parse_retry_json(std::string_view text, const Json& value, const std::string& path) {
  TRY_ASSIGN(RetryJson read, read_retry_json(text, value, path));
  return std::move(read.policy);
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
