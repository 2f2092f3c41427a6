// One call of the API: who may make it, what it does, how it is documented. The table of these drives the router, the
// authorisation and the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/reach.h"
#include "server/auth/caller.h"
#include "server/http/message.h"
#include "server/http/reply.h"

namespace carillon::server {

enum class Needs : std::uint8_t {
  nothing,    // open to all
  signature,  // its own proof, looked at by the route itself
  read,       // any key
  worker,
  tenant,
  admin,
};

// Where a route runs. On the net thread it must not wait for anything.
enum class Runs : std::uint8_t { on_net, in_pool };

// What a handler gets of a request. Not where it was sent to: that is for the router, and what follows from it stands
// in the call's `reach` and `params`.
struct CallRequest {
  std::vector<QueryItem> query;
  std::vector<HttpHeader> headers;
  std::string body;
  std::string peer;            // the address of the client
  std::shared_ptr<void> held;  // what the body takes of the budget

  // The first one of that name, given in lower case; else null.
  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

struct RouteCall {
  CallRequest request;
  Caller caller;
  Reach reach;
  std::vector<std::string> params;  // what stands for the {names} of the path, in their order
  Reply reply;

  // Of routes about one tenant.
  const std::string& tenant() const { return reach.tenant(); }
};

struct AnswerDoc {
  int status;
  std::string_view schema;  // its name; "": no body
};

struct ErrorDoc {
  int status;
  std::string_view code;
};

struct RouteDoc {
  std::string_view group;    // the heading in the reference
  std::string_view summary;  // one line
  std::string_view body;     // the name of the request's schema; "": none
  std::vector<AnswerDoc> answers;
  std::vector<std::string_view> query;  // names of parameters
  std::vector<ErrorDoc> errors;         // besides those that follow from path, body and scope
};

struct Route {
  Method method = Method::get;
  std::string_view path;  // "/v1/tenants/{tenant}/jobs/{id}"
  About about = About::one_tenant;
  Needs needs = Needs::admin;
  Runs runs = Runs::in_pool;
  RouteDoc doc;
  std::function<void(RouteCall)> call;
  std::size_t body_max = std::size_t{1} << 20U;
  bool writes = true;     // by an admin key it makes its tenant, if that is new
  bool is_vital = false;  // asked by who watches over the process: answered whatever else is under way
  bool lasts = false;     // it may be parked, or be a stream: it ends with its key
};

using RouteTable = std::vector<Route>;

}  // namespace carillon::server
