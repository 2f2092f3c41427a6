#include "store/cases/admin.h"

#include <fmt/format.h>

#include "base/json.h"

namespace carillon {

Result<Document> put_document_row(Context& context, const DocumentPut& put) {
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
  return document;
}

std::unexpected<Error> absent_document(const DocumentKey& key) {
  return failed(ErrorCode::not_found, fmt::format("there is no {} {}", key.kind, quoted(key.name)));
}

Result<void> delete_document_row(Context& context, const DocumentKey& key) {
  if (!context.tx.document(key)) return absent_document(key);
  context.tx.erase_document(key);
  return {};
}

}  // namespace carillon
