"""S2's queue-first scheduler over HTTP: a schedule of checks, and fetcher, analysis and email workers that pull; its algorithm, its
rules, and its seven test scenarios, on a clock that stands still until it is told.

  s2_walk_test.py PROGRAM
"""
import base64
import hashlib
import hmac
import json
import os
import sys
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/acme"
CHECKS = T + "/schedules/transcripts"
SECRET = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
URL = "https://tijori.example/INFY-Q1.pdf"
# "Scheduling Algorithm": the cadence example, the provider's limit, priority lanes (the group's is low).
SCHEDULE = {
    "trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}, {"within": "7d", "every": "60m"}], "otherwise": ["4h", "6h"]},
    "job": {"type": "transcript_check_request", "limits": ["tijori"], "priority": "low", "max_attempts": 3,
            "retry": {"kind": "exponential", "base": "1m"}}}
# "Compatibility With Current UI"
SHOWN = {"queued": "transcript_ready", "processing": "analyzing", "done": "analyzed", "dlq": "analysis_failed"}


class S2Walk(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Server(PROGRAM, "--clock", "2026-03-02T06:00:00Z@0")
        self.addCleanup(self.server.__exit__)
        self.server.start()
        self.put(T + "/limits/tijori", {"rate": 60, "per": "1m"})
        self.put(T + "/settings", {"max_concurrency": 8})
        self.put(CHECKS, SCHEDULE)
        self.put(T + "/hooks/tijori", {"schedule": "transcripts", "subject": "/stock", "expected_at": "/call_at", "priority": "critical",
                                       "secret": "whsec_" + SECRET})
        # One key for each role: it may lease and settle, and nothing else.
        self.keys = {role: self.ok(self.server.post("/v1/keys", {"name": role, "scope": "worker", "tenants": ["acme"]}))["key"]
                     for role in ("fetcher", "analysis", "email")}
        self.tijori = {}        # what the provider has: stock -> URL of the transcript
        self.tijori_down = None  # how it refuses
        self.transcripts = {}   # `transcript_events`: (stock, URL) -> when it was observed
        self.mails = []

    # ---- The services ----
    def fetch(self, job):
        if self.tijori_down:
            return {"fail": self.tijori_down}
        url = self.tijori.get(job["subject"])
        if url is None:
            return {"complete": {"subject": {"status": "upcoming"}}}
        self.transcripts.setdefault((job["subject"], url), self.now())
        request = {"type": "analysis_request", "payload": {"url": url}, "subject": job["subject"], "priority": "critical",
                   "idempotency_key": f"{job['subject']}:{url}"}
        return {"complete": {"subject": {"status": "available", "expected_at": None}, "then": [request]}}

    def analyse(self, job):
        self.analysed.append((job["subject"], self.now()))
        return {"complete": {"output": {"score": 1}, "then": [
            {"type": "email_send_request", "payload": job["payload"], "idempotency_key": "mail:" + job["payload"]["url"]}]}}

    def mail(self, job):
        self.mails.append(job["payload"]["url"])
        return {"complete": {}}

    analysed = property(lambda self: self.__dict__.setdefault("seen", []))

    def work(self, role, kind, run):
        """What the worker finds due, run and settled."""
        items = self.lease(role, kind, limit=100)
        if items:
            settled = [{"id": job["id"], "token": job["token"], **run(job)} for job in items]
            self.ok(self.server.post("/v1/leases/settle", {"items": settled}, key=self.keys[role]))
        return items

    def turn(self):
        while (self.work("fetcher", "transcript_check_request", self.fetch) + self.work("analysis", "analysis_request", self.analyse)
               + self.work("email", "email_send_request", self.mail)):
            pass

    def advance(self, minutes):
        for _ in range(minutes):
            self.ok(self.server.post("/v1/clock", {"advance": "1m"}))
            self.turn()

    # ---- Calls ----
    def ok(self, answer):
        return self.server.accepted(answer)

    def put(self, path, body):
        return self.ok(self.server.put(path, body))

    def lease(self, role, kind, **more):
        return self.ok(self.server.post("/v1/leases", {"worker": role + "-1", "types": [kind], **more}, key=self.keys[role]))["items"]

    def now(self):
        return self.server.get("/v1/clock").json["now"]

    def stock(self, name, **settings):
        return self.put(f"{CHECKS}/subjects/{name}", settings)

    def standing(self, name):  # `transcript_fetch_schedule`, /api/scheduler/status
        return self.ok(self.server.get(f"{CHECKS}/subjects/{name}"))

    def jobs(self, query):
        return self.ok(self.server.get(f"{T}/jobs?{query}"))["items"]

    def shown(self, name):
        """What the UI shows of a stock."""
        analyses = self.jobs(f"type=analysis_request&subject={name}")
        return SHOWN[analyses[0]["state"]] if analyses else "fetching" if self.standing(name)["open_job"] else "no_transcript"

    def push(self, webhook_id, body):  # /api/webhook/tijori
        text, now = json.dumps(body), str(int(time.time()))
        signature = hmac.new(base64.b64decode(SECRET), f"{webhook_id}.{now}.{text}".encode(), hashlib.sha256).digest()
        return self.server.call("POST", T + "/hooks/tijori", raw=text, key="", headers={
            "webhook-id": webhook_id, "webhook-timestamp": now, "webhook-signature": "v1," + base64.b64encode(signature).decode()})

    # ---- "Scheduling Algorithm" ----
    def test_adaptive_cadence_with_jitter(self):
        bands = {"near": ("2026-03-02T18:00:00Z", "1d", 10), "week": ("2026-03-06T06:00:00Z", "7d", 60), "unknown": (None, "otherwise", 360)}
        for name, (expected, band, minutes) in bands.items():
            times = []
            for i in range(5):
                standing = self.stock(f"{name}-{i}", expected_at=expected)
                self.assertEqual(standing["cadence_state"], band)
                times.append(standing["next_at"])
            self.assertLessEqual(max(times), f"2026-03-02T{6 + minutes // 60:02}:{minutes % 60:02}:00.000Z")
            self.assertEqual(len(set(times)), 5, "spread, no thundering herd")
        self.advance(60)
        self.assertEqual(len(self.jobs("subject=near-0")), 6, "every 10 minutes")
        self.assertEqual(len(self.jobs("subject=week-0")), 1, "every 60 minutes")

    def test_rate_limit_and_cap_of_the_tenant(self):
        self.put(T + "/limits/tijori", {"rate": 2, "per": "1m", "burst": 2})
        for i in range(5):
            self.stock(f"s{i}", trigger=True)
        self.assertEqual(len(self.lease("fetcher", "transcript_check_request", limit=100)), 2, "provider rate limiting")
        self.put(T + "/settings", {"max_concurrency": 3})
        self.ok(self.server.post("/v1/clock", {"advance": "1m"}))
        self.assertEqual(len(self.lease("fetcher", "transcript_check_request", limit=100)), 1, "per-tenant concurrency caps")

    # ---- "Test Scenarios" ----
    def test_a_new_transcript_is_analysed_within_ten_minutes(self):  # 1, and "Upcoming to available transition" (6)
        self.stock("INFY", expected_at="2026-03-02T09:00:00Z")
        self.assertEqual(self.shown("INFY"), "no_transcript")
        self.advance(60)
        self.assertEqual(self.standing("INFY")["last_status"], "upcoming")
        self.tijori["INFY"] = URL
        self.advance(10)
        self.assertEqual([stock for stock, _ in self.analysed], ["INFY"], "under 10 minutes")
        standing = self.standing("INFY")
        self.assertEqual((standing["last_status"], standing["last_available_at"]), ("available", standing["last_checked_at"]))
        self.assertEqual(self.shown("INFY"), "analyzed")
        self.assertEqual(self.mails, [URL])

    def test_a_stock_added_to_the_watchlist_is_checked_at_once(self):  # 2
        for i in range(5):
            self.stock(f"group-{i}", trigger=True)
        added = self.stock("INFY", priority="critical", trigger=True)
        first, = self.lease("fetcher", "transcript_check_request")
        self.assertEqual((first["id"], first["subject"], first["priority"]), (added["triggered"], "INFY", 1), "above the group")
        self.assertEqual(self.shown("INFY"), "fetching")
        moved = self.server.post(f"{CHECKS}/subjects/group-4/trigger", {"priority": "critical"})  # /api/scheduler/trigger
        self.assertEqual(moved.status, 200, "the open check, not a second one")

    def test_an_error_of_the_api_is_retried_and_nothing_is_stuck(self):  # 3, "Retry with exponential backoff recorded in attempts"
        self.stock("INFY", expected_at="2026-03-02T09:00:00Z", trigger=True)
        self.tijori_down = {"error": "502", "error_class": "req"}
        self.turn()
        job, = self.jobs("subject=INFY")
        self.assertEqual((job["state"], job["attempt"], job["run_at"]), ("queued", 1, "2026-03-02T06:01:00.000Z"))
        self.advance(3)
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{job['id']}"))["attempts"][-1]["number"], 3)
        self.tijori_down, self.tijori["INFY"] = None, URL
        self.advance(15)
        self.assertEqual(self.shown("INFY"), "analyzed")

    def test_a_worker_that_dies_loses_nothing(self):  # 4, "visibility timeouts"
        self.tijori["INFY"] = URL
        self.stock("INFY", trigger=True)
        crashed, = self.lease("fetcher", "transcript_check_request", lease="1s")
        again, = self.lease("fetcher", "transcript_check_request", wait="30s")
        self.assertEqual((again["id"], again["attempt"], again["trigger"]), (crashed["id"], 2, "retry"), "requeued")
        body = {"token": again["token"], **self.fetch(again)["complete"]}
        made = self.ok(self.server.post(f"{T}/jobs/{again['id']}/complete", body, key=self.keys["fetcher"]))["then"]
        self.assertFalse(made[0]["deduplicated"])
        late = self.server.post(f"{T}/jobs/{crashed['id']}/complete", {**body, "token": crashed["token"]}, key=self.keys["fetcher"])
        self.server.refused(late, 409, "stale_token")
        self.turn()
        self.assertEqual((len(self.analysed), self.mails), (1, [URL]), "and deduplicated")

    def test_the_same_document_is_mailed_once(self):  # 5, "Workers treat duplicates as no-ops and update timestamps only"
        for name in ("INFY", "INFY.NS"):
            self.tijori[name] = URL
            self.stock(name, expected_at="2026-03-02T09:00:00Z", trigger=True)
        self.turn()
        self.advance(30)
        self.assertEqual(len(self.analysed), 2, "each once, by (transcript_id, source_url)")
        self.assertEqual(self.mails, [URL])
        mail, = self.jobs("type=email_send_request")
        self.assertGreaterEqual(mail["last_seen_at"], mail["created_at"])

    def test_rate_limit_answers_throttle(self):  # 7
        for i in range(3):
            self.stock(f"s{i}", trigger=True)
        one, = self.lease("fetcher", "transcript_check_request")
        self.ok(self.server.post(f"{T}/jobs/{one['id']}/fail", {"token": one["token"], "error": "429", "rate_limited": "tijori", "retry_after": "5m"},
                                 key=self.keys["fetcher"]))
        self.assertEqual(self.lease("fetcher", "transcript_check_request", limit=9), [], "nothing of that provider")
        other, = (job for job in self.jobs("subject=s2") if job["id"] != one["id"])
        self.assertIn("limit:tijori", self.ok(self.server.get(f"{T}/jobs/{other['id']}/explain"))["summary"])
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{one['id']}"))["attempt"], 0, "it costs no attempt")
        self.advance(6)
        self.assertEqual({self.standing(f"s{i}")["last_status"] for i in range(3)}, {"upcoming"})

    # ---- "Reliability", "optional push path" ----
    def test_a_permanent_failure_is_a_dead_letter(self):
        self.ok(self.server.post(T + "/jobs", {"type": "analysis_request", "payload": {"url": URL}, "subject": "INFY"}))
        self.work("analysis", "analysis_request", lambda job: {"fail": {"error": "no text in it", "error_class": "parse", "permanent": True}})
        dead, = self.jobs("state=dlq")
        self.assertEqual((dead["last_error"]["message"], self.shown("INFY")), ("no text in it", "analysis_failed"))
        self.ok(self.server.post(f"{T}/jobs/{dead['id']}/retry"))
        self.turn()
        self.assertEqual(self.shown("INFY"), "analyzed")

    def test_a_push_is_checked_at_once_and_once(self):
        self.stock("INFY")
        self.tijori["INFY"] = URL
        pushed = self.push("m1", {"stock": "INFY", "call_at": "2026-03-02T09:00:00Z"})
        self.assertEqual(pushed.status, 201, pushed.body)
        again = self.push("m1", {"stock": "INFY", "call_at": "2026-03-02T09:00:00Z"})
        self.assertEqual((again.status, again.json["id"]), (200, pushed.json["id"]))
        self.turn()
        self.assertEqual(self.analysed, [("INFY", "2026-03-02T06:00:00.000Z")])


if __name__ == "__main__":
    unittest.main()
