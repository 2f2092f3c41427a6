// The `job` of a schedule: what each of its occurrences runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "core/jobs/job.h"
#include "core/jobs/job_fields.h"
#include "core/settings/job_defaults.h"

namespace carillon {

struct JobTemplate {
  std::string type;
  std::string queue = "default";
  std::string payload = "null";  // JSON, kept byte for byte
  std::optional<int> priority;   // nothing: what caused the job decides
  JobOptions options;
  SaidOptions said;
};

// Type, queue, payload, priority and options of an object that may have further fields.
inline constexpr auto kTemplateFields =
    joined_fields(field_names("type", "queue", "payload", "priority"), kOptionFields);
Result<JobTemplate> read_template_fields(std::string_view text, const JsonFields& fields);

// {"type": "digest.send", "queue": "mail", "payload": {"top": 10}, "priority": "low", "timeout": "5m"}. `value` lies in
// `text`, under the name `path`. What no job could have is refused.
Result<JobTemplate> parse_job_template(std::string_view text, const Json& value, const std::string& path);

// What parse_job_template reads back as the same.
std::string write_job_template(const JobTemplate& job);

// What it does not say gets its default.
void fill(JobTemplate& job, const JobDefaults& defaults);

// A job of that template and nothing more: no time, no occurrence.
NewJob job_of(const JobTemplate& job, std::string_view tenant);

}  // namespace carillon
