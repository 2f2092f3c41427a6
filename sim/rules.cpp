#include "sim/rules.h"

#include <algorithm>

#include "sim/calendar.h"

namespace carillon::sim {

namespace {

using namespace std::chrono_literals;

constexpr double kRounding = 1e-6;
// A gate that opens lets its jobs go over a few seconds.
constexpr Duration kOpeningSpread = 5s;

DocumentKey settings_of(const std::string& tenant) { return {.tenant = tenant, .kind = "settings", .name = {}}; }
DocumentKey queue_of(const std::string& tenant, const std::string& queue) {
  return {.tenant = tenant, .kind = "queue", .name = queue};
}
const DocumentKey kConfig{.tenant = {}, .kind = "config", .name = {}};
DocumentKey maintenance_of(const std::string& tenant) { return {.tenant = tenant, .kind = "maintenance", .name = {}}; }

bool maintained(const RuleText& rule, Instant now) { return rule.exists && (!rule.until || *rule.until > now); }

bool is_paused_by(const RuleText& rule) { return rule.exists && rule.paused; }

std::optional<std::uint32_t> cap_in(const RuleText& rule) { return rule.exists ? rule.cap : std::nullopt; }

bool is_quiet(const QuietTime& quiet, Instant now) {
  const Instant local = now + offset_at(quiet.zone, now);
  const Duration time = local - Instant(std::chrono::floor<std::chrono::days>(local));
  if (quiet.start < quiet.end) return time >= quiet.start && time < quiet.end;
  return time >= quiet.start || time < quiet.end;
}

}  // namespace

const RuleText* Rules::find(const DocumentKey& key) const {
  const auto found = rules_.find(key);
  return found == rules_.end() || !found->second.exists ? nullptr : &found->second;
}

void Rules::intend(const DocumentKey& key, RuleText text) {
  const RuleText* const known = find(key);
  if (key.kind == "limit" && known && *known == text) {
    // Nothing is written that says when, or whether, it was set: from now on it may be open.
    Bucket& bucket = buckets_[LimitKey(key.tenant, key.name)];
    bucket.held_until = kInstantMin;
    bucket.learned = true;
    set_.insert(LimitKey(key.tenant, key.name));
  }
  intended_[key] = std::move(text);
}

void Rules::stored(const DocumentKey& key, Instant now, BootTime boot) {
  const auto intended = intended_.find(key);
  if (intended == intended_.end()) return;  // bulk work
  ++moves_;
  if (key.kind == "limit") {
    const LimitKey limit(key.tenant, key.name);
    const RuleText* const before = find(key);
    const RuleText& after = intended->second;
    if (after.exists && before && before->rate && after.rate) {
      Bucket& bucket = refilled(limit, now);
      bucket.tokens = std::min(bucket.tokens, after.burst);
    } else {
      buckets_[limit] = {.tokens = after.burst, .seen = now};  // a new bucket is full
    }
    // Who sets a limit opens it.
    buckets_[limit].held_until = kInstantMin;
    buckets_[limit].learned = false;
    set_.insert(limit);
  }
  rules_[key] = intended->second;
  if (key.tenant.empty()) {
    for (auto& [tenant, at] : opened_) at = boot;
  } else {
    opened_[key.tenant] = boot;
  }
}

const LaneRules& Rules::lane(const std::string& tenant, const std::string& queue) {
  const auto [found, is_new] = lanes_.try_emplace({tenant, queue});
  if (is_new) {
    // One that nobody has put has its place as well, for when somebody does.
    const auto place = [&](const DocumentKey& key) {
      return &rules_.try_emplace(key, RuleText{.exists = false}).first->second;
    };
    found->second = {.config = place(kConfig),
                     .settings = place(settings_of(tenant)),
                     .queue = place(queue_of(tenant, queue)),
                     .default_queue = place(queue_of(tenant, "default")),
                     .maintenance = place(maintenance_of(tenant)),
                     .maintenance_of_all = place(maintenance_of({}))};
  }
  return found->second;
}

bool Rules::is_paused(const LaneRules& lane) {
  return is_paused_by(*lane.config) || is_paused_by(*lane.settings) || is_paused_by(*lane.queue);
}

bool Rules::is_gated(const LaneRules& lane, bool notifies, Instant now) {
  if (maintained(*lane.maintenance_of_all, now) || maintained(*lane.maintenance, now)) return true;
  if (!notifies || !lane.settings->exists || !lane.settings->quiet) return false;
  const QuietTime& quiet = *lane.settings->quiet;
  return !is_near_change(quiet.zone, now) && is_quiet(quiet, now);
}

bool Rules::is_settled(const std::string& tenant, const LaneRules& lane, Instant now, BootTime boot) {
  BootTime& closed_at = opened_[tenant];
  const RuleText& settings = *lane.settings;
  const bool near_change = settings.exists && settings.quiet && is_near_change(settings.quiet->zone, now);
  bool was_gated = false;
  for (const Duration ago : {Duration(0s), Duration(1s), Duration(3s), kOpeningSpread}) {
    was_gated = was_gated || is_gated(lane, true, now - ago);
  }
  const bool is_paused = is_paused_by(*lane.config) || is_paused_by(settings) || is_paused_by(*lane.default_queue);
  if (near_change || was_gated || is_paused) closed_at = boot;
  return closed_at + kOpeningSpread < boot;
}

std::optional<Duration> Rules::until_quiet(const std::string& tenant, Instant now) const {
  const RuleText* const settings = find(settings_of(tenant));
  if (!settings || !settings->quiet) return std::nullopt;
  const Instant local = now + offset_at(settings->quiet->zone, now);
  const Duration time = local - Instant(std::chrono::floor<std::chrono::days>(local));
  return (settings->quiet->start - time + 24h) % Duration(24h);
}

std::uint32_t Rules::weight(const std::string& tenant) const {
  const RuleText* const settings = find(settings_of(tenant));
  return settings ? settings->weight : 1;
}

std::optional<std::uint32_t> Rules::cap(const std::string& tenant) const {
  const RuleText* const settings = find(settings_of(tenant));
  return settings ? settings->cap : std::nullopt;
}
std::optional<std::uint32_t> Rules::cap_of_tenant(const LaneRules& lane) { return cap_in(*lane.settings); }
std::optional<std::uint32_t> Rules::cap_of_queue(const LaneRules& lane) { return cap_in(*lane.queue); }
std::optional<std::uint32_t> Rules::cap_of_all() const {
  const RuleText* const config = find(kConfig);
  return config ? config->cap : std::nullopt;
}

// ---- What runs ----------------------------------------------------------------------------------------------------

std::size_t Rules::running(const std::string& tenant) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      running_, [&](const auto& entry) { return counts(entry.second) && entry.second.tenant == tenant; }));
}
std::size_t Rules::running(const std::string& tenant, const std::string& queue) const {
  return static_cast<std::size_t>(std::ranges::count_if(running_, [&](const auto& entry) {
    return counts(entry.second) && entry.second.tenant == tenant && entry.second.queue == queue;
  }));
}

