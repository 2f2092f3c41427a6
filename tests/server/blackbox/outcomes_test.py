"""Two days of deliveries, windows and checks, rehearsed: what the event log tells, what the rows hold and what the API counts
must be the same, each counted on its own (invariant 34)."""
import collections
import http.server
import json
import os
import sqlite3
import sys
import threading
import unittest
import urllib.parse

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
USERS = 60


class Provider(http.server.BaseHTTPRequestHandler):
    """By the subject's number: well, broken, gone for good, well at the third try."""
    tries = collections.Counter()

    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["content-length"])))["job"]
        number = int(job["subject"].split("-")[1])
        Provider.tries[job["id"]] += 1
        status, body = 200, {}
        if number % 4 == 1:
            status = 500
        elif number % 4 == 2:
            status = 410
        elif number % 4 == 3 and Provider.tries[job["id"]] < 3:
            status = 500
        if status == 200 and job["type"] == "check":
            body = {"subject": {"status": "available"}}
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Outcomes(unittest.TestCase):
    def rehearse(self):
        provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        self.addCleanup(provider.server_close)
        self.addCleanup(provider.shutdown)
        address = f"127.0.0.1:{provider.server_address[1]}"
        server = Server(PROGRAM, "--clock", "2026-03-02T00:00:00Z@0", "--set", f"webhooks.allow={address}",
                        "--set", "event_log=events.ndjson")
        self.addCleanup(lambda: server.__exit__())
        server.start()
        for kind in ("digest", "sync", "check"):
            self.assertEqual(server.put(f"{T}/handlers/{kind}", {"kind": "webhook", "url": f"http://{address}/"}).status, 200)
        schedules = {
            "digest": {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "digest"}},
            "sync": {"trigger": {"kind": "windows", "interval": "4h"},
                     "job": {"type": "sync", "max_attempts": 3, "retry": {"kind": "fixed", "delay": "1m"}}},
            "check": {"trigger": {"kind": "adaptive", "bands": [{"within": "1d", "every": "2h"}], "otherwise": "6h"},
                      "job": {"type": "check", "max_attempts": 2, "retry": {"kind": "fixed", "delay": "1m"}}},
        }
        for name, definition in schedules.items():
            self.assertEqual(server.put(f"{T}/schedules/{name}", definition).status, 201)
            zones = ["UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo"]
            lines = [{"subject": f"user-{i}"} for i in range(USERS)]
            if name == "digest":
                for i, line in enumerate(lines):
                    line.update(timezone=zones[i % 3], due=f"{6 + i % 12:02}:{i % 60:02}")
            answer = server.call("POST", f"{T}/schedules/{name}/subjects/import",
                                 raw="\n".join(json.dumps(line) for line in lines).encode())
            self.assertEqual((answer.status, answer.json), (200, {"created": USERS, "updated": 0, "unchanged": 0}))
        return server

    def shown_by(self, server, names, days):
        """What the API counts by day and minute, and what it lists row by row: they are the same."""
        shown = {name: collections.Counter() for name in names}
        for name in names:
            for day in days:
                counts = server.get(f"{T}/schedules/{name}/outcomes?date={day}").json
                shown[name].update(counts["counts"])
                by_minute = collections.Counter()
                for _, outcome, count in counts["by_due_minute"]:
                    by_minute[outcome] += count
                self.assertEqual(by_minute, +collections.Counter(counts["counts"]))
            listed = collections.Counter()
            cursor = ""
            while cursor is not None:
                page = server.get(f"{T}/schedules/{name}/outcomes/items?limit=100" +
                                  (f"&cursor={urllib.parse.quote(cursor, safe='')}" if cursor else "")).json
                for item in page["items"]:
                    listed[item["outcome"]] += item["count"]
                cursor = page["next_cursor"]
            self.assertEqual(listed, +shown[name], name)
        return {name: +shown[name] for name in names}

    def events(self, server):
        with open(os.path.join(server.folder, "events.ndjson"), encoding="utf-8") as log:
            return [json.loads(line) for line in log]

    def rows(self, server, names):
        rows = {name: collections.Counter() for name in names}
        states = {4: "success", 5: "skipped", 6: "cancelled", 7: "cutoff_reached", 8: "missed"}
        with sqlite3.connect(f"file:{os.path.join(server.folder, 'carillon.db')}?mode=ro", uri=True) as store:
            for name, outcome, parked, count in store.execute(
                    "SELECT s.name, o.outcome, o.parked, sum(o.count) FROM outcomes o JOIN schedules s ON s.id = o.schedule GROUP BY 1, 2, 3"):
                rows[name][states[outcome] if outcome else "dlq" if parked else "open"] += count
            twice = store.execute("SELECT count(*) FROM (SELECT schedule, subject, slot FROM outcomes GROUP BY 1, 2, 3 HAVING count(*) > 1)")
            self.assertEqual(twice.fetchone(), (0,))
        return rows

    def assert_events_agree(self, events, rows):
        told = {name: collections.Counter() for name in rows}
        for event in events:
            if event["event"] == "sched.finalize":
                told[event["metadata"]["schedule"]][event["metadata"]["status"]] += event["metadata"]["count"]
        for name, counts in rows.items():
            final = collections.Counter({status: n for status, n in counts.items() if status not in ("dlq", "open")})
            self.assertEqual(told[name], final, name)

    def test_events_rows_and_counts_agree(self):
        server = self.rehearse()
        moved = server.post("/v1/clock", {"advance": "2d"})
        self.assertEqual(moved.status, 200, moved.body)
        shown = self.shown_by(server, ("digest", "sync", "check"), [f"2026-03-0{day}" for day in range(1, 5)])
        server.check_answers()
        server.stop()
        events = self.events(server)
        rows = self.rows(server, shown)
        self.assertEqual(shown, rows)
        self.assert_events_agree(events, rows)
        # Of each due time its own minute, by the subject's own clock.
        for event in events:
            if event["event"] == "sched.finalize" and event["metadata"]["schedule"] == "digest":
                self.assertIn(event["metadata"]["due_bucket"], {(6 + i % 12) * 60 + i % 60 for i in range(USERS)})
        # None of them is idle, or the above would say nothing.
        self.assertGreaterEqual(rows["digest"]["success"], USERS)
        self.assertGreater(rows["digest"]["cutoff_reached"], USERS // 2)
        self.assertGreater(rows["sync"]["dlq"], 0)
        self.assertGreater(rows["check"]["skipped"], 0)

    def test_ranges_late_words_and_operators_agree_too(self):
        """What never became a job, what was said too late, what somebody stopped: each is told and counted once."""
        server = self.rehearse()
        more = {
            "slow": {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "slow"}},
            "aged": {"trigger": {"kind": "windows", "interval": "1h", "max_age": "6h"}, "job": {"type": "sync"}},
            "watch": {"trigger": {"kind": "adaptive", "bands": [{"within": "1d", "every": "1h"}], "otherwise": "2h"},
                      "job": {"type": "check", "queue": "held"}},
            "hourly": {"trigger": {"kind": "every", "every": "1h"}, "fan_out": True, "job": {"type": "check"}},
        }
        for name, definition in more.items():
            self.assertEqual(server.put(f"{T}/schedules/{name}", definition).status, 201)
            server.call("POST", f"{T}/schedules/{name}/subjects/import", raw="".join(f'{{"subject": "user-{4 * i}"}}\n' for i in range(5)))
        self.assertEqual(server.put(T + "/queues/held", {"paused": True}).status, 200)
        server.post("/v1/clock", {"to": "2026-03-02T07:30:00Z"})
        late = server.post(T + "/leases", {"worker": "w", "types": ["slow"], "limit": 100, "lease": "10m"}).json["items"]
        self.assertEqual(len(late), 5)
        server.post("/v1/clock", {"to": "2026-03-02T09:00:00Z"})
        for job in late:
            answer = server.post(f"{T}/jobs/{job['id']}/complete", {"token": job["token"]})
            self.assertEqual((answer.status, answer.json["error"]["code"]), (409, "stale_token"))
        server.post("/v1/clock", {"to": "2026-03-02T20:00:00Z"})
        self.assertEqual(server.put(T + "/queues/held", {"paused": False}).status, 200)
        # Nobody is there for four days.
        server.post("/v1/clock", {"advance": "4d", "jump": True})
        server.post("/v1/clock", {"advance": "3h"})
        # Changes that close days and windows without a job, and an end by hand.
        self.assertEqual(server.call("PATCH", f"{T}/schedules/aged/subjects/user-0", {"cursor_end": "2026-03-07T12:00:00Z"}).status, 200)
        self.assertEqual(server.call("PATCH", f"{T}/schedules/slow/subjects/user-4", {"due": "23:59"}).status, 200)
        self.assertEqual(server.call("PATCH", f"{T}/schedules/slow/subjects/user-4", {"due": "20:00"}).status, 200)
        parked = server.get(T + "/jobs?state=dlq&schedule=sync&limit=1").json["items"]
        self.assertEqual(server.post(f"{T}/jobs/bulk", {"action": "discard", "filter": {"state": "dlq", "schedule": "sync"}}).status, 202)
        self.assertEqual(len(parked), 1)
        server.post("/v1/clock", {"advance": "3h"})
        names = ("digest", "sync", "check", *more)
        shown = self.shown_by(server, names, [f"2026-03-{day:02}" for day in range(1, 10)])
        metrics = server.get("/metrics").body.decode()
        server.check_answers()
        server.stop()
        events = self.events(server)
        rows = self.rows(server, names)
        self.assertEqual(shown, rows)
        self.assert_events_agree(events, rows)

        missed = collections.Counter()
        for event in events:
            if event["event"] == "missed":
                missed[event["metadata"]["schedule"]] += event["metadata"]["count"]
        self.assertEqual(missed, +collections.Counter({name: counts["missed"] for name, counts in rows.items()}))
        self.assertEqual(sum(event["event"] == "late_success" for event in events), 5)
        totals = collections.Counter()
        for counts in rows.values():
            totals.update({status: n for status, n in counts.items() if status not in ("open", "dlq")})
        counted = {line.split('"')[1]: int(float(line.split()[-1])) for line in metrics.splitlines() if line.startswith("carillon_finalized_total{")}
        self.assertEqual(counted, dict(totals))

        # None of them is idle here either.
        self.assertEqual((rows["slow"]["success"], rows["slow"]["cutoff_reached"]), (0, 10), "the late day, and the newest that nobody saw")
        self.assertEqual(rows["slow"]["missed"], 5 * 3)
        self.assertGreater(rows["aged"]["missed"], 5 * 80)
        self.assertGreater(rows["hourly"]["missed"], 5 * 90)
        self.assertGreater(rows["watch"]["skipped"], 5 * 6)
        self.assertGreater(rows["sync"]["cancelled"], 0)
        with sqlite3.connect(f"file:{os.path.join(server.folder, 'carillon.db')}?mode=ro", uri=True) as store:
            widest, = store.execute("SELECT max(o.count) FROM outcomes o JOIN schedules s ON s.id = o.schedule WHERE s.name = 'watch' AND o.outcome = 5").fetchone()
        self.assertGreaterEqual(widest, 6, "many checks that fell due while one was open are one row")


if __name__ == "__main__":
    unittest.main()
