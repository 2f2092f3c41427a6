"""What people write in other words, or nearly right: read as it is meant, or answered with what would have been right.

  hints_test.py PROGRAM
"""
import os
import subprocess
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
DAILY = {"kind": "daily", "at": "08:00"}


class Hints(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)

    def ok(self, answer, *statuses):
        self.assertIn(answer.status, statuses or (200, 201), answer.body)
        return answer.json

    def refused(self, answer, status, field, *parts):
        self.assertEqual(answer.status, status, answer.body)
        error = answer.json["error"]
        self.assertEqual(error["details"].get("field"), field, error)
        for part in parts:
            self.assertIn(part, error["message"])

    def job(self, **fields):
        return self.server.post(T + "/jobs", {"type": "later", "delay": "100h", **fields})

    def schedule(self, name, **fields):
        return self.server.put(f"{T}/schedules/{name}", {"trigger": DAILY, "job": {"type": "never"}, "enabled": False, **fields})

    # ---- In other words ----
    def test_s1s_retry_is_read(self):
        for retry, attempts in (({"max_attempts": 3, "backoff_seconds": 60, "retry_on_failure": True}, 3),
                                ({"max_attempts": 0, "backoff_seconds": 60, "retry_on_failure": True}, 1),
                                ({"max_attempts": 3, "backoff_seconds": 60, "retry_on_failure": False}, 1)):
            self.assertEqual(self.ok(self.job(retry=retry))["max_attempts"], attempts)
        put = self.ok(self.schedule("s1", job={"type": "t", "retry": {"max_attempts": 5, "backoff_seconds": 120, "retry_on_failure": True}}))
        self.assertEqual((put["job"]["retry"], put["job"]["max_attempts"]), ({"kind": "exponential", "base": "2m", "jitter": 0}, 5))
        self.refused(self.job(max_attempts=2, retry={"max_attempts": 3}), 400, "max_attempts", "is said twice")

    def test_s1s_retry_is_read_in_a_patch(self):
        path = T + "/schedules/s1.patched"
        for name in ("kind", "s1"):  # what is stored is ours, however it was put
            retry = {"kind": "fixed", "delay": "1m"} if name == "kind" else {"max_attempts": 5, "backoff_seconds": 120}
            self.ok(self.schedule("s1.patched", job={"type": "t", "retry": retry, "timeout": "10s"}))
            put = self.ok(self.server.call("PATCH", path, {"job": {"retry": {"max_attempts": 3, "backoff_seconds": 30}}}))
            self.assertEqual((put["job"]["retry"], put["job"]["max_attempts"], put["job"]["timeout"]),
                             ({"kind": "exponential", "base": "30s", "jitter": 0}, 3, "10s"))
        put = self.ok(self.server.call("PATCH", path, {"job": {"retry": {"backoff_seconds": 60}}}))
        self.assertEqual((put["job"]["retry"]["base"], put["job"]["max_attempts"]), ("1m", 3))
        put = self.ok(self.server.call("PATCH", path, {"job": {"retry": {"retry_on_failure": False}}}))
        self.assertEqual((put["job"]["retry"], put["job"]["max_attempts"]), ({"kind": "none"}, 1))
        self.refused(self.server.call("PATCH", path, {"job": {"max_attempts": 2, "retry": {"max_attempts": 3}}}), 400, "job.max_attempts", "is said twice")
        made = self.ok(self.job(retry={"max_attempts": 0}))
        patched = self.ok(self.server.call("PATCH", f"{T}/jobs/{made['id']}", {"retry": {"max_attempts": 7, "backoff_seconds": 60}}))
        self.assertEqual(patched["max_attempts"], 7)

    def test_no_attempts_are_one(self):
        self.assertEqual(self.ok(self.job(max_attempts=0))["max_attempts"], 1)
        self.refused(self.job(max_attempts=-1), 400, "max_attempts")

    def test_instants_may_be_numbers(self):
        at, text = 4070908800000, "2099-01-01T00:00:00.000Z"
        made = self.ok(self.server.post(T + "/jobs", {"type": "later", "run_at": at, "deadline": at + 1000}))
        self.assertEqual((made["run_at"], made["deadline"]), (text, "2099-01-01T00:00:01.000Z"))
        self.assertEqual(self.ok(self.server.call("PATCH", f"{T}/jobs/{made['id']}", {"run_at": at + 500}))["run_at"], "2099-01-01T00:00:00.500Z")
        self.ok(self.schedule("numbers", starts_at=at, ends_at=at + 86400000 * 30))
        self.assertEqual(self.ok(self.server.post(f"{T}/schedules/numbers/pause", {"until": at}))["paused_until"], text)
        self.ok(self.server.post("/v1/keys", {"name": "k", "scope": "read", "tenants": "all", "expires_at": at}))
        self.assertEqual([key["expires_at"] for key in self.ok(self.server.get("/v1/keys"))["items"] if key["name"] == "k"], [text])
        self.assertEqual(self.ok(self.server.put(T + "/maintenance", {"until": at}))["until"], text)
        self.ok(self.server.call("DELETE", T + "/maintenance"), 204)
        self.ok(self.server.put(f"{T}/schedules/a", {"trigger": {"kind": "adaptive", "otherwise": "4h"}, "job": {"type": "check"}, "enabled": False}))
        self.assertEqual(self.ok(self.server.put(f"{T}/schedules/a/subjects/u", {"expected_at": at}))["expected_at"], text)
        self.ok(self.server.post(T + "/jobs", {"type": "defers"}))
        leased, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": ["defers"], "wait": "10s"}))["items"]
        self.assertEqual(self.ok(self.server.post(f"{T}/jobs/{leased['id']}/defer", {"token": leased["token"], "until": at}))["run_at"], text)

    def test_a_preview_goes_by_the_zone_of_who_asks(self):
        def local(**more):
            items = self.ok(self.server.post("/v1/preview", {"trigger": DAILY, "from": "2026-07-01T00:00:00Z", "count": 1}, **more))["items"]
            return items[0]["at"]
        self.ok(self.server.put("/v1/tenants/tokyo"))
        self.ok(self.server.put("/v1/tenants/tokyo/settings", {"timezone": "Asia/Tokyo"}))
        key = self.ok(self.server.post("/v1/keys", {"name": "t", "scope": "read", "tenants": ["tokyo"]}))["key"]
        self.assertEqual(local(), "2026-07-01T08:00:00.000Z")
        self.assertEqual(local(key=key), "2026-07-01T23:00:00.000Z")
        self.ok(self.server.put("/v1/config", {"timezone": "Europe/Paris"}))
        self.addCleanup(self.server.put, "/v1/config", {"timezone": None})
        self.assertEqual(local(), "2026-07-01T06:00:00.000Z", "the zone of the configuration")
        self.assertEqual(local(key=key), "2026-07-01T23:00:00.000Z")

    # ---- Nearly right ----
    def test_what_was_probably_meant(self):
        self.refused(self.schedule("x", timezone="Europe/Lodnon"), 422, "timezone", "did you mean Europe/London?")
        self.refused(self.schedule("x", trigger={"kind": "dayly", "at": "08:00"}), 400, "trigger.kind", "did you mean daily?", "allowed are once, every")
        self.refused(self.job(prioritty=1), 400, "prioritty", "did you mean priority?")
        self.ok(self.server.put(T + "/limits/provider-a", {"rate": 1, "per": "1s"}))
        self.refused(self.job(limits=["provder-a"]), 422, "limits", "did you mean provider-a?")
        self.ok(self.server.put("/v1/tenants/other"))
        self.ok(self.server.put("/v1/tenants/other/limits/secret-limit", {"rate": 1, "per": "1s"}))
        answer = self.job(limits=["secret-limits"])
        self.refused(answer, 422, "limits")
        self.assertNotIn("did you mean", answer.json["error"]["message"], "limits of other tenants are not told")

    def test_a_number_where_a_duration_is_expected(self):
        for field in ("delay", "timeout", "lease"):
            self.refused(self.server.post(T + "/jobs", {"type": "x", field: 60}), 400, field, '60 seconds are "60s"')
        self.refused(self.job(timeout="60"), 400, "timeout", "60 seconds are 60s")
        self.refused(self.schedule("x", jitter=30), 400, "jitter", '30 seconds are "30s"')
        self.refused(self.schedule("x", trigger={"kind": "every", "every": 3600}), 400, "trigger.every", '3600 seconds are "3600s"')
        self.refused(self.server.put(T + "/limits/l", {"rate": 1, "per": 60}), 400, "per", '60 seconds are "60s"')
        self.refused(self.job(retry={"kind": "fixed", "delay": 60}), 400, "retry.delay", '60 seconds are "60s"')

    # ---- What cannot have been meant ----
    def test_jitter_beyond_the_period(self):
        for trigger in ({"kind": "every", "every": "1h"}, {"kind": "cron", "cron": "0 * * * *"}, {"kind": "windows", "interval": "1h"},
                        {"kind": "adaptive", "bands": [{"within": "24h", "every": "1h"}], "otherwise": "4h"}):
            self.refused(self.schedule("j", trigger=trigger, jitter="61m"), 422, "jitter", "jitter 1h1m is longer than the 1h between")
            self.ok(self.schedule("fits-" + trigger["kind"], trigger=trigger, jitter="1h"))
        self.refused(self.schedule("j", jitter="25h"), 422, "jitter")
        self.refused(self.schedule("j", trigger={"kind": "weekly", "on": ["mon", "tue"], "at": "08:00"}, jitter="25h"), 422, "jitter", "the 1d between")

    def test_a_deadline_in_the_past(self):
        past = "2020-01-01T00:00:00Z"
        self.refused(self.server.post(T + "/jobs", {"type": "x", "deadline": past}), 422, "deadline", "is past")
        self.refused(self.server.post(T + "/jobs", {"type": "x", "deadline": past, "idempotency_key": "new"}), 422, "deadline")
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "x"}, {"type": "x", "deadline": past}]}), 422, "jobs[1].deadline")

    def test_unique_until_without_a_key(self):
        self.refused(self.job(unique_until="done"), 400, "unique_until", "idempotency_key")
        self.ok(self.job(unique_until="done", idempotency_key="u"))

    # ---- Whose key it is ----
    def test_a_key_of_another_tenant_is_told_which_it_is_for(self):
        for name in ("acme", "globex"):
            self.ok(self.server.put("/v1/tenants/" + name))
        key = self.ok(self.server.post("/v1/keys", {"name": "a", "scope": "tenant", "tenants": ["acme"]}))["key"]
        told = [self.server.get(f"/v1/tenants/{name}/jobs", key=key).json["error"]["message"].replace(name, "NAME") for name in ("globex", "nobody")]
        self.assertEqual(told, ['there is no tenant "NAME"; your key is for acme'] * 2)
        both = self.ok(self.server.post("/v1/keys", {"name": "b", "scope": "tenant", "tenants": ["acme", "globex"]}))["key"]
        self.assertIn("your key is for acme, globex", self.server.get("/v1/tenants/nobody/jobs", key=both).json["error"]["message"])
        self.assertNotIn("your key", self.server.get("/v1/tenants/nobody/jobs").json["error"]["message"])


