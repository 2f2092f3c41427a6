-- All times are microseconds since 1970 in UTC, all durations microseconds. `states` names the numbers of states, the
-- views at the end show rows with names. Lease times run on the boot clock and mean nothing after a restart.

CREATE TABLE states (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO states (id, name) VALUES
  (0, 'waiting'), (1, 'queued'), (2, 'processing'), (3, 'dlq'), (4, 'done'), (5, 'skipped'), (6, 'cancelled'),
  (7, 'cutoff_reached'), (8, 'missed');

CREATE TABLE results (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO results (id, name) VALUES
  (0, 'ok'), (1, 'error'), (2, 'timeout'), (3, 'lease_lost'), (4, 'released'), (5, 'cancelled'), (6, 'rate_limited');

-- A tenant's queue.
CREATE TABLE lanes (
  id     INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  queue  TEXT NOT NULL,
  UNIQUE (tenant, queue)
) STRICT;

CREATE TABLE types (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- Live jobs. One that a worker has is `queued` here and has a row in `leases`. The id is the number inside of the
-- job's UUID.
CREATE TABLE jobs (
  id       INTEGER PRIMARY KEY,
  state    INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3 AND state <> 2),
  lane     INTEGER NOT NULL,
  type     INTEGER NOT NULL,
  priority INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 5),
  run_at   INTEGER NOT NULL,
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  token    INTEGER NOT NULL CHECK (token >= 0),
  deadline INTEGER,
  later    INTEGER NOT NULL CHECK (later BETWEEN 0 AND 1),
  schedule INTEGER,
  subject  TEXT,
  slot     INTEGER CHECK (slot IS NULL OR schedule IS NOT NULL),
  options  TEXT,  -- JSON: what differs from the defaults
  detail   TEXT,  -- JSON: what happened so far
  payload  TEXT   -- JSON, byte for byte; none: it is long and stands in payloads
) STRICT;

-- Finished jobs, append only. What no attempt ended has no result.
CREATE TABLE archive (
  id          INTEGER PRIMARY KEY,
  state       INTEGER NOT NULL CHECK (state >= 4),
  lane        INTEGER NOT NULL,
  type        INTEGER NOT NULL,
  priority    INTEGER NOT NULL,
  run_at      INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  token       INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  started_at  INTEGER,
  result      INTEGER,
  deadline    INTEGER,
  schedule    INTEGER,
  subject     TEXT,
  slot        INTEGER,
  worker      TEXT,
  options     TEXT,
  detail      TEXT,
  payload     TEXT
) STRICT;

-- Payloads too long to be copied when a job changes.
CREATE TABLE payloads (
  job     INTEGER PRIMARY KEY,
  payload TEXT NOT NULL
) STRICT;

-- Attempts that ended without ending their job. The one that did stands in the archive.
CREATE TABLE attempts (
  job         INTEGER NOT NULL,
  token       INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  result      INTEGER NOT NULL,
  worker      TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  error_class TEXT,
  error       TEXT,
  PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
  job        INTEGER PRIMARY KEY,
  token      INTEGER NOT NULL CHECK (token >= 1),
  attempt    INTEGER NOT NULL CHECK (attempt >= 1),
  worker     TEXT NOT NULL,
  in_process INTEGER NOT NULL CHECK (in_process BETWEEN 0 AND 1),
  claimed_at INTEGER NOT NULL,
  length     INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  timeout_at INTEGER NOT NULL CHECK (until <= timeout_at)
) STRICT;

-- Jobs that were far off when they were written, found by their time.
CREATE TABLE later (
  run_at INTEGER NOT NULL,
  job    INTEGER NOT NULL,
  PRIMARY KEY (run_at, job)
) STRICT, WITHOUT ROWID;

-- Live jobs that have a deadline, found by it.
CREATE TABLE deadlines (
  deadline INTEGER NOT NULL,
  job      INTEGER NOT NULL,
  PRIMARY KEY (deadline, job)
) STRICT, WITHOUT ROWID;

-- Idempotency keys that are held.
CREATE TABLE keys (
  tenant       TEXT NOT NULL,
  type         INTEGER NOT NULL,
  key          TEXT NOT NULL,
  job          INTEGER NOT NULL,
  payload_hash INTEGER NOT NULL,
  held_until   INTEGER,
  PRIMARY KEY (tenant, type, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE effects (
  tenant TEXT NOT NULL,
  key    TEXT NOT NULL,
  job    INTEGER NOT NULL,
  token  INTEGER NOT NULL,
  done   INTEGER NOT NULL CHECK (done BETWEEN 0 AND 1),
  result TEXT,
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX effects_by_time ON effects (at);

-- The child waits for the parent.
CREATE TABLE dependencies (
  parent INTEGER NOT NULL,
  child  INTEGER NOT NULL,
  PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_by_child ON dependencies (child);

-- How many jobs of each state there are, kept with every change.
CREATE TABLE counts (
  lane  INTEGER NOT NULL,
  state INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (lane, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
  id           INTEGER PRIMARY KEY,
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

CREATE TABLE subjects (
  schedule   INTEGER NOT NULL,
  subject    TEXT NOT NULL,
  generation INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  next_at    INTEGER,
  position   INTEGER,
  open_job   INTEGER,
  cursor     INTEGER,
  overrides  TEXT,
  state      TEXT,
  deleted    INTEGER NOT NULL CHECK (deleted BETWEEN 0 AND 1),
  PRIMARY KEY (schedule, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX subjects_due ON subjects (schedule, next_at) WHERE next_at IS NOT NULL;

-- What became of each occurrence. No outcome: its job is open, or parked in the DLQ.
CREATE TABLE outcomes (
  schedule INTEGER NOT NULL,
  subject  TEXT NOT NULL,
  slot     INTEGER NOT NULL,
  until    INTEGER,
  is_range INTEGER NOT NULL CHECK (is_range BETWEEN 0 AND 1),
  job      INTEGER,
  outcome  INTEGER CHECK (outcome IS NULL OR outcome >= 4),
  parked   INTEGER NOT NULL CHECK (parked BETWEEN 0 AND 1),
  reason   TEXT,
  at       INTEGER,
  PRIMARY KEY (schedule, subject, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE outcome_counts (
  schedule INTEGER NOT NULL,
  day      INTEGER NOT NULL,
  minute   INTEGER NOT NULL CHECK (minute BETWEEN 0 AND 1439),
  outcome  INTEGER NOT NULL,
  count    INTEGER NOT NULL,
  PRIMARY KEY (schedule, day, minute, outcome)
) STRICT, WITHOUT ROWID;

-- Settings, limits, queues, handlers, hooks, API keys, bulk work. Tenant '': for all.
CREATE TABLE documents (
  tenant     TEXT NOT NULL,
  kind       TEXT NOT NULL,
  name       TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  body       TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  tenant   TEXT NOT NULL,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  target   TEXT NOT NULL,
  detail   TEXT
) STRICT;
CREATE INDEX audit_by_tenant ON audit (tenant, sequence);

-- For people.
CREATE VIEW job_list AS
  SELECT j.id, CASE WHEN e.job IS NULL THEN s.name ELSE 'processing' END AS state, l.tenant, l.queue, t.name AS type,
         j.priority, datetime(j.run_at / 1000000, 'unixepoch') AS run_at, j.attempts, e.worker,
         NULL AS finished_at, j.subject, j.options, j.detail, coalesce(j.payload, p.payload) AS payload
    FROM jobs j JOIN states s ON s.id = j.state JOIN lanes l ON l.id = j.lane JOIN types t ON t.id = j.type
         LEFT JOIN leases e ON e.job = j.id LEFT JOIN payloads p ON p.job = j.id
  UNION ALL
  SELECT a.id, s.name, l.tenant, l.queue, t.name, a.priority, datetime(a.run_at / 1000000, 'unixepoch'), a.attempts,
         a.worker, datetime(a.finished_at / 1000000, 'unixepoch'), a.subject, a.options, a.detail,
         coalesce(a.payload, p.payload)
    FROM archive a JOIN states s ON s.id = a.state JOIN lanes l ON l.id = a.lane JOIN types t ON t.id = a.type
         LEFT JOIN payloads p ON p.job = a.id;

CREATE VIEW attempt_list AS
  SELECT a.job, a.number, r.name AS result, a.worker, datetime(a.started_at / 1000000, 'unixepoch') AS started_at,
         datetime(a.finished_at / 1000000, 'unixepoch') AS finished_at, a.error_class, a.error
    FROM attempts a JOIN results r ON r.id = a.result
  UNION ALL
  SELECT a.id, a.attempts, r.name, a.worker, datetime(a.started_at / 1000000, 'unixepoch'),
         datetime(a.finished_at / 1000000, 'unixepoch'), NULL, NULL
    FROM archive a JOIN results r ON r.id = a.result;
