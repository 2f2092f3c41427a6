// The statements of the connection that writes, and how their answers are read. For the transaction's own files.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "store/sqlite/sqlite_transaction.h"

namespace carillon {

struct SqliteTransaction::Queries {
  explicit Queries(Connection& c) : connection(c) {}
  Connection& connection;

  Query insert_job{connection, "insert_job"};
  Query job{connection, "job"};
  Query update_job{connection, "update_job"};
  Query delete_job{connection, "delete_job"};
  Query jobs_above{connection, "jobs_above"};
  Query ready_above{connection, "ready_above"};
  Query job_with_payload{connection, "job_with_payload"};
  Query long_payload{connection, "long_payload"};
  Query update_payload{connection, "update_payload"};
  Query insert_payload{connection, "insert_payload"};
  Query delete_payload{connection, "delete_payload"};
  Query insert_later{connection, "insert_later"};
  Query delete_later{connection, "delete_later"};
  Query far_off{connection, "far_off"};
  Query insert_deadline{connection, "insert_deadline"};
  Query delete_deadline{connection, "delete_deadline"};
  Query deadlines{connection, "deadlines"};
  Query archive_job{connection, "archive_job"};
  Query archive_plain_success{connection, "archive_plain_success"};
  Query archived{connection, "archived"};
  Query update_archived_detail{connection, "update_archived_detail"};
  Query archived_above{connection, "archived_above"};
  Query delete_archived{connection, "delete_archived"};
  Query insert_attempt{connection, "insert_attempt"};
  Query attempt{connection, "attempt"};
  Query delete_attempts{connection, "delete_attempts"};
  Query lease{connection, "lease"};
  Query leased_job{connection, "leased_job"};
  Query insert_lease{connection, "insert_lease"};
  Query update_lease{connection, "update_lease"};
  Query delete_lease{connection, "delete_lease"};
  Query leases{connection, "leases"};
  Query leases_out{connection, "leases_out"};
  Query cut_leases{connection, "cut_leases"};
  Query key{connection, "key"};
  Query put_key{connection, "put_key"};
  Query delete_key{connection, "delete_key"};
  Query effect{connection, "effect"};
  Query put_effect{connection, "put_effect"};
  Query delete_effect{connection, "delete_effect"};
  Query old_effects{connection, "old_effects"};
  Query insert_dependency{connection, "insert_dependency"};
  Query delete_dependency{connection, "delete_dependency"};
  Query children{connection, "children"};
  Query parents{connection, "parents"};
  Query delete_parents{connection, "delete_parents"};
  Query any_dependency{connection, "any_dependency"};
  Query add_count{connection, "add_count"};
  Query highest_id{connection, "highest_id"};
  Query schedule_by_name{connection, "schedule_by_name"};
  Query schedule_by_id{connection, "schedule_by_id"};
  Query insert_schedule{connection, "insert_schedule"};
  Query update_schedule{connection, "update_schedule"};
  Query add_results{connection, "add_results"};
  Query schedule_heads{connection, "schedule_heads"};
  Query followers_above{connection, "followers_above"};
  Query schedules_above{connection, "schedules_above"};
  Query delete_schedule{connection, "delete_schedule"};
  Query has_rows_of{connection, "has_rows_of"};
  Query subject{connection, "subject"};
  Query subject_id{connection, "subject_id"};
  Query insert_name{connection, "insert_name"};
  Query delete_name{connection, "delete_name"};
  Query subjects_above{connection, "subjects_above"};
  Query delete_subject{connection, "delete_subject"};
  Query is_enabled{connection, "is_enabled"};
  Query insert_subject{connection, "insert_subject"};
  Query update_subject{connection, "update_subject"};
  Query move_subject{connection, "move_subject"};
  Query plan_subject_on{connection, "plan_subject_on"};
  Query add_subjects{connection, "add_subjects"};
  Query next_subject_at{connection, "next_subject_at"};
  Query subjects_due{connection, "subjects_due"};
  Query outcome{connection, "outcome"};
  Query outcomes_above{connection, "outcomes_above"};
  Query outcome_until{connection, "outcome_until"};
  Query open_outcomes{connection, "open_outcomes"};
  Query open_on_days{connection, "open_on_days"};
  Query delete_outcome_counts{connection, "delete_outcome_counts"};
  Query insert_outcome{connection, "insert_outcome"};
  Query update_outcome{connection, "update_outcome"};
  Query delete_outcome{connection, "delete_outcome"};
  Query add_outcome_count{connection, "add_outcome_count"};
  Query document{connection, "document"};
  Query documents_above{connection, "documents_above"};
  Query put_document{connection, "put_document"};
  Query delete_document{connection, "delete_document"};
  Query append_audit{connection, "append_audit"};
  Query audit_of{connection, "audit_of"};
  Query delete_audit{connection, "delete_audit"};
  Query keys_of{connection, "keys_of"};
  Query effects_of{connection, "effects_of"};
  Query live_jobs_of{connection, "live_jobs_of"};
  Query delete_audit_before{connection, "delete_audit_before"};
};

// The one row of a query by key, if there is one.
template <typename Read>
auto one(Query& query, Read read) -> std::optional<std::invoke_result_t<Read, const Query&>> {
  if (!query.next()) return std::nullopt;
  auto row = read(query);
  query.reset();
  return row;
}

template <typename Read>
auto all(Query& query, Read read) {
  std::vector<std::invoke_result_t<Read, const Query&>> rows;
  while (query.next()) rows.push_back(read(query));
  return rows;
}

}  // namespace carillon