class OfTheCommandLine(unittest.TestCase):
    def run_it(self, *words, **environment):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, cwd="/",
                              env={"PATH": os.environ["PATH"], **environment})
        return done.returncode, done.stdout + done.stderr

    def test_commands_that_were_probably_meant(self):
        for words, meant in ((("servr",), "serve"), (("schedule",), "schedules"), (("jobs", "lst"), "list"), (("schedules", "trigr", "x"), "trigger")):
            code, said = self.run_it(*words)
            self.assertEqual(code, 2, said)
            self.assertIn(f"did you mean {meant}?", said)
            self.assertIn("allowed are ", said)

    def test_a_preview_goes_by_the_configured_zone(self):
        words = ("preview", "daily:08:00", "--from", "2026-07-01T00:00:00Z", "--count", "1", "--json")
        self.assertIn("2026-07-01T08:00:00.000Z", self.run_it(*words)[1])
        self.assertIn("2026-07-01T06:00:00.000Z", self.run_it(*words, CARILLON_TIMEZONE="Europe/Paris")[1])
        self.assertIn("2026-07-01T23:00:00.000Z", self.run_it(*words, "--timezone", "Asia/Tokyo", CARILLON_TIMEZONE="Europe/Paris")[1])


if __name__ == "__main__":
    unittest.main()
