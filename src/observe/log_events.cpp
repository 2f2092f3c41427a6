#include <carillon/log.h>

#include <variant>

namespace carillon {

namespace {

bool is_persistent(std::uint32_t failures) {
  return failures == kFailuresToWarn || (failures > 0 && failures % kFailuresToWarnAgain == 0);
}

LogLevel level_of(const Event& event) {
  if (std::holds_alternative<LeaseLost>(event.body)) return LogLevel::warn;
  if (std::holds_alternative<HandlerAbandoned>(event.body)) return LogLevel::warn;
  // Its worker may hear of it; for a handler in this process nobody else does.
  const auto* const ignored = std::get_if<EnqueueIgnored>(&event.body);
  if (ignored != nullptr && ignored->reason == to_string(ErrorCode::idempotency_conflict)) return LogLevel::warn;
  if (const auto* const failed = std::get_if<StoreFailed>(&event.body)) {
    return is_persistent(failed->in_a_row) ? LogLevel::warn : LogLevel::debug;
  }
  if (const auto* const swept = std::get_if<SweepStopped>(&event.body)) {
    return swept->repaired > 0 ? LogLevel::warn : LogLevel::debug;
  }
  if (const auto* const well = std::get_if<StoreRecovered>(&event.body)) {
    return well->failures >= kFailuresToWarn ? LogLevel::info : LogLevel::debug;
  }
  return LogLevel::debug;
}

class Writer {
 public:
  Writer(Log& log, LogLevel level) : log_(log), level_(level) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() = default;

  void operator()(const JobPicked& picked) const {
    LogLine out = line("attempt starts", picked.tenant, picked.job);
    out.text("type", picked.type).text("state", to_string(JobState::processing));
    log_.write(out.milliseconds("late_ms", picked.lateness));
  }
  void operator()(const JobStopped& stopped) const {
    const bool well = stopped.result == AttemptResult::ok;
    LogLine out = line(well ? "attempt ended" : "attempt failed", stopped.tenant, stopped.job);
    out.text("type", stopped.type).number("attempt", stopped.attempt);
    out.milliseconds("duration_ms", stopped.duration).text("result", to_string(stopped.result));
    log_.write(out.text("err_code", stopped.error_class).text("error", stopped.error));
  }
  void operator()(const JobChanged& changed) const {
    log_.write(line("job changed", changed.tenant, changed.job).text("state", to_string(changed.state)));
  }
  void operator()(const EnqueueIgnored& ignored) const {
    const bool is_conflict = ignored.reason == to_string(ErrorCode::idempotency_conflict);
    const char* const message = is_conflict ? "enqueue ignored: a follow-up's key is held with another payload"
                                            : "enqueue ignored: deduplicated";
    LogLine out = line(message, ignored.tenant, ignored.job);
    log_.write(out.text("type", ignored.type).text("reason", ignored.reason));
  }
  void operator()(const StaleWord& word) const {
    const char* const message = word.success ? "late success: it changes nothing" : "stale ack: it changes nothing";
    log_.write(line(message, word.tenant, word.job).text("err_code", to_string(ErrorCode::stale_token)));
  }
  void operator()(const Deferred& deferred) const {
    LogLine out = line("deferred", deferred.tenant, deferred.job).text("reason", deferred.reason);
    if (!deferred.job) out.text("queue", deferred.queue).number("count", static_cast<std::int64_t>(deferred.count));
    if (deferred.until) out.text("until", format_instant(*deferred.until));
    log_.write(out);
  }
  void operator()(const RateLimited& limited) const {
    LogLine out = line("rate limited", limited.tenant, limited.job).text("limit", limited.limit);
    log_.write(out.text("until", format_instant(limited.until)));
  }
  void operator()(const Missed& missed) const {
    LogLine out = line("occurrences missed", missed.tenant, {});
    out.text("schedule", missed.schedule).text("subject", missed.subject).text("slot", format_instant(missed.first));
    log_.write(out.number("count", static_cast<std::int64_t>(missed.count)));
  }
  void operator()(const Finalized& finalized) const {
    LogLine out = line("occurrence closed", finalized.tenant, finalized.job);
    out.text("schedule", finalized.schedule).text("subject", finalized.subject);
    log_.write(out.text("slot", format_instant(finalized.slot)).text("state", to_string(finalized.status)));
  }
  void operator()(const TickStopped& tick) const {
    if (tick.users_scanned == 0 && tick.cutoff_finalized == 0) return;  // every tick is reported, also of an idle node
    LogLine out(level_, "planned");
    out.milliseconds("duration_ms", tick.duration);
    log_.write(out.number("enqueued", static_cast<std::int64_t>(tick.enqueued)));
  }
  void operator()(const LeaseLost& lost) const {
    LogLine out = line("lease lost: its worker has not spoken in time", lost.tenant, lost.job);
    log_.write(out.text("worker", lost.worker).text("err_code", to_string(AttemptResult::lease_lost)));
  }
  void operator()(const HandlerAbandoned& abandoned) const {
    LogLine out =
        line("handler ignores its timeout: its thread is lost until it returns", abandoned.tenant, abandoned.job);
    log_.write(out.text("type", abandoned.type).text("err_code", to_string(AttemptResult::timeout)));
  }
  void operator()(const StoreFailed& failed) const {
    LogLine out(level_, "the store refuses writes: " + failed.message);
    log_.write(out.text("err_code", to_string(failed.code)).number("failures", failed.in_a_row));
  }
  void operator()(const StoreRecovered& well) const {
    LogLine out(level_, "the store takes writes again");
    log_.write(out.number("failures", well.failures).milliseconds("duration_ms", well.after));
  }
  void operator()(const SweepStopped& swept) const {
    LogLine out(level_, swept.repaired > 0 ? "the sweep has put subjects right" : "the sweep found nothing wrong");
    log_.write(out.number("looked_at", static_cast<std::int64_t>(swept.looked_at))
                   .number("repaired", static_cast<std::int64_t>(swept.repaired)));
  }
  // The watcher writes its own lines, as the engine may not move when the watcher has something to report.
  void operator()(const SloBreached& /*breached*/) const {}
  // Levels are for metrics.
  void operator()(const QueueDepth& /*depth*/) const {}
  void operator()(const InFlight& /*level*/) const {}

 private:
  LogLine line(std::string message, const std::string& tenant, JobId job) const {
    LogLine out(level_, std::move(message));
    out.text("tenant", tenant);
    if (job) out.text("job_id", format_job_id(job));
    return out;
  }

  Log& log_;
  const LogLevel level_;
};

}  // namespace

void log_event(Log& log, const Event& event) {
  const LogLevel level = level_of(event);
  if (log.wants(level)) std::visit(Writer(log, level), event.body);
}

}  // namespace carillon
