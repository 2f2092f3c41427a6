// Documents.
#pragma once

#include "store/admin_store.h"
#include "store/cases/context.h"

namespace carillon {

Result<Document> put_document_row(Context& context, const DocumentPut& put);
std::unexpected<Error> absent_document(const DocumentKey& key);
Result<void> delete_document_row(Context& context, const DocumentKey& key);

}  // namespace carillon