std::optional<Rules::LimitKey> Rules::effective(const std::string& tenant, const std::string& name) const {
  if (find({.tenant = tenant, .kind = "limit", .name = name})) return LimitKey(tenant, name);
  if (find({.tenant = {}, .kind = "limit", .name = name})) return LimitKey(std::string(), name);
  return std::nullopt;
}

std::size_t Rules::running_under(const LimitKey& key) const {
  std::size_t count = 0;
  for (const auto& [attempt, one] : running_) {
    if (!counts(one)) continue;
    for (const std::string& name : one.spec->limits) {
      if (name == key.second && effective(one.tenant, name) == key) ++count;
    }
  }
  return count;
}

bool Rules::holds_some_of(const LimitKey& key, const std::string& tenant) const {
  return std::ranges::any_of(running_, [&](const auto& entry) {
    const Running& one = entry.second;
    const auto& limits = one.spec->limits;
    return counts(one) && one.tenant == tenant && std::ranges::find(limits, key.second) != limits.end() &&
           effective(tenant, key.second) == key;
  });
}

Rules::Bucket& Rules::refilled(const LimitKey& key, Instant now) {
  Bucket& bucket = buckets_[key];
  const RuleText* const rule = find({.tenant = key.first, .kind = "limit", .name = key.second});
  if (now < bucket.seen) {
    if (bucket.seen - now <= 1min) return bucket;
    bucket.held_until -= bucket.seen - now;
    bucket.seen = now;
    return bucket;
  }
  if (rule && rule->rate) {
    const double filled =
        *rule->rate * static_cast<double>((now - bucket.seen).count()) / static_cast<double>(rule->per.count());
    bucket.tokens = std::min(rule->burst, bucket.tokens + filled);
  }
  bucket.seen = now;
  return bucket;
}

