// The writing half of the client about subjects, and runs by hand.
#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/check.h"
#include "engine/calls/node_client.h"
#include "engine/commands/schedules.h"
#include "engine/commands/subjects.h"

namespace carillon {

namespace {

// What one round writes: about a tenth of a second.
constexpr std::size_t kImportLinesAtOnce = 5000;
constexpr std::size_t kImportBytesAtOnce = std::size_t{4} << 20;
// More is written in parts of this size.
constexpr std::size_t kPartLines = 2000;
constexpr std::size_t kPartBytes = std::size_t{1} << 20;

std::size_t part_size(std::span<const ImportLine> lines) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(lines.size(), kPartLines) && bytes < kPartBytes) {
    const SubjectOverrides& overrides = lines[count++].text.overrides;
    bytes += overrides.payload ? overrides.payload->size() : 0;
  }
  return count;
}

}  // namespace

Result<EnqueuedJob> NodeClient::trigger(std::string_view tenant, std::string_view name, const TriggerOptions& options) {
  return commands_.ask(command::TriggerSchedule{
      .tenant = std::string(tenant), .name = std::string(name), .options = options, .by = actor_});
}

Result<PutSubjectAnswer> NodeClient::put_subject_as(std::string_view tenant, std::string_view schedule,
                                                    const SubjectBody& body) {
  TRY_ASSIGN(const Planner::SubjectChanged change,
             commands_.ask(command::PutSubject{.tenant = std::string(tenant),
                                               .schedule = std::string(schedule),
                                               .subject = std::string(body.subject),
                                               .body = std::string(body.body),
                                               .if_version = body.if_version,
                                               .patches = body.patches,
                                               .by = actor_}));
  const PutSubject& put = change.put;
  if (put.fate != SubjectFate::unchanged && !put.row.enabled) {
    TRY(commands_.ask(command::TakeBackSubject{
        .tenant = std::string(tenant), .schedule = std::string(schedule), .subject = std::string(body.subject)}));
  }
  TRY_ASSIGN(SubjectInfo info, subject(tenant, schedule, body.subject));
  return PutSubjectAnswer{.info = std::move(info),
                          .created = put.fate == SubjectFate::created,
                          .triggered = change.triggered ? change.triggered->id : JobId{}};
}

Result<PutSubjectAnswer> NodeClient::put_subject(std::string_view tenant, std::string_view schedule,
                                                 std::string_view subject, std::string_view body,
                                                 std::optional<std::int64_t> if_version) {
  return put_subject_as(tenant, schedule, {.subject = subject, .body = body, .if_version = if_version});
}

Result<PutSubjectAnswer> NodeClient::patch_subject(std::string_view tenant, std::string_view schedule,
                                                   std::string_view subject, std::string_view body,
                                                   std::optional<std::int64_t> if_version) {
  return put_subject_as(tenant, schedule,
                        {.subject = subject, .body = body, .if_version = if_version, .patches = true});
}

Result<ImportedSubjects> NodeClient::import_subjects(std::string_view tenant, std::string_view schedule,
                                                     std::string_view text) {
  TRY_ASSIGN(std::vector<ImportLine> lines, parse_import(text));
  ImportWork::Name name{.tenant = std::string(tenant), .schedule = std::string(schedule)};
  if (lines.size() > kImportLinesAtOnce || text.size() > kImportBytesAtOnce) {
    return import_in_parts(name, std::move(lines));
  }
  return commands_.ask(command::ImportSubjects{.name = std::move(name), .lines = std::move(lines), .by = actor_});
}

Result<ImportedSubjects> NodeClient::import_in_parts(const ImportWork::Name& name, std::vector<ImportLine> lines) {
  const bool disables = command::disables(lines);
  TRY(commands_.ask(command::BeginImport{.name = name}));
  const auto accepted = [&]() -> Result<void> {
    for (std::span<ImportLine> rest = lines; !rest.empty();) {
      const auto part = rest.first(part_size(rest));
      TRY(commands_.ask(command::AddImportPart{
          .name = name, .lines = {std::move_iterator(part.begin()), std::move_iterator(part.end())}}));
      rest = rest.subspan(part.size());
    }
    // From here on it happens; how many of them are new nobody knows yet.
    return commands_.ask(command::AcceptImport{.name = name, .lines = lines.size(), .by = actor_});
  }();
  if (!accepted) {
    // Should this fail too, it is dropped when it was silent for long enough.
    [[maybe_unused]] const auto given_up = commands_.ask(command::GiveUpImport{.name = name});
    return std::unexpected(accepted.error());
  }
  ImportedSubjects counts;
  for (std::size_t part = 0; part <= lines.size(); ++part) {
    TRY_ASSIGN(const ImportWork::Stepped stepped,
               commands_.ask(command::StepImport{.name = name, .disables = disables}));
    counts.created += stepped.counts.created;
    counts.updated += stepped.counts.updated;
    counts.unchanged += stepped.counts.unchanged;
    if (stepped.end) return counts;
  }
  UNREACHABLE();
}

Result<void> NodeClient::delete_subject(std::string_view tenant, std::string_view schedule, std::string_view subject) {
  return commands_.ask(command::DeleteSubject{
      .tenant = std::string(tenant), .schedule = std::string(schedule), .subject = std::string(subject), .by = actor_});
}

Result<BulkInfo> NodeClient::backfill(std::string_view tenant, std::string_view name, const BackfillRequest& request) {
  return commands_.ask(
      command::Backfill{.tenant = std::string(tenant), .name = std::string(name), .request = request, .by = actor_});
}

}  // namespace carillon
