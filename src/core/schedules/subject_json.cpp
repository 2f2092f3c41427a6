#include <fmt/format.h>

#include "base/check.h"
#include "base/json_writer.h"
#include "core/jobs/job_fields.h"
#include "core/schedules/subject.h"

namespace carillon {

namespace {

constexpr auto kSubjectFields = field_names("enabled", "due", "timezone", "start", "interval", "mode", "priority",
                                            "limits", "payload", "expected_at", "cursor_end");
constexpr auto kPutFields = joined_fields(kSubjectFields, field_names("trigger"));
constexpr auto kLineFields = joined_fields(field_names("subject"), kSubjectFields);

// Reads a member into `into`: absent, it stays; null takes it away.
template <typename T, typename Read>
Result<void> read_member(const JsonFields& fields, std::string_view name, std::optional<T>& into, Read read) {
  if (!fields.has(name)) return {};
  into.reset();
  const Json* const value = fields.optional(name);
  if (value == nullptr) return {};
  TRY_ASSIGN(into, read(*value));
  return {};
}

// A string that `parse` understands.
template <typename Parse>
auto text_member(const JsonFields& fields, std::string_view name, Parse parse) {
  return [&fields, name, parse](const Json& value) -> decltype(parse(std::string_view())) {
    if (value.type != JsonType::string) {
      return fields.fail(value, name, fmt::format("expected a string, found {}", describe(value.type)));
    }
    auto parsed = parse(std::string_view(value.text));
    if (!parsed) {
      const bool cannot = parsed.error().code == ErrorCode::invalid_configuration;
      auto refusal = fields.fail(value, name, parsed.error().message);
      return cannot ? cannot_work(std::move(refusal)) : std::move(refusal);
    }
    return parsed;
  };
}

Result<std::string> parse_zone_name(std::string_view name) {
  TRY(Zone::load(name));
  return std::string(name);
}

Result<std::string> parse_mode(std::string_view mode) {
  TRY(check_name("mode", mode));
  return std::string(mode);
}

Result<void> read_enabled(const JsonFields& fields, bool& enabled) {
  if (!fields.has("enabled")) return {};
  TRY_ASSIGN(enabled, read_flag_field(fields, "enabled", true));
  return {};
}

Result<void> read_overrides_of(std::string_view text, const JsonFields& fields, SubjectOverrides& overrides) {
  TRY(read_enabled(fields, overrides.enabled));
  TRY(read_member(fields, "due", overrides.due, text_member(fields, "due", parse_time_of_day)));
  TRY(read_member(fields, "timezone", overrides.timezone, text_member(fields, "timezone", parse_zone_name)));
  TRY(read_member(fields, "start", overrides.start,
                  [&](const Json& value) { return read_json_given_time(text, value, fields.path_of("start")); }));
  TRY(read_member(fields, "interval", overrides.interval,
                  [&](const Json& value) { return read_json_duration(text, value, fields.path_of("interval")); }));
  TRY(read_member(fields, "mode", overrides.mode, text_member(fields, "mode", parse_mode)));
  if (fields.has("priority")) {
    TRY_ASSIGN(overrides.priority, read_priority_field(text, fields));
  }
  TRY(read_member(fields, "limits", overrides.limits,
                  [&](const Json& /*value*/) { return read_texts_field(fields, "limits"); }));
  return read_member(fields, "payload", overrides.payload, [&](const Json& value) -> Result<std::string> {
    if (value.type != JsonType::object) {
      return fields.fail(value, "payload", fmt::format("expected an object, found {}", describe(value.type)));
    }
    return std::string(json_slice(text, value));
  });
}

enum class Form : std::uint8_t { put, patch, line };

JsonFields::Names names_of(Form form) {
  switch (form) {
    case Form::put: return kPutFields;
    case Form::patch: return kSubjectFields;
    case Form::line: return kLineFields;
  }
  UNREACHABLE();
}

Result<SubjectText> read_subject(std::string_view text, const SubjectOverrides& before, Form form) {
  TRY_ASSIGN(const Json root, parse_sent_json(text));
  if (root.type != JsonType::object) {
    return json_error(text, root.offset, "subject", fmt::format("expected an object, found {}", describe(root.type)));
  }
  SubjectText read;
  read.overrides = before;
  TRY_ASSIGN(const JsonFields fields, JsonFields::of(text, root, "", names_of(form)));
  if (form == Form::line) {
    TRY_ASSIGN(const Json* const subject, fields.required("subject", JsonType::string));
    if (const auto checked = check_subject_name(subject->text); !checked) {
      return fields.fail(*subject, "subject", checked.error().message);
    }
    read.subject = subject->text;
  }
  TRY(read_overrides_of(text, fields, read.overrides));
  if (fields.has("expected_at")) {
    TRY(read_member(fields, "expected_at", read.expected_at.emplace(),
                    [&](const Json& value) { return read_json_instant(text, value, "expected_at"); }));
  }
  TRY(read_member(fields, "cursor_end", read.cursor_end,
                  [&](const Json& value) { return read_json_instant(text, value, "cursor_end"); }));
  if (form == Form::put) {
    TRY_ASSIGN(read.trigger, read_flag_field(fields, "trigger", false));
  }
  return read;
}

void write_overrides_into(JsonObject& object, const SubjectOverrides& overrides) {
  if (!overrides.enabled) object.boolean("enabled", false);
  if (overrides.due) object.text("due", format_time_of_day(*overrides.due));
  if (overrides.timezone) object.text("timezone", *overrides.timezone);
  if (overrides.start) object.text("start", overrides.start->text());
  if (overrides.interval) object.text("interval", format_duration(*overrides.interval));
  if (overrides.mode) object.text("mode", *overrides.mode);
  if (overrides.priority) object.integer("priority", *overrides.priority);
  if (overrides.limits) {
    JsonArray limits;
    for (const std::string& limit : *overrides.limits) limits.raw(json_string(limit));
    object.raw("limits", limits.str());
  }
  if (overrides.payload) object.raw("payload", *overrides.payload);
}

}  // namespace

Result<SubjectText> parse_subject(std::string_view json) { return read_subject(json, {}, Form::put); }

Result<SubjectText> patch_subject(const SubjectOverrides& before, std::string_view json) {
  return read_subject(json, before, Form::patch);
}

Result<SubjectText> parse_subject_line(std::string_view json) { return read_subject(json, {}, Form::line); }

std::string write_overrides(const SubjectOverrides& overrides) {
  JsonObject object;
  write_overrides_into(object, overrides);
  return object.empty() ? std::string() : object.str();
}

Result<SubjectOverrides> read_overrides(std::string_view stored) {
  if (stored.empty()) return SubjectOverrides{};
  TRY_ASSIGN(SubjectText text, parse_subject(stored));
  return std::move(text.overrides);
}

std::string write_subject_line(const SubjectText& text) {
  JsonObject object;
  object.text("subject", text.subject);
  write_overrides_into(object, text.overrides);
  if (text.expected_at) {
    if (*text.expected_at) {
      object.text("expected_at", format_exact(**text.expected_at));
    } else {
      object.raw("expected_at", "null");
    }
  }
  if (text.cursor_end) object.text("cursor_end", format_exact(*text.cursor_end));
  return object.str();
}

}  // namespace carillon
