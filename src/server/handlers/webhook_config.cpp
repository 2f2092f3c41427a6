#include "server/handlers/webhook_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "server/handlers/signature.h"

namespace carillon::server {

namespace {

constexpr std::string_view kName = "handler";
constexpr auto kFields = field_names("kind", "url", "limits", "timeout");
constexpr auto kGivenFields = joined_fields(kFields, kSecretField);
constexpr auto kStoredFields = joined_fields(kFields, kSecretFields);

// What the document and its stored form share.
Result<WebhookConfig> read_fields(std::string_view text, const JsonFields& fields) {
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
  TRY_ASSIGN(const Json root, parse_json_object(text));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, root, "", kGivenFields));
  TRY_ASSIGN(WebhookConfig config, read_fields(text, fields));
  TRY_ASSIGN(config.signing.secret, read_secret_field(fields));
  if (auto checked = guard.check_url(config.url); !checked) {
    return std::unexpected(about_field("url", std::move(checked).error()));
  }
  return config;
}

WebhookConfig replaced(const std::optional<WebhookConfig>& before, WebhookConfig now_given, Instant now) {
  std::string& given = now_given.signing.secret;
  if (before) {
    now_given.signing = replaced(before->signing, std::move(given), now);
  } else if (given.empty()) {
    given = make_secret();
  }
  return now_given;
}

std::string masked_url(std::string_view url) {
  constexpr std::string_view kHidden = "***";
  std::string out;
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    out = url.substr(0, scheme + 3);
    url.remove_prefix(scheme + 3);
  }
  const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
  std::string_view host = url.substr(0, end);
  url.remove_prefix(end);
  if (const std::size_t user = host.rfind('@'); user != std::string_view::npos) {
    out += kHidden;
    host.remove_prefix(user);
  }
  out += host;
  const std::size_t path = std::min(url.find_first_of("?#"), url.size());
  out += url.substr(0, path);
  url.remove_prefix(path);
  for (std::size_t at = 0; at < url.size();) {
    out += url[at];
    const std::size_t next = std::min(url.find_first_of("&=#", at + 1), url.size());
    const bool is_name = url[at] != '=' && url[at] != '#' && next < url.size() && url[next] == '=';
    if (is_name) {
      out += url.substr(at + 1, next - at - 1);
    } else if (next > at + 1) {
      out += kHidden;
    }
    at = next;
  }
  return out;
}

std::string write_webhook(const WebhookConfig& config, UrlShown shown) {
  if (shown == UrlShown::whole) return public_fields(config).str();
  WebhookConfig masked = config;
  masked.url = masked_url(config.url);
  return public_fields(masked).str();
}

std::string write_webhook_with_secret(const WebhookConfig& config) {
  JsonObject object = public_fields(config);
  object.text("secret", config.signing.secret);
  return object.str();
}

std::string write_stored_webhook(const WebhookConfig& config) {
  JsonObject object = public_fields(config);
  write_secret_fields(object, config.signing);
  return object.str();
}

Result<WebhookConfig> read_stored_webhook(std::string_view text) {
  TRY_ASSIGN(const Json root, parse_json_object(text, kName));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, root, std::string(kName), kStoredFields));
  TRY_ASSIGN(WebhookConfig config, read_fields(text, fields));
  TRY_ASSIGN(config.signing, read_secret_fields(text, fields));
  return config;
}

WebhookTarget target_of(const WebhookConfig& config, Instant now) {
  return {.url = config.url, .secrets = valid_at(config.signing, now), .timeout = config.timeout};
}

}  // namespace carillon::server
