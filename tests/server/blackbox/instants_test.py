"""What is shown is when it happens. Every instant ahead that an answer shows is gone to: a millisecond before it nothing has
happened, at it it has. The clock has microseconds that nobody sees."""
import datetime
import os
import re
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
MS = datetime.timedelta(milliseconds=1)


def read(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def write(at, microseconds=False):
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + (f"{at.microsecond:06}" if microseconds else f"{at.microsecond // 1000:03}") + "Z"


def shown(answer, path=()):
    """Every instant of an answer, with the names that lead to it."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield from shown(value, (*path, name))
    elif isinstance(answer, list):
        for value in answer:
            yield from shown(value, path)
    elif isinstance(answer, str) and INSTANT.match(answer):
        yield path, read(answer)


class Instants(unittest.TestCase):
    def setUp(self):
        self.now = read("2026-03-02T11:59:59.000456Z")
        self.server = Server(PROGRAM, "--clock", write(self.now, True) + "@0")
        self.addCleanup(self.server.__exit__)
        self.server.start()

    def ok(self, answer):
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def go(self, at):
        self.ok(self.server.post("/v1/clock", {"to": write(at, True)}))
        self.now = at

    def go_between(self, minutes=1):
        """So that what is made now could have a part that nobody sees."""
        later = self.now + datetime.timedelta(minutes=minutes)
        self.go(later.replace(microsecond=later.microsecond // 1000 * 1000 + 321))

    def leased(self, kind):
        return self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "limit": 1}))["items"]

    def ahead(self, *paths):
        """What the answers show that lies ahead, by its name: each name says one thing."""
        found = {}
        for path in paths:
            for names, at in shown(self.ok(self.server.get(path))):
                if at > self.now:
                    found.setdefault(names[-1], set()).add(at)
        return found

    def expect(self, at, happened, what):
        self.assertGreater(at, self.now, what)
        if at - MS > self.now:
            self.go(at - MS)
        self.assertFalse(happened(), f"{what}: a millisecond before {write(at)}")
        self.go(at)
        self.assertTrue(happened(), f"{what}: at {write(at)}, as shown")

    def one(self, found, *names):
        """All of these show the same instant, and there is no other one ahead."""
        self.assertEqual(set(found), set(names), found)
        self.assertEqual(len(set().union(*found.values())), 1, found)
        return next(iter(found[names[0]]))

    def make(self, **job):
        return self.ok(self.server.post(T + "/jobs", job))["id"]

    def views(self, job):
        return f"{T}/jobs/{job}", f"{T}/jobs/{job}/explain"

    def test_jobs(self):
        for number, when in enumerate(({"delay": "90s"}, {"delay": "1ms"}, {"run_at": "fraction"})):
            self.go_between()
            if "run_at" in when:
                when = {"run_at": write(self.now + datetime.timedelta(seconds=100, microseconds=7), True)}
            job = self.make(type=f"later-{number}", **when)
            at = self.one(self.ahead(*self.views(job)), "run_at", "next_at", "until")
            self.expect(at, lambda number=number: self.leased(f"later-{number}"), "run_at")

    def test_retries(self):
        self.go_between()
        job = self.make(type="flaky")
        for attempt in range(1, 5):
            item = self.leased("flaky")[0]
            self.ok(self.server.post(f"{T}/jobs/{job}/fail", {"token": item["token"], "error": "no"}))
            at = self.one(self.ahead(*self.views(job)), "run_at", "next_at", "until")
            self.assertLess(at, self.now + datetime.timedelta(minutes=67))
            # A lease that is taken is the next attempt: it is asked for once at each instant.
            self.go(at - MS)
            self.assertEqual(self.leased("flaky"), [], f"attempt {attempt + 1}")
            self.go(at)
            happened = self.leased("flaky")
            self.assertEqual(len(happened), 1, f"attempt {attempt + 1}")
            self.ok(self.server.post(f"{T}/jobs/{job}/release", {"token": happened[0]["token"]}))

    def test_deadlines(self):
        self.go_between()
        job = self.make(type="never", delay="8h", deadline=write(self.now + datetime.timedelta(minutes=10, microseconds=3), True))
        deadline = self.ahead(f"{T}/jobs/{job}")["deadline"].pop()
        self.expect(deadline, lambda: self.ok(self.server.get(f"{T}/jobs/{job}"))["state"] == "cutoff_reached", "deadline")

    def jobs_of(self, schedule):
        return len(self.ok(self.server.get(f"{T}/jobs?schedule={schedule}&limit=100"))["items"])

    def test_schedules(self):
        triggers = ({"kind": "every", "every": "7m"}, {"kind": "rrule", "rrule": "FREQ=HOURLY;INTERVAL=3"},
                    {"kind": "once", "at": write(self.now + datetime.timedelta(days=1, microseconds=321), True)},
                    {"kind": "daily", "at": "13:37"})
        for number, trigger in enumerate(triggers):
            self.go_between()
            name = f"s{number}"
            put = self.ok(self.server.put(f"{T}/schedules/{name}", {"trigger": trigger, "jitter": "5m", "job": {"type": name}}))
            at = read(put["next_at"])
            self.assertIn(at, self.ahead(f"{T}/schedules/{name}", f"{T}/schedules/{name}/explain", f"{T}/schedules")["next_at"])
            self.expect(at, lambda name=name: self.jobs_of(name) > 0, f"next_at of {trigger}")
            job = self.ok(self.server.get(f"{T}/jobs?schedule={name}"))["items"][0]
            self.assertLessEqual(read(job["run_at"]), at + datetime.timedelta(minutes=5))
            self.expect(read(job["run_at"]), lambda name=name: self.leased(name), "run_at with jitter")
            self.server.call("DELETE", f"{T}/schedules/{name}")

    def test_subjects(self):
        triggers = ({"kind": "adaptive", "bands": [{"within": "1d", "every": "2s"}], "otherwise": ["3m", "7m"]},
                    {"kind": "windows", "interval": "7m", "lag": "1s"},
                    {"kind": "delivery", "due": "20:00", "spread": True})
        for number, trigger in enumerate(triggers):
            self.go_between()
            name = f"s{number}"
            self.ok(self.server.put(f"{T}/schedules/{name}", {"trigger": trigger, "job": {"type": name}}))
            self.ok(self.server.put(f"{T}/schedules/{name}/subjects/ada", {}))
            self.go(self.now + MS)  # a window that is over already has its job by then
            before = self.jobs_of(name)
            views = (f"{T}/schedules/{name}/subjects/ada", f"{T}/schedules/{name}/subjects/ada/explain", f"{T}/schedules/{name}/subjects")
            at = self.ahead(*views)["next_at"]
            self.assertEqual(len(at), 1, f"{name}: all answers show the same")
            self.expect(at.pop(), lambda name=name, before=before: self.jobs_of(name) > before, f"next_at of {trigger}")
            self.server.call("DELETE", f"{T}/schedules/{name}")


if __name__ == "__main__":
    unittest.main()
