-- An occurrence knows the minute of its local clock (none: that of its slot in UTC), and is counted while it is open or
-- parked too. A subject can be disabled. A schedule knows how many subjects it has, how their occurrences went, and which
-- jobs are of an earlier life of it.

-- State 1, queued, stands for open; 3 is dlq.
INSERT INTO outcome_counts (schedule, day, minute, outcome, count)
  SELECT schedule, (minute - into_day) / 1440, into_day, state, sum(count)
    FROM (SELECT schedule, minute, (minute % 1440 + 1440) % 1440 AS into_day, state, count
            FROM (SELECT schedule, (slot - (slot % 60000000 + 60000000) % 60000000) / 60000000 AS minute,
                         CASE parked WHEN 1 THEN 3 ELSE 1 END AS state, count
                    FROM outcomes WHERE outcome IS NULL))
   GROUP BY 1, 2, 3, 4;

ALTER TABLE schedules ADD COLUMN subjects INTEGER NOT NULL DEFAULT 0;
UPDATE schedules SET subjects = (SELECT count(*) FROM subjects u WHERE u.schedule = schedules.id
                                  AND u.generation = schedules.generation AND u.deleted_at IS NULL)
 WHERE deleted_at IS NULL;
ALTER TABLE schedules ADD COLUMN first_job INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN last_outcome INTEGER CHECK (last_outcome IS NULL OR last_outcome >= 4);
ALTER TABLE schedules ADD COLUMN error_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedules ADD COLUMN last_error TEXT;
-- Who follows whom must be known before anything starts.
CREATE INDEX schedules_following ON schedules (id) WHERE json_extract(definition, '$.trigger.kind') = 'after';

-- Subjects that are due at the same minute of the day stand side by side, in the order in which they came, and their
-- outcomes too: planning a thousand of ten million writes a few pages, not a thousand. The number says where: above its
-- lower 36 bits the minute of the day at which it was first due. Names have an index of their own, which only comes and
-- goes with subjects.
-- What every subject comes to have stands in columns, which are shorter than its JSON.
CREATE TABLE subjects_anew (
  id          INTEGER PRIMARY KEY,
  schedule    INTEGER NOT NULL,
  subject     TEXT NOT NULL,
  generation  INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  next_at     INTEGER,
  position    INTEGER,
  open_job    INTEGER,
  cursor      INTEGER,
  overrides   TEXT,
  state       TEXT,
  deleted_at  INTEGER,
  enabled     INTEGER NOT NULL CHECK (enabled BETWEEN 0 AND 1),
  status      INTEGER CHECK (status IS NULL OR status >= 4),
  last_slot   INTEGER,
  last_run_at INTEGER
) STRICT;
INSERT INTO subjects_anew
  SELECT (minute << 36) + row_number() OVER (PARTITION BY minute ORDER BY schedule, subject),
         schedule, subject, generation, version, next_at, position, open_job, cursor, overrides,
         nullif(json_remove(state, '$.status', '$.last_slot', '$.last_run_at'), '{}'), deleted_at, 1,
         CASE json_extract(state, '$.status') WHEN 'success' THEN 4
         ELSE (SELECT id FROM states WHERE name = json_extract(state, '$.status') AND id > 4) END,
         json_extract(state, '$.last_slot'), json_extract(state, '$.last_run_at')
    FROM (SELECT *, (coalesce(next_at, 0) / 60000000 % 1440 + 1440) % 1440 AS minute FROM subjects);
-- An outcome names its subject by number. One that is not there has a name, and generation -1.
INSERT INTO subjects_anew (id, schedule, subject, generation, version, enabled)
  SELECT (1440 << 36) + row_number() OVER (), schedule, subject, -1, 0, 1
    FROM outcomes o
   WHERE NOT EXISTS (SELECT 1 FROM subjects s WHERE s.schedule = o.schedule AND s.subject = o.subject)
   GROUP BY schedule, subject;
DROP TABLE subjects;
ALTER TABLE subjects_anew RENAME TO subjects;
CREATE UNIQUE INDEX subjects_by_name ON subjects (schedule, subject);
CREATE INDEX subjects_due ON subjects (schedule, next_at, subject) WHERE next_at IS NOT NULL;

CREATE TABLE outcomes_anew (
  schedule     INTEGER NOT NULL,
  subject      INTEGER NOT NULL,
  slot         INTEGER NOT NULL,
  until        INTEGER,
  job          INTEGER,
  outcome      INTEGER CHECK (outcome IS NULL OR outcome >= 4),
  parked       INTEGER NOT NULL CHECK (parked BETWEEN 0 AND 1),
  reason       TEXT,
  at           INTEGER,
  count        INTEGER NOT NULL CHECK (count >= 1),
  local_minute INTEGER,
  PRIMARY KEY (schedule, subject, slot)
) STRICT, WITHOUT ROWID;
INSERT INTO outcomes_anew
  SELECT o.schedule, s.id, slot, until, job, outcome, parked, reason, at, count, NULL
    FROM outcomes o JOIN subjects s ON s.schedule = o.schedule AND s.subject = o.subject;
DROP TABLE outcomes;
ALTER TABLE outcomes_anew RENAME TO outcomes;
-- The gaps of a subject are few among its windows: a list shows those of each. Other kinds have no rows here, but for
-- ranges that were missed.
CREATE INDEX outcomes_not_done ON outcomes (schedule, subject, slot)
  WHERE until IS NOT NULL AND (outcome IS NULL OR outcome > 5);

-- For people.
CREATE VIEW outcome_list AS
  SELECT c.tenant, c.name AS schedule, s.subject, datetime(o.slot / 1000000, 'unixepoch') AS slot, o.count,
         coalesce(t.name, CASE o.parked WHEN 1 THEN 'dlq' ELSE 'open' END) AS outcome, o.reason,
         datetime(o.at / 1000000, 'unixepoch') AS at, o.job
    FROM outcomes o JOIN subjects s ON s.id = o.subject JOIN schedules c ON c.id = o.schedule
         LEFT JOIN states t ON t.id = o.outcome;
