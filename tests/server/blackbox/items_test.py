"""What a worker gets and what an answer says: every kind of job to every kind of worker is the whole job as it is documented.

  items_test.py PROGRAM
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
# The job of the documentation, without `attempts`.
JOB = ["id", "tenant", "queue", "type", "payload", "priority", "state", "reason", "origin", "parent_id", "schedule", "subject", "slot", "key",
       "idempotency_key", "run_at", "deadline", "attempt", "max_attempts", "token", "worker", "lease_until", "timeout", "limits", "notifies",
       "deferrals", "deferred_until", "defer_reason", "cancel_requested", "depends_on", "tags", "meta", "created_by", "progress", "output",
       "last_error", "created_at", "started_at", "finished_at", "last_seen_at"]
ITEM = JOB + ["trigger"]
INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
START = "2026-03-02T06:00:00Z"
PARENT = object()  # the id of the job that stands before it
SECRET = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
HOUR = {"kind": "every", "every": "1h"}


class Target:
    """What webhooks call. Of each call it keeps what came and how the API shows the job meanwhile."""

    def __init__(self):
        target = self
        self.server = None
        self.calls = {}    # by type
        self.answers = {}  # by type: statuses, then 200

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                job = body["job"]
                shown = target.server.get(f"{T}/jobs/{job['id']}").json
                calls = target.calls.setdefault(job["type"], [])
                planned = target.answers.get(job["type"], [])
                status = planned[len(calls)] if len(calls) < len(planned) else 200
                calls.append((body, shown))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def until(condition, seconds=30):
    for _ in range(seconds * 50):
        if condition():
            return True
        time.sleep(0.02)
    return False


class Pull:
    """Leases over HTTP, for one tenant or for all of the key."""
    worker, timeout = "puller", "5m"

    def __init__(self, case, base):
        self.case, self.base = case, base

    def prepare(self, kind, answers):
        pass

    def lease(self, kind):
        item, = self.case.ok(self.case.server.post(self.base + "/leases", {"worker": "puller", "types": [kind], "wait": "10s"}))["items"]
        return item

    def run(self, kind, answer):
        item = self.lease(kind)
        word, body = ("complete", {}) if answer == 200 else ("fail", {"error": "the webhook answered 500"})
        self.case.ok(self.case.server.post(f"{T}/jobs/{item['id']}/{word}", {"token": item["token"], **body}))

    def take(self, kind):
        item = self.lease(kind)
        return item, self.case.ok(self.case.server.get(f"{T}/jobs/{item['id']}"))


class Webhook:
    worker, timeout = None, "7s"  # its handler's

    def __init__(self, case):
        self.case, self.used = case, {}

    def prepare(self, kind, answers):
        self.case.target.answers[kind] = answers
        self.used[kind] = 0
        url = f"http://127.0.0.1:{self.case.target.port}/"
        self.case.ok(self.case.server.put(f"{T}/handlers/{kind}", {"kind": "webhook", "url": url, "timeout": self.timeout}))

    def called(self, kind):
        self.used[kind] += 1
        number = self.used[kind]
        self.case.assertTrue(until(lambda: len(self.case.target.calls.get(kind, [])) >= number), f"{kind} was not called {number} times")
        body, shown = self.case.target.calls[kind][number - 1]
        path = f"{T}/jobs/{body['job']['id']}"
        self.case.assertTrue(until(lambda: self.case.server.get(path).json["state"] != "processing"), kind)
        return body, shown

    def run(self, kind, _):
        self.called(kind)

    def take(self, kind):
        body, shown = self.called(kind)
        self.case.assertEqual(set(body), {"job", "attempt", "token"})
        self.case.assertEqual((body["attempt"], body["token"]), (body["job"]["attempt"], body["job"]["token"]))
        return body["job"], shown


class Base(unittest.TestCase):
    maxDiff = None
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.target = Target()
        cls.addClassCleanup(cls.target.close)
        Server.share(cls, PROGRAM, "--set", "webhooks.allow=127.0.0.1", *cls.flags)
        cls.target.server = cls.server
        cls.actor = "key:" + cls.server.key.split(".")[0]

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def made(self, kind, **more):
        return self.ok(self.server.post(T + "/jobs", {"type": kind, **more}), 201)

    def leased(self, kind, **more):
        item, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], **more}))["items"]
        return item

    def say(self, item, word, **more):
        return self.server.post(f"{T}/jobs/{item['id']}/{word}", {"token": item["token"], **more})

    def shown(self, item):
        return self.ok(self.server.get(f"{T}/jobs/{item['id']}"))

    @classmethod
    def tearDownClass(cls):
        assert cls.server.check_answers() > 0


class Kinds(Base):
    """A clock that stands, so that every time in an item is known."""
    flags = ("--clock", START + "@0")

    def clock(self, **how):
        return self.ok(self.server.post("/v1/clock", how))["now"]

    def schedule(self, kind, definition, subject=None):
        """Under the name of its type; the clock goes on to its next time."""
        path = f"{T}/schedules/{kind}"
        self.ok(self.server.put(path, {**definition, "job": {"type": kind, **definition.get("job", {})}}), 201)
        if subject:
            path += "/subjects/" + subject
            self.ok(self.server.put(path, {}), 201)
        return path

    def ran_once(self, kind):
        """A job of its own that is done, by a worker that pulls it."""
        job = self.made(kind)
        self.ok(self.say(self.leased(kind), "complete"))
        return job["id"]

    # ---- The kinds: each makes a job that is due, and says what of it is not as of a plain one ----
    def plain(self, kind):
        self.made(kind)
        return {}

    def with_everything(self, kind):
        self.ok(self.server.put(T + "/limits/smtp", {"concurrency": 100}))
        body = {"type": kind, "payload": {"to": "ada", "n": 1.50}, "queue": "mails", "priority": "high", "idempotency_key": "k-" + kind, "retry": {"kind": "none"},
                "timeout": "90s", "limits": ["smtp"], "notifies": True, "subject": "user-17", "tags": ["a", "b"], "meta": {"who": "ada"},
                "deadline": "2031-01-01T00:00:00Z"}
        self.ok(self.server.post(T + "/jobs", body), 201)
        return {"payload": {"to": "ada", "n": 1.50}, "queue": "mails", "priority": 2, "idempotency_key": "k-" + kind, "max_attempts": 1, "timeout": "1m30s",
                "limits": ["smtp"], "notifies": True, "subject": "user-17", "tags": ["a", "b"], "meta": {"who": "ada"}, "deadline": "2031-01-01T00:00:00.000Z"}

    def seen_again(self, kind):
        self.ok(self.server.put(T + "/maintenance", {}))
        body = {"type": kind, "idempotency_key": "again"}
        self.ok(self.server.post(T + "/jobs", body), 201)
        now = self.clock(advance="1m")
        self.ok(self.server.post(T + "/jobs", body), 200)
        self.assertEqual(self.server.call("DELETE", T + "/maintenance").status, 204)
        self.clock(advance="1m")
        return {"idempotency_key": "again", "last_seen_at": now, "deferrals": 1}

    def held_by_a_gate(self, kind):
        self.ok(self.server.put(T + "/maintenance", {}))
        self.made(kind)
        self.clock(advance="10m")
        self.assertEqual(self.server.call("DELETE", T + "/maintenance").status, 204)
        self.clock(advance="1m")
        return {"deferrals": 1}

    def scheduled(self, kind):
        path = self.schedule(kind, {"trigger": HOUR, "job": {"payload": [1], "tags": ["t"], "max_attempts": 2}})
        at = self.ok(self.server.get(path))["next_at"]
        self.clock(to=at)
        return {"origin": "scheduled", "schedule": kind, "slot": at, "payload": [1], "tags": ["t"], "max_attempts": 2, "created_by": None}

    def manual(self, kind):
        path = self.schedule(kind, {"trigger": {"kind": "daily", "at": "05:00"}, "job": {"payload": {"a": 1}}})
        job = self.ok(self.server.post(path + "/trigger", {}), 201)
        return {"origin": "manual", "schedule": job["schedule"], "slot": job["slot"], "payload": {"a": 1}, "priority": 2}

    def of_a_follower(self, kind):
        first = "first-" + kind
        path = self.schedule(first, {"trigger": HOUR})
        self.schedule(kind, {"trigger": {"kind": "after", "schedule": first}})
        at = self.ok(self.server.get(path))["next_at"]
        self.clock(to=at)
        parent = self.leased(first)
        self.ok(self.say(parent, "complete"))
        return {"origin": "dependent", "schedule": kind, "slot": at, "parent_id": parent["id"], "created_by": None}

    def delivered(self, kind):
        hour = int(self.ok(self.server.get("/v1/clock"))["now"][11:13])
        due = f"{(hour + 6) % 24:02}:00"  # its window is not open yet, whatever time it is
        path = self.schedule(kind, {"trigger": {"kind": "delivery", "due": due}, "job": {"notifies": True}}, "ada")
        self.clock(to=self.ok(self.server.get(path))["next_at"])
        job, = self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"]
        self.assertRegex(job["slot"], r"^2026-03-\d\d$")
        self.assertRegex(job["deadline"], INSTANT)
        return {"origin": "scheduled", "schedule": kind, "subject": "ada", "slot": job["slot"], "deadline": job["deadline"], "notifies": True,
                "max_attempts": job["max_attempts"], "payload": job["payload"], "created_by": None}

    def of_a_window(self, kind):
        path = self.schedule(kind, {"trigger": {"kind": "windows", "interval": "1h"}}, "topic")
        topic = self.ok(self.server.get(path))
        slot, end = topic["cursor_end"], self.clock(to=topic["next_at"])
        job, = self.ok(self.server.get(f"{T}/jobs?type={kind}&limit=1"))["items"]
        self.assertIn(kind, job["key"])
        self.assertEqual(job["payload"]["window_start"], slot)
        self.assertLessEqual(job["payload"]["window_end"], end)
        return {"origin": "scheduled", "schedule": kind, "subject": "topic", "slot": slot, "key": job["key"], "payload": job["payload"], "created_by": None}

    def of_a_check(self, kind):
        path = self.schedule(kind, {"trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}], "otherwise": "4h"}}, "stock")
        at = self.ok(self.server.get(path))["next_at"]
        self.clock(to=at)
        job, = self.ok(self.server.get(f"{T}/jobs?type={kind}&limit=1"))["items"]
        return {"origin": "scheduled", "schedule": kind, "subject": "stock", "slot": at, "payload": job["payload"], "created_by": None}

    def window_by_hand(self, kind):
        path = self.schedule(kind, {"trigger": {"kind": "windows", "interval": "1h", "mode": "full"}}, "topic")
        job = self.ok(self.server.post(path + "/trigger", {"window_start": "2026-01-01T00:00:00Z", "window_end": "2026-01-01T01:00:00Z"}), 201)
        self.assertIn("_manual_", job["key"])
        self.assertEqual((job["payload"]["window_start"], job["payload"]["mode"], job["payload"]["trigger"]), ("2026-01-01T00:00:00.000Z", "full", "manual"))
        return {"origin": "manual", "schedule": kind, "subject": "topic", "slot": "2026-01-01T00:00:00.000Z", "key": job["key"], "payload": job["payload"],
                "priority": 2}

    def backfilled(self, kind):
        self.schedule(kind, {"trigger": {"kind": "windows", "interval": "1h"}}, "topic")
        body = {"subject": "topic", "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"}
        self.ok(self.server.post(f"{T}/schedules/{kind}/backfill", body), 202)
        self.assertTrue(until(lambda: self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"]))
        job, = self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"]
        return {"origin": "manual", "schedule": kind, "subject": "topic", "slot": "2026-01-01T00:00:00.000Z", "key": job["key"], "payload": job["payload"],
                "priority": 4}

    def after_a_missed_cutoff(self, kind):
        first = "first-" + kind
        hour = int(self.ok(self.server.get("/v1/clock"))["now"][11:13])
        path = self.schedule(first, {"trigger": {"kind": "delivery", "due": f"{(hour + 6) % 24:02}:00"}, "on_cutoff": {"type": kind, "payload": [1]}}, "ada")
        self.clock(to=self.ok(self.server.get(path))["next_at"])
        day, = self.ok(self.server.get(f"{T}/jobs?type={first}"))["items"]
        self.clock(to=day["deadline"])
        self.clock(advance="1s")
        return {"origin": "dependent", "schedule": first, "subject": "ada", "slot": day["slot"], "parent_id": day["id"], "payload": [1], "created_by": None}

    def pushed(self, kind):
        self.schedule(kind, {"trigger": {"kind": "adaptive", "otherwise": "4h"}}, "stock")
        self.ok(self.server.put(f"{T}/hooks/{kind}", {"schedule": kind, "subject": "/who", "secret": "whsec_" + SECRET}))
        text, now = json.dumps({"who": "stock", "n": 1.50}), str(int(time.time()))
        signature = hmac.new(base64.b64decode(SECRET), f"m1.{now}.{text}".encode(), hashlib.sha256).digest()
        made = self.ok(self.server.call("POST", f"{T}/hooks/{kind}", raw=text, key="", headers={
            "webhook-id": "m1", "webhook-timestamp": now, "webhook-signature": "v1," + base64.b64encode(signature).decode()}), 201)
        job = self.shown(made)
        return {"origin": "manual", "schedule": kind, "subject": "stock", "slot": job["slot"], "payload": {"push": {"who": "stock", "n": 1.50}}, "priority": 2,
                "meta": {"hook": {"name": kind, "webhook_id": "m1", "subject": "stock"}}, "created_by": "hook:" + kind,
                "idempotency_key": job["idempotency_key"]}

    def dependent(self, kind):
        parent = self.made("parent-" + kind)
        self.ok(self.say(self.leased("parent-" + kind), "complete", then=[{"type": kind, "tags": ["then"]}]))
        return {"origin": "dependent", "parent_id": parent["id"], "tags": ["then"]}

    def waited(self, kind):
        parents = [self.made(f"parent-{kind}")["id"] for _ in range(2)]
        self.made(kind, depends_on=parents)
        for _ in parents:
            self.ok(self.say(self.leased("parent-" + kind), "complete"))
        return {"origin": "dependent", "parent_id": parents[0], "depends_on": parents}

    def again(self, kind):
        """Done once, and made anew by hand."""
        self.made(kind, idempotency_key="once", meta={"m": 1})
        return {"origin": "manual", "parent_id": PARENT, "meta": {"m": 1}, "token": 1}

    def retried(self, kind):
        self.made(kind)
        return {"attempt": 2, "token": 2, "last_error": {"code": "execution_failed", "message": "the webhook answered 500"}, "trigger": "retry"}

    def retried_by_an_operator(self, kind):
        self.made(kind, max_attempts=1)
        return {"attempt": 1, "token": 2, "max_attempts": 1, "last_error": {"code": "execution_failed", "message": "the webhook answered 500"}, "trigger": "retry"}

    def rerun(self, job):
        self.ok(self.server.post(f"{T}/jobs/{job}/rerun"), 201)

    def retry(self, job):
        self.assertTrue(until(lambda: self.shown({"id": job})["state"] == "dlq"))
        self.ok(self.server.post(f"{T}/jobs/{job}/retry"))

    KINDS = ["plain", "with_everything", "seen_again", "held_by_a_gate", "scheduled", "manual", "of_a_follower", "delivered", "of_a_window", "of_a_check",
             "window_by_hand", "backfilled", "after_a_missed_cutoff", "pushed", "dependent", "waited", "again", "retried", "retried_by_an_operator"]
    # How earlier runs of the same type end, and what is done then.
    EARLIER = {"again": ([200], rerun), "retried": ([500], lambda self, job: self.clock(advance="10m")), "retried_by_an_operator": ([500], retry)}

    def check(self, name, worker, where):
        kind = f"{name}-{where}"
        answers, then = self.EARLIER.get(name, ([], None))
        worker.prepare(kind, answers)
        wanted = getattr(self, name)(kind)
        before = None
        for answer in answers:
            worker.run(kind, answer)
            before = self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"][0]["id"]
            then(self, before)
        item, shown = worker.take(kind)
        plain = {"tenant": "default", "queue": "default", "type": kind, "payload": None, "priority": 3, "state": "processing", "reason": None, "origin": "api",
                 "parent_id": None, "schedule": None, "subject": "", "slot": None, "key": None, "idempotency_key": None, "deadline": None, "attempt": 1,
                 "max_attempts": 5, "token": 1, "worker": worker.worker or shown["worker"], "timeout": worker.timeout, "limits": [], "notifies": False,
                 "deferrals": 0, "deferred_until": None, "defer_reason": None, "cancel_requested": False, "depends_on": [], "tags": [], "meta": {},
                 "created_by": self.actor, "progress": None, "output": None, "last_error": None, "finished_at": None, "last_seen_at": None}
        plain["trigger"] = wanted.get("origin", plain["origin"])
        wanted = {**plain, **{field: before if value is PARENT else value for field, value in wanted.items()}}
        if isinstance(worker, Webhook):
            wanted["timeout"] = worker.timeout  # the shorter one holds
        self.assertEqual(set(item), set(ITEM))
        self.assertEqual({field: item[field] for field in wanted}, wanted)
        # And it is the job that is shown, but for the handler's timeout; how long a lease lasts depends on when it is looked at.
        alike = [field for field in JOB if field not in ("lease_until", "timeout")]
        self.assertEqual({field: item[field] for field in alike}, {field: shown[field] for field in alike})
        for field in ("run_at", "created_at", "started_at", "lease_until"):
            self.assertRegex(item[field], INSTANT)
        self.assertLess(item["started_at"], item["lease_until"])
        if not isinstance(worker, Webhook):
            self.assertEqual(item["timeout"], shown["timeout"])
            self.ok(self.say(item, "complete"))
        self.server.call("DELETE", f"{T}/schedules/{kind}")
        self.server.call("DELETE", f"{T}/schedules/first-{kind}")

    def test_every_kind_of_job_reaches_every_kind_of_worker_whole(self):
        workers = {"tenant": Pull(self, T), "all": Pull(self, "/v1"), "webhook": Webhook(self)}
        for name in self.KINDS:
            for where, worker in workers.items():
                with self.subTest(kind=name, worker=where):
                    self.check(name, worker, where)


class Fields(Base):
    def test_a_worker_may_ask_for_less(self):
        for base in (T, "/v1"):
            for fields in (["id", "token"], ["id", "token", "type", "payload", "trigger"], ["meta", "id"], ["last_error"], ["id", "id"], ITEM):
                self.made("less", payload={"a": 1}, meta={"m": 1})
                item, = self.ok(self.server.post(base + "/leases", {"worker": "w", "types": ["less"], "fields": fields}))["items"]
                self.assertEqual(set(item), set(fields))
                whole = {**self.ok(self.server.get(f"{T}/jobs?type=less"))["items"][0], "trigger": "api"}
                for field in set(fields) - {"lease_until"}:
                    self.assertEqual(item[field], whole[field], field)

    def test_they_come_in_the_order_of_the_job(self):
        self.made("order")
        answer = self.server.post(T + "/leases", {"worker": "w", "types": ["order"], "fields": ["trigger", "type", "id"]})
        self.assertEqual(list(self.ok(answer)["items"][0]), ["id", "type", "trigger"])
        self.made("order")
        self.assertEqual(list(self.leased("order")), ITEM)

    def test_a_field_that_there_is_not_is_refused_with_those_that_there_are(self):
        self.made("none")
        for base in (T, "/v1"):
            for fields in (["id", "nosuch"], ["attempts"], ["stderr"], [""], [], [1], [None]):
                error = self.server.refused(self.server.post(base + "/leases", {"worker": "w", "types": ["none"], "fields": fields}), 400, "invalid_request",
                                            "allowed are " + ", ".join(ITEM))
                self.assertEqual(error["details"]["field"], "fields")
            self.server.refused(self.server.post(base + "/leases", {"worker": "w", "types": ["none"], "fields": "id"}), 400, "invalid_request", "fields")
        self.assertEqual(self.leased("none")["attempt"], 1)  # nobody has taken it


class Answers(Base):
    def test_complete_and_settle_name_the_jobs_that_then_made(self):
        self.made("held", idempotency_key="k", payload=1)
        then = [{"type": "made"}, {"type": "held", "idempotency_key": "k", "payload": 1}, {"type": "held", "idempotency_key": "k", "payload": 2}]
        for settle in (False, True):
            with self.subTest(settle=settle):
                self.made("parent")
                item = self.leased("parent")
                if settle:
                    body = {"items": [{"id": item["id"], "token": item["token"], "complete": {"then": then}}]}
                    said, = self.ok(self.server.post("/v1/leases/settle", body))["items"]
                else:
                    said = self.ok(self.say(item, "complete", then=then))
                made, known, refused = said["then"]
                self.assertEqual((self.shown(made)["type"], self.shown(made)["parent_id"], made["deduplicated"]), ("made", item["id"], False))
                self.assertEqual(self.shown(made)["created_by"], self.actor)
                self.assertEqual((self.shown(known)["type"], known["deduplicated"]), ("held", True))
                self.assertEqual((list(refused), refused["error"]["code"]), (["error"], "idempotency_conflict"))

    def late(self, item):
        """What each call that takes a token says, which is the same."""
        calls = {word: self.say(item, word, **body) for word, body in (("complete", {}), ("fail", {"error": "no"}), ("defer", {"until": "1h"}),
                                                                      ("release", {}), ("heartbeat", {}))}
        errors = [self.server.refused(answer, 409, "stale_token") for answer in calls.values()]
        key = {"id": item["id"], "token": item["token"]}
        for base in (T, "/v1"):
            for word, body in (("complete", {}), ("fail", {"error": "no"}), ("release", {})):
                one, = self.ok(self.server.post(base + "/leases/settle", {"items": [{**key, word: body}]}))["items"]
                errors.append(one["error"])
            one, = self.ok(self.server.post(base + "/leases/extend", {"items": [key]}))["items"]
            errors.append(one["error"])
        errors.append(self.server.refused(self.server.put(T + "/effects/e", {"job": item["id"], "token": item["token"]}), 409, "stale_token"))
        for error in errors:
            self.assertEqual(error, errors[0])
        return errors[0]

    def test_a_late_word_is_told_why(self):
        # Past its deadline.
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        self.made("cut", deadline=soon)
        item = self.leased("cut")
        self.assertTrue(until(lambda: self.shown(item)["state"] == "cutoff_reached"))
        error, job = self.late(item), self.shown(item)
        self.assertEqual(error["details"], {"state": "cutoff_reached", "reason": "deadline", "when": job["finished_at"]})
        self.assertIn("ended as cutoff_reached at " + job["finished_at"], error["message"])
        # Its lease ran out, and the job waits.
        self.made("lost", max_attempts=3)
        item = self.leased("lost", lease="1s")
        self.assertTrue(until(lambda: self.shown(item)["state"] == "queued"))
        error, job = self.late(item), self.shown(item)
        lost = job["attempts"][0]
        self.assertEqual(error["details"], {"state": "queued", "reason": "lease_lost", "when": lost["finished_at"]})
        self.assertIn("ended as lease_lost at " + lost["finished_at"], error["message"])
        # And somebody else has it.
        self.leased("lost", lease="1m")
        error = self.late(item)
        self.assertEqual(error["details"], {"state": "processing", "reason": "lease_lost", "when": lost["finished_at"]})
        # Parked by its timeout.
        self.made("slow", timeout="1s", max_attempts=1)
        item = self.leased("slow", lease="1m")
        self.assertTrue(until(lambda: self.shown(item)["state"] == "dlq"))
        error, job = self.late(item), self.shown(item)
        self.assertEqual(error["details"], {"state": "dlq", "reason": "max_retries_exceeded", "when": job["attempts"][0]["finished_at"]})
        # Another worker has completed it since.
        self.made("twice", retry={"kind": "fixed", "delay": "1s"})
        item = self.leased("twice", lease="1s")
        self.assertTrue(until(lambda: self.shown(item)["state"] == "queued"))
        self.ok(self.say(self.leased("twice", wait="10s"), "complete"))
        error, job = self.late(item), self.shown(item)
        self.assertEqual(error["details"], {"state": "done", "reason": None, "when": job["finished_at"]})

    def test_a_token_that_was_never_given_out_is_told_how_the_job_stands(self):
        self.made("fresh")
        item = self.leased("fresh")
        for token in (0, item["token"] + 1):
            error = self.late({**item, "token": token})
            self.assertEqual(error["details"], {"state": "processing", "reason": None, "when": item["started_at"]})

    def test_a_foreign_job_is_told_as_an_absent_one(self):  # invariant 28
        self.ok(self.server.put("/v1/tenants/other"))
        item = {"id": self.made("foreign")["id"], "token": 1}
        self.ok(self.say(self.leased("foreign"), "complete"))
        absent = "00000000-0000-7000-8000-000000000000"
        told = [self.server.put("/v1/tenants/other/effects/e", {"job": job, "token": 1}) for job in (item["id"],)]
        for answer in told:
            self.assertEqual(self.server.refused(answer, 409, "stale_token")["details"], {})
        self.server.refused(self.server.post(f"/v1/tenants/other/jobs/{absent}/complete", {"token": 1}), 404, "job_not_found")
        self.server.refused(self.server.post(f"/v1/tenants/other/jobs/{item['id']}/complete", {"token": 1}), 404, "job_not_found")


class Histories(Base):
    def test_attempt_numbers_go_on_after_an_operators_retry(self):
        job = self.made("numbers", max_attempts=2, retry={"kind": "fixed", "delay": "0s"})
        for _ in range(2):
            for _ in range(2):
                self.ok(self.say(self.leased("numbers", wait="10s"), "fail", error="no"))
            self.assertEqual(self.shown(job)["state"], "dlq")
            self.ok(self.server.post(f"{T}/jobs/{job['id']}/retry"))
        self.ok(self.say(self.leased("numbers"), "release"))
        item = self.leased("numbers")
        self.assertEqual((item["attempt"], item["trigger"]), (1, "retry"))
        step = self.ok(self.server.get(f"{T}/jobs/{job['id']}/explain"))["steps"][-1]
        self.assertEqual((step["what"], step["why"], step["detail"]["attempt"]), ("claimed", "retry", 6))
        self.ok(self.say(item, "complete"))
        attempts = self.shown(job)["attempts"]
        self.assertEqual([one["number"] for one in attempts], [1, 2, 3, 4, 5, 6])
        self.assertEqual([one["trigger"] for one in attempts], ["api"] + 5 * ["retry"])
        self.assertEqual([one["result"] for one in attempts], 4 * ["error"] + ["released", "ok"])

    def test_what_was_given_back_was_no_try(self):
        job = self.made("back")
        for _ in range(2):
            self.ok(self.say(self.leased("back"), "release"))
        item = self.leased("back")
        self.assertEqual((item["attempt"], item["trigger"]), (1, "api"))
        self.ok(self.say(item, "complete"))
        self.assertEqual([(one["number"], one["trigger"]) for one in self.shown(job)["attempts"]], [(1, "api"), (2, "api"), (3, "api")])

    def test_a_finished_job_says_when_it_started(self):
        ends = {"done": ("complete", {}), "skipped": ("complete", {"skipped": True}), "kept": ("complete", {"output": 1})}
        for kind, (word, body) in ends.items():
            self.made(kind)
            item = self.leased(kind)
            self.ok(self.say(item, word, **body))
            listed, = self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"]
            for job in (self.shown(item), listed):
                self.assertEqual(job["started_at"], item["started_at"], kind)
            self.assertEqual(self.shown(item)["attempts"][-1]["started_at"], item["started_at"])
        self.made("parked", max_attempts=1)
        item = self.leased("parked")
        self.ok(self.say(item, "fail", error="no"))
        self.ok(self.server.post(f"{T}/jobs/{item['id']}/cancel"))
        self.assertEqual(self.shown(item)["started_at"], item["started_at"])
        never = self.made("never", delay="1h")
        self.ok(self.server.post(f"{T}/jobs/{never['id']}/cancel"))
        self.assertIsNone(self.shown(never)["started_at"])

    def test_who_made_a_job_is_a_key(self):
        key = self.ok(self.server.post("/v1/keys", {"name": "maker", "scope": "tenant", "tenants": ["default"]}), 201)
        mine = "key:" + key["id"]

        def by(method, path, body=None):
            return self.server.accepted(self.server.call(method, T + path, body, key=key["key"]))
        self.assertEqual(by("POST", "/jobs", {"type": "who", "delay": "1h"})["created_by"], mine)
        one = by("POST", "/jobs/batch", {"jobs": [{"type": "who", "delay": "1h"}]})["items"][0]
        self.assertEqual(self.shown(one)["created_by"], mine)
        ended = self.made("who.ended")
        self.ok(self.say(self.leased("who.ended"), "complete"))
        self.assertEqual((self.shown(ended)["created_by"], by("POST", f"/jobs/{ended['id']}/rerun")["created_by"]), (self.actor, mine))
        by("PUT", "/schedules/who", {"trigger": {"kind": "daily", "at": "05:00"}, "job": {"type": "who"}})
        self.assertEqual(by("POST", "/schedules/who/trigger", {})["created_by"], mine)
        by("PUT", "/schedules/who.windows", {"fan_out": False, "enabled": False, "trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "who.window"}})
        by("POST", "/schedules/who.windows/backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T02:00:00Z"})
        self.assertTrue(until(lambda: len(self.ok(self.server.get(T + "/jobs?type=who.window"))["items"]) == 2))
        self.assertEqual({job["created_by"] for job in self.ok(self.server.get(T + "/jobs?type=who.window"))["items"]}, {mine})
        trail = self.ok(self.server.get(T + "/audit"))["items"]
        self.assertIn(mine, {row["actor"] for row in trail})


if __name__ == "__main__":
    unittest.main()
