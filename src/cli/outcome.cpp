#include "cli/outcome.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>

#include "base/check.h"
#include "base/utf8.h"
#include "cli/terminal.h"

namespace carillon {

namespace {

// `text` with `instead` for every character that a terminal obeys, and for bytes that are none.
template <typename Instead>
std::string without_acting(std::string_view text, Instead instead) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character decoded = first_character(text);
    if (decoded.valid && !acts_on_terminal(decoded.code)) {
      out += text.substr(0, decoded.bytes);
    } else {
      out += instead(decoded.valid ? decoded.code : U'?');
    }
    text.remove_prefix(decoded.bytes);
  }
  return out;
}

// Below that our own line ends and colours stay; JSON has escaped its own.
std::string spelled_out(char32_t code) {
  constexpr char32_t kDelete = 0x7F;
  if (code < kDelete) return {static_cast<char>(code)};
  return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
}

}  // namespace

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
    case ErrorCode::scheduler_disabled:
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

ExitCode complain(const std::string& message, ExitCode code) {
  // One line, whatever the message holds.
  fmt::print(stderr, "carillon: {}\n", without_acting(message, [](char32_t) { return std::string(" "); }));
  return code;
}

ExitCode print(std::string_view given) {
  // JSON comes as the server sent it, and tables have colours of ours: what else a terminal would obey is spelled out.
  const std::string spelled = stdout_is_terminal() ? without_acting(given, spelled_out) : std::string();
  const std::string_view text = spelled.empty() ? given : std::string_view(spelled);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? ExitCode::done : complain("cannot write to standard output", ExitCode::failed);
}

ExitCode finish(const CliResult<Printout>& result) {
  if (!result) return complain(result.error().message, result.error().code);
  const ExitCode printed = print(result->text);
  return printed == ExitCode::done ? result->code : printed;
}

}  // namespace carillon
