// Who wants to know of every request: method, path, status and how long its answer took. Never the query, a header or a
// body, which may hold what is secret.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "server/http/message.h"
#include "server/http/reply.h"

namespace carillon::server {

struct AnsweredRequest {
  Method method = Method::get;
  std::string path;
  int status = 200;
  std::chrono::microseconds took{};
};

// Called on whatever thread answers. It must be quick.
using RequestWatch = std::function<void(const AnsweredRequest&)>;

// A reply that tells `watch` when it is given. Of a stream: when it begins.
Reply watched(const HttpRequest& request, Reply reply, RequestWatch watch);

}  // namespace carillon::server
