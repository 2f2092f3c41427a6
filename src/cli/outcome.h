// How a command ends: what it prints, and the exit code.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace carillon {

// Exit codes, the same for every command.
enum class ExitCode : int { done = 0, failed = 1, usage = 2, not_found = 3, conflict = 4, unreachable = 5 };

ExitCode exit_code(ErrorCode code);

struct CliError {
  ExitCode code = ExitCode::failed;
  std::string message;
};

template <typename T>
using CliResult = std::expected<T, CliError>;

std::unexpected<CliError> cli_error(ExitCode code, std::string message);
CliError cli_error(const Error& error);

template <typename T>
CliResult<T> as_cli(Result<T> result) {
  if (!result) return std::unexpected(cli_error(result.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

// What a command prints on standard output.
struct Printout {
  std::string text;
  ExitCode code = ExitCode::done;
};

// Prints the text, or one line to standard error.
ExitCode finish(const CliResult<Printout>& result);
ExitCode print(std::string_view given);
ExitCode complain(const std::string& message, ExitCode code);

}  // namespace carillon
