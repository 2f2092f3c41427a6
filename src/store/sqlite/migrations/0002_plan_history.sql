-- What plans leave behind can be pruned: a deleted subject says since when it is deleted, and no id of a schedule is
-- given twice. An outcome says for how many occurrences it stands.

ALTER TABLE outcomes ADD COLUMN count INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1);
UPDATE outcomes SET count = 2 WHERE is_range = 1;  -- or more: it was not written down
ALTER TABLE outcomes DROP COLUMN is_range;

ALTER TABLE subjects ADD COLUMN deleted_at INTEGER;
UPDATE subjects SET deleted_at = unixepoch() * 1000000 WHERE deleted = 1;
ALTER TABLE subjects DROP COLUMN deleted;

CREATE TABLE schedules_anew (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant       TEXT NOT NULL,
  name         TEXT NOT NULL,
  revision     INTEGER NOT NULL,
  generation   INTEGER NOT NULL,
  definition   TEXT NOT NULL,
  enabled      INTEGER NOT NULL CHECK (enabled BETWEEN 0 AND 1),
  paused_until INTEGER,
  deleted_at   INTEGER,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT;
INSERT INTO schedules_anew SELECT * FROM schedules;
DROP TABLE schedules;
ALTER TABLE schedules_anew RENAME TO schedules;
