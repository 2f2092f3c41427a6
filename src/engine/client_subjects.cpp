// The writing half of the client about subjects, and runs by hand.
#include <array>

#include "engine/node_client.h"

namespace carillon {

namespace {

// The lines of a text, without blank ones; each with its number.
std::vector<std::pair<std::string_view, std::size_t>> lines_of(std::string_view text) {
  std::vector<std::pair<std::string_view, std::size_t>> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.emplace_back(line, number);
  }
  return lines;
}

}  // namespace

Result<EnqueuedJob> NodeClient::trigger(std::string_view tenant, std::string_view name, const TriggerOptions& options) {
  return node_.call<EnqueuedJob>([&](Round& round) { return node_.planner().trigger(round, tenant, name, options); });
}

Result<PutSubjectAnswer> NodeClient::put_subject_as(std::string_view tenant, std::string_view schedule,
                                                    const SubjectBody& body) {
  const std::string target = std::string(schedule) + "/" + std::string(body.subject);
  TRY_ASSIGN(const PutSubject put,
             write<PutSubject>({tenant, body.patches ? "subject.patch" : "subject.put", target}, [&](Round& round) {
               return node_.planner().put_subject(round, {.tenant = tenant,
                                                          .schedule = schedule,
                                                          .subject = body.subject,
                                                          .body = body.body,
                                                          .if_version = body.if_version,
                                                          .patches = body.patches});
             }));
  if (put.fate != SubjectFate::unchanged && !put.row.enabled) {
    TRY(node_.call<bool>([&](Round& round) -> Result<bool> {
      node_.take_back_of(round, tenant, schedule, body.subject);
      return true;
    }));
  }
  TRY_ASSIGN(SubjectInfo info, subject(tenant, schedule, body.subject));
  return PutSubjectAnswer{.info = std::move(info), .created = put.fate == SubjectFate::created};
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
  std::vector<Planner::ImportLine> lines;
  for (const auto& [line, number] : lines_of(text)) {
    auto parsed = parse_subject_line(line);
    if (!parsed) {
      Error error = std::move(parsed).error();
      error.line = number;
      return std::unexpected(std::move(error));
    }
    lines.push_back({.text = *std::move(parsed), .line = number});
  }
  return write<ImportedSubjects>({tenant, "subject.import", std::string(schedule)},
                                 [&](Round& round) { return node_.planner().import(round, tenant, schedule, lines); });
}

Result<void> NodeClient::delete_subject(std::string_view tenant, std::string_view schedule, std::string_view subject) {
  const std::string target = std::string(schedule) + "/" + std::string(subject);
  return write<void>({tenant, "subject.delete", target},
                     [&](Round& round) { return node_.planner().delete_subject(round, tenant, schedule, subject); });
}

Result<BulkInfo> NodeClient::backfill(std::string_view tenant, std::string_view name, const BackfillRequest& request) {
  return write<BulkInfo>({tenant, "schedule.backfill", std::string(name)}, [&](Round& round) -> Result<BulkInfo> {
    TRY_ASSIGN(const std::size_t count, node_.planner().windows_in(round, tenant, name, request));
    std::optional<std::uint64_t> total;
    if (!request.subject.empty()) total = count;
    return node_.bulk().begin(round, BulkWork::BeginBackfill{.tenant = tenant,
                                                             .schedule = name,
                                                             .subject = request.subject,
                                                             .from = request.from,
                                                             .to = request.to,
                                                             .total = total});
  });
}

}  // namespace carillon
