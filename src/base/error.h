// Errors as values: what the world can cause is returned, never thrown.
//
//   Result<Zone> load_zone(std::string_view name);
//
//   Result<Plan> plan(std::string_view zone_name) {
//     TRY_ASSIGN(const Zone zone, load_zone(zone_name));   // returns the error to our own caller
//     ...
//   }
//
// Callers branch on the code. The message is one line for a person: what was attempted, on what, what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace carillon {

enum class ErrorCode : std::uint8_t {
  invalid_request,        // cannot be read as the documented shape: syntax, type, range, unknown field
  invalid_configuration,  // readable, but cannot work: a rule that never fires, an unknown zone
  not_found,              // a file or a thing that is named does not exist
  conflict,               // the thing is in a state that does not allow this, or was changed meanwhile
  job_already_running,    // the same, because a worker has it
  idempotency_conflict,   // the key is held by a job with another payload
  stale_token,            // the lease is no longer the caller's
  dependency_not_met,     // a job that was named to wait for does not exist
  unavailable,            // the machine refused: a file that cannot be read, a store that cannot be reached
  store_full,             // no space for a write; what is stored can be read
  database_error,         // the store is damaged, or does not do what it must
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::invalid_request;
  std::string message;
  std::optional<std::size_t> column;  // of the offending character in the text that was parsed, counted from 1
};

template <typename T>
using Result = std::expected<T, Error>;

// The text in quotes, shortened and with control characters escaped, for use in a message.
std::string quoted(std::string_view text);

std::unexpected<Error> invalid_request(std::string message);
std::unexpected<Error> invalid_configuration(std::string message);
std::unexpected<Error> failed(ErrorCode code, std::string message);

// The same error, its message preceded by `context` and ": ".
Error with_context(std::string_view context, Error error);

}  // namespace carillon

#define CARILLON_CONCAT_INNER(a, b) a##b
#define CARILLON_CONCAT(a, b) CARILLON_CONCAT_INNER(a, b)

#define TRY(expression)                                      \
  do {                                                       \
    if (auto try_result = (expression); !try_result) {       \
      return std::unexpected(std::move(try_result).error()); \
    }                                                        \
  } while (false)

#define TRY_ASSIGN(declaration, expression) \
  TRY_ASSIGN_INNER(CARILLON_CONCAT(try_result_, __LINE__), declaration, expression)

#define TRY_ASSIGN_INNER(result, declaration, expression)         \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
