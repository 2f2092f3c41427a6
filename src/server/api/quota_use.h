// Quotas at work: what a call that makes something asks first, and what it is told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/api/job_body.h"
#include "server/api/quotas.h"
#include "server/api/services.h"

namespace carillon::server {

// 429 if waiting may help (live jobs, calls), else 409; the quota is named.
HttpResponse over_quota(const QuotaBook::Refused& refused);

// Each gives the refusal, if there is one.
// Jobs that are about to be made, as somebody has sent them.
std::optional<HttpResponse> jobs_over_quota(Services& services, const std::string& tenant,
                                            std::span<const JobBody> jobs);
// One whose queue and type are set already: run by hand, pushed, run again.
std::optional<HttpResponse> job_over_quota(Services& services, const std::string& tenant);
// One more of what the tenant has under names, if `is_new`: schedules, handlers, hooks, limits.
Result<std::optional<HttpResponse>> thing_over_quota(Services& services, const std::string& tenant, Quota quota,
                                                     bool is_new);
// A subject that is put, if it is new; and those of an import that are.
Result<std::optional<HttpResponse>> subject_over_quota(Services& services, const std::string& tenant,
                                                       std::string_view schedule, std::string_view subject);
Result<std::optional<HttpResponse>> import_over_quota(Services& services, const std::string& tenant,
                                                      std::string_view schedule, std::string_view text);

// How much of it the tenant has now.
Result<std::int64_t> use_of(Services& services, const std::string& tenant, Quota quota);

// Asks the store what a tenant has.
Result<void> count_tenant(Services& services, const std::string& tenant);
// Those for whom it matters. Called about once a second; asks the store.
void count_tenants(Services& services);

}  // namespace carillon::server
