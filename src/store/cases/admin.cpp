#include "store/cases/admin.h"

#include <fmt/format.h>

#include "base/json.h"

namespace carillon {

namespace {

// The only place that says what became of a document: whoever writes one cannot leave it out.
void note_change(Context& context, const std::optional<AuditWord>& audit, std::optional<std::string_view> before,
                 std::optional<std::string_view> after) {
  if (!audit) return;
  if (const auto detail = changed_fields(before, after)) append_audit_row(context, *audit, *detail);
}

}  // namespace

Result<Document> put_document_row(Context& context, const DocumentPut& put, const std::optional<AuditWord>& audit) {
  auto body = parse_json(put.body);
  if (!body) return std::unexpected(with_context(put.key.kind, std::move(body).error()));
  if (body->type != JsonType::object) return invalid_request(fmt::format("{} must be an object", put.key.kind));
  const auto known = context.tx.document(put.key);
  const std::int64_t revision = known ? known->revision : 0;
  if (put.if_revision && *put.if_revision != revision) {
    return failed(ErrorCode::conflict, fmt::format("{} {} has revision {}, not {}: it was changed meanwhile",
                                                   put.key.kind, quoted(put.key.name), revision, *put.if_revision));
  }
  if (known && known->body == put.body) return *known;
  Document document{.key = put.key, .revision = revision + 1, .body = put.body, .updated_at = context.now};
  context.tx.put_document(document);
  if (put.key.kind == kGateHistoryKind) context.gates_read.known.erase(put.key.tenant);
  note_change(context, audit, known ? std::optional<std::string_view>(known->body) : std::nullopt, put.body);
  return document;
}

std::unexpected<Error> absent_document(const DocumentKey& key) {
  return failed(ErrorCode::not_found, fmt::format("there is no {} {}", key.kind, quoted(key.name)));
}

Result<void> delete_document_row(Context& context, const DocumentKey& key, const std::optional<AuditWord>& audit) {
  const auto known = context.tx.document(key);
  if (!known) return absent_document(key);
  context.tx.erase_document(key);
  if (key.kind == kGateHistoryKind) context.gates_read.known.erase(key.tenant);
  note_change(context, audit, known->body, std::nullopt);
  return {};
}

void append_audit_row(Context& context, const AuditWord& word, const AuditDetail& detail) {
  context.tx.append_audit({.at = context.now,
                           .tenant = word.tenant,
                           .actor = word.actor,
                           .action = word.action,
                           .target = word.target,
                           .detail = detail});
}

}  // namespace carillon
