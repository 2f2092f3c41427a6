#include "server/api/hook_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_pointer.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "core/triggers/trigger.h"

namespace carillon::server {

namespace {

constexpr std::size_t kPointerBytesMax = 1000;
constexpr auto kHookFields = field_names("schedule", "subject", "expected_at", "priority");
constexpr auto kGivenHookFields = joined_fields(kHookFields, kSecretField);
constexpr auto kStoredHookFields = joined_fields(kHookFields, kSecretFields);

Result<void> check_pointer(std::string_view name, const std::string& pointer) {
  if (pointer.size() > kPointerBytesMax) {
    return invalid_field(name, fmt::format("{} may have {} bytes, not {}", name, kPointerBytesMax, pointer.size()));
  }
  auto parsed = JsonPointer::parse(pointer);
  if (!parsed) return std::unexpected(about_field(name, with_context(name, std::move(parsed).error())));
  return {};
}

// What the document and its stored form share.
Result<HookConfig> read_fields(std::string_view text, const JsonFields& fields) {
  HookConfig hook;
  TRY_ASSIGN(hook.schedule, fields.string("schedule"));
  TRY(check_name("schedule", hook.schedule));
  TRY_ASSIGN(hook.subject, read_text_field(fields, "subject"));
  if (hook.subject) TRY(check_pointer("subject", *hook.subject));
  TRY_ASSIGN(hook.expected_at, read_text_field(fields, "expected_at"));
  if (hook.expected_at) TRY(check_pointer("expected_at", *hook.expected_at));
  TRY_ASSIGN(hook.priority, read_priority_field(text, fields));
  return hook;
}

JsonObject public_fields(const HookConfig& hook) {
  JsonObject object;
  object.text("schedule", hook.schedule);
  object.raw("subject", hook.subject ? json_string(*hook.subject) : "null");
  object.raw("expected_at", hook.expected_at ? json_string(*hook.expected_at) : "null");
  object.raw("priority", hook.priority ? std::to_string(*hook.priority) : "null");
  return object;
}

const Json* find(const Json& body, const std::string& pointer) {
  const auto parsed = JsonPointer::parse(pointer);
  const Json* const found = parsed ? parsed->find(body) : nullptr;
  return found == nullptr || found->type == JsonType::null ? nullptr : found;
}

std::unexpected<Error> nothing_there(std::string_view what, const std::string& pointer) {
  return invalid_request(fmt::format("the push has nothing at {}, where this hook expects {}", quoted(pointer), what));
}

bool is_whole(const std::string& number) {
  return std::ranges::all_of(number, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

Result<std::string> read_subject_at(const std::string& pointer, std::string_view body, const Json& root) {
  const Json* const subject = find(root, pointer);
  if (subject == nullptr) return nothing_there("a subject", pointer);
  const bool is_number = subject->type == JsonType::number && is_whole(subject->text);
  if (subject->type != JsonType::string && !is_number) {
    return json_error(body, subject->offset, pointer, "a subject must be a text or a whole number");
  }
  if (subject->text.size() > kKeyBytesMax) {
    return json_error(body, subject->offset, pointer, fmt::format("a subject may have {} bytes", kKeyBytesMax));
  }
  return subject->text;
}

}  // namespace

Result<HookConfig> parse_hook(std::string_view text) {
  TRY_ASSIGN(const Json root, parse_json_object(text));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, root, "", kGivenHookFields));
  TRY_ASSIGN(HookConfig hook, read_fields(text, fields));
  TRY_ASSIGN(hook.signing.secret, read_secret_field(fields));
  if (hook.signing.secret.empty()) return fields.missing("secret", "whsec_ and Base64, the sender's");
  return hook;
}

Result<void> check_hook(const HookConfig& hook, const Schedule& schedule) {
  if (traits_of(schedule).has_windows) {
    auto useless =
        invalid_configuration(fmt::format("schedule {} is of the kind {}: a push does not say which window to run",
                                          quoted(schedule.name), kind_of(schedule.trigger).name));
    return std::unexpected(about_field("schedule", std::move(useless).error()));
  }
  if (schedule.fan_out && !hook.subject) {
    auto unclear = invalid_configuration(
        fmt::format("schedule {} has subjects: say by a JSON pointer where a push names the one it is about",
                    quoted(schedule.name)));
    return std::unexpected(about_field("subject", std::move(unclear).error()));
  }
  if (!hook.expected_at || traits_of(schedule).has_expected_time) return {};
  auto useless = invalid_configuration(
      fmt::format("schedule {} is not {}: it has no use for expected_at", quoted(schedule.name),
                  kinds_where([](const TriggerKind& kind) { return kind.traits.has_expected_time; })));
  return std::unexpected(about_field("expected_at", std::move(useless).error()));
}

std::vector<std::string> warnings_of(const HookConfig& hook, const Schedule& schedule) {
  if (!hook.subject || schedule.fan_out) return {};
  return {fmt::format("schedule {} has no fan_out: subject chooses nothing, and is only kept in meta.hook.subject",
                      quoted(schedule.name))};
}

std::string write_hook(const HookConfig& hook) { return public_fields(hook).str(); }

std::string write_hook(const HookConfig& hook, const std::vector<std::string>& warnings) {
  JsonArray list;
  for (const std::string& warning : warnings) list.raw(json_string(warning));
  JsonObject object = public_fields(hook);
  object.raw("warnings", list.str());
  return object.str();
}

std::string write_stored_hook(const HookConfig& hook) {
  JsonObject object = public_fields(hook);
  write_secret_fields(object, hook.signing);
  return object.str();
}

Result<HookConfig> read_stored_hook(std::string_view text) {
  TRY_ASSIGN(const Json root, parse_json_object(text, kHookKind));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, root, std::string(kHookKind), kStoredHookFields));
  TRY_ASSIGN(HookConfig hook, read_fields(text, fields));
  TRY_ASSIGN(hook.signing, read_secret_fields(text, fields));
  return hook;
}

Result<HookPush> read_push(const HookConfig& hook, std::string_view body) {
  TRY_ASSIGN(const Json root, parse_json(body));
  HookPush push;
  if (hook.subject) {
    TRY_ASSIGN(push.subject, read_subject_at(*hook.subject, body, root));
  }
  if (!hook.expected_at) return push;
  const Json* const expected = find(root, *hook.expected_at);
  if (expected == nullptr) return push;
  TRY_ASSIGN(push.expected_at, read_json_instant(body, *expected, *hook.expected_at));
  return push;
}

}  // namespace carillon::server
