#include "server/handlers/webhook_config.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/job.h"
#include "core/job_fields.h"
#include "server/handlers/signature.h"

namespace carillon::server {

namespace {

constexpr std::string_view kName = "handler";

Result<Json> parse_object(std::string_view text) {
  TRY_ASSIGN(Json root, parse_json(text));
  if (root.type != JsonType::object) {
    return json_error(text, root.offset, kName, fmt::format("expected an object, found {}", describe(root.type)));
  }
  return root;
}

Result<std::string> optional_text(JsonFields& fields, std::string_view name) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  return value == nullptr ? std::string() : value->text;
}

// What the document and its stored form share.
Result<WebhookConfig> read_fields(std::string_view text, JsonFields& fields) {
  TRY_ASSIGN(const std::string kind, fields.string("kind"));
  if (kind != "webhook") {
    auto other = invalid_configuration(fmt::format(
        "a handler of kind {} cannot be set here: \"webhook\" can; exec and email are the operator's, in the "
        "configuration file",
        quoted(kind)));
    return std::unexpected(about_field("kind", std::move(other).error()));
  }
  WebhookConfig config;
  TRY_ASSIGN(config.url, fields.string("url"));
  TRY_ASSIGN(config.secret, optional_text(fields, "secret"));
  if (!config.secret.empty()) TRY(check_secret(config.secret));
  TRY_ASSIGN(config.limits, read_texts_field(fields, "limits"));
  if (config.limits.size() > kLimitsMax) {
    return invalid_field("limits", fmt::format("limits may name {} limits, not {}", kLimitsMax, config.limits.size()));
  }
  for (const std::string& limit : config.limits) TRY(check_name("limits", limit));
  TRY_ASSIGN(config.timeout, read_duration_field(text, fields, "timeout"));
  if (config.timeout && (*config.timeout < std::chrono::seconds(1) || *config.timeout > kWebhookTimeoutMax)) {
    return invalid_field("timeout", fmt::format("timeout must be 1s to {}, not {}", format_duration(kWebhookTimeoutMax),
                                                format_duration(*config.timeout)));
  }
  return config;
}

JsonObject public_fields(const WebhookConfig& config) {
  JsonObject object;
  object.text("kind", "webhook").text("url", config.url);
  JsonArray limits;
  for (const std::string& limit : config.limits) limits.raw(json_string(limit));
  object.raw("limits", limits.str());
  if (config.timeout) {
    object.text("timeout", format_duration(*config.timeout));
  } else {
    object.raw("timeout", "null");
  }
  return object;
}

}  // namespace

Result<WebhookConfig> parse_webhook(std::string_view text, const AddressGuard& guard) {
  TRY_ASSIGN(const Json root, parse_object(text));
  JsonFields fields(text, root, "");
  TRY_ASSIGN(WebhookConfig config, read_fields(text, fields));
  TRY(fields.finish());
  if (auto checked = guard.check_url(config.url); !checked) {
    return std::unexpected(about_field("url", std::move(checked).error()));
  }
  return config;
}

WebhookConfig replaced(const std::optional<WebhookConfig>& before, WebhookConfig now_given, Instant now) {
  if (!before) {
    if (now_given.secret.empty()) now_given.secret = make_secret();
    return now_given;
  }
  if (now_given.secret.empty()) now_given.secret = before->secret;
  if (now_given.secret == before->secret) {
    now_given.previous_secret = before->previous_secret;
    now_given.previous_until = before->previous_until;
  } else {
    now_given.previous_secret = before->secret;
    now_given.previous_until = add_clamped(now, kSecretOverlap);
  }
  return now_given;
}

std::string write_webhook(const WebhookConfig& config) { return public_fields(config).str(); }

std::string write_webhook_with_secret(const WebhookConfig& config) {
  JsonObject object = public_fields(config);
  object.text("secret", config.secret);
  return object.str();
}

std::string write_stored_webhook(const WebhookConfig& config) {
  JsonObject object = public_fields(config);
  object.text("secret", config.secret);
  if (config.previous_until) {
    object.text("previous_secret", config.previous_secret);
    object.text("previous_until", format_instant(*config.previous_until));
  }
  return object.str();
}

Result<WebhookConfig> read_stored_webhook(std::string_view text) {
  TRY_ASSIGN(const Json root, parse_object(text));
  JsonFields fields(text, root, std::string(kName));
  TRY_ASSIGN(WebhookConfig config, read_fields(text, fields));
  TRY_ASSIGN(config.previous_secret, optional_text(fields, "previous_secret"));
  if (!config.previous_secret.empty()) TRY(check_secret(config.previous_secret));
  TRY_ASSIGN(const std::string until, optional_text(fields, "previous_until"));
  if (!until.empty()) {
    TRY_ASSIGN(config.previous_until, parse_instant(until));
  }
  TRY(fields.finish());
  return config;
}

WebhookTarget target_of(const WebhookConfig& config, Instant now) {
  WebhookTarget target{.url = config.url, .secrets = {config.secret}, .timeout = config.timeout};
  if (!config.previous_secret.empty() && config.previous_until && now < *config.previous_until) {
    target.secrets.push_back(config.previous_secret);
  }
  return target;
}

}  // namespace carillon::server
