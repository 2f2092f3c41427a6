"""Days of deliveries, windows, checks and other work, rehearsed: what the event log tells, what the rows hold, what the API lists
and what the metrics count must be the same, each counted on its own (invariant 34)."""
import collections
import http.server
import json
import os
import sys
import threading
import time
import unittest
import urllib.parse

import tally
from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
USERS = 60
WAIT_SECONDS = 60
STUCK = """
[handlers.stuck]
kind = "exec"
argv = ["/bin/sleep", "300"]
allow_root = true
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """By the subject's number: well, broken, gone for good, well at the third try. A job of type `busy` is sent away once.

    It keeps a count of its own: `server.answers`, as (id of the job, its type, status)."""

    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["content-length"])))["job"]
        self.server.tries[job["id"]] += 1
        tries = self.server.tries[job["id"]]
        if job["type"] == "busy":
            status = 429 if tries == 1 else 200
        else:
            status = {0: 200, 1: 500, 2: 410, 3: 200 if tries == 3 else 500}[int(job["subject"].split("-")[1]) % 4]
        self.server.answers.append((job["id"], job["type"], status))
        text = json.dumps({"subject": {"status": "available"}} if status == 200 and job["type"] == "check" else {}).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("retry-after", "60")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.known = []  # what leaves no row, as (kind, id of the job)

    def serve(self, config=""):
        """On a clock that stands still until it is told."""
        self.provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        self.provider.answers, self.provider.tries = [], collections.Counter()
        threading.Thread(target=self.provider.serve_forever, daemon=True).start()
        self.addCleanup(self.provider.server_close)
        self.addCleanup(self.provider.shutdown)
        address = f"127.0.0.1:{self.provider.server_address[1]}"
        self.server = Server(PROGRAM, "--clock", "2026-03-02T00:00:00Z@0", "--set", f"webhooks.allow={address}",
                             "--set", "event_log=events.ndjson")
        with open(os.path.join(self.server.folder, "carillon.toml"), "w", encoding="utf-8") as file:
            file.write(config)
        self.addCleanup(self.server.__exit__)
        self.server.start()
        for kind in ("digest", "sync", "check", "busy"):
            self.ok(self.server.put(f"{T}/handlers/{kind}", {"kind": "webhook", "url": f"http://{address}/"}))

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def schedule(self, name, definition, subjects):
        self.ok(self.server.put(f"{T}/schedules/{name}", definition), 201)
        answer = self.server.post(f"{T}/schedules/{name}/subjects/import", raw="\n".join(json.dumps(line) for line in subjects))
        self.assertEqual((answer.status, answer.json), (200, {"created": len(subjects), "updated": 0, "unchanged": 0}))

    def schedule_all_kinds(self, users):
        zones = ["UTC", "Europe/Paris", "America/New_York"]
        self.schedule("digest", {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "digest"}},
                      [{"subject": f"user-{i}", "timezone": zones[i % 3], "due": f"{6 + i % 12:02}:{i % 60:02}"} for i in range(users)])
        plain = [{"subject": f"user-{i}"} for i in range(users)]
        retry = {"kind": "fixed", "delay": "1m"}
        self.schedule("sync", {"trigger": {"kind": "windows", "interval": "4h"}, "job": {"type": "sync", "max_attempts": 3, "retry": retry}}, plain)
        self.schedule("check", {"trigger": {"kind": "adaptive", "bands": [{"within": "1d", "every": "2h"}], "otherwise": "6h"},
                                "job": {"type": "check", "max_attempts": 2, "retry": retry}}, plain)

    def clock(self, **move):
        self.ok(self.server.post("/v1/clock", move))

    # ---- A worker ----
    def leased(self, kind, count=1, **asked):
        items = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "limit": 100, **asked}))["items"]
        self.assertEqual(len(items), count, kind)
        return items

    def taken(self, kind, **fields):
        """A job that was made and leased just now."""
        self.ok(self.server.post(T + "/jobs", {"type": kind, **fields}), 201)
        return self.leased(kind)[0]

    def say(self, job, word, status=200, **body):
        return self.ok(self.server.post(f"{T}/jobs/{job['id']}/{word}", {"token": job["token"], **body}), status)

    def late(self, job, word, **body):
        """Said with a token that is no longer the current one."""
        self.assertEqual(self.say(job, word, 409, **body)["error"]["code"], "stale_token")
        self.known.append(("late_success" if word == "complete" else "stale_ack", job["id"]))

    def park(self, job):
        self.assertEqual(self.say(job, "fail", error="no", permanent=True)["state"], "dlq")

    # ---- Counting ----
    def until_told(self, counts):
        """What takes real time (leases, timeouts) is waited for."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            log = tally.told(tally.read_events(self.server.folder), set())
            now = {kind: sum(log[kind].values()) for kind in counts}
            if now == counts:
                return
            self.assertLess(time.monotonic(), end, f"told were {now}")
            time.sleep(0.05)

    def shown(self, names, days):
        """What the API counts by day and minute, and what it lists row by row: they are the same."""
        shown = {name: collections.Counter() for name in names}
        for name in names:
            for day in days:
                counts = self.server.get(f"{T}/schedules/{name}/outcomes?date={day}").json
                shown[name].update(counts["counts"])
                by_minute = collections.Counter()
                for _, outcome, count in counts["by_due_minute"]:
                    by_minute[outcome] += count
                self.assertEqual(by_minute, +collections.Counter(counts["counts"]))
            listed = collections.Counter()
            cursor = ""
            while cursor is not None:
                page = self.server.get(f"{T}/schedules/{name}/outcomes/items?limit=100" +
                                       (f"&cursor={urllib.parse.quote(cursor, safe='')}" if cursor else "")).json
                for item in page["items"]:
                    listed[item["outcome"]] += item["count"]
                cursor = page["next_cursor"]
            self.assertEqual(listed, +shown[name], name)
        return {name: +shown[name] for name in names}

    def outcomes(self, names):
        rows = {name: collections.Counter() for name in names}
        with tally.open_store(self.server.folder) as store:
            for name, outcome, parked, count in store.execute(
                    "SELECT s.name, o.outcome, o.parked, sum(o.count) FROM outcomes o JOIN schedules s ON s.id = o.schedule GROUP BY 1, 2, 3"):
                rows[name][tally.OUTCOMES[outcome] if outcome else "dlq" if parked else "open"] += count
            twice = store.execute("SELECT count(*) FROM (SELECT schedule, subject, slot FROM outcomes GROUP BY 1, 2, 3 HAVING count(*) > 1)")
            self.assertEqual(twice.fetchone(), (0,))
        return rows

    def end(self):
        """The counters as they stand, and then the end: nothing changes in between."""
        self.server.check_answers()
        metrics = tally.measured(self.server.get("/metrics").body.decode())
        self.server.stop()
        with tally.open_store(self.server.folder) as store:
            self.assertEqual(store.execute("SELECT count(*) FROM leases").fetchone(), (0,))
        return metrics

    def counted(self, deliveries):
        """(events, by the log, by the rows and what is known)"""
        # Who is gone for good is parked; a delivery leaves the DLQ at its cutoff.
        parked = [("parked", job) for job, kind, status in self.provider.answers if kind in deliveries and status == 410]
        events = tally.read_events(self.server.folder)
        return events, tally.told(events, deliveries), tally.stored(self.server.folder, deliveries, self.known + parked)

    def assert_provider_agrees(self, events):
        results = {200: "ok", 410: "error", 429: "rate_limited", 500: "error"}
        answered = collections.Counter((job, results[status]) for job, _, status in self.provider.answers)
        kinds = {job: kind for job, kind, _ in self.provider.answers}
        heard = collections.Counter()
        for event in events:
            about = event["metadata"]
            if event["event"] == "sched.job.stop" and about["type"] in ("digest", "sync", "check", "busy"):
                heard[about["job_id"], about["result"]] += 1
            elif event["event"] == "rate_limited" and about["job_id"] in kinds:
                heard[about["job_id"], "rate_limited"] += 1
        self.assertEqual(heard, answered)


