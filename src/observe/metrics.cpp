#include <carillon/metrics.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <variant>

#include "observe/milliseconds.h"

namespace carillon {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

const Histogram::BucketBoundaries kMilliseconds{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 60000};

Counter& counter(Registry& registry, const std::string& name, const std::string& help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

Gauge& gauge(Registry& registry, const std::string& name, const std::string& help) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

Histogram& histogram(Registry& registry, const std::string& name, const std::string& help) {
  return BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kMilliseconds);
}

}  // namespace

struct Metrics::Parts {
  Registry registry;
  Counter& picked = counter(registry, "carillon_jobs_picked_total", "Attempts that were started.");
  Counter& succeeded = counter(registry, "carillon_jobs_succeeded_total", "Attempts that ended well.");
  Counter& failed = counter(registry, "carillon_jobs_failed_total", "Attempts that ended as error or timeout.");
  Counter& deferred = counter(registry, "carillon_jobs_deferred_total",
                              "Jobs that were put back by a handler or held by a gate, once for each closing.");
  Counter& dlq = counter(registry, "carillon_jobs_dlq_total", "Jobs that were parked.");
  Counter& stalled = counter(registry, "carillon_jobs_stalled_total", "Leases that were lost.");
  Counter& swept = counter(registry, "carillon_subjects_swept_total", "Subjects that sweeps looked at.");
  Counter& repaired = counter(registry, "carillon_subjects_repaired_total", "Subjects that a sweep put right.");
  Family<Counter>& finalized =
      BuildCounter().Name("carillon_finalized_total").Help("Occurrences that got their outcome.").Register(registry);
  Family<Gauge>& breached =
      BuildGauge().Name("carillon_slo_breached").Help("1 while an objective is breached.").Register(registry);
  Histogram& handler = histogram(registry, "carillon_handler_duration_ms", "How long attempts took.");
  Histogram& lease_wait =
      histogram(registry, "carillon_lease_wait_ms", "How long jobs that were due waited for a lease.");
  Histogram& lateness = histogram(registry, "carillon_start_lateness_ms", "How late attempts were picked.");
  Histogram& tick = histogram(registry, "carillon_tick_duration_ms", "How long the planner took.");
  Gauge& depth = gauge(registry, "carillon_queue_depth", "Jobs that are due and wait.");
  Gauge& in_flight = gauge(registry, "carillon_in_flight", "Attempts that run.");

  void hear(const JobPicked& event) {
    picked.Increment();
    // From when it was due to its claim: what a worker is late is what its job has waited.
    lease_wait.Observe(milliseconds(event.lateness));
    lateness.Observe(milliseconds(event.lateness));
  }
  void hear(const JobStopped& event) {
    (event.result == AttemptResult::ok ? succeeded : failed).Increment();
    handler.Observe(milliseconds(event.duration));
  }
  void hear(const Deferred& event) { deferred.Increment(static_cast<double>(event.count)); }
  void hear(const JobChanged& event) {
    if (event.state == JobState::dlq) dlq.Increment();
  }
  void hear(const LeaseLost& /*event*/) { stalled.Increment(); }
  void hear(const Finalized& event) {
    // As the event says it.
    const std::string_view status = event.status == JobState::done ? "success" : to_string(event.status);
    finalized.Add({{"status", std::string(status)}}).Increment(static_cast<double>(event.count));
  }
  void hear(const TickStopped& event) { tick.Observe(milliseconds(event.duration)); }
  void hear(const SweepStopped& event) {
    swept.Increment(static_cast<double>(event.looked_at));
    repaired.Increment(static_cast<double>(event.repaired));
  }
  void hear(const QueueDepth& event) { depth.Set(static_cast<double>(event.depth)); }
  void hear(const InFlight& event) { in_flight.Set(event.in_flight); }
  void set_slo(Slo slo, bool is_breached) {
    breached.Add({{"slo", std::string(to_string(slo))}}).Set(is_breached ? 1 : 0);
  }
};

Metrics::Metrics() : parts_(std::make_unique<Parts>()) {
  for (const Slo slo : kSlos) parts_->set_slo(slo, false);
}
Metrics::~Metrics() = default;

void Metrics::hear(const Event& event) {
  std::visit(
      [this](const auto& body) {
        if constexpr (requires { parts_->hear(body); }) parts_->hear(body);
      },
      event.body);
}

void Metrics::hear(const SloTurn& turn) { parts_->set_slo(turn.slo, turn.standing.breached); }

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(parts_->registry.Collect()); }

}  // namespace carillon
