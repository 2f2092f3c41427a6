#include "engine/calls/import_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "core/jobs/stored_json.h"

namespace carillon {

namespace {

// A caller that has said nothing for so long has gone.
constexpr Duration kPatience = std::chrono::seconds(30);
// Documents deleted in one round.
constexpr std::size_t kDroppedAtOnce = 16;

DocumentKey part_key(const ImportWork::Name& name, std::size_t number) {
  return {
      .tenant = name.tenant, .kind = std::string(kImportPartKind), .name = fmt::format("{}/{}", name.schedule, number)};
}

std::string write_part(std::span<const ImportLine> lines) {
  std::string text;
  for (const ImportLine& line : lines) {
    text += write_subject_line(line.text);
    text += '\n';
  }
  return JsonObject().text("lines", text).str();
}

Result<std::vector<ImportLine>> read_part(const Document& document) {
  TRY_ASSIGN(const Json json, parse_stored(kImportPartKind, document.body));
  return parse_import(StoredObject(document.body, json).text("lines"));
}

}  // namespace

// ---- The head -----------------------------------------------------------------------------------------------------

Result<ImportWork::Head> ImportWork::head_of(const Name& name) const {
  const auto document = store_.admin().document(import_key(name.tenant, name.schedule));
  if (!document) {
    if (document.error().code != ErrorCode::not_found) return std::unexpected(document.error());
    return failed(ErrorCode::unavailable,
                  fmt::format("the import into {} was not driven for too long: try again", quoted(name.schedule)));
  }
  TRY_ASSIGN(const Json json, parse_stored(kImportKind, document->body));
  const StoredObject object(document->body, json);
  return Head{.accepted = object.flag("accepted"), .parts = object.count("parts"), .next = object.count("next")};
}

Result<void> ImportWork::put(const Name& name, const Head& head) {
  JsonObject object;
  object.boolean("accepted", head.accepted);
  object.integer("parts", static_cast<std::int64_t>(head.parts)).integer("next", static_cast<std::int64_t>(head.next));
  TRY(store_.admin().put_document(
      {.key = import_key(name.tenant, name.schedule), .body = object.str(), .if_revision = {}}, std::nullopt));
  return {};
}

Result<void> ImportWork::end(Round& round, const Name& name) {
  TRY(store_.admin().delete_document(import_key(name.tenant, name.schedule), std::nullopt));
  round.on_commit.emplace_back([this, name] { works_.erase(name); });
  return {};
}

void ImportWork::look_again(Round& round, const Name& name, BootTime at) {
  round.on_commit.emplace_back([this, name, at] { works_.insert_or_assign(name, at); });
}

// ---- Driven by who asked --------------------------------------------------------------------------------------------

Result<void> ImportWork::begin(Round& round, const Name& name) {
  // Whether there is such a schedule, and whether it has subjects.
  TRY(planner_.check_import(round, name.tenant, name.schedule, {}));
  TRY(planner_.check_no_import(name.tenant, name.schedule));
  TRY(put(name, {}));
  look_again(round, name, round.boot + kPatience);
  return {};
}

Result<void> ImportWork::add_part(Round& round, const Name& name, std::span<const ImportLine> lines) {
  TRY_ASSIGN(Head head, head_of(name));
  TRY(planner_.check_import(round, name.tenant, name.schedule, lines));
  TRY(store_.admin().put_document({.key = part_key(name, head.parts), .body = write_part(lines), .if_revision = {}},
                                  std::nullopt));
  ++head.parts;
  TRY(put(name, head));
  look_again(round, name, round.boot + kPatience);
  return {};
}

Result<void> ImportWork::accept(Round& round, const Name& name) {
  TRY_ASSIGN(Head head, head_of(name));
  head.accepted = true;
  TRY(put(name, head));
  look_again(round, name, round.boot + kPatience);
  return {};
}

Result<ImportWork::Stepped> ImportWork::step(Round& round, const Name& name) {
  TRY_ASSIGN(Head head, head_of(name));
  Stepped stepped;
  if (head.next < head.parts) {
    const DocumentKey key = part_key(name, head.next);
    TRY_ASSIGN(const Document part, store_.admin().document(key));
    TRY_ASSIGN(const std::vector<ImportLine> lines, read_part(part));
    TRY_ASSIGN(stepped.counts, planner_.write_import(round, name.tenant, name.schedule, lines));
    TRY(store_.admin().delete_document(key, std::nullopt));
    ++head.next;
  }
  stepped.end = head.next >= head.parts;
  if (stepped.end) {
    TRY(end(round, name));
  } else {
    TRY(put(name, head));
    look_again(round, name, round.boot + kPatience);
  }
  return stepped;
}

void ImportWork::give_up(Round& round, const Name& name) { look_again(round, name, round.boot); }

// ---- Looked after ---------------------------------------------------------------------------------------------------

void ImportWork::resume(const Document& head, BootTime now) {
  works_.try_emplace(Name{.tenant = head.key.tenant, .schedule = head.key.name}, now);
}

std::optional<BootTime> ImportWork::next_at() const {
  if (works_.empty()) return std::nullopt;
  return std::ranges::min_element(works_, {}, [](const auto& work) { return work.second; })->second;
}

Result<void> ImportWork::drop_parts(Round& round, const Name& name, Head head) {
  for (std::size_t i = 0; i < kDroppedAtOnce && head.next < head.parts; ++i, ++head.next) {
    const auto dropped = store_.admin().delete_document(part_key(name, head.next), std::nullopt);
    if (!dropped && dropped.error().code != ErrorCode::not_found) return dropped;
  }
  if (head.next >= head.parts) return end(round, name);
  TRY(put(name, head));
  look_again(round, name, round.boot);
  return {};
}

Result<void> ImportWork::look_after(Round& round) {
  const auto work = std::ranges::min_element(works_, {}, [](const auto& one) { return one.second; });
  const Name name = work->first;
  const auto head = head_of(name);
  if (!head) {
    // It has ended, or its tenant has.
    round.on_commit.emplace_back([this, name] { works_.erase(name); });
    return {};
  }
  const auto is_gone = [&] {
    const auto row = store_.plans().schedule(name.tenant, name.schedule);
    return !row && row.error().code == ErrorCode::not_found;
  };
  if (!head->accepted || is_gone()) return drop_parts(round, name, *head);
  TRY_ASSIGN(const Stepped stepped, step(round, name));
  if (!stepped.end) look_again(round, name, round.boot);
  return {};
}

}  // namespace carillon
