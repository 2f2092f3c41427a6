// HTTP requests to the server, one at a time.
//
//   ApiClient api({.server = "http://127.0.0.1:7440", .key = key});
//   TRY_ASSIGN(const ApiResponse response, api.send({.method = "GET", .path = "/v1/status"}));
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outcome.h"

namespace carillon {

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // with the query, escaped
  std::string body;
  std::string type = "application/json";  // of the body
  std::vector<std::string> headers;       // "If-Match: 3"
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

struct ApiResponse {
  long status = 0;
  std::string body;
  std::string retry_after;  // the header, or nothing
  std::string next_cursor;  // the header, or nothing: of an export, as it goes into a query
};

class ApiClient {
 public:
  struct Options {
    std::string server;  // http:// or https://, without a slash at the end
    std::string key;     // nothing: none is sent
  };

  explicit ApiClient(Options options);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;
  ~ApiClient();

  const std::string& server() const { return options_.server; }

  // Whatever the server answers; the error is that it did not.
  CliResult<ApiResponse> send(const ApiRequest& request);

  // Hands over the body as it comes, until the server ends it or `take` returns false; silence of a minute ends it too.
  // An answer other than 200 comes back as of `send`.
  using Take = std::function<bool(std::string_view chunk)>;
  CliResult<ApiResponse> stream(const std::string& path, const Take& take);

 private:
  class Transfer;
  Options options_;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace carillon
