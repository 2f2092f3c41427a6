// Jobs as they are sent: the body of POST /jobs, an item of a batch, a follow-up.
#pragma once

#include <carillon/client.h>
#include <carillon/job_request.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "core/jobs/job.h"
#include "core/settings/job_defaults.h"
#include "engine/commands/jobs.h"

namespace carillon::server {

inline constexpr std::size_t kBatchMax = 10'000;

struct JobBody {
  NewJob job;
  std::optional<Duration> delay;  // instead of the job's run_at; counted from when it is stored
};

struct JobBodyPlace {
  std::string_view tenant;
  std::string_view created_by;
  std::string path;                // of the object, for messages: "" or "jobs[3]"
  std::span<const JobId> earlier;  // "#0" in depends_on names the first of these
  JobDefaults defaults;            // for what it does not say
};

Result<JobBody> read_job_body(std::string_view text, const Json& object, const JobBodyPlace& place);

// {"jobs": […]}; each has an id already, so that others of the batch can name it. `place` is that of the batch.
Result<std::vector<JobBody>> read_job_batch(std::string_view text, const JobBodyPlace& place,
                                            const std::function<JobId()>& new_id);

// The body of PATCH /jobs/{id}, as RFC 7396 has it: what is given replaces, null means the default. The payload is
// replaced whole.
Result<Client::JobChange> read_job_change(const std::string& text);

// As a worker or a webhook asks for it.
JobRequest request_of(JobBody body);

// The job that a path means. Errors: not_found.
Result<JobId> read_job_id(const std::string& text);

}  // namespace carillon::server