class Outcomes(Case):
    def test_events_rows_and_counts_agree(self):
        self.serve()
        self.schedule_all_kinds(USERS)
        self.clock(advance="2d")
        shown = self.shown(("digest", "sync", "check"), [f"2026-03-0{day}" for day in range(1, 5)])
        metrics = self.end()
        rows = self.outcomes(shown)
        self.assertEqual(shown, rows)
        events, log, stored = self.counted({"digest"})
        self.assertEqual(tally.differences(log, stored, metrics), {})
        self.assert_provider_agrees(events)
        # Of each due time its own minute, by the subject's own clock.
        minutes = {event["metadata"]["due_bucket"] for event in events
                   if event["event"] == "sched.finalize" and event["metadata"]["schedule"] == "digest"}
        self.assertEqual(minutes, {(6 + i % 12) * 60 + i % 60 for i in range(USERS)})
        # None of them is idle, or the above would say nothing.
        self.assertGreaterEqual(rows["digest"]["success"], USERS)
        self.assertGreaterEqual(rows["digest"]["cutoff_reached"], USERS)
        self.assertGreater(rows["sync"]["dlq"], 0)
        self.assertGreater(rows["check"]["skipped"], 0)

    def test_ranges_late_words_and_operators_agree_too(self):
        """What never became a job, what was said too late, what somebody stopped: each is told and counted once."""
        self.serve()
        self.schedule_all_kinds(USERS)
        more = {
            "slow": {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "slow"}},
            "aged": {"trigger": {"kind": "windows", "interval": "1h", "max_age": "6h"}, "job": {"type": "sync"}},
            "watch": {"trigger": {"kind": "adaptive", "bands": [{"within": "1d", "every": "1h"}], "otherwise": "2h"},
                      "job": {"type": "check", "queue": "held"}},
            "hourly": {"trigger": {"kind": "every", "every": "1h"}, "fan_out": True, "job": {"type": "check"}},
        }
        for name, definition in more.items():
            self.schedule(name, definition, [{"subject": f"user-{4 * i}"} for i in range(5)])
        self.ok(self.server.put(T + "/queues/held", {"paused": True}))
        self.clock(to="2026-03-02T07:30:00Z")
        late = self.leased("slow", 5, lease="10m")
        self.clock(to="2026-03-02T09:00:00Z")
        for job in late:
            self.late(job, "complete")
        self.clock(to="2026-03-02T20:00:00Z")
        self.ok(self.server.put(T + "/queues/held", {"paused": False}))
        # Nobody is there for four days.
        self.clock(advance="4d", jump=True)
        self.clock(advance="3h")
        # Changes that close days and windows without a job, and an end by hand.
        for path, change in (("aged/subjects/user-0", {"cursor_end": "2026-03-07T12:00:00Z"}), ("slow/subjects/user-4", {"due": "23:59"}),
                             ("slow/subjects/user-4", {"due": "20:00"})):
            self.ok(self.server.call("PATCH", f"{T}/schedules/{path}", change))
        self.assertEqual(len(self.server.get(T + "/jobs?state=dlq&schedule=sync&limit=1").json["items"]), 1)
        self.ok(self.server.post(f"{T}/jobs/bulk", {"action": "discard", "filter": {"state": "dlq", "schedule": "sync"}}), 202)
        self.clock(advance="3h")
        names = ("digest", "sync", "check", *more)
        shown = self.shown(names, [f"2026-03-{day:02}" for day in range(1, 10)])
        metrics = self.end()
        rows = self.outcomes(names)
        self.assertEqual(shown, rows)
        events, log, stored = self.counted({"digest", "slow"})
        found = tally.differences(log, stored, metrics)
        self.assertEqual(found, {})
        self.assert_provider_agrees(events)

        # None of them is idle here either.
        self.assertEqual((rows["slow"]["success"], rows["slow"]["cutoff_reached"]), (0, 10), "the late day, and the newest that nobody saw")
        self.assertEqual(rows["slow"]["missed"], 5 * 3)
        self.assertGreater(rows["aged"]["missed"], 5 * 80)
        self.assertGreater(rows["hourly"]["missed"], 5 * 90)
        self.assertGreater(rows["watch"]["skipped"], 5 * 6)
        self.assertGreater(rows["sync"]["cancelled"], 0)
        with tally.open_store(self.server.folder) as store:
            widest, = store.execute("SELECT max(o.count) FROM outcomes o JOIN schedules s ON s.id = o.schedule WHERE s.name = 'watch' AND o.outcome = 5").fetchone()
        self.assertGreaterEqual(widest, 6, "many checks that fell due while one was open are one row")

    def work_by_hand(self):
        """Each word that a worker can say, in time and too late, and each end of an attempt about which it says nothing."""
        for _ in range(3):
            self.say(self.taken("well"), "complete")
        self.say(self.taken("needless"), "complete", skipped=True)
        self.say(self.taken("again"), "release")
        self.say(self.leased("again")[0], "fail", error="no")
        self.say(self.taken("limited", limits=["api"]), "fail", error="no", rate_limited="api", retry_after="10m")
        # Put off, and put off again.
        for _ in range(2):
            self.say(self.taken("put-off"), "defer", until="5m")
        self.clock(advance="5m")
        for job in self.leased("put-off", 2):
            self.say(job, "defer", until="30d", reason="no hurry")
        # Somebody asks it to stop; its holder says that it failed.
        stopped = self.taken("stopped")
        self.ok(self.server.post(f"{T}/jobs/{stopped['id']}/cancel"))
        self.assertEqual(self.say(stopped, "fail", error="stopped")["state"], "cancelled")

    def park_by_hand(self):
        """Into the DLQ, for good or not."""
        self.park(self.taken("parked"))
        used_up = {"max_attempts": 2, "retry": {"kind": "fixed", "delay": "0s"}}
        self.say(self.taken("used-up", **used_up), "fail", error="no")
        self.assertEqual(self.say(self.leased("used-up")[0], "fail", error="no")["state"], "dlq")
        discarded = self.taken("discarded")
        self.park(discarded)
        self.ok(self.server.post(f"{T}/jobs/{discarded['id']}/discard"))
        retried = self.taken("retried")
        self.park(retried)
        self.ok(self.server.post(f"{T}/jobs/{retried['id']}/retry"))
        self.known.append(("parked", retried["id"]))  # and once more, which its row shows
        self.park(self.leased("retried")[0])

    def fall_silent(self):
        """Leases that run out, attempts that take too long; then a word after all."""
        silent = []
        for kind in ("silent-1", "silent-2"):
            self.ok(self.server.post(T + "/jobs", {"type": kind}), 201)
            silent += self.leased(kind, lease="1s")
        slow = self.taken("slow-by-hand", timeout="1s", max_attempts=1)
        for _ in range(2):
            stuck = self.ok(self.server.post(T + "/jobs", {"type": "stuck", "timeout": "1s", "max_attempts": 1}), 201)
            self.known.append(("stale_ack", stuck["id"]))  # when its command has been ended
        self.until_told({"lease_lost": 2, "sched.job.stop timeout": 3, "stale_ack": 2})
        self.assertEqual(self.server.get(f"{T}/jobs/{slow['id']}").json["state"], "dlq")
        for job in silent:
            for word, body in (("heartbeat", {}), ("fail", {"error": "no"}), ("defer", {"until": "1h"}), ("release", {}), ("complete", {})):
                self.late(job, word, **body)
            again, = self.leased(job["type"])
            self.late(job, "complete")
            done = self.say(again, "complete")
            self.assertEqual(self.say(again, "complete"), done)  # once more: nothing happens
        self.late(slow, "complete")

    def test_each_kind_of_event_is_told_as_often_as_it_happened(self):
        self.serve(STUCK)
        self.ok(self.server.put(T + "/limits/api", {"concurrency": 5}))
        self.work_by_hand()
        self.park_by_hand()
        self.fall_silent()
        for _ in range(3):
            self.ok(self.server.post(T + "/jobs", {"type": "busy"}), 201)
        self.clock(to="2026-03-02T01:00:00Z")

        self.schedule_all_kinds(12)
        self.schedule("slow", {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "slow"}},
                      [{"subject": f"user-{i}"} for i in range(4)])
        self.schedule("hourly", {"trigger": {"kind": "every", "every": "1h"}, "fan_out": True, "job": {"type": "check"}},
                      [{"subject": "user-0"}, {"subject": "user-2"}])
        self.schedule("ended", {"trigger": {"kind": "daily", "at": "06:00"}, "fan_out": True, "job": {"type": "nobody"}},
                      [{"subject": f"user-{i}"} for i in range(3)])
        self.clock(to="2026-03-02T07:30:00Z")
        first, second, third, fourth = self.leased("slow", 4, lease="10m")
        self.say(first, "complete")
        self.say(second, "fail", error="no")
        self.ok(self.server.call("DELETE", T + "/schedules/ended/subjects/user-0"), 204)
        self.ok(self.server.call("DELETE", T + "/schedules/ended"), 204)
        self.clock(to="2026-03-02T09:00:00Z")  # over the cutoff: of one that failed, and of two that run
        self.late(third, "complete")
        self.late(fourth, "fail", error="no")
        self.clock(to="2026-03-03T00:00:00Z")
        self.clock(advance="8h", jump=True)
        self.clock(to="2026-03-04T00:00:00Z")
        metrics = self.end()

        deliveries = {"digest", "slow"}
        events, log, stored = self.counted(deliveries)
        self.assertEqual(tally.differences(log, stored, metrics), {})
        self.assert_provider_agrees(events)
        idle = [kind for kind in tally.KINDS if not +log[kind]] + [name for name in tally.metrics_of(stored) if not metrics[name]]
        self.assertEqual(idle, [])
        self.assertEqual({status for _, _, status in [*log["sched.finalize"], *log["sched.outcome"]]}, set(tally.OUTCOMES.values()))

        # And the other way round: of one line less, or one count more, it would have told.
        for kind in tally.KINDS:
            line = next(event for event in events if any(part == kind and count for part, _, count in tally.parts_of(event, deliveries)))
            less = tally.told([event for event in events if event is not line], deliveries)
            self.assertIn(kind, tally.differences(less, stored, metrics))
        for name in tally.metrics_of(stored):
            self.assertEqual(list(tally.differences(log, stored, {**metrics, name: metrics[name] + 1})), [name])


