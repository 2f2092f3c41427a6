#include "server/handlers/signature.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/base64.h"
#include "base/check.h"

namespace carillon::server {

namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::string_view kVersion = "v1,";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretBytesMin = 24;
constexpr std::size_t kSecretBytesMax = 64;
constexpr std::size_t kSignaturesMax = 16;  // looked at in one header

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());  // NOLINT(*-reinterpret-cast): OpenSSL's byte
}

std::optional<std::string> key_of(std::string_view secret) {
  if (!secret.starts_with(kSecretPrefix)) return std::nullopt;
  auto key = from_base64(secret.substr(kSecretPrefix.size()));
  if (!key || key->size() < kSecretBytesMin || key->size() > kSecretBytesMax) return std::nullopt;
  return key;
}

std::string signature_by(std::string_view key, const SignedMessage& message) {
  const std::string content = fmt::format("{}.{}.{}", message.id, message.timestamp, message.body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(content), content.size(), digest.data(),
             &size) != nullptr);
  std::string bytes(digest.begin(), digest.begin() + size);
  return std::string(kVersion) + base64(bytes);
}

}  // namespace

std::string make_secret() {
  std::array<unsigned char, kSecretBytes> random{};
  CHECK(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1);
  return std::string(kSecretPrefix) + base64(std::string(random.begin(), random.end()));
}

Result<void> check_secret(std::string_view secret) {
  // Never shown, not even in part.
  if (!key_of(secret)) {
    return invalid_field("secret",
                         fmt::format("the secret of a webhook must be \"whsec_\" and the Base64 of {} to {} bytes",
                                     kSecretBytesMin, kSecretBytesMax));
  }
  return {};
}

std::string sign(std::span<const std::string> secrets, const SignedMessage& message) {
  std::string header;
  for (const std::string& secret : secrets) {
    const auto key = key_of(secret);
    CHECK(key);
    if (!header.empty()) header += ' ';
    header += signature_by(*key, message);
  }
  return header;
}

Result<void> verify(std::span<const std::string> secrets, const SignatureHeaders& headers, std::string_view body,
                    Instant now) {
  if (headers.id.empty() || headers.timestamp.empty() || headers.signature.empty()) {
    return invalid_request("a signed call needs the headers webhook-id, webhook-timestamp and webhook-signature");
  }
  std::int64_t timestamp = 0;
  const char* const end = headers.timestamp.end();
  const auto [stopped, error] = std::from_chars(headers.timestamp.begin(), end, timestamp);
  if (error != std::errc{} || stopped != end || timestamp < 0) {
    return invalid_request(fmt::format("webhook-timestamp must be Unix seconds, not {}", quoted(headers.timestamp)));
  }
  const std::int64_t age = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count() - timestamp;
  const std::int64_t most = std::chrono::duration_cast<std::chrono::seconds>(kSignatureAgeMax).count();
  if (age > most || age < -most) {
    return invalid_request(
        fmt::format("webhook-timestamp must be within {} of the time here", format_duration(kSignatureAgeMax)));
  }

  bool good = false;
  std::string_view rest = headers.signature;
  for (std::size_t i = 0; i < kSignaturesMax && !rest.empty(); ++i) {
    const std::size_t space = rest.find(' ');
    const std::string_view given = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    for (const std::string& secret : secrets) {
      const auto key = key_of(secret);
      if (!key) continue;
      const std::string wanted = signature_by(*key, {.id = headers.id, .timestamp = timestamp, .body = body});
      good |= given.size() == wanted.size() && CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) == 0;
    }
  }
  if (!good) return invalid_request("webhook-signature is not that of a secret of this hook");
  return {};
}

}  // namespace carillon::server
