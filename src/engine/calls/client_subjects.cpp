// The writing half of the client about subjects, and runs by hand.
#include <algorithm>
#include <span>

#include "base/check.h"
#include "engine/calls/node_client.h"
#include "engine/calls/trail.h"

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

bool disables(std::span<const ImportLine> lines) {
  return std::ranges::any_of(lines, [](const ImportLine& line) { return !line.text.overrides.enabled; });
}

}  // namespace

Result<EnqueuedJob> NodeClient::trigger(std::string_view tenant, std::string_view name, const TriggerOptions& options) {
  const std::string target = options.subject.empty() ? std::string(name) : std::string(name) + "/" + options.subject;
  return write<EnqueuedJob>({tenant, "schedule.trigger", target}, [&](Round& round) -> Result<Done<EnqueuedJob>> {
    TRY(node_.rules().check_enabled());
    TRY_ASSIGN(const EnqueuedJob made,
               node_.planner().trigger(round, tenant, name, options,
                                       {.key = {}, .said = {}, .created_by = actor_, .meta = {}, .expected_at = {}}));
    return Done<EnqueuedJob>{made, trail_of(options, made)};
  });
}

Result<PutSubjectAnswer> NodeClient::put_subject_as(std::string_view tenant, std::string_view schedule,
                                                    const SubjectBody& body) {
  const std::string target = std::string(schedule) + "/" + std::string(body.subject);
  using Changed = Planner::SubjectChanged;
  TRY_ASSIGN(
      const Changed change,
      write<Changed>({tenant, body.patches ? "subject.patch" : "subject.put", target},
                     [&](Round& round) -> Result<Done<Changed>> {
                       TRY_ASSIGN(Changed made, node_.planner().put_subject(round, {.tenant = tenant,
                                                                                    .schedule = schedule,
                                                                                    .subject = body.subject,
                                                                                    .body = body.body,
                                                                                    .if_version = body.if_version,
                                                                                    .patches = body.patches,
                                                                                    .actor = actor_}));
                       std::optional<AuditDetail> trail;
                       // Planning may have moved it meanwhile: that is nobody's edit.
                       if (!actor_.empty() && made.put.fate != SubjectFate::unchanged) {
                         trail = trail_of(made.before ? &*made.before : nullptr, &made.put.row);
                       }
                       if (made.triggered) {
                         TRY(note({tenant, "schedule.trigger", target}, trail_of(TriggerOptions{}, *made.triggered)));
                       }
                       return Done<Changed>{std::move(made), std::move(trail)};
                     }));
  const PutSubject& put = change.put;
  if (put.fate != SubjectFate::unchanged && !put.row.enabled) {
    TRY(node_.call<bool>([&](Round& round) -> Result<bool> {
      node_.take_back_of(round, tenant, schedule, body.subject);
      return true;
    }));
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
  TRY_ASSIGN(const std::vector<ImportLine> lines, parse_import(text));
  if (lines.size() > kImportLinesAtOnce || text.size() > kImportBytesAtOnce) {
    return import_in_parts({.tenant = std::string(tenant), .schedule = std::string(schedule)}, lines);
  }
  return write<ImportedSubjects>(
      {tenant, "subject.import", std::string(schedule)}, [&](Round& round) -> Result<Done<ImportedSubjects>> {
        TRY(node_.planner().check_import(round, tenant, schedule, lines));
        if (disables(lines)) node_.take_back_of(round, tenant, schedule);
        TRY_ASSIGN(const ImportedSubjects imported, node_.planner().write_import(round, tenant, schedule, lines));
        return Done<ImportedSubjects>{imported, trail_of(imported)};
      });
}

Result<ImportedSubjects> NodeClient::import_in_parts(const ImportWork::Name& name, std::span<const ImportLine> lines) {
  ImportWork& work = node_.imports();
  TRY(node_.call<void>([&](Round& round) { return work.begin(round, name); }));
  const auto accepted = [&]() -> Result<void> {
    for (std::span<const ImportLine> rest = lines; !rest.empty();) {
      const auto part = rest.first(part_size(rest));
      TRY(node_.call<void>([&](Round& round) { return work.add_part(round, name, part); }));
      rest = rest.subspan(part.size());
    }
    // From here on it happens; how many of them are new nobody knows yet.
    return node_.call<void>([&](Round& round) -> Result<void> {
      TRY(work.accept(round, name));
      return note({name.tenant, "subject.import", name.schedule}, trail_of_import(lines.size()));
    });
  }();
  if (!accepted) {
    // Should this fail too, it is dropped when it was silent for long enough.
    [[maybe_unused]] const auto given_up = node_.call<void>([&](Round& round) -> Result<void> {
      work.give_up(round, name);
      return {};
    });
    return std::unexpected(accepted.error());
  }
  ImportedSubjects counts;
  for (std::size_t part = 0; part <= lines.size(); ++part) {
    TRY_ASSIGN(const ImportWork::Stepped stepped, node_.call<ImportWork::Stepped>([&](Round& round) {
      if (disables(lines)) node_.take_back_of(round, name.tenant, name.schedule);
      return work.step(round, name);
    }));
    counts.created += stepped.counts.created;
    counts.updated += stepped.counts.updated;
    counts.unchanged += stepped.counts.unchanged;
    if (stepped.end) return counts;
  }
  UNREACHABLE();
}

Result<void> NodeClient::delete_subject(std::string_view tenant, std::string_view schedule, std::string_view subject) {
  const std::string target = std::string(schedule) + "/" + std::string(subject);
  return node_.call<void>([&](Round& round) -> Result<void> {
    TRY_ASSIGN(const ScheduleRow row, node_.store().plans().schedule(tenant, schedule));
    const auto before = node_.store().plans().subject(row.id, subject);
    TRY(node_.planner().delete_subject(round, tenant, schedule, subject));
    CHECK(before);
    return note({tenant, "subject.delete", target}, trail_of(&*before, nullptr));
  });
}

Result<BulkInfo> NodeClient::backfill(std::string_view tenant, std::string_view name, const BackfillRequest& request) {
  return write<BulkInfo>({tenant, "schedule.backfill", std::string(name)}, [&](Round& round) -> Result<Done<BulkInfo>> {
    TRY(node_.rules().check_enabled());
    TRY_ASSIGN(const std::size_t count, node_.planner().windows_in(round, tenant, name, request));
    std::optional<std::uint64_t> total;
    if (!request.subject.empty()) total = count;
    TRY_ASSIGN(BulkInfo begun, node_.bulk().begin(round, BulkWork::BeginBackfill{.tenant = tenant,
                                                                                 .schedule = name,
                                                                                 .subject = request.subject,
                                                                                 .from = request.from,
                                                                                 .to = request.to,
                                                                                 .total = total,
                                                                                 .created_by = actor_}));
    AuditDetail trail = trail_of(request, begun);
    return Done<BulkInfo>{std::move(begun), std::move(trail)};
  });
}

}  // namespace carillon
