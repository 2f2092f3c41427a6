#include "engine/upkeep/rule_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest_name.h"

namespace carillon {

namespace {

// More than that are not compared with a name that is unknown.
constexpr std::size_t kNamesLookedAt = 1000;

// Nothing if there is none, or if it cannot be read: a later version may have written it.
template <typename Parse>
auto read(Parse parse, std::optional<std::string_view> body)
    -> std::optional<typename std::invoke_result_t<Parse, std::string_view>::value_type> {
  if (!body) return std::nullopt;
  auto value = parse(*body);
  if (!value) return std::nullopt;
  return *std::move(value);
}

constexpr auto kTenant = [](std::string_view body) { return parse_tenant_settings(body); };
constexpr auto kQueue = [](std::string_view body) { return parse_queue_settings(body); };
constexpr auto kConfig = [](std::string_view body) { return parse_engine_config(body); };

template <typename T>
Result<void> check(Result<T> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  return {};
}

Zone zone_or(const std::optional<std::string>& name, const Zone& otherwise) {
  if (!name) return otherwise;
  auto zone = Zone::load(*name);
  return zone ? *std::move(zone) : otherwise;
}

void keep_earlier(std::optional<Instant>& earliest, std::optional<Instant> at, Instant now) {
  if (at && *at > now && (!earliest || *at < *earliest)) earliest = at;
}

}  // namespace

Result<void> check_document(std::string_view kind, std::string_view body) {
  if (kind == kSettingsKind) return check(parse_tenant_settings(body));
  if (kind == kBoundsKind) return check(parse_tenant_bounds(body));
  if (kind == kQueueKind) return check(parse_queue_settings(body));
  if (kind == kLimitKind) return check(parse_limit_rule(body));
  if (kind == kMaintenanceKind) return check(parse_maintenance(body));
  if (kind == kConfigKind) return check(parse_engine_config(body));
  return {};
}

RuleBook::RuleBook(Base base) : base_(std::move(base)) { apply_config(std::nullopt); }

void RuleBook::apply(const DocumentKey& key, std::optional<std::string_view> body, ReadySet& ready, Instant now,
                     Why why) {
  const std::scoped_lock lock(mutex_);
  // The engine's own: it makes no tenant known, and changes nothing that holds.
  if (key.kind == kGateHistoryKind) return read_history(key.tenant, body);
  if (body) {
    keys_.insert(key);
    if (!key.tenant.empty()) ready.know_tenant(key.tenant);
  } else {
    keys_.erase(key);
  }
  if (key.kind == kSettingsKind) {
    Tenant& tenant = tenants_[key.tenant];
    const auto quiet = tenant.settings.quiet_hours;
    tenant.own = read(kTenant, body).value_or(TenantSettings{});
    bind(key.tenant, tenant, ready, now);
    if (why == Why::was_set && tenant.settings.quiet_hours != quiet) tenant.quiet_set_at = now;
  } else if (key.kind == kBoundsKind) {
    Tenant& tenant = tenants_[key.tenant];
    tenant.bounds = read(parse_tenant_bounds, body);
    bind(key.tenant, tenant, ready, now);
  } else if (key.kind == kQueueKind) {
    const QueueSettings queue = read(kQueue, body).value_or(QueueSettings{});
    ready.set_queue_cap(key.tenant, key.name, queue.max_concurrency);
    ready.set_queue_closed(key.tenant, key.name, queue.paused);
  } else if (key.kind == kLimitKind) {
    const auto rule = read(parse_limit_rule, body);
    if (why == Why::was_set || ready.limit_rule(key.tenant, key.name) != rule) {
      ready.set_limit(key.tenant, key.name, rule, now);
    }
  } else if (key.kind == kMaintenanceKind) {
    auto maintenance = read(parse_maintenance, body);
    const auto set_at = why == Why::was_set ? std::optional(now) : std::nullopt;
    if (key.tenant.empty()) {
      maintenance_for_all_ = std::move(maintenance);
      maintenance_for_all_set_at_ = set_at;
    } else {
      Tenant& tenant = tenants_[key.tenant];
      update_zones(tenant);
      tenant.maintenance = std::move(maintenance);
      tenant.maintenance_set_at = set_at;
    }
  } else if (key.kind == kConfigKind) {
    apply_config(body);
  }
  next_change_ = now;
}

void RuleBook::bind(const std::string& name, Tenant& tenant, ReadySet& ready, Instant now) const {
  tenant.settings = tenant.bounds ? bounded(tenant.own, *tenant.bounds, std::nullopt) : tenant.own;
  update_zones(tenant);
  ready.set_weight(name, tenant.settings.weight, now);
  ready.set_tenant_cap(name, tenant.settings.max_concurrency);
}

void RuleBook::apply_config(std::optional<std::string_view> body) {
  config_ = pinned(read(kConfig, body).value_or(EngineConfig{}), base_.pins);
  job_defaults_ = base_.job;
  if (config_.default_retry_max_attempts) job_defaults_.max_attempts = *config_.default_retry_max_attempts;
  if (config_.default_retry_backoff) job_defaults_.retry = RetryExponential{.base = *config_.default_retry_backoff};
  zone_ = zone_or(config_.timezone, Zone::utc());
  for (auto& [name, tenant] : tenants_) update_zones(tenant);
}

void RuleBook::update_zones(Tenant& tenant) const {
  tenant.zone = zone_or(tenant.settings.timezone, zone_);
  tenant.quiet_zone =
      tenant.settings.quiet_hours ? zone_or(tenant.settings.quiet_hours->timezone, tenant.zone) : tenant.zone;
}

namespace {

// What the fields of `body` make of what was set before, as a whole document.
template <typename T>
Result<std::string> merge(std::string_view body, std::optional<std::string_view> before,
                          Result<T> (*parse)(std::string_view, T), std::string (*write)(const T&)) {
  T onto;
  if (before) {
    if (auto known = parse(*before, T{})) onto = *std::move(known);
  }
  TRY_ASSIGN(const T merged, parse(body, std::move(onto)));
  return write(merged);
}

// The same document in our own spelling: what is stored is also what is shown.
template <typename T>
Result<std::string> rewritten(std::string_view body, Result<T> (*parse)(std::string_view),
                              std::string (*write)(const T&)) {
  TRY_ASSIGN(const T read, parse(body));
  return write(read);
}

}  // namespace

Result<std::string> merged_document(std::string_view kind, std::string_view body,
                                    std::optional<std::string_view> before) {
  if (kind == kSettingsKind) return merge(body, before, parse_tenant_settings, write_tenant_settings);
  if (kind == kQueueKind) return merge(body, before, parse_queue_settings, write_queue_settings);
  if (kind == kConfigKind) return merge(body, before, parse_engine_config, write_engine_config);
  if (kind == kMaintenanceKind) return rewritten(body, parse_maintenance, write_maintenance);
  if (kind == kLimitKind) return rewritten(body, parse_limit_rule, write_limit_rule);
  TRY(check_document(kind, body));
  return std::string(body);
}

std::vector<RuleBook::Opened> RuleBook::refresh(ReadySet& ready, Instant now) {
  std::vector<Opened> opened;
  std::optional<Instant> next;
  refreshed_at_ = now;
  const auto maintained = maintenance_at(maintenance_for_all_, now);
  if (maintained) keep_earlier(next, maintained->until, now);
  const bool all_closed = maintained.has_value() || !config_.enabled;
  if (all_closed != all_closed_) {
    ready.set_all_closed(all_closed);
    if (!all_closed) opened.push_back({.tenant = {}, .only_notifying = false});
    all_closed_ = all_closed;
  }
  for (auto& [name, tenant] : tenants_) {
    const auto own = maintenance_at(tenant.maintenance, now);
    if (own) keep_earlier(next, own->until, now);
    const bool closed = own.has_value() || tenant.settings.paused;
    if (closed != tenant.closed) {
      ready.set_tenant_closed(name, closed);
      if (!closed) opened.push_back({.tenant = name, .only_notifying = false});
      tenant.closed = closed;
    }
    bool quiet = false;
    if (tenant.settings.quiet_hours) {
      quiet = quiet_at(*tenant.settings.quiet_hours, tenant.quiet_zone, now).has_value();
      keep_earlier(next, quiet_changes_after(*tenant.settings.quiet_hours, tenant.quiet_zone, now), now);
    }
    if (quiet != tenant.quiet) {
      ready.set_quiet(name, quiet);
      if (!quiet) opened.push_back({.tenant = name, .only_notifying = true});
      tenant.quiet = quiet;
    }
  }
  next_change_ = next;
  return opened;
}

std::optional<Closing> RuleBook::closing_of(const Tenant* tenant, bool notifies, Instant now) const {
  return carillon::closed_for(GateFacts{.settings = tenant ? &tenant->settings : nullptr,
                                        .tenant_zone = tenant ? tenant->quiet_zone : Zone::utc(),
                                        .maintenance = tenant ? tenant->maintenance : std::nullopt,
                                        .maintenance_for_all = maintenance_for_all_},
                              notifies, now);
}

std::optional<Closing> RuleBook::closed_for(std::string_view tenant, bool notifies, Instant now) const {
  const std::scoped_lock lock(mutex_);
  if (tenants_.empty() && !maintenance_for_all_) return std::nullopt;
  const auto found = tenants_.find(tenant);
  return closing_of(found == tenants_.end() ? nullptr : &found->second, notifies, now);
}

RuleBook::Held RuleBook::held(std::string_view tenant, bool notifies, Instant now) const {
  const std::scoped_lock lock(mutex_);
  Held held{.is_enabled = config_.enabled, .maintenance_for_all = maintenance_at(maintenance_for_all_, now)};
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return held;
  const Tenant& one = found->second;
  held.is_paused = one.settings.paused;
  held.maintenance = maintenance_at(one.maintenance, now);
  held.quiet_zone = one.quiet_zone;
  if (notifies && one.settings.quiet_hours) held.quiet_hours = quiet_at(*one.settings.quiet_hours, one.quiet_zone, now);
  return held;
}

Zone RuleBook::zone_of(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? zone_ : found->second.zone;
}

bool RuleBook::is_enabled() const {
  const std::scoped_lock lock(mutex_);
  return config_.enabled;
}

Result<void> RuleBook::check_enabled() const {
  if (is_enabled()) return {};
  return failed(ErrorCode::scheduler_disabled, "the scheduler is disabled: nothing is started");
}

std::vector<std::string> RuleBook::missing_limits(std::string_view tenant,
                                                  const std::vector<std::string>& names) const {
  if (names.empty()) return {};
  const std::scoped_lock lock(mutex_);
  if (!all_are_read_) return {};
  const auto is_there = [&](std::string_view owner, const std::string& name) {
    return keys_.contains({.tenant = std::string(owner), .kind = std::string(kLimitKind), .name = name});
  };
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!is_there(tenant, name) && !is_there({}, name)) missing.push_back(name);
  }
  return missing;
}

