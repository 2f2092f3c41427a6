-- An occurrence knows the minute of its local clock (none: that of its slot in UTC), and is counted while it is open or
-- parked too. A subject can be disabled. A schedule knows how many subjects it has, and which jobs are of an earlier
-- life of it.

ALTER TABLE outcomes ADD COLUMN local_minute INTEGER;

-- State 1, queued, stands for open; 3 is dlq.
INSERT INTO outcome_counts (schedule, day, minute, outcome, count)
  SELECT schedule, floor(slot / 86400000000.0), floor(slot / 60000000.0) - 1440 * floor(slot / 86400000000.0),
         CASE parked WHEN 1 THEN 3 ELSE 1 END, sum(count)
    FROM outcomes WHERE outcome IS NULL GROUP BY 1, 2, 3, 4;

ALTER TABLE subjects ADD COLUMN enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled BETWEEN 0 AND 1);

ALTER TABLE schedules ADD COLUMN subjects INTEGER NOT NULL DEFAULT 0;
UPDATE schedules SET subjects = (SELECT count(*) FROM subjects u WHERE u.schedule = schedules.id
                                  AND u.generation = schedules.generation AND u.deleted_at IS NULL)
 WHERE deleted_at IS NULL;
ALTER TABLE schedules ADD COLUMN first_job INTEGER NOT NULL DEFAULT 0;
