// The secret that signs, and for a while after a change the one before it: nobody has to change both ends at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/instant.h"

namespace carillon::server {

// For so long after a change the secret before it is good as well.
inline constexpr Duration kSecretOverlap = std::chrono::hours(24);

struct SigningSecrets {
  std::string secret;           // whsec_…
  std::string previous_secret;  // "": none
  std::optional<Instant> previous_until;
};

// What replaces `before` when `secret` is given; "": the one there is stays.
SigningSecrets replaced(const SigningSecrets& before, std::string secret, Instant now);

// The newest first.
std::vector<std::string> valid_at(const SigningSecrets& secrets, Instant now);

inline constexpr auto kSecretField = field_names("secret");
inline constexpr auto kSecretFields = field_names("secret", "previous_secret", "previous_until");

// As they are kept: the fields secret, previous_secret, previous_until; and back. Without a secret it is "".
void write_secret_fields(JsonObject& object, const SigningSecrets& secrets);
Result<SigningSecrets> read_secret_fields(std::string_view text, const JsonFields& fields);
// The secret alone, as a user gives it; "" if he does not.
Result<std::string> read_secret_field(const JsonFields& fields);

}  // namespace carillon::server
