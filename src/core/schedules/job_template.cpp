#include "core/schedules/job_template.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace carillon {

Result<JobTemplate> read_template_fields(std::string_view text, const JsonFields& fields) {
  JobTemplate job;
  TRY_ASSIGN(job.type, fields.string("type"));
  TRY_ASSIGN(const Json* const queue, fields.optional("queue", JsonType::string));
  if (queue != nullptr) job.queue = queue->text;
  job.payload = read_payload_field(text, fields);
  TRY_ASSIGN(job.priority, read_priority_field(text, fields));
  TRY_ASSIGN(ReadOptions read, read_option_fields(text, fields));
  job.options = std::move(read.options);
  job.said = read.said;
  return job;
}

Result<JobTemplate> parse_job_template(std::string_view text, const Json& value, const std::string& path) {
  if (value.type != JsonType::object) {
    return json_error(text, value.offset, path, fmt::format("expected an object, found {}", describe(value.type)));
  }
  TRY_ASSIGN(JsonFields fields, JsonFields::of(text, value, path, kTemplateFields));
  TRY_ASSIGN(JobTemplate job, read_template_fields(text, fields));
  // Here, and not only when the first occurrence is due: nobody would be there to read the refusal.
  if (const auto checked = check_new_job(job_of(job, "default")); !checked) {
    return json_error(text, value.offset, path, checked.error().message);
  }
  return job;
}

std::string write_job_template(const JobTemplate& job) {
  JsonObject object;
  object.text("type", job.type).text("queue", job.queue).raw("payload", job.payload);
  if (job.priority) object.integer("priority", *job.priority);
  write_option_fields(object, job.options, job.said);
  return object.str();
}

void fill(JobTemplate& job, const JobDefaults& defaults) {
  if (!job.said.max_attempts) job.options.max_attempts = defaults.max_attempts;
  if (!job.said.timeout) job.options.timeout = defaults.timeout;
  if (!job.said.lease) job.options.lease = defaults.lease;
  if (!job.options.retry) job.options.retry = defaults.retry;
}

NewJob job_of(const JobTemplate& job, std::string_view tenant) {
  return {.id = {},
          .tenant = std::string(tenant),
          .queue = job.queue,
          .type = job.type,
          .payload = job.payload,
          .priority = job.priority.value_or(kPriorityDefault),
          .run_at = {},
          .deadline = {},
          .options = job.options,
          .depends_on = {},
          .subject = {},
          .occurrence = {}};
}

}  // namespace carillon
