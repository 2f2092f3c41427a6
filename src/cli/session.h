// What every command that talks to a server works with: where it is, whose jobs, and in which form to print.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/json.h"
#include "cli/api_client.h"
#include "cli/outcome.h"

namespace carillon {

// As given on the command line; what is missing comes from the environment or is the default.
struct ClientOptions {
  std::optional<std::string> server;
  std::optional<std::string> tenant;
  std::optional<std::string> key_file;
  bool json = false;
};

struct ClientTarget {
  std::string server;
  std::string tenant;
  std::string key;
};

// Reads the key as well. A wrong URL, tenant or key file is an error.
CliResult<ClientTarget> client_target(const ClientOptions& options);

// Pairs of a query; those without a value are left out.
using Query = std::vector<std::pair<std::string, std::optional<std::string>>>;
std::string query_text(const Query& query);

// How much of a list.
struct Paging {
  std::optional<std::string> limit;  // nothing: as many as the server gives
  std::optional<std::string> cursor;
  bool all = false;
};

class Session {
 public:
  struct Form {
    bool json = false;
  };
  Session(ClientTarget target, Form form);

  bool json() const { return form_.json; }
  const std::string& tenant() const { return tenant_; }
  const std::string& server() const { return api_.server(); }
  ApiClient& api() { return api_; }

  // /v1/tenants/{tenant} and what follows: each segment is escaped.
  std::string tenant_path(const std::vector<std::string_view>& segments) const;
  static std::string path(const std::vector<std::string_view>& segments);

  // The answer of a call that went well; else the server's own message, and the exit code that goes with it.
  CliResult<JsonValue> call(const ApiRequest& request);
  CliResult<JsonValue> get(const std::string& path) { return call({.method = "GET", .path = path}); }
  CliResult<JsonValue> post(const std::string& path, std::string body = "{}") {
    return call({.method = "POST", .path = path, .body = std::move(body)});
  }
  CliResult<JsonValue> put(const std::string& path, std::string body) {
    return call({.method = "PUT", .path = path, .body = std::move(body)});
  }
  CliResult<JsonValue> remove(const std::string& path) { return call({.method = "DELETE", .path = path}); }

  // One page of a list, or all of them as one.
  struct Page {
    std::vector<JsonValue> items;
    std::optional<std::string> next_cursor;
  };
  CliResult<Page> list(const std::string& path, Query query, const Paging& paging);

  // An answer other than 2xx as an error.
  CliError refusal(const ApiRequest& request, const ApiResponse& response) const;

 private:
  std::string tenant_;
  Form form_;
  ApiClient api_;
};

}  // namespace carillon
