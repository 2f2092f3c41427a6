-- An occurrence knows the minute of its local clock (none: that of its slot in UTC), and is counted while it is open or
-- parked too. A subject can be disabled. A schedule knows how many subjects it has, and which jobs are of an earlier
-- life of it.

ALTER TABLE outcomes ADD COLUMN local_minute INTEGER;

-- State 1, queued, stands for open; 3 is dlq.
INSERT INTO outcome_counts (schedule, day, minute, outcome, count)
  SELECT schedule, (minute - into_day) / 1440, into_day, state, sum(count)
    FROM (SELECT schedule, minute, (minute % 1440 + 1440) % 1440 AS into_day, state, count
            FROM (SELECT schedule, (slot - (slot % 60000000 + 60000000) % 60000000) / 60000000 AS minute,
                         CASE parked WHEN 1 THEN 3 ELSE 1 END AS state, count
                    FROM outcomes WHERE outcome IS NULL))
   GROUP BY 1, 2, 3, 4;

ALTER TABLE subjects ADD COLUMN enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled BETWEEN 0 AND 1);

ALTER TABLE schedules ADD COLUMN subjects INTEGER NOT NULL DEFAULT 0;
UPDATE schedules SET subjects = (SELECT count(*) FROM subjects u WHERE u.schedule = schedules.id
                                  AND u.generation = schedules.generation AND u.deleted_at IS NULL)
 WHERE deleted_at IS NULL;
ALTER TABLE schedules ADD COLUMN first_job INTEGER NOT NULL DEFAULT 0;

-- What every subject comes to have stands in columns, which are shorter than its JSON.
ALTER TABLE subjects ADD COLUMN status INTEGER CHECK (status IS NULL OR status >= 4);
ALTER TABLE subjects ADD COLUMN last_slot INTEGER;
ALTER TABLE subjects ADD COLUMN last_run_at INTEGER;
UPDATE subjects
   SET status = CASE json_extract(state, '$.status') WHEN 'success' THEN 4
                ELSE (SELECT id FROM states WHERE name = json_extract(state, '$.status') AND id > 4) END,
       last_slot = json_extract(state, '$.last_slot'), last_run_at = json_extract(state, '$.last_run_at'),
       state = nullif(json_remove(state, '$.status', '$.last_slot', '$.last_run_at'), '{}')
 WHERE state IS NOT NULL;
