"""What people see of jobs, schedules and limits is what is there, and what will be."""
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
ADAPTIVE = {"trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}], "otherwise": ["4h", "6h"]}, "job": {"type": "check"}}


def until(condition, seconds=30):
    for _ in range(seconds * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


class Silent(http.server.BaseHTTPRequestHandler):
    """Answers too late."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.server.gate.wait(timeout=30)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Base(unittest.TestCase):
    settings = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--set", "webhooks.allow=127.0.0.1", *cls.settings)
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__)

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code, field=None):
        self.assertEqual((answer.status, answer.json["error"]["code"]), (status, code), answer.body)
        if field:
            self.assertEqual(answer.json["error"]["details"]["field"], field, answer.body)
        return answer.json["error"]["message"]

    def job(self, **fields):
        return self.ok(self.server.post(T + "/jobs", {"type": "nobody", **fields}), 201)

    def show(self, one):
        return self.ok(self.server.get(f"{T}/jobs/{one}"))

    def ready(self):
        return self.ok(self.server.get("/v1/status"))["ready"]

    def depth(self):
        for line in self.server.get("/metrics").body.decode().splitlines():
            if line.startswith("carillon_queue_depth "):
                return float(line.split()[1])
        return None


class Jobs(Base):
    def test_what_was_cancelled_is_not_shown_as_waiting(self):
        before = self.ready()
        made = self.ok(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "cancelled", "queue": "bulk"}] * 500}), 201)["items"]
        self.job(queue="rest")
        self.assertEqual(self.ready(), before + 501)
        self.ok(self.server.call("POST", f"{T}/jobs/{made[0]['id']}/cancel"))
        self.assertEqual(self.ready(), before + 500)
        self.ok(self.server.post(T + "/jobs/bulk", {"action": "cancel", "filter": {"queue": "bulk"}}), 202)
        self.assertTrue(until(lambda: self.ready() == before + 1), self.ready())
        queued = self.ok(self.server.get("/v1/status"))["counts"]["queued"]
        self.assertEqual(self.ready(), queued)
        self.assertTrue(until(lambda: self.depth() == before + 1), self.depth())

    def test_a_job_that_is_born_cancelled_says_why(self):
        parent = self.job()
        self.ok(self.server.call("POST", f"{T}/jobs/{parent['id']}/cancel"))
        born = self.job(depends_on=[parent["id"]])
        self.assertEqual((born["state"], born["reason"]), ("cancelled", "dependency_not_met"))
        shown = self.show(born["id"])
        for name in ("state", "reason", "max_attempts"):
            self.assertEqual(born[name], shown[name], name)
        self.assertIsNotNone(born["finished_at"])

    def test_a_job_that_is_not_retried_has_one_attempt(self):
        for fields in ({}, {"max_attempts": 7}):
            made = self.job(retry={"kind": "none"}, **fields)
            self.assertEqual((made["max_attempts"], self.show(made["id"])["max_attempts"]), (1, 1))
        self.assertEqual(self.job(retry={"kind": "fixed", "delay": "1s"})["max_attempts"], 5)

    def test_a_webhook_at_its_timeout_ends_as_timeout(self):
        sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        sink.gate = threading.Event()
        threading.Thread(target=sink.serve_forever, daemon=True).start()
        self.addCleanup(sink.server_close)
        self.addCleanup(sink.shutdown)
        self.addCleanup(sink.gate.set)
        url = f"http://127.0.0.1:{sink.server_address[1]}/"
        # By the job's timeout, and by the shorter one of the handler.
        for name, of_handler, of_job in (("slow", None, "1s"), ("quick", "1s", "5m")):
            self.ok(self.server.put(f"{T}/handlers/{name}", {"kind": "webhook", "url": url, **({"timeout": of_handler} if of_handler else {})}))
            made = self.ok(self.server.post(T + "/jobs", {"type": name, "timeout": of_job, "retry": {"kind": "none"}}), 201)
            self.assertTrue(until(lambda: self.show(made["id"])["state"] == "dlq"), self.show(made["id"]))
            attempt, = self.show(made["id"])["attempts"]
            self.assertEqual((attempt["result"], attempt["error_class"]), ("timeout", "timeout"), attempt)

    def test_maintenance_says_whether_it_holds(self):
        for path in (T + "/maintenance", "/v1/maintenance"):
            self.assertEqual(self.ok(self.server.get(path)), {"active": False})
            put = self.ok(self.server.put(path, {"reason": "a move"}))
            self.assertEqual((put["active"], put["reason"], put["until"]), (True, "a move", None))
            self.assertTrue(self.ok(self.server.get(path))["active"])
            soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
            self.assertTrue(self.ok(self.server.put(path, {"until": soon}))["active"])
            self.assertTrue(until(lambda: self.ok(self.server.get(path))["active"] is False))
            self.assertEqual(self.server.call("DELETE", path).status, 204)
            self.assertEqual(self.ok(self.server.get(path)), {"active": False})


class Limits(Base):
    """A limit that nobody has made."""

    def test_who_names_it_is_refused(self):
        unknown = {"limits": ["nosuch"]}
        said = self.refused(self.server.post(T + "/jobs", {"type": "a", **unknown}), 422, "invalid_configuration", "limits")
        self.assertIn('"nosuch"', said)
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "a"}, {"type": "a", **unknown}]}), 422, "invalid_configuration", "jobs[1].limits")
        daily = {"trigger": {"kind": "daily", "at": "03:00"}, "job": {"type": "a"}}
        self.refused(self.server.put(T + "/schedules/s", {**daily, "job": {"type": "a", **unknown}}), 422, "invalid_configuration", "job.limits")
        delivery = {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "a"}}
        self.refused(self.server.put(T + "/schedules/d", {**delivery, "on_cutoff": {"type": "b", **unknown}}), 422, "invalid_configuration", "on_cutoff.limits")
        self.ok(self.server.put(T + "/schedules/d", delivery), 201)
        self.refused(self.server.put(T + "/schedules/d/subjects/ada", unknown), 422, "invalid_configuration", "limits")
        hook = {"kind": "webhook", "url": "http://127.0.0.1:9/", **unknown}
        self.refused(self.server.put(T + "/handlers/a", hook), 422, "invalid_configuration", "limits")
        # Once it is there, all of it goes; the one for all tenants does as well.
        for path in (T + "/limits/nosuch", "/v1/limits/nosuch"):
            self.ok(self.server.put(path, {"concurrency": 3}))
            self.ok(self.server.post(T + "/jobs", {"type": "a", **unknown}), 201)
            self.ok(self.server.put(T + "/schedules/d/subjects/ada", unknown), 201 if path.startswith(T) else 200)
            self.ok(self.server.put(T + "/handlers/unserved", hook))
            self.assertEqual(self.server.call("DELETE", path).status, 204)

    def test_what_follows_a_job_is_refused_too(self):
        self.ok(self.server.post(T + "/jobs", {"type": "then"}), 201)
        leased, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": ["then"]}))["items"]
        path = f"{T}/jobs/{leased['id']}/complete"
        follow = {"token": leased["token"], "then": [{"type": "a"}, {"type": "a", "limits": ["nosuch"]}]}
        self.refused(self.server.post(path, follow), 422, "invalid_configuration", "then[1].limits")
        self.assertEqual(self.show(leased["id"])["state"], "processing")
        item, = self.ok(self.server.post(T + "/leases/settle", {"items": [{"id": leased["id"], "token": leased["token"], "complete": {"then": follow["then"]}}]}))["items"]
        self.assertEqual(item["error"]["code"], "invalid_configuration")
        self.ok(self.server.post(path, {"token": leased["token"], "then": [{"type": "a"}]}))

    def test_a_schedule_whose_limit_is_gone_runs_without_it_and_says_so(self):
        self.ok(self.server.put(T + "/limits/gone", {"concurrency": 1}))
        schedule = {"trigger": {"kind": "daily", "at": "03:00"}, "job": {"type": "templated", "limits": ["gone"]}}
        self.assertEqual(self.ok(self.server.put(T + "/schedules/gone", schedule), 201)["missing_limits"], [])
        self.assertEqual(self.server.call("DELETE", T + "/limits/gone").status, 204)
        self.assertEqual(self.ok(self.server.get(T + "/schedules/gone"))["missing_limits"], ["gone"])
        # Other edits are not refused for it.
        self.ok(self.server.call("PATCH", T + "/schedules/gone", {"description": "as before"}))
        job = self.ok(self.server.post(T + "/schedules/gone/trigger", {}), 201)
        for path in (f"/jobs/{job['id']}/explain", "/schedules/gone/explain"):
            self.assertIn('there is no limit "gone"', self.ok(self.server.get(T + path))["summary"])
        leased, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": ["templated"]}))["items"]
        self.assertEqual(leased["id"], job["id"])
        with tempfile.TemporaryDirectory() as folder:
            key = os.path.join(folder, "key")
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(self.server.key)
            ran = subprocess.run([PROGRAM, "doctor", "--json", "--server", f"http://127.0.0.1:{self.server.port}", "--key-file", key],
                                 capture_output=True, text=True, timeout=60, cwd=folder)
        self.assertIn('schedule \\"gone\\" names limit \\"gone\\"', ran.stdout + ran.stderr)


class Times(Base):
    """A clock that stands: nothing happens between two calls."""
    settings = ("--clock", "2026-03-02T12:00:00Z@0")

    def times(self, path, count=3):
        return self.ok(self.server.get(f"{path}/preview?count={count}"))

    def test_a_preview_begins_after_now(self):
        path = T + "/schedules/hourly"
        self.ok(self.server.put(path, {"trigger": {"kind": "cron", "cron": "0 * * * *"}, "job": {"type": "a"}}), 201)
        shown = self.times(path)
        self.assertEqual([one["at"] for one in shown["items"]], ["2026-03-02T13:00:00.000Z", "2026-03-02T14:00:00.000Z", "2026-03-02T15:00:00.000Z"])
        self.assertIsNone(shown["standstill"])

    def test_of_one_that_stands_still_it_shows_what_would_happen(self):
        path = T + "/schedules/still"
        body = {"trigger": {"kind": "cron", "cron": "0 * * * *"}, "job": {"type": "a"}}
        self.ok(self.server.put(path, body), 201)
        self.ok(self.server.post(path + "/pause", {"until": "2026-03-03T00:00:00Z"}))
        shown = self.times(path)
        self.assertEqual((shown["standstill"], shown["standstill_until"]), ("paused", "2026-03-03T00:00:00.000Z"))
        self.assertEqual(shown["items"][0]["at"], "2026-03-02T13:00:00.000Z")
        self.ok(self.server.post(path + "/resume"))
        self.ok(self.server.put(path, {**body, "enabled": False}))
        shown = self.times(path)
        self.assertEqual((shown["standstill"], shown["standstill_until"], len(shown["items"])), ("disabled", None, 3))
        watch = T + "/schedules/watched"
        self.ok(self.server.put(watch, ADAPTIVE), 201)
        self.ok(self.server.put(watch + "/subjects/acme", {}), 201)
        self.ok(self.server.call("PATCH", watch + "/subjects/acme", {"enabled": False}))
        shown = self.times(watch + "/subjects/acme")
        self.assertEqual((shown["standstill"], len(shown["items"])), ("subject_disabled", 3))
        self.assertGreater(shown["items"][0]["at"], "2026-03-02T12:00:00.000Z")

    def test_a_check_can_say_that_nothing_is_expected(self):
        path = T + "/schedules/expecting"
        self.ok(self.server.put(path, ADAPTIVE), 201)
        for number, said in enumerate(({"expected_at": None}, {"expected_at": None, "status": "unknown"})):
            subject = f"{path}/subjects/acme-{number}"
            made = self.server.put(subject, {"expected_at": "2026-03-02T20:00:00Z"})
            self.assertEqual(made.json["expected_at"], "2026-03-02T20:00:00.000Z", made.body)
            self.ok(self.server.post(subject + "/trigger", {}), 201)
            leased, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": ["check"]}))["items"]
            self.ok(self.server.post(f"{T}/jobs/{leased['id']}/complete", {"token": leased["token"], "subject": said}))
            now = self.ok(self.server.get(subject))
            self.assertEqual((now["expected_at"], now["cadence_state"]), (None, "otherwise"))
            self.assertEqual(now["last_status"], said.get("status"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
