#include "server/api/event_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/json_writer.h"
#include "core/job_id.h"

namespace carillon::server {

namespace {

// Of whom an event tells; "": of the engine itself.
std::string tenant_of(const Event& event) {
  return std::visit(
      [](const auto& body) -> std::string {
        if constexpr (requires { body.tenant; }) {
          return body.tenant;
        } else {
          return {};
        }
      },
      event.body);
}

// The event log's line; a job that changed is named beside it, where those look who follow jobs alone.
std::string data_of(const Event& event) {
  std::string line = to_json_line(event);
  const auto* const changed = std::get_if<JobChanged>(&event.body);
  if (changed == nullptr) return line;
  JsonObject job;
  job.text("id", format_job_id(changed->job)).text("tenant", changed->tenant).text("state", to_string(changed->state));
  line.pop_back();
  return line + "," + job.str().substr(1);
}

}  // namespace

void EventHub::hear(const Event& event) {
  if (const auto* const changed = std::get_if<JobChanged>(&event.body); changed && is_final(changed->state)) {
    std::vector<Waiter> ended;
    {
      const std::scoped_lock lock(mutex_);
      if (auto waiting = waiters_.extract(changed->job)) {
        ended = std::move(waiting.mapped());
        for (const Waiter& waiter : ended) waiter_jobs_.erase(waiter.number);
      }
    }
    for (const Waiter& waiter : ended) waiter.done();
  }
  if (streams() == 0) return;
  tell(event);
  // Who follows jobs wants to know that one runs; the engine calls that picked.
  if (const auto* const picked = std::get_if<JobPicked>(&event.body)) {
    tell({.at = event.at,
          .body = JobChanged{.job = picked->job, .tenant = picked->tenant, .state = JobState::processing}});
  }
}

void EventHub::tell(const Event& event) {
  tell(fmt::format("event: {}\ndata: {}\n\n", name_of(event), data_of(event)), tenant_of(event));
}

void EventHub::tell(const std::string& text, const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [&](const Listener& listener) {
    const bool may = tenant.empty() ? listener.caller.tenants.is_all() : listener.caller.may_see(tenant);
    return may && !listener.stream->write(text);
  });
}

void EventHub::add(std::shared_ptr<Stream> stream, Caller caller) {
  const std::scoped_lock lock(mutex_);
  listeners_.push_back({.stream = std::move(stream), .caller = std::move(caller)});
}

void EventHub::keep_alive() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [](const Listener& listener) { return !listener.stream->write(": still here\n\n"); });
}

std::size_t EventHub::streams() const {
  const std::scoped_lock lock(mutex_);
  return listeners_.size();
}

std::uint64_t EventHub::when_final(JobId job, std::function<void()> done) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t number = ++last_;
  waiters_[job].push_back({.number = number, .done = std::move(done)});
  waiter_jobs_.emplace(number, job);
  return number;
}

void EventHub::forget(std::uint64_t waiter) {
  const std::scoped_lock lock(mutex_);
  const auto job = waiter_jobs_.find(waiter);
  if (job == waiter_jobs_.end()) return;
  const auto waiting = waiters_.find(job->second);
  if (waiting == waiters_.end()) return;
  std::erase_if(waiting->second, [&](const Waiter& one) { return one.number == waiter; });
  if (waiting->second.empty()) waiters_.erase(waiting);
  waiter_jobs_.erase(job);
}

void EventHub::close() {
  const std::scoped_lock lock(mutex_);
  for (const Listener& listener : listeners_) listener.stream->end();
  listeners_.clear();
}

}  // namespace carillon::server