std::vector<std::string> RuleBook::limit_names(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const std::string_view owner : {tenant, std::string_view()}) {
    const DocumentKey first{.tenant = std::string(owner), .kind = std::string(kLimitKind), .name = {}};
    for (auto at = keys_.lower_bound(first); at != keys_.end() && names.size() < kNamesLookedAt; ++at) {
      if (at->tenant != owner || at->kind != kLimitKind) break;
      names.push_back(at->name);
    }
  }
  return names;
}

Result<void> RuleBook::check_limits(std::string_view tenant, const std::vector<std::string>& names,
                                    const std::vector<std::string>& before) const {
  if (!base_.limits_must_exist || names.empty()) return {};
  for (const std::string& name : missing_limits(tenant, names)) {
    if (std::ranges::find(before, name) != before.end()) continue;
    auto refused = invalid_configuration(
        fmt::format("there is no limit {}{}: neither tenant {} nor all tenants have it; make it first "
                    "(PUT /v1/tenants/{}/limits/{})",
                    quoted(name), did_you_mean(name, limit_names(tenant)), quoted(tenant), tenant, name));
    return std::unexpected(about_field("limits", std::move(refused).error()));
  }
  return {};
}

void RuleBook::all_are_read() {
  const std::scoped_lock lock(mutex_);
  all_are_read_ = true;
}

JobDefaults RuleBook::job_defaults() const {
  const std::scoped_lock lock(mutex_);
  return job_defaults_;
}

EngineConfig RuleBook::config_now() const {
  const std::scoped_lock lock(mutex_);
  return config_;
}

bool RuleBook::is_paused(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  const auto found = tenants_.find(tenant);
  return found != tenants_.end() && found->second.settings.paused;
}

RetentionRule RuleBook::retention(Duration otherwise) const {
  const std::scoped_lock lock(mutex_);
  RetentionRule rule{.otherwise = config_.retention.value_or(otherwise)};
  for (const auto& [name, tenant] : tenants_) {
    if (!tenant.settings.retention) continue;
    const TenantBounds bounds = tenant.bounds.value_or(bounds_of(tenant.own));
    rule.by_tenant.emplace_back(name, *bounded(tenant.settings, bounds, rule.otherwise).retention);
  }
  return rule;
}

}  // namespace carillon
