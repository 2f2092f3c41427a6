// Attempts that are one call each: the job goes to its handler's URL, and the answer says how it ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/attempts/finished.h"
#include "engine/attempts/port.h"
#include "engine/attempts/runner.h"
#include "server/handlers/webhook_config.h"
#include "server/handlers/webhook_sender.h"
#include "server/handlers/webhook_turns.h"

namespace carillon::server {

struct WebhookEnvironment {
  std::shared_ptr<WebhookSender> sender;
  std::shared_ptr<Port> port;
  std::shared_ptr<FinishedQueue> finished;
  std::shared_ptr<Slots> slots;
  // The handler of a type, asked at each attempt. Called on the sender's thread: it must not block.
  std::function<std::optional<WebhookTarget>(std::string_view tenant, std::string_view type)> target;
};

// No thread waits for an answer. Tenants, and the hosts of each, have their own share of the places, so that one which
// is slow to answer leaves room for the others.
class WebhookRunner final : public Runner {
 public:
  using Options = WebhookPlaces;
  explicit WebhookRunner(WebhookEnvironment environment) : WebhookRunner(std::move(environment), Options()) {}
  WebhookRunner(WebhookEnvironment environment, Options options);
  WebhookRunner(const WebhookRunner&) = delete;
  WebhookRunner& operator=(const WebhookRunner&) = delete;
  // What is under way goes on as long as the sender does.
  ~WebhookRunner() override;

  void start(RunPtr run) override;

 private:
  class Line;
  std::shared_ptr<WebhookSender> sender_;
  std::shared_ptr<Slots> slots_;
  std::shared_ptr<Line> line_;
  std::size_t number_;  // among those who take slots
};

// Attempts whose handler is a webhook go one way, all others the other.
class SplitRunner final : public Runner {
 public:
  using IsWebhook = std::function<bool(std::string_view tenant, std::string_view type)>;
  SplitRunner(std::unique_ptr<Runner> webhooks, std::unique_ptr<Runner> others, IsWebhook is_webhook)
      : webhooks_(std::move(webhooks)), others_(std::move(others)), is_webhook_(std::move(is_webhook)) {}
  SplitRunner(const SplitRunner&) = delete;
  SplitRunner& operator=(const SplitRunner&) = delete;
  ~SplitRunner() override = default;

  void start(RunPtr run) override {
    Runner& chosen = is_webhook_(run->job.tenant, run->job.type) ? *webhooks_ : *others_;
    chosen.start(std::move(run));
  }

 private:
  const std::unique_ptr<Runner> webhooks_;
  const std::unique_ptr<Runner> others_;
  const IsWebhook is_webhook_;
};

// {"job": job, "attempt": n, "token": n}; the job as every worker gets it, with the timeout of this call.
Result<std::string> webhook_body(const Run& run, Duration timeout);

// The call of an attempt, signed as of `now`, which is the wall clock's. Errors: what is stored cannot be read.
Result<WebhookCall> webhook_call(const Run& run, const WebhookTarget& target, Instant now);

}  // namespace carillon::server
