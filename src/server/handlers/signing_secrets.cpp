#include "server/handlers/signing_secrets.h"

#include <utility>

#include "core/jobs/job_fields.h"
#include "server/handlers/signature.h"

namespace carillon::server {

namespace {

Result<std::string> read_secret(const JsonFields& fields, std::string_view name) {
  TRY_ASSIGN(const Json* const value, fields.optional(name, JsonType::string));
  if (value == nullptr) return std::string();
  TRY(check_secret(value->text));
  return value->text;
}

}  // namespace

SigningSecrets replaced(const SigningSecrets& before, std::string secret, Instant now) {
  if (secret.empty() || secret == before.secret) return before;
  return {.secret = std::move(secret),
          .previous_secret = before.secret,
          .previous_until = add_clamped(now, kSecretOverlap)};
}

std::vector<std::string> valid_at(const SigningSecrets& secrets, Instant now) {
  std::vector<std::string> valid{secrets.secret};
  if (!secrets.previous_secret.empty() && secrets.previous_until && now < *secrets.previous_until) {
    valid.push_back(secrets.previous_secret);
  }
  return valid;
}

void write_secret_fields(JsonObject& object, const SigningSecrets& secrets) {
  object.text("secret", secrets.secret);
  if (!secrets.previous_until) return;
  object.text("previous_secret", secrets.previous_secret);
  object.text("previous_until", format_instant(*secrets.previous_until));
}

Result<std::string> read_secret_field(const JsonFields& fields) { return read_secret(fields, "secret"); }

Result<SigningSecrets> read_secret_fields(std::string_view text, const JsonFields& fields) {
  SigningSecrets secrets;
  TRY_ASSIGN(secrets.secret, read_secret(fields, "secret"));
  TRY_ASSIGN(secrets.previous_secret, read_secret(fields, "previous_secret"));
  TRY_ASSIGN(secrets.previous_until, read_instant_field(text, fields, "previous_until"));
  return secrets;
}

}  // namespace carillon::server
