// Errors as values: what the world can cause is returned, never thrown.
//
//   const Result<Instant> at = parse_instant(text);
//   if (!at) std::cerr << at.error().message << '\n';
//
// Callers branch on the code. The message is one line for a person: what was attempted, on what, what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

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
  scheduler_disabled,     // nothing is started now: `enabled` is false. Jobs are still taken
  unavailable,            // the machine refused: a file that cannot be read, a store that cannot be reached
  store_full,             // no space for a write; what is stored can be read
  database_error,         // the store is damaged, or does not do what it must
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::invalid_request;
  std::string message;
  std::optional<std::size_t> column;  // of the offending character in the text that was parsed, counted from 1
  std::optional<std::size_t> line;    // the same, of a text of several lines
  std::string field;                  // what is wrong of what was given, as "jobs[3].type"; empty: no one field
  std::string details;                // a JSON object of what else is known, for programs; empty: nothing
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace carillon
