"""The server is killed under load, again and again, and everything that it answered is there afterwards.

  kill_test.py PROGRAM        5 kills; CARILLON_FULL=1: 100
"""
import collections
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from ledger import Ledger, judge
from load import Load
from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
FULL = os.environ.get("CARILLON_FULL") == "1"
T = "/v1/tenants/default"
SEED = int(os.environ.get("CARILLON_SEED", "1"))
CLEAN = {"LOST": 0, "HALF": 0, "DUP-KEY": 0, "DUP-EFFECT": 0, "DUP-RUN": 0, "PHANTOM": 0}


def all_jobs(server):
    jobs, cursor = [], ""
    while True:
        page = server.get(f"{T}/jobs?limit=500{cursor}").json
        jobs += page["items"]
        if page["next_cursor"] is None:
            return jobs
        cursor = "&cursor=" + page["next_cursor"]


def all_marks(server):
    return {one["name"]: one["description"] for one in server.get(T + "/schedules?limit=500").json["items"]}


class UnderLoad(unittest.TestCase):
    """Invariants 4, 5, 9 and 14, as a client sees them."""

    def test_every_answer_is_there_after_kills(self):
        kills = 100 if FULL else 5
        chance = random.Random(SEED)
        with Server(PROGRAM) as server:
            ledger = Ledger(os.path.join(server.folder, "ledger"))
            load = Load(server, ledger, SEED)
            slowest_claim = 0.0
            for _ in range(kills):
                time.sleep(chance.uniform(0.05, 0.5))
                server.stop(signal.SIGKILL)
                load.first_claim.clear()
                began = time.monotonic()
                server.start()
                if load.first_claim.wait(timeout=10):
                    slowest_claim = max(slowest_claim, time.monotonic() - began)
                self.assertEqual(load.failures, [])
            load.stop_asking()
            jobs = self.drained(server)
            load.give_up()
            self.assertEqual(load.failures, [])

            lines = ledger.lines()
            answered = sum(len(line["ids"]) for line in lines if line["what"] == "answer")
            settled = sum(line["what"] == "end" for line in lines)
            marked = sum(line["what"] == "marked" for line in lines)
            counts = judge(lines, jobs, all_marks(server))
            print(f"REPORT server under kill -9: seed {SEED}, {kills} kills under HTTP load, {answered} jobs, {settled} settles "
                  f"and {marked} schedule edits answered; {told(counts)}; first claim at most {slowest_claim:.2f} s after a start",
                  flush=True)
            self.assertEqual(counts, CLEAN)
            self.assertGreater(answered, 5 * kills)
            self.assertGreater(settled, kills)
            self.negative_control(server, lines, jobs)
            ledger.close()

    def drained(self, server):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            counts = server.get("/v1/status").json["counts"]
            if counts["queued"] + counts["processing"] + counts["waiting"] == 0:
                return all_jobs(server)
            time.sleep(0.2)
        self.fail(f"not everything came to an end: {counts}")

    def negative_control(self, server, lines, jobs):
        """What is taken out of the file behind the server's back is missed."""
        done = collections.Counter(job["payload"]["ref"] for job in jobs if job["state"] == "done")
        sizes = {line["ref"]: line["count"] for line in lines if line["what"] == "intent"}
        single = next(ref for ref in done if ref.startswith("single"))
        batch = next(ref for ref in done if ref.startswith("batch") and sizes[ref] > 1)
        schedule = next(line["schedule"] for line in lines if line["what"] == "marked")
        server.stop(signal.SIGKILL)
        file = sqlite3.connect(os.path.join(server.folder, "carillon.db"))
        with file:
            deleted = [file.execute("DELETE FROM archive WHERE id = (SELECT min(id) FROM archive WHERE payload = ?)",
                                    (json.dumps({"ref": ref}),)).rowcount for ref in (single, batch)]
            edited = file.execute("UPDATE schedules SET definition = replace(definition, '\"description\":\"', "
                                  "'\"description\":\"not ') WHERE name = ?", (schedule,)).rowcount
        file.close()
        self.assertEqual((deleted, edited), ([1, 1], 1))
        server.start()
        counts = judge(lines, all_jobs(server), all_marks(server))
        print(f"REPORT server under kill -9, negative control: two jobs and an edit taken out of the file give {told(counts)}",
              flush=True)
        self.assertGreaterEqual(counts["LOST"], 3)
        self.assertEqual(counts["HALF"], 1)