void Rules::begins(AttemptKey key, Running running, Instant now, BootTime boot) {
  ++moves_;
  boot_ = boot;
  for (const std::string& name : running.spec->limits) {
    const auto limit = effective(running.tenant, name);
    if (!limit) continue;
    const RuleText* const rule = find({.tenant = limit->first, .kind = "limit", .name = limit->second});
    Bucket& bucket = refilled(*limit, now);
    findings_.expect(now >= bucket.held_until, 6, "limit {} was asked to rest until {}, and one started", name,
                     ShownTime{bucket.held_until});
    if (rule->rate) {
      if (bucket.tokens < 1 - kRounding) bucket.tokens += std::exchange(bucket.returned, 0);
      findings_.expect(bucket.tokens >= 1 - kRounding, 6, "limit {} had {} tokens, and one started", name,
                       bucket.tokens);
      // The node takes before it is given back what was not started: then the bucket is not full when that returns.
      bucket.tokens = std::min(rule->burst, bucket.tokens - 1 + std::exchange(bucket.returned, 0));
    }
    if (rule->cap) {
      findings_.expect(running_under(*limit) < *rule->cap, 6, "limit {} allows {} at once, and one more started", name,
                       *rule->cap);
    }
  }
  if (const auto most = cap(running.tenant)) {
    findings_.expect(this->running(running.tenant) < *most, 6, "tenant {} may run {}, and one more started",
                     running.tenant, *most);
  }
  if (const auto most = cap_of_queue(lane(running.tenant, running.queue))) {
    findings_.expect(this->running(running.tenant, running.queue) < *most, 6,
                     "queue {} of {} may run {}, and one more started", running.queue, running.tenant, *most);
  }
  running_.emplace(key, std::move(running));
}

void Rules::ends(AttemptKey key, bool gave_back, Instant now) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  if (gave_back) {
    for (const std::string& name : found->second.spec->limits) {
      const auto limit = effective(found->second.tenant, name);
      if (!limit) continue;
      const RuleText* const rule = find({.tenant = limit->first, .kind = "limit", .name = limit->second});
      Bucket& bucket = refilled(*limit, now);
      bucket.returned += std::max(0.0, bucket.tokens + 1 - rule->burst);
      bucket.tokens = std::min(rule->burst, bucket.tokens + 1);
    }
  }
  ++moves_;
  running_.erase(found);
}

void Rules::rate_limited(const std::string& tenant, const std::string& limit, Instant until) {
  if (const auto key = effective(tenant, limit)) holds_.emplace_back(*key, until);
}

void Rules::round_over() {
  for (auto& [key, bucket] : buckets_) bucket.returned = 0;
  for (const auto& [key, until] : holds_) {
    if (set_.contains(key)) continue;  // it was heard first, and then the limit was set
    Bucket& bucket = buckets_[key];
    bucket.held_until = std::max(bucket.held_until, until);
    bucket.learned = true;
  }
  holds_.clear();
  set_.clear();
}

void Rules::clock_is_set(Instant now, Duration by) {
  for (auto& [key, bucket] : buckets_) {
    refilled(key, now);
    if (by < -1min) {
      bucket.held_until += by;
      bucket.seen += by;
    }
    bucket.learned = true;  // the engine may have counted less
  }
}

void Rules::node_begins() {
  ++moves_;
  running_.clear();
  holds_.clear();
  set_.clear();
  for (auto& [key, bucket] : buckets_) {
    const RuleText* const rule = find({.tenant = key.first, .kind = "limit", .name = key.second});
    bucket.tokens = rule ? rule->burst : 1;
    bucket.held_until = kInstantMin;
    bucket.learned = false;
  }
}

bool Rules::limits_allow(const std::string& tenant, const JobSpec& spec, Instant now) {
  return std::ranges::all_of(spec.limits, [&](const std::string& name) {
    const auto limit = effective(tenant, name);
    if (!limit) return true;
    const RuleText* const rule = find({.tenant = limit->first, .kind = "limit", .name = limit->second});
    const Bucket& bucket = refilled(*limit, now);
    if (bucket.learned || now < bucket.held_until) return false;
    if (rule->rate && bucket.tokens < 1 + kRounding && bucket.tokens < rule->burst - kRounding) return false;
    // Of what all tenants share the next free slot is certain only for one that holds none.
    if (rule->cap && limit->first.empty() && holds_some_of(*limit, tenant)) return false;
    return !rule->cap || running_under(*limit) < *rule->cap;
  });
}

}  // namespace carillon::sim
