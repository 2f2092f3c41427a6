#include "server/api/openapi.h"

#include <carillon/version.h>
#include <fmt/format.h>

#include <map>

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

std::string_view type_of(std::string_view schema) { return schema == "Text" ? "text/plain" : "application/json"; }

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
    parameters.raw(
        fmt::format(R"({{"name":{},"in":"query","required":false,"schema":{{"type":"string"}}}})", json_string(name)));
  }
  return parameters.str();
}

std::string_view needed(Needs needs) {
  switch (needs) {
    case Needs::nothing: return "No key.";
    case Needs::signature: return "A signature.";
    case Needs::read: return "Any key.";
    case Needs::worker: return "A key of scope worker, tenant or admin.";
    case Needs::tenant: return "A key of scope tenant or admin.";
    case Needs::admin: return "A key of scope admin.";
  }
  return "";
}

std::string operation_of(const Route& route) {
  JsonObject operation;
  operation.text("summary", route.doc.summary).text("description", needed(route.needs));
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
