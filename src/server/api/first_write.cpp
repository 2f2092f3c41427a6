#include "server/api/first_write.h"

#include <fmt/format.h>

#include <utility>

#include "engine/commands/tenants.h"

namespace carillon::server {

namespace {

class FirstWriteReply final : public ReplySink {
 public:
  FirstWriteReply(Services& services, std::string tenant, std::string actor, Reply reply)
      : services_(services), tenant_(std::move(tenant)), actor_(std::move(actor)), reply_(std::move(reply)) {}
  FirstWriteReply(const FirstWriteReply&) = delete;
  FirstWriteReply& operator=(const FirstWriteReply&) = delete;
  ~FirstWriteReply() override = default;

  void send(HttpResponse response) override {
    if (response.status >= 300) return reply_->send(std::move(response));
    if (services_.tenants.has(tenant_)) return reply_->send(std::move(response));  // another call was the first
    if (services_.tenants.is_being_deleted(tenant_)) {
      const auto goes = failed(ErrorCode::conflict, fmt::format("tenant {} is being deleted", quoted(tenant_)));
      return reply_->send(refusal(goes.error(), "tenant"));
    }
    services_.host.commands().submit(
        command::MakeTenant{.key = {.tenant = tenant_, .kind = std::string(kTenantKind), .name = {}}, .by = {actor_}},
        [&services = services_, tenant = tenant_, reply = reply_,
         response = std::move(response)](const Result<void>& made) mutable {
          if (!made) return reply->send(refusal(made.error(), "tenant"));
          services.tenants.add(tenant);
          reply->send(std::move(response));
        });
  }
  std::shared_ptr<Stream> stream(HttpResponse head) override { return reply_->stream(std::move(head)); }
  void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }
  ClientState client() const override { return reply_->client(); }

 private:
  Services& services_;
  const std::string tenant_;
  const std::string actor_;
  const Reply reply_;
};

class WritingReply final : public ReplySink {
 public:
  WritingReply(std::shared_ptr<void> held, Reply reply) : held_(std::move(held)), reply_(std::move(reply)) {}
  WritingReply(const WritingReply&) = delete;
  WritingReply& operator=(const WritingReply&) = delete;
  ~WritingReply() override = default;

  void send(HttpResponse response) override {
    reply_->send(std::move(response));
    held_.reset();
  }
  void send_made(Make make, std::size_t bytes) override {
    reply_->send_made(std::move(make), bytes);
    held_.reset();
  }
  std::shared_ptr<Stream> stream(HttpResponse head) override { return reply_->stream(std::move(head)); }
  void on_gone(std::function<void()> gone) override { reply_->on_gone(std::move(gone)); }
  ClientState client() const override { return reply_->client(); }

 private:
  std::shared_ptr<void> held_;
  const Reply reply_;
};

}  // namespace

Reply making_tenant(Services& services, std::string tenant, std::string actor, Reply reply) {
  return std::make_shared<FirstWriteReply>(services, std::move(tenant), std::move(actor), std::move(reply));
}

Reply writing_under(std::shared_ptr<void> held, Reply reply) {
  return std::make_shared<WritingReply>(std::move(held), std::move(reply));
}

}  // namespace carillon::server
