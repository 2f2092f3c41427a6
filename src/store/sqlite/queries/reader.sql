-- name: view_live
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot, options,
       detail, payload
  FROM jobs WHERE id = ?1

-- name: view_archived
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, 0, schedule, subject, slot, options, detail,
       finished_at, started_at, result, worker, payload
  FROM archive WHERE id = ?1

-- name: live_below
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot, options,
       detail, payload
  FROM jobs WHERE id < ?1 AND id >= ?2 ORDER BY id DESC

-- name: archived_below
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, 0, schedule, subject, slot, options, detail,
       finished_at, started_at, result, worker, payload
  FROM archive WHERE id < ?1 AND id >= ?2 ORDER BY id DESC

-- name: view_long_payload
SELECT payload FROM payloads WHERE job = ?1

-- name: view_lease
SELECT job, token, attempt, worker, in_process, claimed_at, length, until, timeout_at, ahead FROM leases WHERE job = ?1

-- name: view_attempts
SELECT job, token, number, result, worker, started_at, finished_at, error_class, error
  FROM attempts WHERE job = ?1 ORDER BY token

-- name: view_parents
SELECT parent FROM dependencies WHERE child = ?1 ORDER BY parent

-- name: view_lane
SELECT tenant, queue FROM lanes WHERE id = ?1

-- name: view_type
SELECT name FROM types WHERE id = ?1

-- name: view_type_id
SELECT id FROM types WHERE name = ?1

-- name: view_schedule_name
SELECT name FROM schedules WHERE id = ?1

-- name: view_counts
SELECT l.queue, c.state, c.count FROM lanes l JOIN counts c ON c.lane = l.id
 WHERE l.tenant = ?1 AND c.count <> 0 ORDER BY l.queue, c.state

-- name: view_count_of
SELECT coalesce(sum(count), 0) FROM counts WHERE state = ?1

-- name: view_lanes_of
SELECT id, tenant, queue FROM lanes WHERE tenant = ?1

-- name: view_schedule
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules WHERE tenant = ?1 AND name = ?2

-- name: view_schedules
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules WHERE tenant = ?1 AND name > ?2 AND deleted_at IS NULL ORDER BY name LIMIT ?3

-- name: view_subject
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at
  FROM subjects WHERE schedule = ?1 AND subject = ?2 AND deleted_at IS NULL
   AND generation = (SELECT generation FROM schedules WHERE id = ?1 AND deleted_at IS NULL)

-- name: view_subjects
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at
  FROM subjects WHERE schedule = ?1 AND subject >= ?2 AND deleted_at IS NULL
   AND generation = (SELECT generation FROM schedules WHERE id = ?1 AND deleted_at IS NULL)
 ORDER BY subject

-- name: view_subjects_due
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at
  FROM subjects INDEXED BY subjects_due
 WHERE schedule = ?1 AND next_at IS NOT NULL AND (next_at, subject) >= (?2, ?3) AND next_at <= ?4
   AND deleted_at IS NULL AND generation = (SELECT generation FROM schedules WHERE id = ?1 AND deleted_at IS NULL)
 ORDER BY next_at, subject

-- name: view_cursor
SELECT cursor FROM subjects WHERE schedule = ?1 AND subject = ?2 AND generation >= 0

-- name: view_outcomes
SELECT o.schedule, s.subject, o.slot, o.until, o.count, o.job, o.outcome, o.parked, o.reason, o.at, o.local_minute
  FROM subjects s INDEXED BY subjects_by_name CROSS JOIN outcomes o ON o.schedule = s.schedule AND o.subject = s.id
 WHERE s.schedule = ?1 AND o.slot >= ?2 AND o.slot < ?3 ORDER BY s.subject, o.slot LIMIT ?4

-- name: view_outcomes_of
SELECT schedule, ?2, slot, until, count, job, outcome, parked, reason, at, local_minute
  FROM outcomes WHERE schedule = ?1 AND subject = (SELECT id FROM subjects WHERE schedule = ?1 AND subject = ?2)
   AND slot >= ?3 AND slot < ?4 ORDER BY slot LIMIT ?5

-- With those that have none, so that whoever reads can look at the time.
-- name: view_outcomes_after
SELECT s.schedule, s.subject, o.slot, o.until, o.count, o.job, o.outcome, o.parked, o.reason, o.at, o.local_minute
  FROM subjects s INDEXED BY subjects_by_name LEFT JOIN outcomes o ON o.schedule = s.schedule AND o.subject = s.id
 WHERE s.schedule = ?1 AND s.subject >= ?2 AND (s.subject > ?2 OR o.slot > ?3) ORDER BY s.subject, o.slot

-- name: view_outcomes_back
SELECT schedule, ?2, slot, until, count, job, outcome, parked, reason, at, local_minute
  FROM outcomes WHERE schedule = ?1 AND subject = (SELECT id FROM subjects WHERE schedule = ?1 AND subject = ?2)
 ORDER BY slot DESC

-- Windows that are open, parked or closed otherwise than done or skipped.
-- name: view_gaps_back
SELECT schedule, ?2, slot, until, count, job, outcome, parked, reason, at, local_minute
  FROM outcomes INDEXED BY outcomes_not_done
 WHERE schedule = ?1 AND subject = (SELECT id FROM subjects WHERE schedule = ?1 AND subject = ?2)
   AND until IS NOT NULL AND (outcome IS NULL OR outcome > 5)
 ORDER BY slot DESC

-- name: view_outcome_counts
SELECT minute, outcome, count FROM outcome_counts WHERE schedule = ?1 AND day = ?2 AND count > 0
 ORDER BY minute, outcome

-- name: view_document
SELECT revision, body, updated_at FROM documents WHERE tenant = ?1 AND kind = ?2 AND name = ?3

-- name: view_documents
SELECT name, revision, body, updated_at FROM documents WHERE tenant = ?1 AND kind = ?2 AND name > ?3
 ORDER BY name LIMIT ?4

-- name: view_audit
SELECT sequence, at, tenant, actor, action, target, detail FROM audit
 WHERE tenant = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3
