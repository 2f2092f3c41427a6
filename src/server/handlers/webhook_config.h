// What a handler without code is told: webhooks by their tenants (PUT /handlers/{type}), exec and email only by the
// operator's configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/time/duration.h"
#include "core/time/instant.h"
#include "net/address_guard.h"
#include "server/handlers/signing_secrets.h"

namespace carillon::server {

inline constexpr Duration kWebhookTimeoutMax = std::chrono::hours(1);

struct WebhookConfig {
  std::string url;
  SigningSecrets signing;
  std::vector<std::string> limits;  // names; jobs of the type take them besides their own
  std::optional<Duration> timeout;  // of one call; nothing: the job's
};

// The body of PUT /handlers/{type}. No secret: the caller makes one, or keeps the one there is. Errors:
// invalid_request, invalid_configuration (a URL that cannot work or is blocked).
Result<WebhookConfig> parse_webhook(std::string_view text, const AddressGuard& guard);

// What replaces `before`: a changed secret leaves the old one valid for kSecretOverlap; without a new one the old
// stays, and where there is none one is made.
WebhookConfig replaced(const std::optional<WebhookConfig>& before, WebhookConfig now_given, Instant now);

// For whoever may look at a URL but not set it: values of its query, a user and a fragment are hidden, as each may be a
// secret. https://example.com/hook?token=***
std::string masked_url(std::string_view url);

// As GET answers: without secrets. Whole: to those who may set it.
enum class UrlShown : std::uint8_t { masked, whole };
std::string write_webhook(const WebhookConfig& config, UrlShown shown = UrlShown::whole);
// As PUT answers when it has made the secret.
std::string write_webhook_with_secret(const WebhookConfig& config);

// As it is kept, with all secrets; and back.
std::string write_stored_webhook(const WebhookConfig& config);
Result<WebhookConfig> read_stored_webhook(std::string_view text);

// What one call needs.
struct WebhookTarget {
  std::string url;
  std::vector<std::string> secrets;  // the newest first
  std::optional<Duration> timeout;
};

WebhookTarget target_of(const WebhookConfig& config, Instant now);

inline constexpr std::uint64_t kExecMemoryDefault = std::uint64_t{4} << 30;

struct ExecConfig {
  std::vector<std::string> argv;  // the program by its full path, then its arguments, never changed
  std::string cwd = "/";
  std::map<std::string, std::string> environment;  // besides what every command gets
  std::optional<Duration> timeout;                 // nothing: the job's
  Duration grace = std::chrono::seconds(5);        // between SIGTERM and SIGKILL
  std::string user;                                // to run as; "": ours. Only root can change it
  bool allow_root = false;                         // else nothing runs with root's rights
  std::optional<std::uint64_t> memory_bytes_max;   // of addresses; nothing: data of kExecMemoryDefault
  std::optional<std::uint64_t> cpu_seconds_max;    // nothing: its timeout ends it
  std::uint64_t file_bytes_max = std::uint64_t{16} << 30;
  std::uint64_t open_files_max = 1024;
  std::uint64_t processes_max = 4096;  // of its user, all counted
};

}  // namespace carillon::server
