#include "store/cases/context.h"

#include <fmt/format.h>

#include "store/cases/last_attempt.h"

namespace carillon {

namespace {

// What is read again and again is short; what is long mostly belongs to one job.
constexpr std::size_t kOptionsKeptMax = 500;
constexpr std::size_t kOptionsKeptBytesMax = 1000;

template <typename T>
T value_or_fail(Context& context, Result<T> read, JobId id) {
  if (read) return *std::move(read);
  context.tx.fail(with_context(fmt::format("job {}", format_job_id(id)), std::move(read).error()));
  return {};
}

}  // namespace

ReadyJob ready_of(const JobRow& row) {
  return {.id = row.id,
          .lane = row.lane,
          .type = row.type,
          .run_at = row.run_at,
          .priority = static_cast<std::uint8_t>(row.priority),
          .has_options = !row.options.empty(),
          .last_attempt = row.options.empty() && is_last_plain_attempt(row.attempts)};
}

void note_left_queue(Context& context, const JobRow& row) {
  context.left_queue.push_back({.job = ready_of(row), .schedule = row.schedule, .subject = row.subject});
}

JobDetail detail_of(Context& context, const JobRow& row) {
  return row.detail.empty() ? JobDetail{} : value_or_fail(context, row.detail.read(), row.id);
}

JobOptions options_of(Context& context, const JobRow& row) {
  if (row.options.empty()) return {};
  auto& known = context.options_read.known;
  if (const auto found = known.find(row.options.text()); found != known.end()) return found->second;
  auto read = row.options.read();
  if (read && row.options.text().size() <= kOptionsKeptBytesMax) {
    if (known.size() >= kOptionsKeptMax) known.clear();
    known.emplace(row.options.text(), *read);
  }
  return value_or_fail(context, std::move(read), row.id);
}

const StoredOptions& stored_options(Context& context, const JobOptions& options) {
  if (context.written.options != options) context.written = {.options = options, .stored = StoredOptions::of(options)};
  return context.written.stored;
}

Changed changed_of(Context& context, const JobRow& row, JobState state) {
  return {.id = row.id,
          .tenant = context.tx.lane_names(row.lane).tenant,
          .type = context.tx.type_name(row.type),
          .state = state};
}

void raise_to(std::optional<Instant>& mark, std::optional<Instant> to) {
  if (to && (!mark || *to > *mark)) mark = to;
}

Instant wall_of(const Context& context, BootTime at) { return context.clock.wall_at(at); }

JobState state_of(const JobRow& row, const std::optional<LeaseRow>& lease) {
  return lease ? JobState::processing : row.state;
}

std::optional<JobRow> job_of_tenant(Context& context, std::string_view tenant, JobId id) {
  auto row = context.tx.job(id);
  if (row && context.tx.lane_names(row->lane).tenant != tenant) row.reset();
  return row;
}

}  // namespace carillon
