#include <carillon/events.h>
#include <fmt/format.h>

#include "base/json.h"
#include "base/json_writer.h"

namespace carillon {

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

struct Line {
  JsonObject measurements;
  JsonObject metadata;

  void who(JobId job, std::string_view tenant) {
    if (job) metadata.text("job_id", format_job_id(job));
    metadata.text("tenant", tenant);
  }
  void until(std::string_view name, std::optional<Instant> at) {
    if (at) {
      metadata.text(name, format_instant(*at));
    } else {
      metadata.raw(name, "null");
    }
  }
};

// A delivery as S0 tells it: the minute of its day, and that day. Others have neither, but their slot.
void add_outcome(Line& line, const Finalized& finalized) {
  const std::string_view outcome = finalized.status == JobState::done ? "success" : to_string(finalized.status);
  if (finalized.due_bucket) {
    line.metadata.text("status", outcome).integer("count", number(finalized.count));
    line.metadata.integer("due_bucket", *finalized.due_bucket).text("today", finalized.today);
  } else {
    line.metadata.text("slot", format_instant(finalized.slot)).text("outcome", outcome);
    line.metadata.integer("count", number(finalized.count));
  }
}

Line line_of(const Event& event) {
  Line line;
  std::visit(Overloaded{
                 [&](const TickStopped& tick) {
                   // Most take less than one.
                   line.measurements.number("duration_ms",
                                            std::chrono::duration<double, std::milli>(tick.duration).count());
                   line.metadata.integer("users_scanned", number(tick.users_scanned))
                       .integer("eligible_in_window", number(tick.eligible_in_window))
                       .integer("enqueued", number(tick.enqueued))
                       .integer("cutoff_finalized", number(tick.cutoff_finalized));
                 },
                 [&](const QueueDepth& queue) {
                   line.measurements.integer("depth", number(queue.depth));
                   line.metadata.text("today", format_instant(event.at).substr(0, 10));
                 },
                 [&](const InFlight& level) {
                   line.measurements.integer("in_flight", level.in_flight);
                   line.metadata.integer("max_concurrency", level.max_concurrency);
                 },
                 [&](const JobStopped& stopped) {
                   line.measurements.integer("duration_ms", milliseconds(stopped.duration));
                   line.who(stopped.job, stopped.tenant);
                   line.metadata.text("type", stopped.type).integer("attempt", stopped.attempt);
                   line.metadata.text("result", to_string(stopped.result));
                   if (stopped.error_class.empty()) {
                     line.metadata.raw("error_class", "null");
                   } else {
                     line.metadata.text("error_class", stopped.error_class);
                   }
                 },
                 [&](const Finalized& finalized) {
                   line.who(finalized.job, finalized.tenant);
                   line.metadata.text("schedule", finalized.schedule).text("subject", finalized.subject);
                   add_outcome(line, finalized);
                 },
                 [&](const JobChanged& changed) {
                   line.metadata.text("id", format_job_id(changed.job)).text("tenant", changed.tenant);
                   line.metadata.text("state", to_string(changed.state));
                 },
                 [&](const JobPicked& picked) {
                   line.measurements.integer("lateness_ms", milliseconds(picked.lateness));
                   line.who(picked.job, picked.tenant);
                   line.metadata.text("type", picked.type);
                 },
                 [&](const StaleWord& word) { line.who(word.job, word.tenant); },
                 [&](const Deferred& deferred) {
                   line.who(deferred.job, deferred.tenant);
                   if (!deferred.job) line.metadata.text("queue", deferred.queue);
                   line.metadata.text("reason", deferred.reason);
                   line.until("until", deferred.until);
                   if (!deferred.job) line.metadata.integer("count", number(deferred.count));
                 },
                 [&](const RateLimited& limited) {
                   line.who(limited.job, limited.tenant);
                   line.metadata.text("limit", limited.limit);
                   line.until("until", limited.until);
                 },
                 [&](const Missed& missed) {
                   line.who({}, missed.tenant);
                   line.metadata.text("schedule", missed.schedule).text("subject", missed.subject);
                   line.until("first", missed.first);
                   line.until("last", missed.last);
                   line.metadata.integer("count", number(missed.count));
                 },
                 [&](const LeaseLost& lost) {
                   line.who(lost.job, lost.tenant);
                   line.metadata.text("worker", lost.worker);
                 },
                 [&](const HandlerAbandoned& abandoned) {
                   line.who(abandoned.job, abandoned.tenant);
                   line.metadata.text("type", abandoned.type);
                 },
                 [&](const EnqueueIgnored& ignored) {
                   line.who(ignored.job, ignored.tenant);
                   line.metadata.text("type", ignored.type).text("reason", ignored.reason);
                 },
                 [&](const StoreFailed& failure) {
                   line.measurements.integer("in_a_row", failure.in_a_row);
                   line.metadata.text("code", to_string(failure.code)).text("message", failure.message);
                 },
                 [&](const StoreRecovered& recovered) {
                   line.measurements.integer("failures", recovered.failures)
                       .integer("duration_ms", milliseconds(recovered.after));
                 },
                 [&](const SweepStopped& swept) {
                   line.measurements.integer("looked_at", number(swept.looked_at));
                   line.measurements.integer("repaired", number(swept.repaired));
                 },
                 [&](const SloBreached& breached) {
                   line.measurements.number("value", breached.value).number("threshold", breached.threshold);
                   line.metadata.text("slo", breached.slo).text("unit", breached.unit);
                   line.metadata.text("window", format_duration(breached.window));
                   line.metadata.integer("breaches_in_a_row", breached.breaches_in_a_row);
                   line.metadata.raw("reason", breached.reason.empty() ? "null" : json_string(breached.reason));
                   line.metadata.raw("due_bucket", breached.due_bucket ? fmt::to_string(*breached.due_bucket) : "null");
                 },
             },
             event.body);
  return line;
}

}  // namespace

