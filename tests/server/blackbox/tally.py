"""What happened, counted three times: by the lines of the event log, by the rows of the SQLite file, by /metrics.

None of these is derived from another, and none from the API. What leaves no row (a word that came too late, a job that has left
the DLQ again) is known to whoever did it, who adds it to the rows. `differences` names the kinds of which the counts are not the
same. (invariant 34)
"""
import collections
import datetime
import json
import os
import sqlite3
import uuid

OUTCOMES = {4: "success", 5: "skipped", 6: "cancelled", 7: "cutoff_reached", 8: "missed"}
OF_A_JOB = ("lease_lost", "rate_limited", "deferred", "late_success", "stale_ack")
# `due`: the day and minute of deliveries. `enqueued`, `cutoff_finalized`: sums over sched.tick.stop. `parked`: came into the DLQ.
KINDS = (*OF_A_JOB, "picked", "parked", "sched.job.stop ok", "sched.job.stop error", "sched.job.stop timeout", "sched.finalize",
         "sched.outcome", "due", "missed", "enqueued", "cutoff_finalized")
EPOCH_MS = 1_577_836_800_000  # 2020


def number_of(job_id):
    """The number inside of a job's UUID, which is its id in the rows: milliseconds since 2020, and 21 bits of sequence."""
    value = uuid.UUID(job_id).int
    return ((value >> 80) - EPOCH_MS) << 21 | (value >> 64 & 0xFFF) << 9 | value >> 53 & 0x1FF


def nothing():
    return {kind: collections.Counter() for kind in KINDS}


# ---- The event log ----
def read_events(folder):
    """Also while it is written: its last line may be half there."""
    with open(os.path.join(folder, "events.ndjson"), encoding="utf-8") as log:
        return [json.loads(line) for line in log if line.endswith("\n")]


def parts_of(event, deliveries):
    """What a line adds, as (kind, about whom, how many). `deliveries`: the names of such schedules."""
    name, about = event["event"], event["metadata"]
    if name in OF_A_JOB:
        yield name, number_of(about["job_id"]), 1
    elif name == "sched.job.stop":
        yield f"{name} {about['result']}", number_of(about["job_id"]), 1
    elif name == "job.picked":
        yield "picked", number_of(about["job_id"]), 1
    elif name == "job.changed" and about["state"] == "dlq":
        yield "parked", number_of(about["id"]), 1
    elif name == "sched.finalize":
        yield name, (about["schedule"], about["subject"], about["status"]), about["count"]
        yield "due", (about["schedule"], about["status"], about["today"], about["due_bucket"]), about["count"]
    elif name == "sched.outcome":
        yield name, (about["schedule"], about["subject"], about["outcome"]), about["count"]
    elif name == "missed":
        yield name, (about["schedule"], about["subject"]), about["count"]
    elif name == "sched.tick.stop":
        yield "enqueued", "all", about["enqueued"]
        yield "cutoff_finalized", "all", about["cutoff_finalized"]


def told(events, deliveries):
    tally = nothing()
    for event in events:
        for kind, whom, count in parts_of(event, deliveries):
            tally[kind][whom] += count
    return tally


# ---- The rows ----
def open_store(folder):
    return sqlite3.connect(f"file:{os.path.join(folder, 'carillon.db')}?mode=ro", uri=True)


def count_attempts(store, tally):
    for result, job in store.execute("SELECT r.name, a.job FROM results r JOIN (SELECT job, result FROM attempts UNION ALL "
                                     "SELECT id, result FROM archive WHERE result IS NOT NULL) a ON a.result = r.id"):
        if result in ("ok", "error", "timeout"):
            tally[f"sched.job.stop {result}"][job] += 1
        elif result in ("lease_lost", "rate_limited"):
            tally[result][job] += 1


def count_jobs(store, tally):
    for job, state, token, slot, options, detail in store.execute(
            "SELECT id, state, token + (SELECT count(*) FROM leases l WHERE l.job = j.id), slot, options, detail FROM jobs j "
            "UNION ALL SELECT id, state, token, slot, options, detail FROM archive"):
        options, detail = json.loads(options or "{}"), json.loads(detail or "{}")
        tally["picked"][job] += token  # each claim has the next one
        tally["parked"][job] += state == 3 or detail.get("reason") == "discarded"
        tally["deferred"][job] += detail.get("deferrals", 0)
        tally["enqueued"]["all"] += slot is not None and options.get("origin") == "scheduled"


def count_outcomes(store, tally, deliveries):
    for schedule, subject, outcome, count, minute in store.execute(
            "SELECT c.name, s.subject, o.outcome, o.count, coalesce(o.local_minute, o.slot / 60000000) FROM outcomes o "
            "JOIN schedules c ON c.id = o.schedule JOIN subjects s ON s.id = o.subject WHERE o.outcome IS NOT NULL"):
        status = OUTCOMES[outcome]
        tally["sched.finalize" if schedule in deliveries else "sched.outcome"][schedule, subject, status] += count
        if schedule in deliveries:
            day = datetime.date(1970, 1, 1) + datetime.timedelta(minute // 1440)
            tally["due"][schedule, status, day.isoformat(), minute % 1440] += count
        if status == "missed":
            tally["missed"][schedule, subject] += count
        if status == "cutoff_reached":
            tally["cutoff_finalized"]["all"] += count


def stored(folder, deliveries, known):
    """`known`: what left no row, as (kind, id of the job)."""
    tally = nothing()
    with open_store(folder) as store:
        count_attempts(store, tally)
        count_jobs(store, tally)
        count_outcomes(store, tally, deliveries)
    for kind, job in known:
        tally[kind][number_of(job)] += 1
    return tally


# ---- The metrics ----
def measured(metrics):
    """The counters of /metrics, by their names."""
    lines = [line.split() for line in metrics.splitlines() if not line.startswith("#")]
    return {name: int(float(value)) for name, value in lines if name.split("{")[0].endswith("_total")}


def metrics_of(rows):
    """What the counters must be, by the rows."""
    sums = {kind: sum(counts.values()) for kind, counts in rows.items()}
    words = {"picked": sums["picked"], "succeeded": sums["sched.job.stop ok"],
             "failed": sums["sched.job.stop error"] + sums["sched.job.stop timeout"], "deferred": sums["deferred"],
             "dlq": sums["parked"], "stalled": sums["lease_lost"]}
    counters = collections.Counter({f"carillon_jobs_{word}_total": count for word, count in words.items()})
    for (_, _, status), count in (rows["sched.finalize"] + rows["sched.outcome"]).items():
        counters[f'carillon_finalized_total{{status="{status}"}}'] += count
    return dict(counters)


# ---- The judge ----
def differences(log, rows, metrics):
    """{kind or counter: what it is by the one and by the other}; empty if all agree."""
    found = {}
    for kind in KINDS:
        if +log[kind] != +rows[kind]:
            found[kind] = {"only told": dict(log[kind] - rows[kind]), "only stored": dict(rows[kind] - log[kind])}
    for name, count in metrics_of(rows).items():
        if metrics.get(name, 0) != count:
            found[name] = {"measured": metrics.get(name, 0), "stored": count}
    return found
