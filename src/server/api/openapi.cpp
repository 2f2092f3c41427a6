#include "server/api/openapi.h"

#include <carillon/version.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/json_writer.h"
#include "embedded/api_schemas.h"
#include "server/api/router.h"

namespace carillon::server {

namespace {

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string_view type_of(std::string_view schema) {
  if (schema == "Text") return "text/plain";
  return schema == "SubjectLines" ? "application/x-ndjson" : "application/json";
}

std::string content(std::string_view schema) {
  return fmt::format(R"({{"{}":{{"schema":{{"$ref":"#/components/schemas/{}"}}}}}})", type_of(schema), schema);
}

std::string parameters_of(const Route& route) {
  JsonArray parameters;
  for (const std::string_view segment : segments_of(route.path)) {
    if (!segment.starts_with('{')) continue;
    parameters.raw(fmt::format(R"({{"name":{},"in":"path","required":true,"schema":{{"type":"string"}}}})",
                               json_string(segment.substr(1, segment.size() - 2))));
  }
  for (const std::string_view name : route.doc.query) {
    // What a name means is the same wherever it is taken.
    parameters.raw(fmt::format(
        R"({{"name":{},"in":"query","required":false,"schema":{{"$ref":"#/components/schemas/QueryParameters/properties/{}"}}}})",
        json_string(name), name));
  }
  return parameters.str();
}

std::string_view needed(const Route& route) {
  if (route.needs == Needs::read && route.about == About::server) return "A key of all tenants.";
  switch (route.needs) {
    case Needs::nothing: return "No key.";
    case Needs::signature: return "A signature.";
    case Needs::read: return "Any key.";
    case Needs::worker: return "A key of scope worker, tenant or admin.";
    case Needs::tenant: return "A key of scope tenant or admin.";
    case Needs::admin: return "A key of scope admin.";
  }
  return "";
}

// "job_not_found", of what the last part of the path in braces names; PUT makes what is not there.
std::optional<std::string> not_found_of(const Route& route) {
  if (route.method == Method::put || route.needs == Needs::signature) return std::nullopt;
  std::string_view last;
  std::string_view named;
  for (const std::string_view segment : segments_of(route.path)) {
    if (segment.starts_with('{') && segment != "{tenant}") named = last;
    last = segment;
  }
  if (named.empty()) return std::nullopt;
  if (named.ends_with('s')) named.remove_suffix(1);
  return fmt::format("{}_not_found", named);
}

using Errors = std::map<int, std::set<std::string>>;

// What a route may refuse with: what follows from its path, body and scope, and what it says itself.
Errors errors_of(const Route& route) {
  Errors errors;
  const bool under_tenant = route.about == About::one_tenant;
  if (!route.doc.body.empty()) errors[413].insert("body_too_large");
  if (!route.doc.body.empty() || !route.doc.query.empty()) errors[400].insert("invalid_request");
  if (route.needs != Needs::nothing) errors[401].insert("unauthorized");
  const bool any_key = route.needs == Needs::read && route.about != About::server;
  if (!any_key && route.needs != Needs::nothing && route.needs != Needs::signature) {
    errors[403].insert("forbidden");
  }
  if (under_tenant && route.needs != Needs::signature) errors[404].insert("tenant_not_found");
  if (auto code = not_found_of(route)) errors[404].insert(*std::move(code));
  for (const ErrorDoc& error : route.doc.errors) errors[error.status].emplace(error.code);
  return errors;
}

std::string operation_of(const Route& route) {
  JsonObject operation;
  operation.text("summary", route.doc.summary).text("description", needed(route));
  operation.raw("tags", fmt::format("[{}]", json_string(route.doc.group))).raw("parameters", parameters_of(route));
  if (!route.doc.body.empty()) {
    operation.raw("requestBody", fmt::format(R"({{"content":{}}})", content(route.doc.body)));
  }
  JsonObject responses;
  for (const AnswerDoc& answer : route.doc.answers) {
    JsonObject response;
    response.text("description", answer.schema.empty() ? "Done." : answer.schema);
    if (!answer.schema.empty()) response.raw("content", content(answer.schema));
    responses.raw(std::to_string(answer.status), response.str());
  }
  for (const auto& [status, codes] : errors_of(route)) {
    responses.raw(std::to_string(status),
                  fmt::format(R"({{"description":{},"content":{}}})",
                              json_string(fmt::format("{}", fmt::join(codes, ", "))), content("Error")));
  }
  responses.raw("default", fmt::format(R"({{"description":"Refused.","content":{}}})", content("Error")));
  operation.raw("responses", responses.str());
  if (route.needs == Needs::nothing || route.needs == Needs::signature) operation.raw("security", "[]");
  return operation.str();
}

}  // namespace

std::string openapi_of(const RouteTable& table) {
  std::map<std::string_view, JsonObject> by_path;
  for (const Route& route : table) by_path[route.path].raw(lower(to_string(route.method)), operation_of(route));
  JsonObject paths;
  for (const auto& [path, operations] : by_path) paths.raw(path, operations.str());
  JsonObject info;
  info.text("title", "Carillon").text("version", version());
  JsonObject document;
  document.text("openapi", "3.1.0").raw("info", info.str()).raw("security", R"([{"key":[]}])");
  document.raw("paths", paths.str());
  document.raw("components",
               fmt::format(R"({{"securitySchemes":{{"key":{{"type":"http","scheme":"bearer"}}}},"schemas":{}}})",
                           kApiSchemas.front().text));
  return document.str();
}

}  // namespace carillon::server
