#include "server/api/quota_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json_writer.h"
#include "engine/calls/import_lines.h"
#include "engine/upkeep/rule_book.h"

namespace carillon::server {

namespace {

// Counted anew about once a second: by then some may have ended.
constexpr std::chrono::milliseconds kJobsWait = std::chrono::seconds(1);
// About once in so many it is the turn of those for whom nothing has asked: counting is not free.
constexpr std::int64_t kTurnSeconds = 4;

QuotaBook::Refused refused_of(Services& services, const std::string& tenant, Quota quota) {
  return {.quota = quota, .allowed = services.quotas.of(tenant).of(quota).value_or(0), .wait = {}};
}

// The same for jobs that the engine keeps in one place.
std::size_t kind_of(const NewJob& job) {
  constexpr std::size_t kFactor = 0x9E3779B97F4A7C15U;
  std::size_t kind = 1;
  const auto add = [&](std::string_view text) {
    kind = (kind ^ std::hash<std::string_view>()(text)) * kFactor;
    kind ^= kind >> 32U;
  };
  add(job.queue);
  add(job.type);
  for (const std::string& limit : job.options.limits) add(limit);
  return kind == 0 ? 1 : kind;
}

struct ScheduleCounts {
  std::int64_t schedules = 0;
  std::int64_t subjects = 0;
};

Result<ScheduleCounts> count_schedules(Services& services, const std::string& tenant) {
  ScheduleCounts counts;
  std::string after;
  while (true) {
    TRY_ASSIGN(const std::vector<ScheduleRow> rows, services.queries().schedules(tenant, after, kPageMax));
    for (const ScheduleRow& row : rows) {
      ++counts.schedules;
      counts.subjects += row.subjects;
    }
    if (rows.empty()) return counts;
    after = rows.back().name;
  }
}

Result<std::int64_t> count_documents(Services& services, const std::string& tenant, std::string_view kind) {
  std::int64_t count = 0;
  std::string after;
  while (true) {
    TRY_ASSIGN(const std::vector<Document> some, services.queries().documents(tenant, kind, after, kPageMax));
    count += std::ssize(some);
    if (some.empty()) return count;
    after = some.back().key.name;
  }
}

Result<QuotaBook::Counted> count_in_store(Services& services, const std::string& tenant) {
  QuotaBook::Counted counted;
  TRY_ASSIGN(const std::vector<StateCount> counts, services.queries().counts(tenant));
  std::set<std::string> queues;
  for (const StateCount& one : counts) {
    if (one.count <= 0) continue;
    queues.insert(one.lane.queue);
    if (!is_final(one.state) || one.state == JobState::dlq) counted.live_jobs += one.count;
  }
  // What is set of a queue is there too, jobs or not.
  std::string after;
  while (true) {
    TRY_ASSIGN(const std::vector<Document> some, services.queries().documents(tenant, kQueueKind, after, kPageMax));
    if (some.empty()) break;
    for (const Document& one : some) queues.insert(one.key.name);
    after = some.back().key.name;
  }
  counted.queues.assign(queues.begin(), queues.end());
  TRY_ASSIGN(const ScheduleCounts schedules, count_schedules(services, tenant));
  counted.subjects = schedules.subjects;
  return counted;
}

Result<bool> has_room_for_subjects(Services& services, const std::string& tenant, std::size_t count) {
  if (services.quotas.has_room_for_subjects(tenant, count)) return true;
  TRY(count_tenant(services, tenant));
  return services.quotas.has_room_for_subjects(tenant, count);
}

// Whether the schedule has the subject; one without the schedule has none.
Result<bool> has_subject(Services& services, const ScheduleRow& schedule, std::string_view subject) {
  const auto row = services.queries().subject(schedule.id, subject);
  if (row) return true;
  if (row.error().code == ErrorCode::not_found) return false;
  return std::unexpected(row.error());
}

}  // namespace

HttpResponse over_quota(const QuotaBook::Refused& refused) {
  const bool may_wait = refused.quota == Quota::live_jobs || refused.quota == Quota::calls_per_second;
  const std::string_view name = to_string(refused.quota);
  JsonObject details;
  details.text("quota", name).integer("allowed", refused.allowed);
  HttpResponse response = refusal(
      may_wait ? 429 : 409, "quota_exceeded",
      fmt::format("the tenant's quota {} allows {}; an admin may set another", name, refused.allowed), details.str());
  if (may_wait) {
    const auto wait = std::max(refused.wait, refused.quota == Quota::live_jobs ? kJobsWait : refused.wait);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
    response.headers.push_back({.name = "retry-after", .value = fmt::format("{}", std::max<std::int64_t>(seconds, 1))});
  }
  return response;
}

std::optional<HttpResponse> JobCharge::charge(std::span<const JobBody> jobs) {
  std::vector<QuotaBook::Name> names;
  std::unordered_set<std::size_t> seen;
  for (const JobBody& body : jobs) {
    const std::size_t kind = kind_of(body.job);
    if (jobs.size() > 1 && !seen.insert(kind).second) continue;
    names.push_back({.queue = body.job.queue, .type = body.job.type, .kind = kind});
  }
  refused_ = quotas_.make_jobs(tenant_, jobs.size(), names, QuotaBook::Clock::now());
  if (!refused_) {
    charged_ = jobs.size();
    return std::nullopt;
  }
  const bool has_keys =
      std::ranges::any_of(jobs, [](const JobBody& body) { return body.job.options.idempotency_key.has_value(); });
  if (refused_->quota != Quota::live_jobs || !has_keys) return refusal();
  charged_ = quotas_.make_as_many(tenant_, jobs.size());
  return std::nullopt;
}

void JobCharge::made(std::size_t count) {
  const auto kept = std::min(count, charged_);
  if (kept < charged_) quotas_.made_jobs(tenant_, -static_cast<std::int64_t>(charged_ - kept));
  charged_ = kept;
}

Result<std::optional<HttpResponse>> names_over_quota(Services& services, const std::string& tenant,
                                                     const QuotaBook::Name& names) {
  if (!services.quotas.is_counted(tenant)) TRY(count_tenant(services, tenant));
  const auto refused = services.quotas.make_jobs(tenant, 0, {&names, 1}, QuotaBook::Clock::now());
  return refused ? std::optional(over_quota(*refused)) : std::nullopt;
}

Result<std::optional<HttpResponse>> many_over_quota(Services& services, const std::string& tenant) {
  TRY(count_tenant(services, tenant));
  if (services.quotas.room_for_jobs(tenant) > 0) return std::nullopt;
  return over_quota(refused_of(services, tenant, Quota::live_jobs));
}

std::optional<HttpResponse> job_over_quota(Services& services, const std::string& tenant) {
  const auto refused = services.quotas.make_jobs(tenant, 1, {}, QuotaBook::Clock::now());
  return refused ? std::optional(over_quota(*refused)) : std::nullopt;
}

Result<std::int64_t> use_of(Services& services, const std::string& tenant, Quota quota) {
  switch (quota) {
    case Quota::live_jobs: {
      TRY_ASSIGN(const QuotaBook::Counted counted, count_in_store(services, tenant));
      return counted.live_jobs;
    }
    case Quota::subjects: {
      TRY_ASSIGN(const ScheduleCounts counts, count_schedules(services, tenant));
      return counts.subjects;
    }
    case Quota::schedules: {
      TRY_ASSIGN(const ScheduleCounts counts, count_schedules(services, tenant));
      return counts.schedules;
    }
    case Quota::handlers: return count_documents(services, tenant, kHandlerKind);
    case Quota::hooks: return count_documents(services, tenant, kHookKind);
    case Quota::limits: return count_documents(services, tenant, kLimitKind);
    case Quota::names: return services.quotas.names(tenant);
    case Quota::calls_per_second: return 0;
  }
  UNREACHABLE();
}

Result<std::optional<HttpResponse>> thing_over_quota(Services& services, const std::string& tenant, Quota quota,
                                                     bool is_new) {
  const auto allowed = services.quotas.of(tenant).of(quota);
  if (!is_new || !allowed) return std::nullopt;
  TRY_ASSIGN(const std::int64_t used, use_of(services, tenant, quota));
  if (used < *allowed) return std::nullopt;
  return over_quota(refused_of(services, tenant, quota));
}

Result<std::optional<HttpResponse>> subject_over_quota(Services& services, const std::string& tenant,
                                                       std::string_view schedule, std::string_view subject) {
  TRY_ASSIGN(const bool has_room, has_room_for_subjects(services, tenant, 1));
  if (has_room) return std::nullopt;
  TRY_ASSIGN(const ScheduleRow row, services.queries().schedule(tenant, schedule));
  TRY_ASSIGN(const bool is_there, has_subject(services, row, subject));
  if (is_there) return std::nullopt;
  return over_quota(refused_of(services, tenant, Quota::subjects));
}

Result<std::optional<HttpResponse>> import_over_quota(Services& services, const std::string& tenant,
                                                      std::string_view schedule, std::string_view text) {
  const auto lines_most = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  TRY_ASSIGN(const bool has_room, has_room_for_subjects(services, tenant, lines_most));
  if (has_room) return std::nullopt;
  // Near the quota it matters how many of them are there already.
  TRY_ASSIGN(const std::vector<ImportLine> lines, parse_import(text));
  TRY_ASSIGN(const ScheduleRow row, services.queries().schedule(tenant, schedule));
  std::set<std::string_view> fresh;
  for (const ImportLine& line : lines) {
    TRY_ASSIGN(const bool is_there, has_subject(services, row, line.text.subject));
    if (is_there) continue;
    fresh.insert(line.text.subject);
    if (!services.quotas.has_room_for_subjects(tenant, fresh.size())) {
      return over_quota(refused_of(services, tenant, Quota::subjects));
    }
  }
  return std::nullopt;
}

Result<void> count_tenant(Services& services, const std::string& tenant) {
  return services.quotas.count(tenant, [&] { return count_in_store(services, tenant); }, QuotaBook::Clock::now());
}

void count_tenants(Services& services) {
  const auto now = QuotaBook::Clock::now();
  const std::vector<std::string> due = services.quotas.to_count(now);
  std::set<std::string> tenants(due.begin(), due.end());
  if (std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count() % kTurnSeconds == 0) {
    for (std::string& tenant : services.quotas.next_in_turn()) tenants.insert(std::move(tenant));
  }
  for (const std::string& tenant : tenants) {
    // A store that does not answer is asked again in a second.
    [[maybe_unused]] const auto counted = count_tenant(services, tenant);
  }
}

}  // namespace carillon::server
