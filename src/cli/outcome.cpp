#include "cli/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/check.h"

namespace carillon {

ExitCode exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_request:
    case ErrorCode::invalid_configuration: return ExitCode::usage;
    case ErrorCode::not_found: return ExitCode::not_found;
    case ErrorCode::conflict:
    case ErrorCode::job_already_running:
    case ErrorCode::idempotency_conflict:
    case ErrorCode::stale_token: return ExitCode::conflict;
    case ErrorCode::dependency_not_met:
    case ErrorCode::unavailable:
    case ErrorCode::store_full:
    case ErrorCode::database_error: return ExitCode::failed;
  }
  UNREACHABLE();
}

std::unexpected<CliError> cli_error(ExitCode code, std::string message) {
  return std::unexpected(CliError{.code = code, .message = std::move(message)});
}

CliError cli_error(const Error& error) { return {.code = exit_code(error.code), .message = error.message}; }

ExitCode complain(std::string message, ExitCode code) {
  // One line, whatever the message holds.
  std::ranges::replace_if(message, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  fmt::print(stderr, "carillon: {}\n", message);
  return code;
}

ExitCode print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? ExitCode::done : complain("cannot write to standard output", ExitCode::failed);
}

ExitCode finish(const CliResult<Printout>& result) {
  if (!result) return complain(result.error().message, result.error().code);
  const ExitCode printed = print(result->text);
  return printed == ExitCode::done ? result->code : printed;
}

}  // namespace carillon
