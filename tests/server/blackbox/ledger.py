"""What clients and workers meant, heard and did, one JSON line each; and a judge that knows nothing of the server.

Clients write `intent` before a call and `answer` after its 2xx; workers write `start` and `end` of an attempt and
`effect` when they do what must be done once. The judge holds these lines against the jobs and schedules that are there
in the end. Counted are
  LOST        answered, but not there; or there, and neither run nor final
  HALF        some jobs of a batch, not all
  DUP-KEY     two jobs under one idempotency key
  DUP-EFFECT  an effect twice
  DUP-RUN     an attempt that began after the job's end had been answered
  PHANTOM     a job, a run or an effect that nobody asked for
"""
import collections
import json
import os
import threading

FINAL = {"done", "skipped", "cancelled", "dlq"}


class Ledger:
    """Lines in a file that outlives whoever wrote them: each is one write to its end."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lock = threading.Lock()

    def write(self, what, **fields):
        line = (json.dumps({"what": what, **fields}) + "\n").encode()
        with self.lock:
            os.write(self.file, line)

    def close(self):
        os.close(self.file)

    def lines(self):
        with open(self.path) as file:
            return [json.loads(line) for line in file]


def judge(lines, jobs, schedules):
    """`jobs`: as the API lists them; `schedules`: by name, the mark that each carries. Returns the counts."""
    counts = collections.Counter({name: 0 for name in ("LOST", "HALF", "DUP-KEY", "DUP-EFFECT", "DUP-RUN", "PHANTOM")})
    there = {job["id"]: job for job in jobs}
    by_ref = collections.defaultdict(list)
    for job in jobs:
        by_ref[job["payload"]["ref"]].append(job)

    meant = {}      # ref -> how many jobs
    answered = {}   # ref -> ids
    ended = {}      # id -> the state that an answer told
    followed = {}   # ref of a follow-up -> the job that names it, once its end was answered
    marks_meant, marks_answered = collections.defaultdict(list), {}
    effects = collections.Counter()
    for line in lines:
        what = line["what"]
        if what == "intent":
            meant[line["ref"]] = line["count"]
        elif what == "answer":
            answered[line["ref"]] = line["ids"]
        elif what == "mark":
            marks_meant[line["schedule"]].append(line["mark"])
        elif what == "marked":
            marks_answered[line["schedule"]] = line["mark"]
        elif what == "start":
            counts["DUP-RUN"] += line["id"] in ended
            counts["PHANTOM"] += line["ref"] not in meant
        elif what == "effect":
            effects[line["key"]] += 1
            counts["PHANTOM"] += line["id"] not in there
        elif what == "end":
            ended[line["id"]] = line["state"]
            if line["then"]:
                followed[line["then"]] = line["id"]

    for ref, ids in answered.items():
        counts["LOST"] += sum(job not in there for job in ids)
    for ref, count in meant.items():
        counts["HALF"] += 0 < len(by_ref[ref]) < count
        counts["DUP-KEY"] += len(by_ref[ref]) > count
    for job, state in ended.items():
        counts["LOST"] += job not in there or there[job]["state"] != state
    for ref in followed:
        counts["LOST"] += not by_ref[ref]
    for name, mark in marks_answered.items():
        # What came after the last answer may or may not have been stored.
        allowed = marks_meant[name][marks_meant[name].index(mark):]
        counts["LOST"] += schedules.get(name) not in allowed
    counts["DUP-EFFECT"] += sum(times > 1 for times in effects.values())
    for ref in by_ref:
        counts["PHANTOM"] += ref not in meant
    counts["LOST"] += sum(job["state"] not in FINAL for job in jobs)
    return dict(counts)
