#include "cli/input.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/json.h"
#include "base/json_check.h"
#include "cli/when.h"
#include "core/time/zone.h"

namespace carillon {

namespace {

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text;
  constexpr std::size_t kStep = std::size_t{64} << 10;
  while (stream && text.size() <= kInputBytesMax) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    stream.read(text.data() + before, static_cast<std::streamsize>(kStep));
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return failed(ErrorCode::unavailable, fmt::format("cannot read {}", name));
  if (text.size() > kInputBytesMax) return invalid_request(fmt::format("{} is larger than 32 MiB", name));
  return text;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return failed(ErrorCode::unavailable, fmt::format("cannot read {}: it is a folder", carillon::quoted(path)));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failed(ErrorCode::unavailable,
                  fmt::format("cannot read {}: no such file, or no permission", carillon::quoted(path)));
  }
  return read_stream(file, carillon::quoted(path));
}

Result<std::string> read_argument(const std::string& argument) {
  if (argument == "-") return read_stream(std::cin, "standard input");
  if (argument.starts_with('@')) return read_file(argument.substr(1));
  return argument;
}

CliResult<std::string> read_json_argument(std::string_view what, const std::string& argument) {
  auto text = read_argument(argument);
  if (!text) return std::unexpected(cli_error(text.error()));
  if (const auto checked = check_json(*text); !checked) {
    return cli_error(ExitCode::usage, fmt::format("{}: must be JSON: {}", what, checked.error().message));
  }
  return *std::move(text);
}

CliResult<std::optional<std::string>> read_time(std::string_view what, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto at = parse_when(*text, Zone::utc());
  if (!at) return cli_error(ExitCode::usage, fmt::format("{}: {}", what, at.error().message));
  return format_instant(*at);
}

std::string json_or_string(const std::string& text) { return check_json(text) ? text : json_string(text); }

}  // namespace carillon
