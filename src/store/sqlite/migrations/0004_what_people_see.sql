-- What people see agrees with what happened.

-- A parked occurrence is shown: the last outcome of a schedule and the status of a subject may be 3, dlq. The rule is
-- rewritten where it stands, which touches no row: there may be ten million subjects, and what was right stays right.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
   SET sql = replace(sql, 'last_outcome IS NULL OR last_outcome >= 4', 'last_outcome IS NULL OR last_outcome >= 3')
 WHERE type = 'table' AND name = 'schedules';
UPDATE sqlite_schema SET sql = replace(sql, 'status IS NULL OR status >= 4', 'status IS NULL OR status >= 3')
 WHERE type = 'table' AND name = 'subjects';
PRAGMA writable_schema = RESET;  -- off, and the rules are read again

-- A claim that was made ahead of a free slot, and is not known to have begun.
ALTER TABLE leases ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0 CHECK (ahead BETWEEN 0 AND 1);

-- A claim that an earlier attempt had, and left without a word: who asked after it has it now.
ALTER TABLE effects ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt BETWEEN 0 AND 1);
