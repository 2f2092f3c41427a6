// What the audit trail says about each deed of a client: which fields were what before, and what they are now.
#pragma once

#include <carillon/client.h>

#include <optional>
#include <span>
#include <string_view>

#include "core/jobs/job.h"
#include "core/settings/audit_detail.h"
#include "store/job_store.h"
#include "store/plan_store.h"

namespace carillon {

// Nothing, if it stands as it stood.
std::optional<AuditDetail> trail_of(const JobStanding& before, const JobStanding& after);
// A job that a person made: never its payload.
AuditDetail trail_of(const NewJob& job, const Enqueued& made);
// Many of them, together: how many, and of which types.
AuditDetail trail_of_batch(std::span<const NewJob> jobs);
AuditDetail trail_of(const BulkRequest& request, const BulkInfo& begun);
std::optional<AuditDetail> trail_of_stop(std::string_view state_before, const BulkInfo& stopped);
AuditDetail trail_of(const Client::BackfillRequest& request, const BulkInfo& begun);
AuditDetail trail_of(const Client::TriggerOptions& options, const EnqueuedJob& made);
std::optional<AuditDetail> trail_of_pause(const ScheduleRow& before, const ScheduleRow& after);
// No row: there was none, or there is none any more.
std::optional<AuditDetail> trail_of(const SubjectRow* before, const SubjectRow* after);
std::optional<AuditDetail> trail_of(const ImportedSubjects& imported);
AuditDetail trail_of_import(std::size_t lines);

}  // namespace carillon