class Judge(unittest.TestCase):
    """It sees what it is there to see."""
    LINES = [{"what": "intent", "ref": "a", "count": 1}, {"what": "answer", "ref": "a", "ids": ["1"]},
             {"what": "intent", "ref": "b", "count": 2}, {"what": "answer", "ref": "b", "ids": ["2", "3"]},
             {"what": "start", "id": "1", "ref": "a", "token": 1, "attempt": 1},
             {"what": "effect", "id": "1", "key": "e"},
             {"what": "end", "id": "1", "state": "done", "then": None},
             {"what": "mark", "schedule": "s", "mark": "1"}, {"what": "marked", "schedule": "s", "mark": "1"},
             {"what": "mark", "schedule": "s", "mark": "2"}]

    def job(self, name, ref, state="done"):
        return {"id": name, "payload": {"ref": ref}, "state": state}

    def told(self, lines=(), jobs=None, marks=None):
        there = [self.job("1", "a"), self.job("2", "b"), self.job("3", "b")]
        counts = judge(self.LINES + list(lines), there if jobs is None else jobs, marks or {"s": "1"})
        return {name: count for name, count in counts.items() if count}

    def test_what_is_right_is_right(self):
        self.assertEqual(self.told(), {})
        self.assertEqual(self.told(marks={"s": "2"}), {})

    def test_what_is_missing(self):
        self.assertEqual(self.told(jobs=[self.job("1", "a"), self.job("2", "b")]), {"LOST": 1, "HALF": 1})
        self.assertEqual(self.told(jobs=[self.job("1", "a"), self.job("2", "b"), self.job("3", "b", "queued")]), {"LOST": 1})
        self.assertEqual(self.told(jobs=[self.job("1", "a", "dlq"), self.job("2", "b"), self.job("3", "b")]), {"LOST": 1})
        self.assertEqual(self.told(marks={"s": "0"}), {"LOST": 1})
        self.assertEqual(self.told([{"what": "intent", "ref": "t", "count": 1},
                                    {"what": "end", "id": "2", "state": "done", "then": "t"}]), {"LOST": 1})

    def test_what_is_twice(self):
        self.assertEqual(self.told([{"what": "effect", "id": "1", "key": "e"}]), {"DUP-EFFECT": 1})
        self.assertEqual(self.told([{"what": "start", "id": "1", "ref": "a", "token": 2, "attempt": 2}]), {"DUP-RUN": 1})
        jobs = [self.job("1", "a"), self.job("4", "a"), self.job("2", "b"), self.job("3", "b")]
        self.assertEqual(self.told(jobs=jobs), {"DUP-KEY": 1})

    def test_what_nobody_asked_for(self):
        self.assertEqual(self.told([{"what": "effect", "id": "9", "key": "x"}]), {"PHANTOM": 1})
        jobs = [self.job("1", "a"), self.job("2", "b"), self.job("3", "b"), self.job("9", "z")]
        self.assertEqual(self.told(jobs=jobs), {"PHANTOM": 1})
        self.assertEqual(self.told([{"what": "start", "id": "8", "ref": "z", "token": 1, "attempt": 1}]), {"PHANTOM": 1})


WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pull_worker.py")


class Workers(unittest.TestCase):
    """A worker is a process of its own: it can be killed, and it can stand."""
    LEASE = 2.0

    def worker(self, server):
        process = subprocess.Popen([sys.executable, WORKER, str(server.port), server.key, f"{self.LEASE:g}s"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.ended, process)
        leased = json.loads(process.stdout.readline())
        return process, leased, time.monotonic()

    def ended(self, process):
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdin.close()
        process.stdout.close()

    def test_what_a_killed_worker_had_is_due_again(self):  # invariant 12
        with Server(PROGRAM) as server:
            job = server.post(T + "/jobs", {"type": "work"}).json
            process, leased, began = self.worker(server)
            self.assertEqual(leased["id"], job["id"])
            process.kill()
            process.wait()
            again = server.post("/v1/leases", {"worker": "second", "wait": "30s"}).json["items"][0]
            took = time.monotonic() - began
            self.assertEqual((again["id"], again["attempt"]), (job["id"], 2))
            self.assertGreater(again["token"], leased["token"])
            self.assertLessEqual(took, self.LEASE + 2)
            print(f"REPORT worker killed: its job was leased again {took:.2f} s after a lease of {self.LEASE:g} s began", flush=True)

    def test_a_worker_that_stood_past_its_lease_changes_nothing(self):  # invariants 9 and 10
        with Server(PROGRAM) as server:
            job = server.post(T + "/jobs", {"type": "work", "notifies": True}).json
            process, leased, _ = self.worker(server)
            process.send_signal(signal.SIGSTOP)
            process.stdin.write("go\n")  # it is about to write when it stands
            process.stdin.flush()
            again = server.post("/v1/leases", {"worker": "second", "wait": "30s", "lease": "60s"}).json["items"][0]
            before = server.get(f"{T}/jobs/{job['id']}").json
            process.send_signal(signal.SIGCONT)
            refused = json.loads(process.stdout.readline())
            self.assertEqual(refused, {name: [409, "stale_token"] for name in refused})
            self.assertEqual(len(refused), 10)
            after = server.get(f"{T}/jobs/{job['id']}").json
            self.assertEqual(after, before)
            answer = server.post(f"{T}/jobs/{job['id']}/complete", {"token": again["token"], "output": {"by": "second"}})
            self.assertEqual(answer.status, 200)
            end = server.get(f"{T}/jobs/{job['id']}").json
            self.assertEqual((end["state"], end["output"]), ("done", {"by": "second"}))
            print(f"REPORT worker paused past its lease: {len(refused)} kinds of writes with its token, all refused", flush=True)


def told(counts):
    return ", ".join(f"{name} {count}" for name, count in counts.items())


if __name__ == "__main__":
    unittest.main(verbosity=1)
