// Quotas at work: what a call that makes something asks first, and what it is told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/api/job_body.h"
#include "server/api/quotas.h"
#include "server/api/services.h"

namespace carillon::server {

// 429 if waiting may help (live jobs, calls), else 409; the quota is named.
HttpResponse over_quota(const QuotaBook::Refused& refused);

// Each gives the refusal, if there is one.
// Names that a queue or a schedule brings in; "" is none.
Result<std::optional<HttpResponse>> names_over_quota(Services& services, const std::string& tenant,
                                                     const QuotaBook::Name& names);
// One whose queue and type are set already: run by hand, pushed, run again.
std::optional<HttpResponse> job_over_quota(Services& services, const std::string& tenant);
// The first of many, which are then made as there is room.
Result<std::optional<HttpResponse>> many_over_quota(Services& services, const std::string& tenant);
// One more of what the tenant has under names, if `is_new`: schedules, handlers, hooks, limits.
Result<std::optional<HttpResponse>> thing_over_quota(Services& services, const std::string& tenant, Quota quota,
                                                     bool is_new);
// A subject that is put, if it is new; and those of an import that are.
Result<std::optional<HttpResponse>> subject_over_quota(Services& services, const std::string& tenant,
                                                       std::string_view schedule, std::string_view subject);
Result<std::optional<HttpResponse>> import_over_quota(Services& services, const std::string& tenant,
                                                      std::string_view schedule, std::string_view text);

// What jobs that somebody has sent are charged for. Only what is new is: who repeats what was accepted hears of it,
// even if there is no room for more.
class JobCharge {
 public:
  JobCharge(QuotaBook& quotas, std::string tenant) : quotas_(quotas), tenant_(std::move(tenant)) {}
  JobCharge(const JobCharge&) = delete;
  JobCharge& operator=(const JobCharge&) = delete;
  ~JobCharge() = default;

  // All of them, as if they were new. The refusal, unless some may be there already: then as many as there is room for.
  std::optional<HttpResponse> charge(std::span<const JobBody> jobs);
  // So many of them may be new, for which there is room; nothing: all of them. The others must be there already.
  std::optional<std::size_t> new_max() const { return refused_ ? std::optional(charged_) : std::nullopt; }
  HttpResponse refusal() const { return over_quota(*refused_); }
  // So many were made; the others are given back.
  void made(std::size_t count);

 private:
  QuotaBook& quotas_;
  std::string tenant_;
  std::optional<QuotaBook::Refused> refused_;
  std::size_t charged_ = 0;
};

// How much of it the tenant has now.
Result<std::int64_t> use_of(Services& services, const std::string& tenant, Quota quota);

// Asks the store what a tenant has.
Result<void> count_tenant(Services& services, const std::string& tenant);
// Those for whom it matters. Called about once a second; asks the store.
void count_tenants(Services& services);

}  // namespace carillon::server
