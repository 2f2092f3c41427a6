"""A rehearsal from outside: a week of a schedule in moments, and a database that is kept apart from real work."""
import http.server
import json
import os
import sys
import threading
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"


class Sink(http.server.BaseHTTPRequestHandler):
    """Takes every webhook and remembers its job."""
    jobs = []

    def do_POST(self):
        Sink.jobs.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["job"])
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Rehearsal(unittest.TestCase):
    def rehearse(self, clock, *flags, **more):
        server = Server(PROGRAM, "--clock", clock, *flags, **more)
        self.addCleanup(lambda: server.__exit__())
        server.start()
        return server

    def test_a_week_with_a_clock_change_in_moments(self):
        sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
        threading.Thread(target=sink.serve_forever, daemon=True).start()
        self.addCleanup(sink.server_close)
        self.addCleanup(sink.shutdown)
        Sink.jobs.clear()
        address = f"127.0.0.1:{sink.server_address[1]}"
        server = self.rehearse("2026-03-27T12:00:00Z@0", "--set", f"webhooks.allow={address}")
        self.assertEqual(server.get("/v1/clock").json, {"now": "2026-03-27T12:00:00.000Z", "speed": 0})
        self.assertEqual(server.put(T + "/handlers/digest", {"kind": "webhook", "url": f"http://{address}/"}).status, 200)
        answer = server.put(T + "/schedules/digest", {"trigger": {"kind": "daily", "at": "08:00"},
                                                      "timezone": "Europe/London", "job": {"type": "digest"}})
        self.assertIn(answer.status, (200, 201), answer.body)

        moved = server.post("/v1/clock", {"advance": "7d"})
        self.assertEqual((moved.status, moved.json), (200, {"now": "2026-04-03T12:00:00.000Z"}))
        slots = [job["slot"] for job in Sink.jobs]
        self.assertEqual(slots, ["2026-03-28T08:00:00.000Z"] + [f"2026-{day}T07:00:00.000Z" for day in
                                                               ("03-29", "03-30", "03-31", "04-01", "04-02", "04-03")])
        listed = server.get(T + "/jobs?schedule=digest").json["items"]
        self.assertEqual({job["state"] for job in listed}, {"done"})
        self.assertEqual(sorted(job["finished_at"] for job in listed), sorted(slots))

        jumped = server.post("/v1/clock", {"to": "2026-04-06T12:00:00Z", "jump": True})
        self.assertEqual(jumped.json, {"now": "2026-04-06T12:00:00.000Z"})
        self.assertEqual([job["slot"] for job in Sink.jobs[7:]], ["2026-04-06T07:00:00.000Z"])  # the latest alone
        server.check_answers()

    def test_a_month_is_pruned_like_a_real_one(self):
        server = self.rehearse("2026-03-01T00:00:00Z@0")
        first = server.post(T + "/jobs", {"type": "work"}).json["id"]
        leased = server.post(T + "/leases", {"worker": "w", "types": ["work"]}).json["items"][0]
        self.assertEqual(server.post(f"{T}/jobs/{first}/complete", {"token": leased["token"]}).status, 200)
        self.assertEqual(server.post("/v1/clock", {"advance": "6d"}).status, 200)
        self.assertEqual(server.get(f"{T}/jobs/{first}").status, 200)
        self.assertEqual(server.post("/v1/clock", {"advance": "25d"}).status, 200)
        self.assertEqual(server.get(f"{T}/jobs/{first}").status, 404)
        server.check_answers()

    def test_what_was_missed_is_shown_on_its_own_days(self):
        server = self.rehearse("2026-03-27T23:30:00Z@0")
        for name, trigger in (("hourly", {"kind": "cron", "cron": "0 * * * *"}), ("daily", {"kind": "daily", "at": "01:30"})):
            self.assertEqual(server.put(f"{T}/schedules/{name}", {"trigger": trigger, "timezone": "Europe/London",
                                                                  "misfire": {"policy": "skip"}, "job": {"type": "work"}}).status, 201)
        self.assertEqual(server.post("/v1/clock", {"to": "2026-03-31T22:30:00Z", "jump": True}).status, 200)
        for name, wanted in (("hourly", (24, 23, 24, 24)), ("daily", (1, 1, 1, 1))):
            shown = [server.get(f"{T}/schedules/{name}/outcomes?date=2026-03-{day}").json for day in (28, 29, 30, 31)]
            self.assertEqual(tuple(day["counts"]["missed"] for day in shown), wanted, name)
            listed = server.get(f"{T}/schedules/{name}/outcomes/items").json["items"]
            self.assertEqual(sum(item["count"] for item in listed), sum(wanted))
            minutes = {minute for day in shown for minute, _, _ in day["by_due_minute"]}
            self.assertEqual(minutes, {90} if name == "daily" else {60 * hour for hour in range(24)})
        server.check_answers()

    def test_a_clock_that_runs(self):
        server = self.rehearse("2026-03-27T12:00:00Z@3600")
        made = server.post(T + "/jobs", {"type": "work", "delay": "20m"}).json
        leased = server.post(T + "/leases", {"worker": "w", "types": ["work"], "wait": "30s"}).json["items"]
        self.assertEqual([job["id"] for job in leased], [made["id"]])
        self.assertGreaterEqual(server.get("/v1/clock").json["now"], made["run_at"])

    def test_what_cannot_be(self):
        server = self.rehearse("2026-03-27T12:00:00Z@0")
        for body, status, code in (({"to": "2026-03-27T11:00:00Z"}, 409, "conflict"), ({}, 400, "invalid_request"),
                                   ({"advance": "1h", "to": "2026-03-27T13:00:00Z"}, 400, "invalid_request"),
                                   ({"advance": "-1h"}, 400, "invalid_request"), ({"advance": "1h", "x": 1}, 400, "invalid_request"),
                                   ({"to": "10000-01-01T00:00:00Z"}, 400, "invalid_request")):
            answer = server.post("/v1/clock", body)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (status, code), body)
        self.assertEqual(server.get("/v1/clock").json["now"], "2026-03-27T12:00:00.000Z")
        reader = server.post("/v1/keys", {"name": "r", "scope": "read", "tenants": "all"}).json["key"]
        self.assertEqual(server.post("/v1/clock", {"advance": "1h"}, key=reader).status, 403)
        server.check_answers()

    def test_real_work_has_no_such_clock(self):
        with Server(PROGRAM) as server:
            for answer in (server.get("/v1/clock"), server.post("/v1/clock", {"advance": "1h"})):
                self.assertEqual((answer.status, answer.json["error"]["code"]), (409, "conflict"))
                self.assertIn("--clock", answer.json["error"]["message"])

    def test_rehearsals_and_real_work_do_not_share_a_database(self):
        with Server(PROGRAM) as server:
            server.stop()
            with self.assertRaisesRegex(RuntimeError, "is not of a rehearsal"):
                Server(PROGRAM, "--clock", "2026-03-27T12:00:00Z@0", folder=server.folder).start()
        server = self.rehearse("2026-03-27T12:00:00Z@0")
        made = server.post(T + "/jobs", {"type": "work"}).json
        server.stop()
        with self.assertRaisesRegex(RuntimeError, "is of a rehearsal"):
            Server(PROGRAM, folder=server.folder).start()
        again = self.rehearse("2026-03-28T12:00:00Z@0", folder=server.folder)
        self.assertEqual(again.get(f"{T}/jobs/{made['id']}").json["state"], "queued")


if __name__ == "__main__":
    unittest.main()
