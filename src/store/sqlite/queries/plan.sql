-- name: schedule_by_name
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules WHERE tenant = ?1 AND name = ?2

-- name: schedule_by_id
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules WHERE id = ?1

-- name: insert_schedule
INSERT INTO schedules (tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at,
                       updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

-- name: update_schedule
UPDATE schedules SET revision = ?2, generation = ?3, definition = ?4, enabled = ?5, paused_until = ?6, deleted_at = ?7,
                     created_at = ?8, updated_at = ?9, subjects = ?10, first_job = ?11,
                     last_outcome = CASE WHEN ?7 IS NULL THEN last_outcome END,
                     error_count = CASE WHEN ?7 IS NULL THEN error_count ELSE 0 END,
                     last_error = CASE WHEN ?7 IS NULL THEN last_error END
 WHERE id = ?1

-- name: add_results
UPDATE schedules SET last_outcome = ?3, error_count = CASE ?4 WHEN 1 THEN 0 ELSE error_count END + ?5,
                     last_error = CASE WHEN ?5 > 0 THEN ?6 WHEN ?4 = 1 THEN NULL ELSE last_error END
 WHERE id = ?1 AND generation = ?2 AND deleted_at IS NULL

-- name: schedule_heads
SELECT s.id, s.enabled, s.paused_until,
       (SELECT next_at FROM subjects u INDEXED BY subjects_due
         WHERE u.schedule = s.id AND u.next_at IS NOT NULL ORDER BY u.next_at LIMIT 1)
  FROM schedules s WHERE s.id > ?1 AND s.deleted_at IS NULL ORDER BY s.id LIMIT ?2

-- name: followers_above
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules INDEXED BY schedules_following
 WHERE json_extract(definition, '$.trigger.kind') = 'after' AND id > ?1 AND deleted_at IS NULL ORDER BY id LIMIT ?2

-- name: schedules_above
SELECT id, tenant, name, revision, generation, definition, enabled, paused_until, deleted_at, created_at, updated_at,
       subjects, first_job, last_outcome, error_count, last_error
  FROM schedules WHERE id > ?1 ORDER BY id LIMIT ?2

-- name: delete_schedule
DELETE FROM schedules WHERE id = ?1

-- name: has_rows_of
SELECT EXISTS (SELECT 1 FROM subjects WHERE schedule = ?1) OR EXISTS (SELECT 1 FROM outcomes WHERE schedule = ?1)

-- name: subject
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at, id
  FROM subjects WHERE schedule = ?1 AND subject = ?2 AND generation >= 0

-- name: subject_id
SELECT id FROM subjects WHERE schedule = ?1 AND subject = ?2

-- One that has outcomes and was never put: its name alone, which nobody sees, and which goes with its last outcome.
-- name: insert_name
INSERT INTO subjects (id, schedule, subject, generation, version, enabled)
VALUES ((SELECT coalesce(max(id), ?3) + 1 FROM subjects WHERE id > ?3 AND id < ?3 + (1 << 36)), ?1, ?2, -1, 0, 1)

-- name: delete_name
DELETE FROM subjects WHERE id = ?2 AND generation < 0
   AND NOT EXISTS (SELECT 1 FROM outcomes WHERE schedule = ?1 AND subject = ?2)

-- name: is_enabled
SELECT enabled FROM subjects WHERE schedule = ?1 AND subject = ?2

-- Behind the last of its minute, ?16 (the migration says why).
-- name: insert_subject
INSERT INTO subjects (id, schedule, subject, generation, version, position, open_job, cursor, overrides, state, deleted_at,
                      enabled, status, last_slot, last_run_at, next_at)
VALUES ((SELECT coalesce(max(id), ?16) + 1 FROM subjects WHERE id > ?16 AND id < ?16 + (1 << 36)), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT DO UPDATE SET generation = ?3, version = ?4, position = ?5, open_job = ?6, cursor = ?7, overrides = ?8,
                          state = ?9, deleted_at = ?10, enabled = ?11, status = ?12, last_slot = ?13,
                          last_run_at = ?14, next_at = ?15
 WHERE generation < 0

-- Without its next time: the index stays as it is.
-- name: update_subject
UPDATE subjects SET generation = ?2, version = ?3, position = ?4, open_job = ?5, cursor = ?6, overrides = ?7,
                    state = ?8, deleted_at = ?9, enabled = ?10, status = ?11, last_slot = ?12, last_run_at = ?13
 WHERE id = ?1

-- name: move_subject
UPDATE subjects SET generation = ?2, version = ?3, position = ?4, open_job = ?5, cursor = ?6, overrides = ?7,
                    state = ?8, deleted_at = ?9, enabled = ?10, status = ?11, last_slot = ?12, last_run_at = ?13,
                    next_at = ?14
 WHERE id = ?1

-- What planning an occurrence changes.
-- name: plan_subject_on
UPDATE subjects SET version = ?2, position = ?3, open_job = ?4, next_at = ?5 WHERE id = ?1

-- name: add_subjects
UPDATE schedules SET subjects = subjects + ?2 WHERE id = ?1

-- name: next_subject_at
SELECT next_at FROM subjects INDEXED BY subjects_due WHERE schedule = ?1 AND next_at IS NOT NULL ORDER BY next_at LIMIT 1

-- name: subjects_above
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at
  FROM subjects WHERE (schedule, subject) > (?1, ?2) AND generation >= 0 ORDER BY schedule, subject LIMIT ?3

-- name: delete_subject
DELETE FROM subjects WHERE id = ?1

-- name: subjects_due
SELECT schedule, subject, generation, version, next_at, position, open_job, cursor, overrides, state, deleted_at, enabled,
       status, last_slot, last_run_at, id
  FROM subjects INDEXED BY subjects_due
 WHERE schedule = ?1 AND next_at IS NOT NULL AND next_at <= ?2 ORDER BY next_at, subject LIMIT ?3

-- Of one subject: its name is known to whoever asks.
-- name: outcome
SELECT schedule, ?4, slot, until, count, job, outcome, parked, reason, at, local_minute
  FROM outcomes WHERE schedule = ?1 AND subject = ?2 AND slot = ?3

-- name: outcomes_above
SELECT o.schedule, s.subject, o.slot, o.until, o.count, o.job, o.outcome, o.parked, o.reason, o.at, o.local_minute
  FROM outcomes o CROSS JOIN subjects s ON s.id = o.subject
 WHERE (o.schedule, o.subject, o.slot) > (?1, ?2, ?3) ORDER BY o.schedule, o.subject, o.slot LIMIT ?4

-- name: outcome_until
SELECT schedule, ?4, slot, until, count, job, outcome, parked, reason, at, local_minute
  FROM outcomes WHERE schedule = ?1 AND subject = ?2 AND slot <= ?3 ORDER BY slot DESC LIMIT 1

-- name: open_outcomes
SELECT count(*) FROM (SELECT 1 FROM outcomes WHERE schedule = ?1 AND subject = ?2 AND slot >= ?3 AND outcome IS NULL
                         AND parked = 0 LIMIT ?4)

-- name: insert_outcome
INSERT INTO outcomes (schedule, subject, slot, until, count, job, outcome, parked, reason, at, local_minute)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING

-- name: update_outcome
UPDATE outcomes SET until = ?4, count = ?5, job = ?6, outcome = ?7, parked = ?8, reason = ?9, at = ?10,
                    local_minute = ?11
 WHERE schedule = ?1 AND subject = ?2 AND slot = ?3

-- name: delete_outcome
DELETE FROM outcomes WHERE schedule = ?1 AND subject = ?2 AND slot = ?3

-- name: add_outcome_count
INSERT INTO outcome_counts (schedule, day, minute, outcome, count) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO UPDATE SET count = count + excluded.count

-- State 1, queued, stands for open; 3 is dlq.
-- name: open_on_days
SELECT coalesce(sum(count), 0) FROM outcome_counts
 WHERE schedule = ?1 AND day BETWEEN ?2 AND ?3 AND outcome IN (1, 3)

-- name: delete_outcome_counts
DELETE FROM outcome_counts WHERE schedule = ?1 AND day < ?2

-- name: document
SELECT revision, body, updated_at FROM documents WHERE tenant = ?1 AND kind = ?2 AND name = ?3

-- name: documents_above
SELECT tenant, kind, name, revision, body, updated_at
  FROM documents WHERE (tenant, kind, name) > (?1, ?2, ?3) ORDER BY tenant, kind, name LIMIT ?4

-- name: put_document
INSERT OR REPLACE INTO documents (tenant, kind, name, revision, body, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: delete_document
DELETE FROM documents WHERE tenant = ?1 AND kind = ?2 AND name = ?3

-- name: append_audit
INSERT INTO audit (at, tenant, actor, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: audit_of
SELECT sequence FROM audit WHERE tenant = ?1 ORDER BY sequence LIMIT ?2

-- name: delete_audit
DELETE FROM audit WHERE sequence = ?1

-- The oldest come first: no index by time is needed.
-- name: delete_audit_before
DELETE FROM audit WHERE sequence IN (SELECT sequence FROM audit ORDER BY sequence LIMIT ?2) AND at < ?1
