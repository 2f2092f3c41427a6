// What runs a schedule by hand: one job, or all windows of a range.
#pragma once

#include <carillon/client.h>

#include "base/error.h"
#include "server/api/route.h"

namespace carillon::server {

// Whether the body may name a subject, or the path has.
enum class SubjectNamed : std::uint8_t { by_body, by_path };

Result<Client::TriggerOptions> read_trigger(const CallRequest& request, SubjectNamed named);
Result<Client::BackfillRequest> read_backfill(const CallRequest& request);

}  // namespace carillon::server
