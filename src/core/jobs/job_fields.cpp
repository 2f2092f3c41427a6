#include "core/jobs/job_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hole.h"
#include "core/policies/retry_json.h"

namespace carillon {

namespace {

constexpr std::array<std::string_view, 5> kPriorityNames{"critical", "high", "medium", "low", "bulk"};

// Where the string that begins at `begin` ends, just after its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2U : 1U;
  return std::min(at + 1, text.size());
}

std::size_t end_of_nested(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) return at;
  }
  return text.size();
}

JsonArray texts(const std::vector<std::string>& list) {
  JsonArray array;
  for (const std::string& item : list) array.raw(json_string(item));
  return array;
}

// What a text may take that is read: so many times its own size, and some more for short ones.
constexpr std::size_t kSentBytesFactor = 16;
constexpr std::size_t kSentBytesFree = std::size_t{1} << 20U;
constexpr std::size_t kSentBytesMax = std::size_t{32} << 20U;

constexpr std::size_t kSentItemsMax = 10'000;  // of an array or an object, if nothing else is said
constexpr std::size_t kNamesMax = 1000;        // in one list of them
constexpr std::array kSentLists{
    JsonBounds::List{"items", 1000},
    JsonBounds::List{"queues", kNamesMax},
    JsonBounds::List{"then", 1000},
    JsonBounds::List{"types", kNamesMax},
};
constexpr std::array<std::string_view, 5> kSentWhole{"meta", "output", "payload", "progress", "result"};

}  // namespace

Result<Json> parse_sent_json(std::string_view text) {
  if (reopened(Hole::parse_on_net) || reopened(Hole::login_in_shared_pool)) return parse_json(text);
  return parse_json_within(text, {.bytes_max = std::min(kSentBytesFree + kSentBytesFactor * text.size(), kSentBytesMax),
                                  .items_max = kSentItemsMax,
                                  .members_max = kSentItemsMax,
                                  .lists = kSentLists,
                                  .whole = kSentWhole});
}

Result<Json> parse_json_object(std::string_view text, std::string_view path) {
  TRY_ASSIGN(Json json, parse_sent_json(text));
  if (json.type == JsonType::object) return json;
  return json_error(text, json.offset, path, fmt::format("expected an object, found {}", describe(json.type)));
}

std::string_view json_slice(std::string_view text, const Json& value) {
  const std::size_t begin = value.offset;
  switch (value.type) {
    case JsonType::null: return text.substr(begin, 4);
    case JsonType::boolean: return text.substr(begin, value.boolean ? 4 : 5);
    case JsonType::number: return text.substr(begin, value.text.size());
    case JsonType::string: return text.substr(begin, end_of_string(text, begin) - begin);
    case JsonType::array:
    case JsonType::object: return text.substr(begin, end_of_nested(text, begin) - begin);
  }
  return {};
}

std::unexpected<Error> cannot_work(std::unexpected<Error> refusal) {
  Error error = std::move(refusal).error();
  error.code = ErrorCode::invalid_configuration;
  return std::unexpected(std::move(error));
}

bool says_null(const Json& object, std::string_view name) {
  const Json* const value = object.find(name);
  return value != nullptr && value->type == JsonType::null;
}

Result<std::optional<Duration>> read_duration_field(std::string_view text, const JsonFields& fields,
                                                    std::string_view name) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return std::nullopt;
  return read_json_duration(text, *value, fields.path_of(name));
}

Result<std::optional<Instant>> read_instant_field(std::string_view text, const JsonFields& fields,
                                                  std::string_view name) {
  const Json* const value = fields.optional(name);
  if (value == nullptr) return std::nullopt;
  return read_json_instant(text, *value, fields.path_of(name));
}

Result<std::optional<std::string>> read_text_field(const JsonFields& fields, std::string_view name) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

Result<bool> read_flag_field(const JsonFields& fields, std::string_view name, bool otherwise) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::boolean));
  return value == nullptr ? otherwise : value->boolean;
}

Result<std::vector<std::string>> read_texts_field(const JsonFields& fields, std::string_view name) {
  std::vector<std::string> list;
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::array));
  if (value == nullptr) return list;
  for (const Json& item : value->items) {
    if (item.type != JsonType::string) {
      return fields.fail(item, name, fmt::format("expected a list of strings, found {}", describe(item.type)));
    }
    list.push_back(item.text);
  }
  return list;
}

