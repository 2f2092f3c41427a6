#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/percent.h"
#include "cli/input.h"
#include "core/jobs/job.h"

namespace carillon {

namespace {

constexpr std::string_view kServerDefault = "http://127.0.0.1:7440";
constexpr std::string_view kTenantDefault = "default";
constexpr std::string_view kKeyFileDefault = "carillon.key";
constexpr std::size_t kPagesMax = 100'000;

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read at the start, before there is a second thread.
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

CliResult<std::string> checked_server(std::string server) {
  while (server.ends_with('/')) server.pop_back();
  const bool is_http = server.starts_with("http://") || server.starts_with("https://");
  const bool is_plain = std::ranges::all_of(server, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_http || !is_plain || server.ends_with(":/") || server.contains('?') || server.contains('#')) {
    return cli_error(ExitCode::usage,
                     fmt::format("server {}: must be http://HOST:PORT or https://HOST:PORT", carillon::quoted(server)));
  }
  return server;
}

// Without the line break at its end.
CliResult<std::string> checked_key(std::string key, std::string_view origin) {
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' ')) key.pop_back();
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (key.empty() || !is_plain) {
    return cli_error(ExitCode::usage, fmt::format("the key of {}: must be one line of printable characters", origin));
  }
  return key;
}

CliResult<std::string> find_key(const ClientOptions& options) {
  std::string path(kKeyFileDefault);
  if (options.key_file) {
    path = *options.key_file;
  } else {
    if (const std::string key = variable("CARILLON_KEY"); !key.empty()) return checked_key(key, "CARILLON_KEY");
    std::error_code error;
    // A server's folder that we may not look into is as good as none.
    if (!std::filesystem::exists(path, error)) return std::string();
  }
  auto text = read_file(path);
  if (!text) return std::unexpected(cli_error(text.error()));
  return checked_key(*std::move(text), carillon::quoted(path));
}

ExitCode exit_code_of(long status) {
  switch (status) {
    case 400:
    case 422: return ExitCode::usage;
    case 404: return ExitCode::not_found;
    case 409:
    case 412: return ExitCode::conflict;
    default: return ExitCode::failed;
  }
}

}  // namespace

CliResult<ClientTarget> client_target(const ClientOptions& options) {
  const auto first = [](const std::optional<std::string>& given, const std::string& found, std::string_view otherwise) {
    if (given) return *given;
    return found.empty() ? std::string(otherwise) : found;
  };
  ClientTarget target;
  TRY_ASSIGN(target.server, checked_server(first(options.server, variable("CARILLON_SERVER"), kServerDefault)));
  target.tenant = first(options.tenant, variable("CARILLON_TENANT"), kTenantDefault);
  TRY(as_cli(check_name("tenant", target.tenant)));
  TRY_ASSIGN(target.key, find_key(options));
  return target;
}

std::string query_text(const Query& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!value) continue;
    out += fmt::format("{}{}={}", out.empty() ? "?" : "&", name, percent_encoded(*value));
  }
  return out;
}

Session::Session(ClientTarget target, Form form)
    : tenant_(std::move(target.tenant)),
      form_(form),
      api_({.server = std::move(target.server), .key = std::move(target.key)}) {}

std::string Session::path(const std::vector<std::string_view>& segments) {
  std::string out = "/v1";
  for (const std::string_view segment : segments) out += "/" + percent_encoded(segment);
  return out;
}

std::string Session::tenant_path(const std::vector<std::string_view>& segments) const {
  std::vector<std::string_view> all{"tenants", tenant_};
  all.insert(all.end(), segments.begin(), segments.end());
  return path(all);
}

CliError Session::refusal(const ApiRequest& request, const ApiResponse& response) const {
  const auto body = JsonValue::parse(response.body);
  const JsonValue error = body ? body->at("error") : JsonValue();
  std::string message = error.at("message").as_string();
  if (message.empty()) {
    message = fmt::format("{} {}{} answered {}", request.method, server(), request.path, response.status);
  }
  const std::string code = error.at("code").as_string();
  if (!code.empty()) message += fmt::format(" ({})", code);
  if (response.status == 401) message += "; the key comes from --key-file, CARILLON_KEY or ./carillon.key";
  if (!response.retry_after.empty()) message += fmt::format("; try again after {} s", response.retry_after);
  return {.code = exit_code_of(response.status), .message = std::move(message)};
}

CliResult<JsonValue> Session::call(const ApiRequest& request) {
  TRY_ASSIGN(const ApiResponse response, api_.send(request));
  if (response.status < 200 || response.status >= 300) return std::unexpected(refusal(request, response));
  if (response.body.empty()) return JsonValue();
  auto body = JsonValue::parse(response.body);
  if (body) return *std::move(body);
  return cli_error(ExitCode::failed, fmt::format("{} {}{}: the answer is not JSON; is this a Carillon server?",
                                                 request.method, server(), request.path));
}

CliResult<Session::Page> Session::list(const std::string& path, Query query, const Paging& paging) {
  query.emplace_back("limit", paging.all ? std::optional<std::string>("500") : paging.limit);
  query.emplace_back("cursor", paging.cursor);
  Page page;
  for (std::size_t i = 0; i < kPagesMax; ++i) {
    TRY_ASSIGN(const JsonValue answer, get(path + query_text(query)));
    const JsonValue items = answer.at("items");
    for (std::size_t item = 0; item < items.size(); ++item) page.items.push_back(items.at(item));
    const JsonValue next = answer.at("next_cursor");
    page.next_cursor.reset();
    if (!next.is_null()) page.next_cursor = next.is_string() ? next.as_string() : std::string(next.raw());
    if (!paging.all || !page.next_cursor) break;
    query.back().second = page.next_cursor;
  }
  return page;
}

}  // namespace carillon
