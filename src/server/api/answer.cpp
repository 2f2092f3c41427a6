#include "server/api/answer.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "core/jobs/json_members.h"
#include "server/http/response_writer.h"

namespace carillon::server {

namespace {

struct Told {
  int status;
  std::string_view code;
};

Told told(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_request: return {400, "invalid_request"};
    case ErrorCode::invalid_configuration: return {422, "invalid_configuration"};
    case ErrorCode::dependency_not_met: return {422, "dependency_not_met"};
    case ErrorCode::not_found: return {404, "not_found"};
    case ErrorCode::conflict: return {409, "conflict"};
    case ErrorCode::job_already_running: return {409, "job_already_running"};
    case ErrorCode::idempotency_conflict: return {409, "idempotency_conflict"};
    case ErrorCode::stale_token: return {409, "stale_token"};
    case ErrorCode::scheduler_disabled: return {503, "scheduler_disabled"};
    case ErrorCode::unavailable: return {503, "store_unavailable"};
    case ErrorCode::store_full: return {507, "store_full"};
    case ErrorCode::database_error: return {503, "database_error"};
  }
  UNREACHABLE();
}

// Where it went wrong, and what else is known.
std::string details_of(const Error& error) {
  JsonObject place;
  if (!error.field.empty()) place.text("field", error.field);
  if (error.line) place.integer("line", static_cast<std::int64_t>(*error.line));
  if (error.column) place.integer("column", static_cast<std::int64_t>(*error.column));
  if (error.details.empty()) return place.str();
  if (place.empty()) return error.details;
  std::string both = place.str();
  both.back() = ',';
  return both + error.details.substr(1);
}

}  // namespace

HttpResponse json_answer(int status, std::string body) { return {.status = status, .body = std::move(body)}; }

HttpResponse list_answer(const JsonArray& items, std::string_view next_cursor) {
  JsonObject answer;
  answer.raw("items", items.str());
  put(answer, "next_cursor", next_cursor);
  return json_answer(200, answer.str());
}

HttpResponse refusal(int status, std::string_view code, std::string_view message, std::string_view details) {
  HttpResponse response = error_response(status, code, message, details);
  if (status == 401) response.headers.push_back({.name = "www-authenticate", .value = "Bearer"});
  return response;
}

HttpResponse refusal(const Error& error, std::string_view thing) {
  const Told as = told(error.code);
  const bool named = error.code == ErrorCode::not_found && !thing.empty();
  return refusal(as.status, named ? fmt::format("{}_not_found", thing) : std::string(as.code), error.message,
                 details_of(error));
}

}  // namespace carillon::server