Result<std::optional<int>> read_priority_field(std::string_view text, const JsonFields& fields) {
  constexpr std::string_view kName = "priority";
  const Json* const value = fields.optional(kName);
  if (value == nullptr) return std::nullopt;
  if (value->type == JsonType::string) {
    const auto* const named = std::ranges::find(kPriorityNames, value->text);
    if (named == kPriorityNames.end()) {
      return fields.fail(
          *value, kName,
          fmt::format("{} is none of critical, high, medium, low, bulk, or 1 to 5", quoted(value->text)));
    }
    return kPriorityMin + static_cast<int>(named - kPriorityNames.begin());
  }
  TRY_ASSIGN(const std::int64_t number,
             JsonFields::integer_of(text, *value, fields.path_of(kName), {kPriorityMin, kPriorityMax}));
  return static_cast<int>(number);
}

std::string read_payload_field(std::string_view text, const JsonFields& fields) {
  const Json* const value = fields.optional("payload");
  return value == nullptr ? "null" : std::string(json_slice(text, *value));
}

Result<ReadOptions> read_option_fields(std::string_view text, const JsonFields& fields) {
  ReadOptions read;
  auto& [options, said] = read;
  const Json* const attempts = fields.optional("max_attempts");
  if (attempts != nullptr) {
    TRY_ASSIGN(options.max_attempts, read_max_attempts(text, *attempts, fields.path_of("max_attempts")));
    said.max_attempts = true;
  }
  if (const Json* const retry = fields.optional("retry")) {
    TRY_ASSIGN(RetryJson given, read_retry_json(text, *retry, fields.path_of("retry")));
    options.retry = std::move(given.policy);
    if (given.max_attempts) {
      if (said.max_attempts) {
        return fields.fail(*attempts, "max_attempts", "is said twice: here, and in retry");
      }
      options.max_attempts = given.max_attempts;
      said.max_attempts = true;
    }
  }
  TRY_ASSIGN(const auto timeout, read_duration_field(text, fields, "timeout"));
  options.timeout = timeout.value_or(kTimeoutDefault);
  said.timeout = timeout.has_value();
  TRY_ASSIGN(const auto lease, read_duration_field(text, fields, "lease"));
  options.lease = lease.value_or(kLeaseDefault);
  said.lease = lease.has_value();
  TRY_ASSIGN(options.limits, read_texts_field(fields, "limits"));
  TRY_ASSIGN(options.notifies, read_flag_field(fields, "notifies", false));
  TRY_ASSIGN(const Json* const ambiguous, fields.optional("on_ambiguous", JsonType::string));
  if (ambiguous != nullptr) {
    if (ambiguous->text != "retry" && ambiguous->text != "hold") {
      return fields.fail(*ambiguous, "on_ambiguous", fmt::format("{} is none of retry, hold", quoted(ambiguous->text)));
    }
    options.on_ambiguous = ambiguous->text == "hold" ? OnAmbiguous::hold : OnAmbiguous::retry;
  }
  TRY_ASSIGN(options.tags, read_texts_field(fields, "tags"));
  TRY_ASSIGN(const Json* const meta, fields.optional("meta", JsonType::object));
  if (meta != nullptr) options.meta = json_slice(text, *meta);
  return read;
}

void write_option_fields(JsonObject& object, const JobOptions& options, const SaidOptions& said) {
  const JobOptions standard;
  if (options.retry) object.raw("retry", format_retry_json(*options.retry));
  if (options.max_attempts && (said.max_attempts || options.max_attempts != standard.max_attempts)) {
    object.integer("max_attempts", *options.max_attempts);
  }
  if (said.timeout || options.timeout != standard.timeout) object.text("timeout", format_duration(options.timeout));
  if (said.lease || options.lease != standard.lease) object.text("lease", format_duration(options.lease));
  if (!options.limits.empty()) object.raw("limits", texts(options.limits).str());
  if (options.notifies) object.boolean("notifies", true);
  if (options.on_ambiguous == OnAmbiguous::hold) object.text("on_ambiguous", "hold");
  if (!options.tags.empty()) object.raw("tags", texts(options.tags).str());
  if (!options.meta.empty()) object.raw("meta", options.meta);
}

}  // namespace carillon
