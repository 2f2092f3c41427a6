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

    def test_events_rows_and_counts_agree(self):
        server = self.rehearse()
        moved = server.post("/v1/clock", {"advance": "2d"})
        self.assertEqual(moved.status, 200, moved.body)
        days = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]
        shown = {name: collections.Counter() for name in ("digest", "sync", "check")}
        listed = {name: collections.Counter() for name in shown}
        for name in shown:
            for day in days:
                counts = server.get(f"{T}/schedules/{name}/outcomes?date={day}").json
                shown[name].update(counts["counts"])
                by_minute = collections.Counter()
                for _, outcome, count in counts["by_due_minute"]:
                    by_minute[outcome] += count
                self.assertEqual(by_minute, +collections.Counter(counts["counts"]))
            cursor = ""
            while cursor is not None:
                page = server.get(f"{T}/schedules/{name}/outcomes/items?limit=100" +
                                  (f"&cursor={cursor}" if cursor else "")).json
                for item in page["items"]:
                    listed[name][item["outcome"]] += item["count"]
                cursor = page["next_cursor"]
        server.check_answers()
        server.stop()

        told = {name: collections.Counter() for name in shown}
        buckets = collections.Counter()
        with open(os.path.join(server.folder, "events.ndjson")) as log:
            for line in log:
                event = json.loads(line)
                if event["event"] == "sched.finalize":
                    about = event["metadata"]
                    told[about["schedule"]][about["status"]] += about["count"]
                    if about["schedule"] == "digest":
                        buckets[about["today"], about["due_bucket"]] += 1
        rows = {name: collections.Counter() for name in shown}
        states = {4: "success", 5: "skipped", 6: "cancelled", 7: "cutoff_reached", 8: "missed"}
        with sqlite3.connect(f"file:{os.path.join(server.folder, 'carillon.db')}?mode=ro", uri=True) as store:
            for name, outcome, parked, count in store.execute(
                    "SELECT s.name, o.outcome, o.parked, sum(o.count) FROM outcomes o JOIN schedules s ON s.id = o.schedule GROUP BY 1, 2, 3"):
                rows[name][states[outcome] if outcome else "dlq" if parked else "open"] += count
            twice = store.execute("SELECT count(*) FROM (SELECT schedule, subject, slot FROM outcomes GROUP BY 1, 2, 3 HAVING count(*) > 1)")
            self.assertEqual(twice.fetchone(), (0,))
        for name in shown:
            self.assertEqual(+shown[name], rows[name], name)
            self.assertEqual(listed[name], rows[name], name)
            final = collections.Counter({status: n for status, n in rows[name].items() if status not in ("dlq", "open")})
            self.assertEqual(told[name], final, name)
        # Of each due time its own minute, by the subject's own clock.
        for (_, bucket) in buckets:
            self.assertIn(bucket, {(6 + i % 12) * 60 + i % 60 for i in range(USERS)})
        # None of them is idle, or the above would say nothing.
        self.assertGreater(rows["digest"]["success"], USERS)
        self.assertGreater(rows["digest"]["cutoff_reached"], USERS // 2)
        self.assertGreater(rows["sync"]["dlq"], 0)
        self.assertGreater(rows["check"]["skipped"], 0)


if __name__ == "__main__":
    unittest.main()
