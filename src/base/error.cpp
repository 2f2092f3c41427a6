#include "base/error.h"

#include <fmt/format.h>

#include "base/check.h"

namespace carillon {

namespace {
constexpr std::size_t kQuotedBytesMax = 80;
}

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_request: return "invalid_request";
    case ErrorCode::invalid_configuration: return "invalid_configuration";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::job_already_running: return "job_already_running";
    case ErrorCode::idempotency_conflict: return "idempotency_conflict";
    case ErrorCode::stale_token: return "stale_token";
    case ErrorCode::dependency_not_met: return "dependency_not_met";
    case ErrorCode::scheduler_disabled: return "scheduler_disabled";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::store_full: return "store_full";
    case ErrorCode::database_error: return "database_error";
  }
  UNREACHABLE();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size() && i < kQuotedBytesMax; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (byte == '"' || byte == '\\') out += '\\';
      out += text[i];
    }
  }
  if (text.size() > kQuotedBytesMax) out += "…";
  return out + '"';
}

std::unexpected<Error> invalid_request(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::invalid_request, .message = std::move(message)});
}

std::unexpected<Error> invalid_configuration(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::invalid_configuration, .message = std::move(message)});
}

std::unexpected<Error> invalid_field(std::string_view field, std::string message) {
  return std::unexpected(
      Error{.code = ErrorCode::invalid_request, .message = std::move(message), .field = std::string(field)});
}

std::unexpected<Error> failed(ErrorCode code, std::string message) {
  return std::unexpected(Error{.code = code, .message = std::move(message)});
}

Error with_context(std::string_view context, Error error) {
  error.message = fmt::format("{}: {}", context, error.message);
  return error;
}

Error about_field(std::string_view field, Error error) {
  if (error.field.empty()) error.field = field;
  return error;
}

}  // namespace carillon
