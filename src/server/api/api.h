// The API as a whole: takes a request, finds out who asks and whether he may, and calls the route.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "server/api/route.h"
#include "server/api/router.h"
#include "server/api/services.h"
#include "server/auth/open_calls.h"

namespace carillon::server {

class Api {
 public:
  // The services must outlive it.
  explicit Api(Services& services);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  ~Api() = default;

  const RouteTable& table() const { return table_; }

  // For the HTTP server: before a body is read, and with it. On the net thread. Who asks is looked at with the head,
  // which carries it on, and again if the body has taken long or a key has changed meanwhile.
  std::optional<HttpResponse> on_head(HttpRequest& head, std::size_t& body_max) const;
  void dispatch(HttpRequest request, Reply reply) const;

 private:
  // When a key was looked at.
  struct Looked {
    std::uint64_t key_changes = 0;  // of the key ring
    std::chrono::steady_clock::time_point at;
  };
  struct Admitted {
    const Route* route = nullptr;
    std::vector<std::string> params;
    Caller caller;
    Reach reach;
    Looked looked;
  };
  // Or the refusal. A call is charged once, however often it is looked at.
  enum class Charge : std::uint8_t { once, not_again };
  std::expected<Admitted, HttpResponse> admit(const HttpRequest& request, Charge charge) const;
  // Whose the key or session is. A write with a session must show that our own page makes it.
  enum class Shown : std::uint8_t { by_page, by_anybody };
  std::expected<Caller, HttpResponse> caller_of(const HttpRequest& request, Shown shown) const;
  // The one place that decides what a call may touch. Or the refusal.
  static std::expected<Reach, HttpResponse> reach_of(const Route& route, std::string_view path,
                                                     const std::vector<std::string>& params, const Caller& caller);
  // What this caller may now; nothing if his key or session is no more.
  std::optional<Caller> caller_now(const Caller& caller) const;
  // In the line of `whose`, if it does not run here.
  void call(const Route& route, RouteCall call, const Looked& looked, std::string_view whose) const;
  // At the end of the line: whether the caller may still do it, and whether there is still a tenant to do it under.
  void begin(const Route& route, RouteCall call, const Looked& looked) const;
  bool is_old(const Looked& looked) const;
  // Or the refusal.
  std::optional<HttpResponse> look_again(const Route& route, RouteCall& call) const;
  std::optional<HttpResponse> enter_tenant(const Route& route, RouteCall& call) const;
  // Where it runs; null: here.
  WorkPool* pool_of(const Route& route, const CallRequest& request) const;

  Services& services_;
  RouteTable table_;
  std::optional<Router> router_;
  std::shared_ptr<OpenCalls> calls_ = std::make_shared<OpenCalls>();
};

}  // namespace carillon::server
