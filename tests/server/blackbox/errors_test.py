"""Each error that the API documents, on the calls that can give it; and calls that may be repeated.

  errors_test.py PROGRAM
"""
import http.client
import os
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
ABSENT = "01968e2c-5b1a-7000-8000-000000000001"
SCOPES = ["read", "worker", "tenant", "admin"]


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.server.start()
        # Far off: nothing may happen by itself.
        cls.server.put(T + "/schedules/s", {"trigger": {"kind": "every", "every": "100h"}, "job": {"type": "never"}})

    @classmethod
    def tearDownClass(cls):
        try:
            checked = cls.server.check_answers()
            print(f"REPORT {checked} answers, most of them refusals, agree with the reference", flush=True)
        finally:
            cls.server.__exit__()

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code):
        self.assertEqual((answer.status, (answer.json or {"error": {"code": None}})["error"]["code"]), (status, code), answer.body)
        self.assertTrue(answer.json["error"]["message"])
        return answer.json["error"]

    def job(self, **fields):
        return self.ok(self.server.post(T + "/jobs", {"type": "work", **fields}), 201)

    def leased(self, kind, **fields):
        self.job(type=kind, **fields)
        return self.ok(self.server.post("/v1/leases", {"worker": "w", "types": [kind], "wait": "10s", "lease": "10m"}))["items"][0]

    def routes(self):
        for path, operations in self.server.openapi()["paths"].items():
            for method, operation in operations.items():
                yield method.upper(), path, operation

    def parked(self, kind):
        one = self.leased(kind)
        self.ok(self.server.post(f"{T}/jobs/{one['id']}/fail", {"token": one["token"], "error": "no", "permanent": True}))
        return one

    # ---- 401, 403 ----
    def test_each_route_refuses_each_key_that_is_too_small(self):
        """The reference says who may; the router holds them to it."""
        keys = {scope: self.ok(self.server.post("/v1/keys", {"name": scope, "scope": scope, **({} if scope == "admin" else {"tenants": ["default"]})}),
                               201)["key"] for scope in SCOPES}
        wanted = {"A key of scope worker, tenant or admin.": 1, "A key of scope tenant or admin.": 2, "A key of scope admin.": 3}
        walked = 0
        for method, path, operation in self.routes():
            least = wanted.get(operation["description"])
            for scope in SCOPES[:least or 0]:
                self.refused(self.server.call(method, self.filled(path), None if method in ("GET", "DELETE") else {}, key=keys[scope]), 403, "forbidden")
                walked += 1
        self.assertGreater(walked, 60)

    def test_keys_that_do_not_count(self):
        for header in ("Basic abc", "Bearer", "Bearer ", "bearer " + self.server.key, self.server.key, "Bearer " + self.server.key + "x",
                       "Bearer " + self.server.key.split(".")[0] + ".x"):
            answer = self.server.call("GET", "/v1/status", key="", headers={"Authorization": header})
            self.refused(answer, 401, "unauthorized")
            self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        old = self.ok(self.server.post("/v1/keys", {"name": "old", "scope": "read", "tenants": "all", "expires_at": "2020-01-01T00:00:00Z"}), 201)["key"]
        self.refused(self.server.get("/v1/status", key=old), 401, "unauthorized")
        self.refused(self.server.sign_in({"key": "no.such"}), 401, "unauthorized")
        self.refused(self.server.sign_in({"token": self.server.login + "x"}), 401, "unauthorized")

    # ---- 404, 405 ----
    def test_what_is_absent(self):
        for method, path, code, body in (
                ("GET", f"{T}/jobs/{ABSENT}", "job", None), ("GET", f"{T}/jobs/not-an-id", "job", None), ("GET", f"{T}/jobs/{ABSENT}?wait=1s", "job", None),
                ("GET", f"{T}/jobs/{ABSENT}/explain", "job", None), ("PATCH", f"{T}/jobs/{ABSENT}", "job", {"priority": 1}),
                *(("POST", f"{T}/jobs/{ABSENT}/{word}", "job", None) for word in ("cancel", "retry", "discard", "run", "rerun")),
                *(("POST", f"{T}/jobs/{ABSENT}/{word}", "job", {"token": 1, **body}) for word, body in
                  (("heartbeat", {}), ("complete", {}), ("fail", {"error": "x"}), ("defer", {"until": "1h"}), ("release", {}))),
                ("GET", f"{T}/bulk/{ABSENT}", "bulk", None), ("POST", f"{T}/bulk/{ABSENT}/stop", "bulk", None),
                *((method, f"{T}/schedules/none{word}", "schedule", body) for method, word, body in
                  (("GET", "", None), ("PATCH", "", {"enabled": True}), ("DELETE", "", None), ("POST", "/pause", None), ("POST", "/resume", None),
                   ("POST", "/trigger", None), ("GET", "/preview", None), ("GET", "/explain", None), ("GET", "/subjects", None),
                   ("GET", "/outcomes", None), ("GET", "/outcomes/items", None))),
                ("GET", f"{T}/limits/none", "limit", None), ("DELETE", f"{T}/limits/none", "limit", None),
                ("GET", "/v1/limits/none", "limit", None), ("DELETE", "/v1/limits/none", "limit", None),
                ("GET", f"{T}/handlers/none", "handler", None), ("DELETE", f"{T}/handlers/none", "handler", None),
                ("DELETE", "/v1/keys/none", "key", None), ("GET", "/v1/tenants/none/jobs", "tenant", None),
                ("GET", "/v1/nothing", "route", None), ("GET", "/v1/tenants/default/jobs/a/b/c", "route", None)):
            with self.subTest(f"{method} {path}"):
                self.refused(self.server.call(method, path, body), 404, f"{code}_not_found")

    def test_a_method_that_a_path_does_not_take(self):
        for method, path in (("DELETE", f"{T}/jobs"), ("PUT", f"{T}/jobs"), ("POST", f"{T}/settings"), ("PATCH", "/v1/config"), ("GET", "/v1/leases")):
            answer = self.server.call(method, path)
            self.refused(answer, 405, "method_not_allowed")
            self.assertTrue(answer.headers["allow"])

    # ---- 409 ----
    def test_a_job_that_is_in_another_state(self):
        running = self.leased("state.running")
        path = f"{T}/jobs/{running['id']}"
        self.refused(self.server.post(path + "/run"), 409, "job_already_running")
        self.refused(self.server.post(path + "/retry"), 409, "job_already_running")
        self.refused(self.server.call("PATCH", path, {"priority": 1}), 409, "job_already_running")
        queued = self.job(delay="1h")
        self.refused(self.server.post(f"{T}/jobs/{queued['id']}/retry"), 409, "conflict")
        self.refused(self.server.post(f"{T}/jobs/{queued['id']}/discard"), 409, "conflict")
        self.ok(self.server.post(path + "/complete", {"token": running["token"]}))
        for word in ("cancel", "run", "retry"):
            self.refused(self.server.post(f"{path}/{word}"), 409, "conflict")
        self.refused(self.server.call("PATCH", path, {"priority": 1}), 409, "conflict")

    def test_keys_that_are_held(self):
        self.job(idempotency_key="held", payload=1, delay="1h")
        error = self.refused(self.server.post(T + "/jobs", {"type": "work", "idempotency_key": "held", "payload": 2}), 409, "idempotency_conflict")
        self.assertIn("held", error["message"])
        before = self.ok(self.server.get("/v1/status"))["counts"]
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "x"}, {"type": "work", "idempotency_key": "held", "payload": 2}]}), 409,
                     "idempotency_conflict")
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "x", "idempotency_key": "b", "payload": 1},
                                                                   {"type": "x", "idempotency_key": "b", "payload": 2}]}), 409, "idempotency_conflict")
        self.assertEqual(self.ok(self.server.get("/v1/status"))["counts"], before)

    def test_what_cannot_be_removed(self):
        self.refused(self.server.call("DELETE", "/v1/tenants/default"), 409, "conflict")
        self.ok(self.server.put("/v1/tenants/full"))
        self.ok(self.server.post("/v1/tenants/full/jobs", {"type": "x", "delay": "1h"}), 201)
        self.refused(self.server.call("DELETE", "/v1/tenants/full"), 409, "conflict")
        own = self.server.key.split(".")[0]
        self.refused(self.server.call("DELETE", "/v1/keys/" + own), 409, "conflict")
        self.refused(self.server.put(T + "/schedules/s", {"trigger": {"kind": "daily", "at": "09:00"}, "job": {"type": "n"}}, headers={"If-Match": '"9"'}), 409,
                     "conflict")
        self.refused(self.server.call("PATCH", T + "/schedules/s", {"enabled": False}, headers={"If-Match": '"9"'}), 409, "conflict")
        self.refused(self.server.post("/v1/clock", {"advance": "1h"}), 409, "conflict")

    def test_a_stale_token_on_every_call_that_takes_one(self):  # invariants 9 and 10
        one = self.leased("stale")
        path, stale = f"{T}/jobs/{one['id']}", {"token": one["token"] - 1}
        before = self.ok(self.server.get(path))
        for word, body in (("heartbeat", {"progress": 1}), ("complete", {"output": 1, "then": [{"type": "x"}]}), ("fail", {"error": "x"}),
                           ("defer", {"until": "1h"}), ("release", {})):
            for token in (one["token"] - 1, one["token"] + 1, 0, 2**62):
                self.refused(self.server.post(f"{path}/{word}", {"token": token, **body}), 409, "stale_token")
        for method, call in (("PUT", ""), ("POST", "/done"), ("POST", "/undo")):
            self.refused(self.server.call(method, f"{T}/effects/stale{call}", {"job": one["id"], **stale}), 409, "stale_token")
        item = {"id": one["id"], **stale}
        for word, body in (("complete", {}), ("fail", {"error": "x"}), ("defer", {"until": "1h"}), ("release", {})):
            for base in ("/v1", T):
                said = self.ok(self.server.post(base + "/leases/settle", {"items": [{**item, word: body}]}))["items"][0]
                self.assertEqual((said["id"], said["error"]["code"]), (one["id"], "stale_token"))
        for base in ("/v1", T):
            said = self.ok(self.server.post(base + "/leases/extend", {"items": [item, {"id": ABSENT, "token": 1}, {"id": "zz", "token": 1}]}))["items"]
            self.assertEqual([one["error"]["code"] for one in said], ["stale_token", "job_not_found", "job_not_found"])
        self.assertEqual(self.ok(self.server.get(path)), before)

    # ---- 413, 422 ----
    def test_a_body_that_is_too_large_is_refused_before_it_is_read(self):
        walked = 0
        for method, path, operation in self.routes():
            if "requestBody" not in operation:
                continue
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
            connection.putrequest(method, self.filled(path))
            connection.putheader("Authorization", "Bearer " + self.server.key)
            connection.putheader("Content-Length", str((32 << 20) + 1))
            connection.endheaders()
            response = connection.getresponse()
            self.assertEqual(response.status, 413, f"{method} {path}")
            connection.close()
            walked += 1
        self.assertGreater(walked, 25)

    def test_what_can_be_read_but_cannot_work(self):
        # Another tenant's job is like one that never was. (invariant 28)
        foreign = self.ok(self.server.post("/v1/tenants/other/jobs", {"type": "x", "delay": "1h"}), 201)["id"]
        error = self.refused(self.server.post(T + "/jobs", {"type": "x", "depends_on": [foreign]}), 422, "dependency_not_met")
        self.assertIn(foreign, error["message"])
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "x"}, {"type": "x", "depends_on": [foreign]}]}), 422, "dependency_not_met")
        base = {"trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "x"}}
        for change in ({"timezone": "Moon/Base"}, {"trigger": {"kind": "cron", "cron": "0 0 30 2 *"}}, {"trigger": {"kind": "after", "schedule": "none"}},
                       {"trigger": {"kind": "once", "at": "2020-01-01T00:00:00Z"}}, {"trigger": {"kind": "after", "schedule": "cannot"}}):
            error = self.refused(self.server.put(T + "/schedules/cannot", {**base, **change}), 422, "invalid_configuration")
            self.assertTrue(error["details"]["field"].startswith(next(iter(change))), error)
        for path, field in (("/v1/config", "timezone"), (T + "/settings", "timezone")):
            self.assertEqual(self.refused(self.server.put(path, {field: "Moon/Base"}), 422, "invalid_configuration")["details"]["field"], field)
        self.refused(self.server.post("/v1/preview", {"trigger": "every:1h", "timezone": "Moon/Base"}), 422, "invalid_configuration")
        error = self.refused(self.server.put(T + "/handlers/h", {"kind": "webhook", "url": "http://127.0.0.1:1/"}), 422, "invalid_configuration")
        self.assertEqual(error["details"]["field"], "url")

    # ---- 503 ----
    def test_while_the_scheduler_is_disabled(self):
        later = self.job(delay="1h")
        self.ok(self.server.put("/v1/config", {"enabled": False}))
        try:
            for path in ("/v1/leases", T + "/leases"):
                self.refused(self.server.post(path, {"worker": "w"}), 503, "scheduler_disabled")
            self.refused(self.server.post(f"{T}/jobs/{later['id']}/run"), 503, "scheduler_disabled")
            self.refused(self.server.post(T + "/schedules/s/trigger"), 503, "scheduler_disabled")
            self.job()
        finally:
            self.ok(self.server.put("/v1/config", {"enabled": True}))

    # ---- Repeats ----
    def test_a_word_that_is_said_again_is_answered_as_before(self):  # invariant 14
        for word, body, state in (("complete", {"output": {"a": 1}, "then": [{"type": "repeat.next", "delay": "1h"}]}, "done"),
                                  ("complete", {"skipped": True, "reason": "no need"}, "skipped"),
                                  ("fail", {"error": "x", "permanent": True}, "dlq"), ("fail", {"error": "x", "retry_after": "1h"}, "queued"),
                                  ("defer", {"until": "1h"}, "queued"), ("release", {}, "queued")):
            kind = f"repeat.{word}.{state}"
            one = self.leased(kind)
            path = f"{T}/jobs/{one['id']}"
            first = self.ok(self.server.post(f"{path}/{word}", {"token": one["token"], **body}))
            self.assertEqual(first["state"], state)
            after = self.ok(self.server.get(path))
            for _ in range(2):
                again = self.server.post(f"{path}/{word}", {"token": one["token"], **body})
                self.assertEqual((again.status, again.json), (200, first), f"{word} {body}")
            bulk = self.ok(self.server.post("/v1/leases/settle", {"items": [{"id": one["id"], "token": one["token"], word: body}]}))
            self.assertEqual(bulk["items"], [first])
            self.assertEqual(self.ok(self.server.get(path)), after)
            if state == "queued":
                self.ok(self.server.post(path + "/cancel"))
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?type=repeat.next"))["items"]), 1)

    def test_puts_and_deletes_again(self):
        for path, body in ((T + "/settings", {"weight": 2}), (T + "/queues/again", {"max_concurrency": 2}), (T + "/limits/again", {"rate": 1, "per": "1s"}),
                           ("/v1/limits/again", {"concurrency": 3}), (T + "/maintenance", {"reason": "again"}), ("/v1/tenants/again", {}),
                           ("/v1/config", {"retention": "5d"})):
            self.assertEqual(self.ok(self.server.put(path, body)), self.ok(self.server.put(path, body)))
        for path in (T + "/maintenance", T + "/maintenance"):
            self.assertEqual(self.server.call("DELETE", path).status, 204)
        body = {"trigger": {"kind": "every", "every": "1h"}, "job": {"type": "x"}}
        self.ok(self.server.put(T + "/schedules/again", body), 201)
        self.assertEqual(self.ok(self.server.put(T + "/schedules/again", body))["revision"], 1)
        self.assertEqual(self.server.call("DELETE", T + "/schedules/again").status, 204)
        self.refused(self.server.call("DELETE", T + "/schedules/again"), 404, "schedule_not_found")
        batch = {"jobs": [{"type": "x", "idempotency_key": f"again-{i}", "delay": "1h"} for i in range(3)]}
        first, second = (self.ok(self.server.post(T + "/jobs/batch", batch), 201)["items"] for _ in range(2))
        self.assertEqual([one["id"] for one in first], [one["id"] for one in second])
        self.assertEqual([one["deduplicated"] for one in second], [True] * 3)

    # ---- The reference ----
    def filled(self, path):
        return path.replace("{tenant}", "default").replace("{id}", ABSENT).replace("{", "").replace("}", "")

    def covers(self, template, path):
        """Whether a call of `path` may mean `template`: a name stands for any word."""
        wanted, given = template.split("/"), path.split("/")
        return len(wanted) == len(given) and all(one.startswith("{") or one == other for one, other in zip(wanted, given))

    def test_the_reference_is_complete(self):
        """Every call of it has an answer of its own, and its own method alone where there is one of a path."""
        document = self.server.openapi()
        for method, path, operation in self.routes():
            with self.subTest(f"{method} {path}"):
                self.assertTrue(operation["summary"])
                self.assertEqual(len(operation["tags"]), 1)
                self.assertTrue(any(status.startswith("2") for status in operation["responses"]))
                self.assertEqual([one["name"] for one in operation["parameters"] if one["in"] == "path"],
                                 [part[1:-1] for part in path.split("/") if part.startswith("{")])
                if method != "GET":  # the router knows it: it is not refused for its path or method
                    key = "" if operation["description"].startswith("No key") else "no.such"
                    answer = self.server.call(method, self.filled(path), {"zz_unknown": 1}, key=key)
                    self.assertNotIn(answer.status, (404, 405))
        # Methods that no path of the document takes are refused with those that it does.
        for path in document["paths"]:
            fitting = {method for template, operations in document["paths"].items() if self.covers(template, path) for method in operations}
            missing = [method for method in ("get", "put", "post", "patch", "delete") if method not in fitting]
            if not missing:  # a word that may also be a name
                continue
            answer = self.server.call(missing[0].upper(), self.filled(path))
            self.assertEqual(answer.status, 405, f"{missing[0]} {path}")
            self.assertEqual(set(answer.headers["allow"].lower().split(", ")), fitting, path)
        used = {content["schema"]["$ref"].rsplit("/", 1)[1]
                for _, _, operation in self.routes() if "requestBody" in operation for content in operation["requestBody"]["content"].values()}
        without = [name for name in sorted(used) if not document["components"]["schemas"][name].get("examples")]
        self.assertEqual(without, [], "bodies without an example")


if __name__ == "__main__":
    unittest.main(verbosity=1)
