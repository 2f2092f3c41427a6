#include "observe/tenant_figures.h"

#include <array>
#include <chrono>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "core/time/instant.h"
#include "engine/telling/counting.h"

namespace carillon {

namespace {

// What a tenant's own jobs show.
constexpr std::array kTenantSlos{Slo::job_latency, Slo::cutoff_miss_rate, Slo::dlq, Slo::stalled};

// Most events are changes of jobs that nothing here counts: they must cost nothing.
template <typename T>
bool counts(const T& event) {
  if constexpr (std::is_same_v<T, JobChanged>) return event.state == JobState::dlq;
  return !std::is_same_v<T, EnqueueIgnored>;
}

template <typename T>
constexpr bool kIsMeasured =
    std::is_same_v<T, JobStopped> || std::is_same_v<T, Finalized> || std::is_same_v<T, LeaseLost>;

}  // namespace

TenantFigures::Tenant* TenantFigures::tenant_of(const std::string& name) {
  if (last_name_ != nullptr && *last_name_ == name) return last_;
  auto found = tenants_.find(name);
  if (found == tenants_.end()) {
    if (tenants_.size() >= kTenantsMax) {
      is_full_ = true;
      return nullptr;
    }
    found = tenants_.try_emplace(name).first;
  }
  last_name_ = &found->first;
  last_ = &found->second;
  return last_;
}

void TenantFigures::hear(const Event& event, Duration boot) {
  std::visit(
      [&](const auto& body) {
        using Body = std::remove_cvref_t<decltype(body)>;
        if constexpr (requires { body.tenant; }) {
          if (!counts(body)) return;
          const std::scoped_lock lock(mutex_);
          Tenant* const tenant = tenant_of(body.tenant);
          if (tenant == nullptr) return;
          count(tenant->counters, body);
          if constexpr (kIsMeasured<Body>) measure(*tenant, event.body, boot);
        }
      },
      event.body);
}

void TenantFigures::measure(Tenant& tenant, const EventBody& body, Duration boot) {
  if (!tenant.window) {
    if (windows_ >= kWindowsMax) drop_idle_windows(boot);
    if (windows_ >= kWindowsMax) return;
    tenant.window = std::make_unique<SloWindow>(config_);
    ++windows_;
  }
  tenant.heard = boot;
  tenant.window->hear(body, boot);
}

void TenantFigures::drop_idle_windows(Duration boot) {
  // It looks at all of them.
  if (boot - looked_for_idle_ < std::chrono::minutes(1)) return;
  looked_for_idle_ = boot;
  for (auto& [name, tenant] : tenants_) {
    if (!tenant.window || boot - tenant.heard <= config_.window + std::chrono::minutes(1)) continue;
    tenant.window.reset();
    --windows_;
  }
}

void TenantFigures::set_thresholds(const SloOptions& config) {
  const std::scoped_lock lock(mutex_);
  const Duration window = config_.window;
  config_ = config;
  config_.window = window;
  for (auto& [name, tenant] : tenants_) {
    if (tenant.window) tenant.window->set_thresholds(config_);
  }
}

void TenantFigures::forget(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return;
  if (found->second.window) --windows_;
  last_name_ = nullptr;
  last_ = nullptr;
  tenants_.erase(found);
}

std::optional<Counters> TenantFigures::totals(std::span<const std::string> tenants) const {
  const std::scoped_lock lock(mutex_);
  Counters sum;
  for (const std::string& name : tenants) {
    const auto found = tenants_.find(name);
    if (found != tenants_.end()) {
      add(sum, found->second.counters);
    } else if (is_full_) {
      return std::nullopt;
    }
  }
  return sum;
}

std::string TenantFigures::slo_json(std::span<const std::string> tenants, const Look& look) {
  SloMeasures measures;
  SloOptions config;
  {
    const std::scoped_lock lock(mutex_);
    config = config_;
    std::vector<SloWindow*> windows;
    for (const std::string& name : tenants) {
      const auto found = tenants_.find(name);
      if (found != tenants_.end() && found->second.window) windows.push_back(found->second.window.get());
    }
    measures = SloWindow::measure_jobs(windows, look.boot);
  }
  if (look.parked) measures[Slo::dlq] = measure_level(Slo::dlq, static_cast<double>(*look.parked), config);
  JsonArray items;
  for (const Slo slo : kTenantSlos) {
    const SloMeasure& measure = measures[slo];
    JsonObject item;
    item.text("name", to_string(slo)).text("state", measure.over ? "breached" : "ok");
    item.raw("value", measure.value ? json_number(*measure.value) : "null");
    item.number("threshold", threshold_of(slo, config)).text("unit", unit_of(slo));
    item.text("window", format_duration(config.window)).integer("samples", static_cast<std::int64_t>(measure.samples));
    item.integer("breaches_in_a_row", measure.over ? 1 : 0).raw("since", "null").raw("reason", "null");
    items.raw(item.raw("due_bucket", measure.due_bucket ? std::to_string(*measure.due_bucket) : "null").str());
  }
  JsonObject answer;
  answer.raw("items", items.str()).text("evaluated_at", format_instant(look.now));
  answer.raw("evaluated_every", "null").integer("breach_consecutive", 1);
  return answer.str();
}

}  // namespace carillon
