#include "server/api/quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/json_writer.h"

namespace carillon::server {

namespace {

constexpr std::int64_t kQuotaMax = 1'000'000'000'000;
constexpr auto kNameUsed = std::chrono::hours(24);  // a name that was not used for so long is not counted
// What is nearer to its quota than a tenth is counted again and again.
constexpr std::int64_t kNearTenths = 9;
// Of somebody who makes jobs, a count holds for so long.
constexpr auto kCountHolds = std::chrono::seconds(30);
// Tenants that are counted in turn each time.
constexpr std::size_t kTurnMax = 8;

std::optional<std::int64_t> default_of(Quota quota) {
  switch (quota) {
    case Quota::live_jobs: return 10'000'000;
    case Quota::subjects: return 20'000'000;
    case Quota::schedules:
    case Quota::handlers:
    case Quota::hooks:
    case Quota::limits:
    case Quota::names: return 10'000;
    case Quota::calls_per_second: return std::nullopt;
  }
  UNREACHABLE();
}

Result<std::optional<std::int64_t>> read_one(const JsonFields& fields, Quota quota) {
  const std::string_view name = to_string(quota);
  if (fields.optional(name) == nullptr) return std::nullopt;
  const std::int64_t least = quota == Quota::calls_per_second ? 1 : 0;
  TRY_ASSIGN(const std::int64_t value, fields.integer(name, {.min = least, .max = kQuotaMax}));
  return value;
}

}  // namespace

std::string_view to_string(Quota quota) {
  switch (quota) {
    case Quota::live_jobs: return "live_jobs";
    case Quota::subjects: return "subjects";
    case Quota::schedules: return "schedules";
    case Quota::handlers: return "handlers";
    case Quota::hooks: return "hooks";
    case Quota::limits: return "limits";
    case Quota::names: return "names";
    case Quota::calls_per_second: return "calls_per_second";
  }
  UNREACHABLE();
}

Quotas::Quotas() {
  for (const Quota quota : kQuotas) allowed_[static_cast<std::size_t>(quota)] = default_of(quota);
}

Result<Quotas> read_quotas(std::string_view text) {
  TRY_ASSIGN(const Json json, parse_json(text));
  if (json.type != JsonType::object) return json_error(text, json.offset, "", "quotas must be an object");
  std::vector<std::string_view> names;
  for (const Quota quota : kQuotas) names.push_back(to_string(quota));
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, json, "", names));
  Quotas quotas;
  for (const Quota quota : kQuotas) {
    TRY_ASSIGN(const auto value, read_one(fields, quota));
    if (value) quotas.set(quota, *value);
  }
  return quotas;
}

Result<std::string> merged_quotas(std::string_view body, std::string_view before) {
  TRY(read_quotas(body));
  TRY_ASSIGN(const Json given, parse_json(body));
  TRY_ASSIGN(const Json known, parse_json(before));
  JsonObject merged;
  for (const Quota quota : kQuotas) {
    const std::string_view name = to_string(quota);
    const Json* value = given.find(name);
    if (value == nullptr) value = known.find(name);
    if (value != nullptr && value->type == JsonType::number) merged.raw(name, value->text);
  }
  return merged.str();
}

// ---- The book ------------------------------------------------------------------------------------------------------

QuotaBook::Tenant& QuotaBook::tenant(std::string_view name) {
  auto found = tenants_.find(name);
  if (found == tenants_.end()) found = tenants_.try_emplace(std::string(name)).first;
  return found->second;
}

const QuotaBook::Tenant* QuotaBook::find(std::string_view name) const {
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? nullptr : &found->second;
}

void QuotaBook::put(std::string_view name, const Quotas& quotas) {
  const std::scoped_lock lock(mutex_);
  Tenant& changed = tenant(name);
  changed.quotas = quotas;
  changed.known = false;
  changed.calls_left = static_cast<double>(quotas.of(Quota::calls_per_second).value_or(0));
}

void QuotaBook::remove(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = tenants_.find(name); found != tenants_.end()) tenants_.erase(found);
}

Quotas QuotaBook::of(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const Tenant* const found = find(name);
  return found == nullptr ? Quotas() : found->quotas;
}

std::optional<QuotaBook::Refused> QuotaBook::call(std::string_view name, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto found = tenants_.find(name);
  if (found == tenants_.end()) return std::nullopt;
  Tenant& asked = found->second;
  const auto rate = asked.quotas.of(Quota::calls_per_second);
  if (!rate) return std::nullopt;
  // What is saved up is a second's worth.
  const auto most = static_cast<double>(*rate);
  const double passed = std::chrono::duration<double>(now - asked.calls_at).count();
  asked.calls_left = std::min(most, asked.calls_left + std::max(0.0, passed) * most);
  asked.calls_at = now;
  if (asked.calls_left >= 1) {
    asked.calls_left -= 1;
    return std::nullopt;
  }
  const std::chrono::duration<double> wait((1 - asked.calls_left) / most);
  return Refused{
      .quota = Quota::calls_per_second, .allowed = *rate, .wait = std::chrono::ceil<std::chrono::milliseconds>(wait)};
}

void QuotaBook::forget_old_names(Tenant& tenant, Clock::time_point now) {
  const auto is_old = [&](const auto& entry) { return entry.second + kNameUsed < now; };
  std::erase_if(tenant.queues, is_old);
  std::erase_if(tenant.types, is_old);
  std::erase_if(tenant.kinds, is_old);
}