std::string_view name_of(const Event& event) {
  return std::visit(
      Overloaded{
          [](const TickStopped&) -> std::string_view { return "sched.tick.stop"; },
          [](const QueueDepth&) -> std::string_view { return "sched.queue.depth"; },
          [](const InFlight&) -> std::string_view { return "sched.executor.in_flight"; },
          [](const JobStopped&) -> std::string_view { return "sched.job.stop"; },
          [](const Finalized& finalized) -> std::string_view {
            return finalized.due_bucket ? "sched.finalize" : "sched.outcome";
          },
          [](const JobChanged&) -> std::string_view { return "job.changed"; },
          [](const JobPicked&) -> std::string_view { return "job.picked"; },
          [](const StaleWord& word) -> std::string_view { return word.success ? "late_success" : "stale_ack"; },
          [](const Deferred&) -> std::string_view { return "deferred"; },
          [](const RateLimited&) -> std::string_view { return "rate_limited"; },
          [](const Missed&) -> std::string_view { return "missed"; },
          [](const LeaseLost&) -> std::string_view { return "lease_lost"; },
          [](const HandlerAbandoned&) -> std::string_view { return "handler.abandoned"; },
          [](const EnqueueIgnored&) -> std::string_view { return "enqueue.ignored"; },
          [](const StoreFailed&) -> std::string_view { return "store.failed"; },
          [](const StoreRecovered&) -> std::string_view { return "store.recovered"; },
          [](const SweepStopped&) -> std::string_view { return "sweep.stop"; },
          [](const SloBreached&) -> std::string_view { return "slo.breach"; },
      },
      event.body);
}

std::string to_json_line(const Event& event) {
  const Line line = line_of(event);
  JsonObject object;
  object.text("event", name_of(event)).text("at", format_instant(event.at));
  object.raw("measurements", line.measurements.str()).raw("metadata", line.metadata.str());
  return object.str();
}

}  // namespace carillon
