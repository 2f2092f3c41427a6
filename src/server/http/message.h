// A request and its answer, as routes see them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::server {

enum class Method : std::uint8_t { get, head, post, put, patch, remove, options };

std::string_view to_string(Method method);  // "GET", "DELETE"

struct HttpHeader {
  std::string name;  // in lower case
  std::string value;
};

// The first one of that name, given in lower case; else null.
const std::string* find_header(const std::vector<HttpHeader>& headers, std::string_view name);

struct QueryItem {
  std::string name;  // decoded, as the value is
  std::string value;
};

struct HttpRequest {
  Method method = Method::get;
  std::string path;                   // as it was sent, without the query
  std::vector<std::string> segments;  // of the path, decoded
  std::vector<QueryItem> query;       // in the order in which they were sent
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;                // the address of the client
  std::string payer;               // on whose account the call is, set when the head came; "": its peer's
  bool is_vital = false;           // set then as well: it is taken in whatever else is under way
  std::shared_ptr<void> admitted;  // what was found out when the head came, for who gets the whole
  std::shared_ptr<void> held;      // what the body takes of the budget, for as long as somebody has it

  // The first one of that name, given in lower case; else null.
  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";  // of the body
  std::string body;
  std::vector<HttpHeader> headers;  // besides those of body and connection
};

}  // namespace carillon::server
