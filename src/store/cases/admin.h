// Documents.
#pragma once

#include "store/admin_store.h"
#include "store/cases/context.h"

namespace carillon {

Result<Document> put_document_row(Context& context, const DocumentPut& put, const std::optional<AuditWord>& audit);
std::unexpected<Error> absent_document(const DocumentKey& key);
Result<void> delete_document_row(Context& context, const DocumentKey& key, const std::optional<AuditWord>& audit);
void append_audit_row(Context& context, const AuditWord& word, const AuditDetail& detail);

}  // namespace carillon
