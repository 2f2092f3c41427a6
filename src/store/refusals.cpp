#include "store/refusals.h"

#include <fmt/format.h>

#include "core/jobs/json_members.h"

namespace carillon {

std::unexpected<Error> absent(std::string_view what, std::string_view name) {
  return failed(ErrorCode::not_found, fmt::format("there is no {} {}", what, quoted(name)));
}

std::unexpected<Error> absent_job(JobId id) {
  return failed(ErrorCode::not_found, fmt::format("there is no job {}", format_job_id(id)));
}

std::unexpected<Error> stale_word(JobId job, std::int64_t token, const StaleWhy& why) {
  auto error = stale_word(job, token);
  error.error().message += ": " + why.text;
  JsonObject details;
  details.text("state", to_string(why.state));
  put(details, "reason", why.reason);
  put(details, "when", why.when);
  error.error().details = details.str();
  return error;
}

std::unexpected<Error> stale_word(JobId job, std::int64_t token) {
  return failed(ErrorCode::stale_token,
                fmt::format("token {} of job {} is not the current one", token, format_job_id(job)));
}

}  // namespace carillon
