"""What explain says of held jobs, from outside: every reason for jobs of pull workers, webhooks and programs, alone and in pairs.

Each situation is a list of reasons. A reason says how it is arranged and when it ends, and the oracle puts them in order from that alone:
first what ends when others move, then what time ends, by that time, then what somebody must lift; the last one binds.
"""
import http.server
import itertools
import os
import socket
import sys
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
NOW = "2026-03-02T{:02}:{:02}:00.000Z"  # the clock of the rehearsal stands at 12:00
BY_OTHERS, BY_TIME, BY_HAND = range(3)
SLOTS = 4
DUE_IN = 300  # minutes, of a job that is not due


def after(minutes):
    return NOW.format(12 + minutes // 60, minutes % 60)


class Reason:
    def __init__(self, name, why, end, minutes=None, limit=None, holder=False, schedule=False, kind=None, only=None, rules=None, prepare=None, close=None):
        self.name, self.why, self.end, self.minutes, self.limit = name, why, end, minutes, limit
        self.holder, self.schedule, self.kind = holder, schedule, kind
        self.only = only or ("pull", "webhook", "exec")
        self.rules, self.prepare, self.close = rules, prepare, close


def rest(limit, minutes):
    """A provider's word closes a limit: a worker says it."""
    def prepare(world):
        world.post("/jobs", {"type": "learner", "queue": "learners", "limits": [limit]}, 201)
        job = world.post("/leases", {"worker": "learner", "types": ["learner"]})["items"][0]
        world.post(f"/jobs/{job['id']}/fail", {"token": job["token"], "error": "too many", "rate_limited": limit, "retry_after": f"{minutes}m"})
    return prepare


REASONS = [
    Reason("no_worker", "no_worker", BY_OTHERS, only=("pull",)),
    Reason("node", "cap:node", BY_OTHERS, only=("webhook", "exec"), prepare=lambda w: w.fill_node()),
    Reason("all", "cap:all", BY_OTHERS, holder=True, close=lambda w, _: w.put_global("/v1/config", {"max_concurrent_jobs": 1})),
    Reason("tenant_cap", "cap:tenant", BY_OTHERS, holder=True, close=lambda w, _: w.put("/settings", {"max_concurrency": 1})),
    Reason("queue_cap", "cap:queue", BY_OTHERS, holder=True, close=lambda w, _: w.put("/queues/q", {"max_concurrency": 1})),
    Reason("slots", "limit:slots", BY_OTHERS, limit="slots", holder=True, rules=lambda w: w.put("/limits/slots", {"concurrency": 1})),
    Reason("rate", "limit:rate", BY_TIME, 30, limit="rate", holder=True,
           rules=lambda w: w.put("/limits/rate", {"rate": 2, "per": "1h", "burst": 1})),
    Reason("learnt", "limit:learnt", BY_TIME, 10, limit="learnt", rules=lambda w: w.put("/limits/learnt", {"rate": 1000, "per": "1s"}),
           prepare=rest("learnt", 10)),
    Reason("global_slots", "limit:global_slots", BY_OTHERS, limit="global_slots", holder=True,
           rules=lambda w: w.put_global("/v1/limits/global_slots", {"concurrency": 1})),
    # Set anew it is open, so that the one who closes it can run.
    Reason("global", "limit:global", BY_TIME, 40, limit="global", rules=lambda w: w.put_global("/v1/limits/global", {"rate": 1000, "per": "1s"}),
           prepare=lambda w: (w.put_global("/v1/limits/global", {"rate": 1000, "per": "1s"}), rest("global", 40)(w))),
    # Whoever ends, its next token comes later.
    Reason("slots_and_rate", "limit:both", BY_TIME, 20, limit="both", holder=True,
           rules=lambda w: w.put("/limits/both", {"concurrency": 1, "rate": 3, "per": "1h", "burst": 1})),
    Reason("not_due", "not_due", BY_TIME, DUE_IN, close=lambda w, job: w.patch(f"/jobs/{job}", {"run_at": after(DUE_IN)})),
    Reason("quiet", "quiet_hours", BY_TIME, 60, close=lambda w, _: w.put("/settings", {"quiet_hours": {"start": "11:00", "end": "13:00"}})),
    Reason("maintenance_2h", "maintenance", BY_TIME, 120, kind="own", close=lambda w, _: w.put("/maintenance", {"until": after(120)})),
    Reason("maintenance_8h", "maintenance", BY_TIME, 480, kind="own", close=lambda w, _: w.put("/maintenance", {"until": after(480)})),
    Reason("all_3h", "maintenance:all", BY_TIME, 180, kind="all", close=lambda w, _: w.put_global("/v1/maintenance", {"until": after(180)})),
    Reason("schedule_4h", "paused", BY_TIME, 240, schedule=True, kind="schedule",
           close=lambda w, _: w.post("/schedules/s/pause", {"until": after(240)})),
    Reason("maintenance", "maintenance", BY_HAND, kind="own", close=lambda w, _: w.put("/maintenance", {})),
    Reason("all_closed", "maintenance:all", BY_HAND, kind="all", close=lambda w, _: w.put_global("/v1/maintenance", {})),
    Reason("subject", "disabled", BY_HAND, schedule=True, close=lambda w, _: w.put("/schedules/s/subjects/ada", {"enabled": False})),
    Reason("schedule", "paused", BY_HAND, schedule=True, kind="schedule", close=lambda w, _: w.post("/schedules/s/pause", {})),
    Reason("schedule_off", "disabled", BY_HAND, schedule=True, kind="schedule", close=lambda w, _: w.patch("/schedules/s", {"enabled": False})),
    Reason("queue", "paused", BY_HAND),
    Reason("tenant", "paused", BY_HAND, close=lambda w, _: w.put("/settings", {"paused": True})),
    Reason("disabled", "disabled", BY_HAND, close=lambda w, _: w.put_global("/v1/config", {"enabled": False})),
]


def oracle(reasons):
    """The reasons in the order in which they must be told, as (why, until)."""
    waits = any(one.name == "not_due" for one in reasons)
    told = []
    for place, one in enumerate(reasons):
        # What others may end, or time ends before the job is due, does not hold it then.
        if waits and one.name != "not_due" and one.end != BY_HAND and (one.minutes is None or one.minutes <= DUE_IN):
            continue
        told.append((one.end, one.minutes or 0, place, one.why, None if one.minutes is None else after(one.minutes)))
    return [(why, until) for _, _, _, why, until in sorted(told)]


def situations():
    """Every reason alone, for every kind of job; and each with its neighbours near and far: all pairs would take minutes."""
    for kind in ("pull", "webhook", "exec"):
        reasons = [one for one in REASONS if kind in one.only]
        for one in reasons:
            yield kind, [one]
        for (i, one), (j, other) in itertools.combinations(enumerate(reasons), 2):
            if (j - i) % 5 in (1, 3) and not (one.kind and one.kind == other.kind):
                yield kind, [one, other]


class World:
    """A tenant of its own, in which one situation is arranged."""
    count = 0

    def __init__(self, server, kind, target, folder):
        World.count += 1
        self.server, self.kind, self.target, self.folder = server, kind, target, folder
        self.tenant = f"/v1/tenants/t{World.count}"
        self.running = []
        self.leased = []
        self.type = "work." + kind
        self.slots_left = SLOTS
        self.put("/settings", {"timezone": "UTC"})
        if kind == "webhook":
            self.put("/handlers/work.webhook", {"kind": "webhook", "url": f"http://127.0.0.1:{target}/"})

    def put(self, path, body):
        return Server.accepted(self.server.put(self.tenant + path, body))

    def post(self, path, body=None, *statuses):
        return Server.accepted(self.server.post(self.tenant + path, body), *statuses)

    def patch(self, path, body):
        return Server.accepted(self.server.call("PATCH", self.tenant + path, body))

    def get(self, path):
        return Server.ok(self.server.get(self.tenant + path))

    def put_global(self, path, body):
        Server.accepted(self.server.put(path, body))

    def until_runs(self, job):
        for _ in range(2000):
            if self.get(f"/jobs/{job}")["state"] == "processing":
                return
            time.sleep(0.01)
        raise AssertionError(f"{job} does not start: {self.get(f'/jobs/{job}/explain')}")

    def run(self, limits=()):
        """A job that runs until it is let go."""
        pulled = self.kind == "pull"
        job = self.post("/jobs", {"type": "held.pull" if pulled else "held", "queue": "q", "limits": list(limits)}, 201)["id"]
        self.running.append(job)  # whatever becomes of it, it is let go in the end
        if pulled:
            leased, = self.post("/leases", {"worker": "holder", "types": ["held.pull"]})["items"]
            self.leased.append(leased)
        else:
            self.until_runs(job)
            # A claim is no start: until then a gate that closes puts it back.
            for _ in range(2000):
                if Server.ok(self.server.get("/v1/status"))["in_flight"] >= len(self.running):
                    break
                time.sleep(0.01)
            self.slots_left -= 1

    def fill_node(self):
        """Runs on all slots but one, which the holder of a cap or a limit may need."""
        while self.slots_left > 1:
            self.run()

    def body(self, reasons):
        return {"type": self.type, "queue": "q", "limits": [one.limit for one in reasons if one.limit],
                "notifies": any(one.name == "quiet" for one in reasons)}

    def plan(self, reasons):
        """Before noon: rules, and if a schedule is to make the job, that, with its queue paused."""
        for one in reasons:
            if one.rules:
                one.rules(self)
        if any(one.schedule for one in reasons):
            self.put("/queues/q", {"paused": True})
            self.put("/schedules/s", {"fan_out": True, "trigger": {"kind": "every", "every": "1m"}, "job": self.body(reasons)})
            self.put("/schedules/s/subjects/ada", {})

    def arrange(self, reasons):
        """At noon. Until all of it is arranged the job is held by one thing or another, so that it does not start meanwhile."""
        job = None
        if any(one.schedule for one in reasons):
            job = self.get("/jobs?schedule=s")["items"][0]["id"]
            for one in reasons:
                if one.schedule:
                    one.close(self, job)
            self.put("/queues/q", {"paused": False})
        for one in reasons:
            if one.prepare:
                one.prepare(self)
        if any(one.holder or one.name == "node" for one in reasons):
            self.run([one.limit for one in reasons if one.limit and one.holder])
        self.put("/queues/q", {"paused": True})
        if job is None:
            job = self.post("/jobs", self.body(reasons), 201)["id"]
        for one in reasons:
            if one.close and not one.schedule:
                one.close(self, job)
        names = [one.name for one in reasons]
        if "queue" not in names:
            self.put("/queues/q", {"paused": False})
        if self.kind == "pull" and "no_worker" not in names:
            # A worker asks for it and gets nothing: it is held indeed.
            answer = self.server.post(self.tenant + "/leases", {"worker": "ada", "types": [self.type]})
            assert answer.status == (503 if "disabled" in names else 200), answer.body
            assert answer.status == 503 or answer.json["items"] == [], answer.body
        return job

    def held(self, job):
        explained = self.get(f"/jobs/{job}/explain")
        steps = [(step["why"], step["detail"].get("until")) for step in explained["steps"] if step["what"] in ("held", "retry_planned")]
        assert all(step["what"] in ("created", "claimed", "failed", "held", "retry_planned", "deferred") for step in explained["steps"]), explained
        return steps, explained

    def end(self):
        for path, body in (("/v1/config", {"enabled": True, "max_concurrent_jobs": None}),):
            self.put_global(path, body)
        self.server.call("DELETE", "/v1/maintenance")
        self.post("/jobs/bulk", {"action": "cancel", "filter": {"queue": "q"}}, 202)
        for job in self.running:
            open(os.path.join(self.folder, job), "w").close()
        for job in self.leased:  # a limit for all is free for the next one
            self.post(f"/jobs/{job['id']}/complete", {"token": job["token"]})
        self.leased = []
        # The next situation has all slots. A worker outside holds none.
        for _ in range(3000):
            if Server.ok(self.server.get("/v1/status"))["in_flight"] == 0:
                time.sleep(0.02)  # what has ended is written down
                return
            time.sleep(0.01)
        raise AssertionError("slots are taken still")


class Target(http.server.BaseHTTPRequestHandler):
    fails = False
    answers = threading.Event()  # of calls that hang: whether they do so no more

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/hang":
            Target.answers.wait(timeout=60)
        self.send_response(500 if Target.fails else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


CONFIG = """
[handlers."work.exec"]
kind = "exec"
argv = ["/bin/sh", "-c", "test ! -e {folder}/fail"]
allow_root = true
[handlers."held"]
kind = "exec"
argv = ["/bin/sh", "-c", "while [ ! -e {folder}/$CARILLON_JOB_ID ]; do sleep 0.05; done"]
allow_root = true
"""


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
        threading.Thread(target=target.serve_forever, daemon=True).start()
        cls.addClassCleanup(target.server_close)
        cls.addClassCleanup(target.shutdown)
        cls.target = target.server_address[1]
        server = Server(PROGRAM, "--clock", "2026-03-02T11:59:00Z@0", "--max-concurrency", str(SLOTS), "--config", "explain.toml",
                        "--set", "webhooks.allow=127.0.0.1")
        cls.folder = os.path.join(server.folder, "go")
        os.mkdir(cls.folder)
        os.chmod(server.folder, 0o755)
        with open(os.path.join(server.folder, "explain.toml"), "w") as file:
            file.write(CONFIG.format(folder=cls.folder))
        cls.addClassCleanup(server.__exit__)
        server.start()
        cls.server = server
        # Jobs of schedules come to be at noon, when everything else begins.
        cls.situations = [(kind, reasons, World(server, kind, cls.target, cls.folder)) for kind, reasons in situations()]
        for _, reasons, world in cls.situations:
            world.plan(reasons)
        assert Server.ok(server.post("/v1/clock", {"to": after(0)}))["now"] == after(0)

    def world(self, kind):
        world = World(self.server, kind, self.target, self.folder)
        self.addCleanup(world.end)
        return world

    def play(self, kind, reasons, world):
        name = f"{kind}: {' and '.join(one.name for one in reasons)}"
        try:
            with self.subTest(name):
                job = world.arrange(reasons)
                expected = oracle(reasons)
                for when in ("at once", "once more"):
                    steps, explained = world.held(job)
                    self.assertEqual(steps, expected, f"{name}, {when}: {explained}")
                    self.assertEqual(explained["next_at"], expected[-1][1], name)
                    self.assertTrue(explained["summary"].startswith("waiting: "), explained["summary"])
                shown = world.get(f"/jobs/{job}")
                self.assertEqual((shown["state"], shown["attempt"]), ("queued", 0))
        finally:
            world.end()

    def test_every_reason_and_pairs_of_them(self):
        self.assertGreaterEqual(sum(len(reasons) == 1 for _, reasons, _ in self.situations), 40)
        for kind, reasons, world in self.situations:
            self.play(kind, reasons, world)

    def test_a_retry_is_told_with_its_time(self):
        for kind in ("pull", "webhook", "exec"):
            with self.subTest(kind):
                world = self.world(kind)
                Target.fails = True
                failing = os.path.join(self.folder, "fail")
                open(failing, "w").close()
                job = world.post("/jobs", {"type": world.type, "queue": "q", "retry": {"kind": "fixed", "delay": "10m"}}, 201)["id"]
                if kind == "pull":
                    leased = world.post("/leases", {"worker": "ada", "types": [world.type]})["items"][0]
                    world.post(f"/jobs/{job}/fail", {"token": leased["token"], "error": "no answer"})
                for _ in range(400):
                    if world.get(f"/jobs/{job}")["attempts"]:
                        break
                    time.sleep(0.01)
                Target.fails = False
                os.remove(failing)
                self.assertEqual(world.held(job)[0], [("retry_planned", after(10))])
                world.put("/maintenance", {"until": after(20)})
                self.assertEqual(world.held(job)[0], [("retry_planned", after(10)), ("maintenance", after(20))])
                self.server.call("DELETE", world.tenant + "/maintenance")
                self.assertEqual(world.held(job)[0], [("retry_planned", after(10))])

    def test_what_waits_for_others_and_what_was_put_back(self):
        for kind in ("pull", "webhook", "exec"):
            with self.subTest(kind):
                world = self.world(kind)
                parent = world.post("/jobs", {"type": world.type, "queue": "q", "delay": "1h"}, 201)["id"]
                child = world.post("/jobs", {"type": world.type, "queue": "q", "depends_on": [parent]}, 201)["id"]
                self.assertEqual(world.held(child)[0], [("dependency", None)])
                self.assertEqual(world.held(parent)[0], [("not_due", after(60))])
                world.put("/queues/q", {"paused": True})
                self.assertEqual(world.held(child)[0], [("paused", None), ("dependency", None)])
        world = self.world("pull")
        job = world.post("/jobs", {"type": world.type, "queue": "q"}, 201)["id"]
        leased = world.post("/leases", {"worker": "ada", "types": [world.type]})["items"][0]
        world.post(f"/jobs/{job}/defer", {"token": leased["token"], "until": after(60), "reason": "no ticket"})
        self.assertEqual(world.held(job)[0], [("no ticket", after(60))])

    def test_a_slot_that_is_left_to_other_tenants(self):
        world = self.world("webhook")  # one of many who have handlers
        Target.answers.clear()
        self.addCleanup(Target.answers.set)
        world.put("/handlers/hang", {"kind": "webhook", "url": f"http://127.0.0.1:{self.target}/hang"})
        for count in range(1, SLOTS):
            world.post("/jobs", {"type": "hang", "queue": "q"}, 201)
            for _ in range(2000):
                if Server.ok(self.server.get("/v1/status"))["in_flight"] == count:
                    break
                time.sleep(0.01)
        job = world.post("/jobs", {"type": world.type, "queue": "q"}, 201)["id"]
        self.assertEqual(world.held(job)[0], [("cap:webhooks", None)])
        world.put("/maintenance", {"until": after(120)})
        self.assertEqual(world.held(job)[0], [("cap:webhooks", None), ("maintenance", after(120))])
        self.assertEqual(world.held(job)[1]["next_at"], after(120))
        self.server.call("DELETE", world.tenant + "/maintenance")
        Target.answers.set()

    def test_a_host_that_does_not_answer_is_left_alone(self):
        world = self.world("webhook")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # and does not listen
            world.put("/handlers/down", {"kind": "webhook", "url": f"http://127.0.0.1:{nobody.getsockname()[1]}/"})
            held = None
            for _ in range(400):
                job = world.post("/jobs", {"type": "down", "queue": "q", "retry": {"kind": "fixed", "delay": "10m"}}, 201)["id"]
                for _ in range(400):
                    shown = world.get(f"/jobs/{job}")
                    if shown["state"] == "queued" and (shown["attempts"] or shown["deferrals"]):
                        break
                    time.sleep(0.01)
                if shown["deferrals"]:
                    held = job
                    break
                self.assertEqual(world.held(job)[0], [("retry_planned", after(10))])
            steps, explained = world.held(held)
            (why, until), = steps
            self.assertEqual((why, until, explained["next_at"]), ("webhook_host_down", shown["run_at"], shown["run_at"]))
            self.assertTrue(after(0) < until <= after(0).replace(":00.000Z", ":30.000Z"), until)

    def test_one_that_runs_and_is_asked_to_stop(self):
        world = self.world("exec")
        world.run()
        job = world.running[0]
        explained = world.held(job)[1]
        self.assertEqual((explained["steps"][-1]["what"], explained["summary"].split(":")[0]), ("claimed", "processing"))
        world.post(f"/jobs/{job}/cancel")
        explained = world.get(f"/jobs/{job}/explain")
        if explained["summary"].startswith("processing"):  # its program may have ended meanwhile
            self.assertIn("asked to stop", explained["summary"])
            self.assertTrue(explained["steps"][-1]["detail"]["cancel_requested"])

    def test_whoever_opens_a_gate_is_believed_at_once(self):
        for kind in ("pull", "webhook", "exec"):
            for close, reopen in ((("PUT", "/settings", {"paused": True}), ("PUT", "/settings", {"paused": False})),
                                  (("PUT", "/maintenance", {}), ("DELETE", "/maintenance", None)),
                                  (("PUT", "/queues/q", {"paused": True}), ("PUT", "/queues/q", {"paused": False}))):
                with self.subTest(f"{kind} {close}"):
                    world = self.world(kind)
                    # So that it waits on, for another reason, when the gate is open.
                    world.put("/limits/rest", {"rate": 1, "per": "1h", "burst": 1})
                    world.run(["rest"])
                    world.server.call(close[0], world.tenant + close[1], close[2])
                    job = world.post("/jobs", {"type": world.type, "queue": "q", "limits": ["rest"]}, 201)["id"]
                    self.assertIn(world.held(job)[0][-1][0], ("paused", "maintenance"))
                    world.server.call(reopen[0], world.tenant + reopen[1], reopen[2])
                    steps = world.held(job)[0]
                    self.assertNotIn("paused", [why for why, _ in steps])
                    self.assertNotIn("maintenance", [why for why, _ in steps])
                    self.assertEqual(steps[-1], ("limit:rest", after(60)), steps)
                world.end()


if __name__ == "__main__":
    unittest.main()
