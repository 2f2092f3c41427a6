#include "server/handlers/webhook_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/clock.h"
#include "base/hole.h"
#include "base/json_writer.h"
#include "core/jobs/job_id.h"
#include "engine/attempts/execution.h"
#include "engine/calls/job_info.h"
#include "server/handlers/signature.h"

namespace carillon::server {

namespace {

// Places by host. A target that cannot be read has the place of "".
std::string host_of(const std::optional<WebhookTarget>& target) {
  if (!target) return {};
  const auto url = parse_http_url(target->url);
  return url ? fmt::format("{}:{}", url->host, url->port) : std::string();
}

}  // namespace

Result<std::string> webhook_body(const Run& run, Duration timeout) {
  TRY_ASSIGN(RunningJob job, running_job_of(run));
  job.timeout = timeout;
  JsonObject body;
  body.raw("job", to_json(job)).integer("attempt", run.job.attempt).integer("token", run.job.token);
  return body.str();
}

Result<WebhookCall> webhook_call(const Run& run, const WebhookTarget& target, Instant now) {
  WebhookCall call;
  call.tenant = run.job.tenant;
  call.url = target.url;
  call.timeout = std::min(run.job.timeout, target.timeout.value_or(run.job.timeout));
  TRY_ASSIGN(call.body, webhook_body(run, call.timeout));
  const std::string id = format_job_id(run.job.id);
  const std::int64_t timestamp = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  call.headers = {{.name = "Content-Type", .value = "application/json"},
                  {.name = "webhook-id", .value = id},
                  {.name = "webhook-timestamp", .value = fmt::format("{}", timestamp)},
                  {.name = "webhook-signature",
                   .value = sign(target.secrets, {.id = id, .timestamp = timestamp, .body = call.body})}};
  return call;
}

// Who waits for a place. Only the sender's thread, so that there is nothing to lock.
class WebhookRunner::Line : public std::enable_shared_from_this<WebhookRunner::Line> {
 public:
  Line(WebhookEnvironment environment, Options options)
      : sender_(environment.sender.get()), environment_(std::move(environment)), turns_(places_of(options)) {
    // Calls under way hold this line, and the sender holds them: it must not hold the sender in turn.
    environment_.sender.reset();
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() = default;

  void add(RunPtr run) {
    const std::string host = host_of(environment_.target(run->job.tenant, run->job.type));
    const std::string tenant = whose(run->job.tenant);
    turns_.add(tenant, host, std::move(run));
    go_on();
  }

  // The number among those who take slots. Before anything is added.
  void set_number(std::size_t number) { number_ = number; }
  void offer(Slots::Slot slot) {
    offered_.push_back(std::move(slot));
    go_on();
    offered_.clear();  // what nobody has use for goes back
  }

 private:
  using Turn = WebhookTurns<RunPtr>::Turn;

  static std::string whose(const std::string& tenant) {
    return reopened(Hole::breaker_of_all_tenants) ? std::string() : tenant;
  }
  static Options places_of(Options options) {
    if (reopened(Hole::breaker_of_all_tenants)) options.of_one_tenant = options.at_once;
    return options;
  }

  // A call that waits for its host holds no slot.
  void go_on() {
    while (turns_.has_next()) {
      auto slot = take_slot();
      if (!slot) return;
      const auto turn = turns_.next();
      if (!begin(*turn, *std::move(slot))) turns_.ended(turn->tenant, turn->host);
    }
  }

  std::optional<Slots::Slot> take_slot() {
    if (offered_.empty()) return environment_.slots->take(number_);
    std::optional<Slots::Slot> slot(std::move(offered_.front()));
    offered_.pop_front();
    return slot;
  }

  // Whether a call is under way.
  bool begin(const Turn& turn, Slots::Slot slot) {
    const RunPtr& run = turn.item;
    if (!run->begin(std::move(slot))) return false;  // its node has taken it back
    if (auto refused = refuse_to_start(run, *environment_.port)) {
      environment_.finished->put(*std::move(refused));
      return false;
    }
    const auto target = environment_.target(run->job.tenant, run->job.type);
    if (!target) {
      end(run, fail(fmt::format("there is no webhook for type \"{}\"", run->job.type), "no_handler"));
      return false;
    }
    auto call = webhook_call(*run, *target, system_now());
    if (!call) {
      end(run, fail(fmt::format("cannot write the job for its webhook: {}", call.error().message), "refused"));
      return false;
    }
    call->stop = [run, port = environment_.port] {
      return run->stop_requested || port->boot() >= run->lease_until.load();
    };
    sender_->send(*std::move(call), [line = shared_from_this(), run, tenant = turn.tenant,
                                     host = turn.host](const WebhookAnswer& answer) {
      line->turns_.ended(tenant, host);
      line->answered(run, answer);
    });
    return true;
  }

  void answered(const RunPtr& run, const WebhookAnswer& answer) {
    end(run, outcome_of(answer, run->job.tenant, system_now(), environment_.port->job_defaults()));
    go_on();
  }

  void end(const RunPtr& run, Outcome outcome) {
    environment_.finished->put(
        {.run = run, .outcome = std::move(outcome), .closing = {}, .said_by = Finished::SaidBy::tenant});
  }

  WebhookSender* const sender_;
  WebhookEnvironment environment_;
  WebhookTurns<RunPtr> turns_;
  std::size_t number_ = 0;
  std::deque<Slots::Slot> offered_;
};

WebhookRunner::WebhookRunner(WebhookEnvironment environment, Options options)
    : sender_(environment.sender),
      slots_(environment.slots),
      line_(std::make_shared<Line>(std::move(environment), options)),
      number_(slots_->join([sender = sender_.get(), slots = slots_, line = std::weak_ptr(line_)](Slots::Slot slot) {
        // A task can be copied, and a slot cannot. It may be the last to know of the slots.
        auto kept = std::make_shared<std::pair<std::shared_ptr<Slots>, Slots::Slot>>(slots, std::move(slot));
        sender->post([line, kept = std::move(kept)] {
          if (const auto alive = line.lock()) alive->offer(std::move(kept->second));
        });
        return false;  // the line asks for more when it has used this one
      })) {
  line_->set_number(number_);
}

WebhookRunner::~WebhookRunner() { slots_->leave(number_); }

void WebhookRunner::start(RunPtr run) {
  sender_->post([line = line_, run = std::move(run)]() mutable { line->add(std::move(run)); });
}

}  // namespace carillon::server