std::optional<QuotaBook::Refused> QuotaBook::make_jobs(std::string_view name, std::size_t count,
                                                       std::span<const Name> names, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Tenant& maker = tenant(name);
  const auto names_max = maker.quotas.of(Quota::names);
  const auto use = [&](std::unordered_map<std::string, Clock::time_point>& used, std::string_view one) {
    if (one.empty()) return true;
    const auto found = used.find(std::string(one));
    if (found != used.end()) {
      found->second = now;
      return true;
    }
    if (names_max && maker.names() >= *names_max) {
      forget_old_names(maker, now);
      if (maker.names() >= *names_max) return false;
    }
    used.emplace(one, now);
    return true;
  };
  const auto use_kind = [&](std::size_t kind) {
    if (kind == 0 || !names_max) return true;
    const auto is_full = [&] { return std::ssize(maker.kinds) >= kKindsOfName * *names_max; };
    if (!maker.kinds.contains(kind) && is_full()) {
      forget_old_names(maker, now);
      if (is_full()) return false;
    }
    maker.kinds.insert_or_assign(kind, now);
    return true;
  };
  // First, so that a call that is refused for its number of jobs has no names beyond the quota.
  for (const Name& one : names) {
    if (!use(maker.queues, one.queue) || !use(maker.types, one.type) || !use_kind(one.kind)) {
      return Refused{.quota = Quota::names, .allowed = *names_max};
    }
  }
  const auto live_max = maker.quotas.of(Quota::live_jobs);
  const auto more = static_cast<std::int64_t>(count);
  if (more > 0 && live_max && maker.live_jobs.now() + more > *live_max) {
    maker.known = false;  // some may have ended since: to be counted soon
    return Refused{.quota = Quota::live_jobs, .allowed = *live_max};
  }
  maker.live_jobs.since += more;
  return std::nullopt;
}

std::size_t QuotaBook::make_as_many(std::string_view name, std::size_t count) {
  const std::scoped_lock lock(mutex_);
  Tenant& maker = tenant(name);
  const auto most = maker.quotas.of(Quota::live_jobs);
  const auto wanted = static_cast<std::int64_t>(count);
  const std::int64_t room = most ? std::max<std::int64_t>(*most - maker.live_jobs.now(), 0) : wanted;
  const std::int64_t taken = std::min(room, wanted);
  maker.live_jobs.since += taken;
  return static_cast<std::size_t>(taken);
}

void QuotaBook::made_jobs(std::string_view name, std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  tenant(name).live_jobs.since += count;
}

std::size_t QuotaBook::room_for_jobs(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  Tenant& maker = tenant(name);
  const auto most = maker.quotas.of(Quota::live_jobs);
  if (!most) return std::numeric_limits<std::size_t>::max();
  if (!maker.known) return 0;  // it is counted soon
  const std::int64_t room = *most - maker.live_jobs.now();
  if (room <= 0) maker.known = false;  // some may have ended since
  return static_cast<std::size_t>(std::max<std::int64_t>(room, 0));
}

bool QuotaBook::has_room_for_subjects(std::string_view name, std::size_t count) const {
  const std::scoped_lock lock(mutex_);
  const Tenant* const maker = find(name);
  // Nothing is known of it: it has to be counted first.
  if (maker == nullptr || !maker->known) return false;
  const auto most = maker->quotas.of(Quota::subjects);
  return !most || maker->subjects.now() + static_cast<std::int64_t>(count) <= *most;
}

void QuotaBook::made_subjects(std::string_view name, std::size_t count) {
  const std::scoped_lock lock(mutex_);
  tenant(name).subjects.since += static_cast<std::int64_t>(count);
}

std::int64_t QuotaBook::names(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const Tenant* const found = find(name);
  return found == nullptr ? 0 : found->names();
}

bool QuotaBook::is_counted(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const Tenant* const found = find(name);
  return found != nullptr && found->known;
}

bool QuotaBook::is_near(const Count& count, std::optional<std::int64_t> allowed) {
  return allowed && count.since > 0 && count.now() >= *allowed / 10 * kNearTenths;
}

std::vector<std::string> QuotaBook::to_count(Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, one] : tenants_) {
    const bool near = is_near(one.live_jobs, one.quotas.of(Quota::live_jobs)) ||
                      is_near(one.subjects, one.quotas.of(Quota::subjects));
    const bool old = one.live_jobs.since > 0 && one.counted_at + kCountHolds < now;
    if (!one.known || near || old) names.push_back(name);
  }
  return names;
}

std::vector<std::string> QuotaBook::next_in_turn() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  auto next = tenants_.upper_bound(turn_);
  while (names.size() < std::min(kTurnMax, tenants_.size())) {
    if (next == tenants_.end()) next = tenants_.begin();
    turn_ = next->first;
    names.push_back(turn_);
    ++next;
  }
  return names;
}

Result<void> QuotaBook::count(std::string_view name, const std::function<Result<Counted>()>& ask,
                              Clock::time_point now) {
  Count live_before;
  Count subjects_before;
  {
    const std::scoped_lock lock(mutex_);
    const Tenant& asked = tenant(name);
    live_before = asked.live_jobs;
    subjects_before = asked.subjects;
  }
  TRY_ASSIGN(const Counted counted, ask());
  const std::scoped_lock lock(mutex_);
  Tenant& asked = tenant(name);
  // What was made while it was counted may be counted twice, until the next time.
  asked.live_jobs = {.counted = counted.live_jobs, .since = asked.live_jobs.since - live_before.since};
  asked.subjects = {.counted = counted.subjects, .since = asked.subjects.since - subjects_before.since};
  // What is there is in use.
  for (const std::string& queue : counted.queues) asked.queues.insert_or_assign(queue, now);
  asked.known = true;
  asked.counted_at = now;
  return {};
}

}  // namespace carillon::server