class Edges(Case):
    """Where the log and the rows have disagreed."""

    def assert_enqueued(self):
        self.end()
        _, log, stored = self.counted(set())
        self.assertEqual(log["enqueued"], stored["enqueued"])

    def test_a_window_that_opens_as_another_closes_is_enqueued_too(self):
        self.serve()
        self.schedule("sync", {"trigger": {"kind": "windows", "interval": "1h", "max_backfill": 2}, "job": {"type": "sync"}},
                      [{"subject": "user-0", "cursor_end": "2026-03-01T00:00:00Z"}])
        self.clock(advance="1s")
        self.assertEqual(len(self.server.get(T + "/jobs?schedule=sync&limit=500").json["items"]), 23)
        self.assert_enqueued()

    def test_a_job_that_waits_for_the_one_before_it_is_enqueued_too(self):
        self.serve()
        self.ok(self.server.put(T + "/schedules/one", {"trigger": {"kind": "every", "every": "1h"}, "overlap": "queue_one",
                                                       "job": {"type": "nobody"}}), 201)
        self.clock(advance="4h")
        self.assertEqual(len(self.server.get(T + "/jobs?schedule=one").json["items"]), 4)
        self.assert_enqueued()

    def test_the_job_of_a_cutoff_is_enqueued_whether_or_not_its_day_had_one(self):
        self.serve()
        self.schedule("slow", {"trigger": {"kind": "delivery", "due": "08:00"}, "on_cutoff": {"type": "reset"}, "job": {"type": "slow"}},
                      [{"subject": "ada"}])
        self.clock(to="2026-03-02T12:00:00Z")
        first = tally.told(tally.read_events(self.server.folder), set())["enqueued"]["all"]
        self.clock(advance="1d", jump=True)
        second = tally.told(tally.read_events(self.server.folder), set())["enqueued"]["all"] - first
        kinds = [job["type"] for job in self.server.get(T + "/jobs").json["items"]]
        self.assertEqual(collections.Counter(kinds), {"slow": 1, "reset": 2})
        self.assertIn((first, second), ((2, 1), (1, 0)), "with them or without them, but always")

    def test_of_two_words_in_one_call_the_stale_one_is_told(self):  # invariant 10
        self.serve()
        job = self.taken("work")
        item = {"id": job["id"], "token": job["token"]}
        said = self.ok(self.server.post(T + "/leases/settle", {"items": [{**item, "complete": {}}, {**item, "fail": {"error": "no"}}]}))["items"]
        self.assertEqual((said[0]["state"], said[1]["error"]["code"]), ("done", "stale_token"))
        self.end()
        self.known.append(("stale_ack", job["id"]))
        _, log, stored = self.counted(set())
        self.assertEqual(log["stale_ack"], stored["stale_ack"])


if __name__ == "__main__":
    unittest.main()
