-- name: insert_job
INSERT INTO jobs (id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot,
                  options, detail, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)

-- name: job
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot, options,
       detail
  FROM jobs WHERE id = ?1

-- name: job_with_payload
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot, options,
       detail, payload
  FROM jobs WHERE id = ?1

-- name: update_job
UPDATE jobs SET state = ?2, lane = ?3, type = ?4, priority = ?5, run_at = ?6, attempts = ?7, token = ?8,
                deadline = ?9, later = ?10, schedule = ?11, subject = ?12, slot = ?13, options = ?14, detail = ?15
 WHERE id = ?1

-- name: delete_job
DELETE FROM jobs WHERE id = ?1

-- name: jobs_above
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, later, schedule, subject, slot, options,
       detail
  FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2

-- name: ready_above
SELECT id, state, lane, type, priority, run_at, options IS NOT NULL, later, attempts
  FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2

-- name: long_payload
SELECT payload FROM payloads WHERE job = ?1

-- name: update_payload
UPDATE jobs SET payload = ?2 WHERE id = ?1

-- name: insert_payload
INSERT INTO payloads (job, payload) VALUES (?1, ?2)

-- name: delete_payload
DELETE FROM payloads WHERE job = ?1

-- name: insert_later
INSERT INTO later (run_at, job) VALUES (?1, ?2)

-- name: delete_later
DELETE FROM later WHERE run_at = ?1 AND job = ?2

-- name: far_off
SELECT j.id, j.lane, j.type, j.priority, j.run_at, j.options IS NOT NULL, j.attempts
  FROM later l JOIN jobs j ON j.id = l.job
 WHERE l.run_at > ?1 AND l.run_at <= ?2 AND NOT EXISTS (SELECT 1 FROM leases e WHERE e.job = j.id)
 ORDER BY l.run_at, l.job LIMIT ?3

-- name: insert_deadline
INSERT INTO deadlines (deadline, job) VALUES (?1, ?2)

-- name: delete_deadline
DELETE FROM deadlines WHERE deadline = ?1 AND job = ?2

-- name: deadlines
SELECT job FROM deadlines WHERE deadline <= ?1 ORDER BY deadline, job LIMIT ?2

-- The payload goes along unread.
-- name: archive_job
INSERT INTO archive (id, state, lane, type, priority, run_at, attempts, token, finished_at, started_at, result,
                     deadline, schedule, subject, slot, worker, options, detail, payload)
SELECT id, ?2, lane, type, priority, run_at, ?3, ?4, ?5, ?6, ?7, deadline, schedule, subject, slot, ?8, options, ?9,
       payload
  FROM jobs WHERE id = ?1

-- A plain success, straight from both rows. State 4 is done, result 0 is ok.
-- name: archive_plain_success
INSERT INTO archive (id, state, lane, type, priority, run_at, attempts, token, finished_at, started_at, result, subject,
                     worker, payload)
SELECT j.id, 4, note_lane(j.lane), j.type, j.priority, j.run_at, e.attempt, e.token, ?4, coalesce(?3, e.claimed_at), 0,
       j.subject, e.worker, j.payload
  FROM leases e CROSS JOIN jobs j ON j.id = e.job
 WHERE e.job = ?1 AND e.token = ?2 AND j.deadline IS NULL AND j.schedule IS NULL AND j.options IS NULL
   AND j.detail IS NULL AND j.later = 0

-- name: archived
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, 0, schedule, subject, slot, options, detail,
       finished_at, started_at, result, worker
  FROM archive WHERE id = ?1

-- name: update_archived_detail
UPDATE archive SET detail = ?2 WHERE id = ?1

-- name: archived_above
SELECT id, state, lane, type, priority, run_at, attempts, token, deadline, 0, schedule, subject, slot, options, detail,
       finished_at, started_at, result, worker
  FROM archive WHERE id > ?1 ORDER BY id LIMIT ?2

-- name: delete_archived
DELETE FROM archive WHERE id = ?1

