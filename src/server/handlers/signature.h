// Standard Webhooks: who receives a call can tell that it is ours, whole and fresh.
//
//   webhook-signature: v1,BASE64(HMAC-SHA256(secret, id.timestamp.body))
//
// A secret is whsec_BASE64. While one is replaced, the header carries a signature by each, separated by a space.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/time/instant.h"

namespace carillon::server {

inline constexpr Duration kSignatureAgeMax = std::chrono::minutes(5);  // either way: clocks differ

struct SignedMessage {
  std::string_view id;
  std::int64_t timestamp = 0;  // Unix seconds
  std::string_view body;
};

// A new one, of 32 random bytes.
std::string make_secret();

// Refuses what is not whsec_ and the Base64 of 24 to 64 bytes.
Result<void> check_secret(std::string_view secret);

// The value of webhook-signature: one signature a secret, in their order. The secrets were checked.
std::string sign(std::span<const std::string> secrets, const SignedMessage& message);

// The headers of a call that came in, as they were sent.
struct SignatureHeaders {
  std::string_view id;
  std::string_view timestamp;
  std::string_view signature;
};

// Whether one of the secrets signed it, not longer ago than `kSignatureAgeMax`. Compares in constant time.
Result<void> verify(std::span<const std::string> secrets, const SignatureHeaders& headers, std::string_view body,
                    Instant now);

}  // namespace carillon::server
