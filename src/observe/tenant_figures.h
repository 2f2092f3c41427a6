// What a key of some tenants may know of the server's figures: those of its tenants alone. Totals since the start, and
// objectives over the window, kept tenant by tenant.
//
//   TenantFigures figures(config);
//   figures.hear(event, boot_now());                                       // the engine's thread
//   figures.totals(tenants);                                               // as /v1/status shows them
//   figures.slo_json(tenants, {.boot = boot_now(), .now = now, .parked = parked});   // as /v1/slo answers
//
// Only objectives that are about jobs can be split by tenant: how long attempts take, deliveries that were missed,
// leases that were lost, jobs that are parked. How busy the server is, is nobody's own.
#pragma once

#include <carillon/events.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "observe/slo_window.h"

namespace carillon {

class TenantFigures {
 public:
  // Whose totals are kept: those that came first. Of further ones nothing is known until a restart.
  static constexpr std::size_t kTenantsMax = 10'000;
  // Whose objectives are measured at a time, each in at most 40 KiB: those that came first within the window.
  static constexpr std::size_t kWindowsMax = 1'000;

  explicit TenantFigures(const SloOptions& config) : config_(config) {}
  TenantFigures(const TenantFigures&) = delete;
  TenantFigures& operator=(const TenantFigures&) = delete;
  ~TenantFigures() = default;

  // Any thread; quick. `boot` never goes back.
  void hear(const Event& event, Duration boot);

  // Thresholds from now on. The length of the window stays.
  void set_thresholds(const SloOptions& config);

  // It is gone: the next one of that name begins at nothing.
  void forget(const std::string& name);

  // Over all of them; nothing, if there were too many tenants to know.
  std::optional<Counters> totals(std::span<const std::string> tenants) const;

  struct Look {
    Duration boot{};
    Instant now;
    std::optional<std::uint64_t> parked;  // jobs of these tenants in the DLQ
  };
  // The objectives that can be split by tenant, measured now: one is breached while it is over its threshold.
  std::string slo_json(std::span<const std::string> tenants, const Look& look);

 private:
  struct Tenant {
    Counters counters;
    std::unique_ptr<SloWindow> window;
    Duration heard{};
  };
  struct NameHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  Tenant* tenant_of(const std::string& name);
  void measure(Tenant& tenant, const EventBody& body, Duration boot);
  void drop_idle_windows(Duration boot);

  mutable std::mutex mutex_;
  SloOptions config_;
  std::unordered_map<std::string, Tenant, NameHash, std::equal_to<>> tenants_;
  bool is_full_ = false;  // somebody was not counted
  std::size_t windows_ = 0;
  Duration looked_for_idle_{};
  // The one that was heard of last is mostly the next one too.
  const std::string* last_name_ = nullptr;
  Tenant* last_ = nullptr;
};

}  // namespace carillon