-- name: insert_attempt
INSERT INTO attempts (job, token, number, result, worker, started_at, finished_at, error_class, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: attempt
SELECT job, token, number, result, worker, started_at, finished_at, error_class, error
  FROM attempts WHERE job = ?1 AND token = ?2

-- name: delete_attempts
DELETE FROM attempts WHERE job = ?1

-- name: lease
SELECT job, token, attempt, worker, in_process, claimed_at, length, until, timeout_at, ahead FROM leases WHERE job = ?1

-- name: leased_job
SELECT j.id, j.state, j.lane, j.type, j.priority, j.run_at, j.attempts, j.token, j.deadline, j.later, j.schedule,
       j.subject, j.slot, j.options, j.detail, e.job, e.token, e.attempt, e.worker, e.in_process, e.claimed_at,
       e.length, e.until, e.timeout_at, e.ahead
  FROM leases e CROSS JOIN jobs j ON j.id = e.job WHERE e.job = ?1

-- name: insert_lease
INSERT INTO leases (job, token, attempt, worker, in_process, claimed_at, length, until, timeout_at, ahead)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING

-- name: update_lease
UPDATE leases SET until = ?2, timeout_at = ?3, ahead = ?4 WHERE job = ?1

-- name: delete_lease
DELETE FROM leases WHERE job = ?1

-- name: leases
SELECT job, token, attempt, worker, in_process, claimed_at, length, until, timeout_at, ahead FROM leases ORDER BY job

-- name: leases_out
SELECT job, token, attempt, worker, in_process, claimed_at, length, until, timeout_at, ahead
  FROM leases WHERE until <= ?1 ORDER BY job LIMIT ?2

-- The boot clock of an earlier run means nothing: what is left of a lease is its length, and a handler that died with
-- its process has none.
-- name: cut_leases
UPDATE leases SET timeout_at = ?1 + (timeout_at - until) + 1 + CASE in_process WHEN 1 THEN 0 ELSE length END,
                  until = ?1 + CASE in_process WHEN 1 THEN 0 ELSE length END

-- name: key
SELECT job, payload_hash, held_until FROM keys WHERE tenant = ?1 AND type = ?2 AND key = ?3

-- name: put_key
INSERT OR REPLACE INTO keys (tenant, type, key, job, payload_hash, held_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: delete_key
DELETE FROM keys WHERE tenant = ?1 AND type = ?2 AND key = ?3

-- name: effect
SELECT job, token, done, result, at, in_doubt FROM effects WHERE tenant = ?1 AND key = ?2

-- name: put_effect
INSERT OR REPLACE INTO effects (tenant, key, job, token, done, result, at, in_doubt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: delete_effect
DELETE FROM effects WHERE tenant = ?1 AND key = ?2

-- name: old_effects
SELECT tenant, key FROM effects WHERE at < ?1 ORDER BY at LIMIT ?2

-- name: keys_of
SELECT type, key FROM keys WHERE tenant = ?1 LIMIT ?2

-- name: effects_of
SELECT key FROM effects WHERE tenant = ?1 LIMIT ?2

-- name: live_jobs_of
SELECT coalesce(sum(c.count), 0) FROM lanes l JOIN counts c ON c.lane = l.id WHERE l.tenant = ?1 AND c.state < 4

-- name: insert_dependency
INSERT OR IGNORE INTO dependencies (parent, child) VALUES (?1, ?2)

-- name: delete_dependency
DELETE FROM dependencies WHERE parent = ?1 AND child = ?2

-- name: children
SELECT child FROM dependencies WHERE parent = ?1 ORDER BY child

-- name: parents
SELECT parent FROM dependencies WHERE child = ?1 ORDER BY parent

-- name: delete_parents
DELETE FROM dependencies WHERE child = ?1

-- name: any_dependency
SELECT EXISTS (SELECT 1 FROM dependencies)

-- name: add_count
INSERT INTO counts (lane, state, count) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET count = count + excluded.count

-- name: highest_id
SELECT max((SELECT coalesce(max(id), 0) FROM jobs), (SELECT coalesce(max(id), 0) FROM archive))

-- name: count_names
SELECT (SELECT count(*) FROM lanes) + (SELECT count(*) FROM types)

-- Those that nothing refers to by number.
-- name: prune_lanes
DELETE FROM lanes WHERE id NOT IN
  (SELECT lane FROM counts WHERE count <> 0 UNION SELECT lane FROM jobs UNION SELECT lane FROM archive)

-- name: prune_counts
DELETE FROM counts WHERE lane NOT IN (SELECT id FROM lanes)

-- name: prune_types
DELETE FROM types WHERE id NOT IN
  (SELECT type FROM jobs UNION SELECT type FROM archive UNION SELECT type FROM keys)

-- name: lanes
SELECT id, tenant, queue FROM lanes ORDER BY id

-- name: insert_lane
INSERT INTO lanes (id, tenant, queue) VALUES (?1, ?2, ?3)

-- name: types
SELECT id, name FROM types ORDER BY id

-- name: insert_type
INSERT INTO types (id, name) VALUES (?1, ?2)
