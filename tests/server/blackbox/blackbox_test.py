"""The API from outside: every call, its errors, who may make it, and that answers are what the reference says."""
import datetime
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
SCOPES = ("read", "worker", "tenant", "admin")


class Blackbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        try:
            checked = cls.server.check_answers()
            print(f"REPORT {checked} answers agree with the reference", flush=True)
        finally:
            cls.server.__exit__()

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code, part=""):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.json["error"]["code"], code)
        self.assertIn(part, answer.json["error"]["message"])

    def job(self, **fields):
        return self.ok(self.server.post(T + "/jobs", {"type": "work", **fields}), 201)

    def lease(self, **fields):
        return self.ok(self.server.post("/v1/leases", {"worker": "w1", **fields}))["items"]

    # ---- Jobs ----
    def test_a_job_is_made_and_read(self):
        job = self.job(payload={"n": 1}, queue="a", priority="high", delay="1h", tags=["x"], meta={"k": "v"})
        read = self.ok(self.server.get(f"{T}/jobs/{job['id']}"))
        self.assertEqual({**read, "deduplicated": False}, job)
        self.assertEqual((read["state"], read["priority"], read["queue"]), ("queued", 2, "a"))

    def test_the_same_key_gives_the_same_job(self):
        first = self.job(idempotency_key="k1", payload=1, delay="1h")
        again = self.ok(self.server.post(T + "/jobs", {"type": "work", "idempotency_key": "k1", "payload": 1}), 200)
        self.assertEqual((again["id"], again["deduplicated"]), (first["id"], True))
        self.refused(self.server.post(T + "/jobs", {"type": "work", "idempotency_key": "k1", "payload": 2}), 409,
                     "idempotency_conflict")

    def test_a_batch_is_all_or_nothing(self):
        made = self.ok(self.server.post(T + "/jobs/batch", {"jobs": [
            {"type": "first", "delay": "1h"}, {"type": "second", "depends_on": ["#0"]}]}), 201)["items"]
        second = self.ok(self.server.get(f"{T}/jobs/{made[1]['id']}"))
        self.assertEqual((second["state"], second["depends_on"]), ("waiting", [made[0]["id"]]))
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "batch.lost"}, {"type": ""}]}), 400,
                     "invalid_request", "jobs[1]")
        self.assertEqual(self.ok(self.server.get(T + "/jobs?type=batch.lost"))["items"], [])
        self.refused(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "a", "depends_on": ["#0"]}]}), 400, "invalid_request")

    def test_lists_go_on_from_their_cursor(self):
        made = [self.job(queue="paged", delay="1h")["id"] for _ in range(7)]
        seen, cursor = [], ""
        while True:
            page = self.ok(self.server.get(f"{T}/jobs?queue=paged&limit=3" + cursor))
            seen += [item["id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual(seen, made[::-1])

    def test_actions(self):
        job = self.job(delay="1h")
        changed = self.ok(self.server.call("PATCH", f"{T}/jobs/{job['id']}", {"priority": 1}))
        self.assertEqual(changed["priority"], 1)
        self.assertEqual(self.ok(self.server.post(f"{T}/jobs/{job['id']}/cancel"))["state"], "cancelled")
        self.assertEqual(self.ok(self.server.post(f"{T}/jobs/{job['id']}/cancel"))["state"], "cancelled")
        self.refused(self.server.post(f"{T}/jobs/{job['id']}/retry"), 409, "conflict")
        again = self.ok(self.server.post(f"{T}/jobs/{job['id']}/rerun"), 201)
        self.assertEqual(again["parent_id"], job["id"])
        self.ok(self.server.post(f"{T}/jobs/{again['id']}/cancel"))
        late = self.job(delay="1h", type="late")
        self.ok(self.server.post(f"{T}/jobs/{late['id']}/run"))
        self.assertEqual(self.lease(types=["late"])[0]["id"], late["id"])
        self.refused(self.server.post(f"{T}/jobs/{late['id']}/run"), 409, "job_already_running")
        explained = self.ok(self.server.get(f"{T}/jobs/{late['id']}/explain"))
        self.assertIn("claimed", [step["what"] for step in explained["steps"]])

    def test_waiting_for_the_end_of_a_job(self):
        job = self.job(type="waited")
        answer = {}

        def wait():
            answer["job"] = self.ok(self.server.get(f"{T}/jobs/{job['id']}?wait=30s"))
        waiter = threading.Thread(target=wait)
        waiter.start()
        leased = self.lease(types=["waited"], wait="10s")[0]
        self.ok(self.server.post(f"{T}/jobs/{job['id']}/complete", {"token": leased["token"], "output": {"x": 1}}))
        waiter.join(timeout=20)
        self.assertEqual((answer["job"]["state"], answer["job"]["output"]), ("done", {"x": 1}))
        quick = self.ok(self.server.get(f"{T}/jobs/{self.job(delay='1h')['id']}?wait=1s"))
        self.assertEqual(quick["state"], "queued")

    def test_bulk_work(self):
        for _ in range(5):
            self.job(queue="bulk", delay="1h")
        bulk = self.ok(self.server.post(T + "/jobs/bulk", {"action": "cancel", "filter": {"queue": "bulk"}}), 202)
        end = time.monotonic() + 60
        now = self.ok(self.server.get(f"{T}/bulk/{bulk['id']}"))
        while now["state"] != "done" and time.monotonic() < end:
            time.sleep(0.05)
            now = self.ok(self.server.get(f"{T}/bulk/{bulk['id']}"))
        self.assertEqual((now["state"], now["done"]), ("done", 5))
        self.refused(self.server.get(T + "/bulk/none"), 404, "bulk_not_found")

    def test_waiting_for_a_job_that_bulk_work_ends(self):
        job = self.job(queue="waited", delay="1h")
        answer = {}

        def wait():
            answer["job"] = self.ok(self.server.get(f"{T}/jobs/{job['id']}?wait=60s"))
        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.2)  # it waits
        began = time.monotonic()
        self.ok(self.server.post(T + "/jobs/bulk", {"action": "cancel", "filter": {"queue": "waited"}}), 202)
        waiter.join(timeout=80)
        self.assertEqual(answer["job"]["state"], "cancelled")
        self.assertLess(time.monotonic() - began, 30, "it is told, and not found at the end of the wait")

    # ---- Workers ----
    def test_a_worker_keeps_and_settles(self):
        job = self.job(type="kept", notifies=True)
        leased = self.lease(types=["kept"], lease="30s")[0]
        self.assertEqual((leased["id"], leased["attempt"], leased["trigger"]), (job["id"], 1, "api"))
        path = f"{T}/jobs/{job['id']}"
        beat = self.ok(self.server.post(path + "/heartbeat", {"token": leased["token"], "progress": {"done": 1}}))
        self.assertEqual((beat["cancel_requested"], beat["gate"]), (False, None))
        self.assertEqual(self.ok(self.server.get(path))["progress"], {"done": 1})
        self.refused(self.server.post(path + "/complete", {"token": leased["token"] + 1}), 409, "stale_token")
        said = self.ok(self.server.post(path + "/complete", {"token": leased["token"], "then": [{"type": "next", "delay": "1h"}]}))
        self.assertEqual(said["state"], "done")
        again = self.ok(self.server.post(path + "/complete", {"token": leased["token"], "then": [{"type": "next", "delay": "1h"}]}))
        self.assertEqual(again, said)
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?type=next"))["items"]), 1)

    def test_failing_deferring_releasing(self):
        self.job(type="fails", retry={"kind": "fixed", "delay": "1h"})
        leased = self.lease(types=["fails"])[0]
        failed = self.ok(self.server.post(f"{T}/jobs/{leased['id']}/fail", {"token": leased["token"], "error": "no", "error_class": "req"}))
        self.assertEqual(failed["state"], "queued")
        read = self.ok(self.server.get(f"{T}/jobs/{leased['id']}"))
        self.assertEqual((read["attempt"], read["attempts"][0]["error"], read["last_error"]["code"]), (1, "no", "execution_failed"))
        for word, body in (("defer", {"until": "1h", "reason": "later"}), ("release", {})):
            made = self.job(type=word)
            one = self.lease(types=[word])[0]
            said = self.ok(self.server.post(f"{T}/jobs/{made['id']}/{word}", {"token": one["token"], **body}))
            self.assertEqual(said["state"], "queued")
            self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{made['id']}"))["attempt"], 0)

    def test_settling_and_extending_many(self):
        for _ in range(3):
            self.job(type="many")
        leased = self.lease(types=["many"], limit=10)
        self.assertEqual(len(leased), 3)
        kept = self.ok(self.server.post("/v1/leases/extend", {"items": [{"id": one["id"], "token": one["token"]} for one in leased]}))
        self.assertTrue(all("lease_until" in item for item in kept["items"]))
        said = self.ok(self.server.post("/v1/leases/settle", {"items": [
            {"id": leased[0]["id"], "token": leased[0]["token"], "complete": {}},
            {"id": leased[1]["id"], "token": leased[1]["token"], "fail": {"error": "x", "permanent": True}},
            {"id": leased[2]["id"], "token": 99, "release": {}}]}))["items"]
        self.assertEqual([said[0]["state"], said[1]["state"], said[2]["error"]["code"]], ["done", "dlq", "stale_token"])
        self.ok(self.server.post(f"{T}/jobs/{leased[1]['id']}/retry"))

    def test_one_new_job_wakes_one_waiting_worker(self):
        answers = []

        def wait():
            answers.append(self.lease(types=["woken"], wait="5s"))
        waiters = [threading.Thread(target=wait) for _ in range(3)]
        for waiter in waiters:
            waiter.start()
        time.sleep(0.3)
        self.job(type="woken")
        for waiter in waiters:
            waiter.join(timeout=20)
        self.assertEqual(sorted(len(one) for one in answers), [0, 0, 1])

    def test_effects_happen_once(self):
        job = self.job(type="effect")
        token = self.lease(types=["effect"])[0]["token"]
        body = {"job": job["id"], "token": token}
        self.assertEqual(self.ok(self.server.put(T + "/effects/mail-1", body))["claim"], "first")
        self.ok(self.server.post(T + "/effects/mail-1/done", {**body, "result": {"id": 7}}))
        self.assertEqual(self.ok(self.server.put(T + "/effects/mail-1", body)), {"claim": "done", "result": {"id": 7}})
        self.refused(self.server.put(T + "/effects/mail-2", {"job": job["id"], "token": token + 5}), 409, "stale_token")

    # ---- Schedules ----
    def test_the_life_of_a_schedule(self):
        path = T + "/schedules/digest"
        body = {"trigger": {"kind": "daily", "at": "08:00"}, "timezone": "Europe/London", "job": {"type": "digest.send"}}
        made = self.ok(self.server.put(path, body), 201)
        self.assertEqual((made["name"], made["revision"]), ("digest", 1))
        self.assertEqual(self.ok(self.server.put(path, body))["revision"], 1)
        self.refused(self.server.put(path, {**body, "timezone": "UTC"}, headers={"If-Match": '"7"'}), 409, "conflict")
        patched = self.ok(self.server.call("PATCH", path, {"timezone": "Europe/Paris"}))
        self.assertEqual((patched["timezone"], patched["revision"]), ("Europe/Paris", 2))
        self.assertEqual(len(self.ok(self.server.get(path + "/preview?count=3"))["items"]), 3)
        self.assertIsNotNone(self.ok(self.server.post(path + "/pause"))["paused_until"])
        self.assertIsNone(self.ok(self.server.post(path + "/resume"))["paused_until"])
        job = self.ok(self.server.post(path + "/trigger", {"payload": {"now": True}}), 201)
        self.assertEqual((job["origin"], job["priority"], job["payload"]), ("manual", 2, {"now": True}))
        self.ok(self.server.get(path + "/explain"))
        self.assertIn("digest", [one["name"] for one in self.ok(self.server.get(T + "/schedules"))["items"]])
        self.assertEqual(self.server.call("DELETE", path).status, 204)
        self.refused(self.server.get(path), 404, "schedule_not_found")
        self.refused(self.server.put(path, {**body, "timezone": "Moon/Base"}), 422, "invalid_configuration")
        self.refused(self.server.put(path, {**body, "trigger": {"kind": "rrule", "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}}),
                     422, "invalid_configuration")

    def test_preview_of_a_trigger(self):
        items = self.ok(self.server.post("/v1/preview", {"trigger": "daily:02:30", "timezone": "Europe/Berlin",
                                                         "from": "2026-03-28T00:00:00Z", "count": 3}))["items"]
        self.assertEqual(items[1]["note"], "gap_shifted")

    # ---- Settings ----
    def test_settings_queues_limits_maintenance_config(self):
        self.assertEqual(self.ok(self.server.put(T + "/settings", {"weight": 3}))["weight"], 3)
        self.ok(self.server.put(T + "/queues/slow", {"max_concurrency": 2}))
        self.assertIn("slow", [one["queue"] for one in self.ok(self.server.get(T + "/queues"))["items"]])
        for base in (T, "/v1"):
            self.ok(self.server.put(base + "/limits/api", {"rate": 10, "per": "1s"}))
            self.assertEqual(self.ok(self.server.get(base + "/limits/api"))["rate"], 10)
            self.assertEqual(self.ok(self.server.get(base + "/limits"))["items"][0]["limit"], "api")
            self.assertEqual(self.server.call("DELETE", base + "/limits/api").status, 204)
            self.refused(self.server.get(base + "/limits/api"), 404, "limit_not_found")
        self.refused(self.server.put(T + "/limits/api", {"rate": -1}), 400, "invalid_request")
        self.ok(self.server.put(T + "/maintenance", {"reason": "moving"}))
        held = self.job(type="held")
        self.assertEqual(self.lease(types=["held"]), [])
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{held['id']}"))["defer_reason"], "maintenance")
        self.assertEqual(self.server.call("DELETE", T + "/maintenance").status, 204)
        self.assertEqual(len(self.lease(types=["held"], wait="10s")), 1)
        self.ok(self.server.put("/v1/config", {"enabled": False}))
        self.refused(self.server.post("/v1/leases", {"worker": "w"}), 503, "scheduler_disabled")
        self.ok(self.server.put("/v1/config", {"enabled": True}))
        self.refused(self.server.put("/v1/config", {"colour": 1}), 400, "invalid_request", "colour")

    # ---- Who may ----
    def keys(self):
        made = {}
        self.ok(self.server.put("/v1/tenants/acme"))
        for scope, tenants in (("read", ["acme"]), ("worker", ["acme"]), ("tenant", ["acme"]), ("admin", None)):
            body = {"name": scope, "scope": scope, **({"tenants": tenants} if tenants else {})}
            made[scope] = self.ok(self.server.post("/v1/keys", body), 201)
        return made

    def test_every_route_wants_a_key(self):
        open_routes = {("get", "/healthz"), ("get", "/readyz"), ("post", "/login"), ("post", "/logout"), ("get", "/"), ("get", "/page.css"), ("get", "/page.js")}
        walked = 0
        for path, operations in self.server.openapi()["paths"].items():
            for method in operations:
                if (method, path) in open_routes:
                    continue
                answer = self.server.call(method.upper(), path.replace("{", "").replace("}", ""), key="")
                self.assertEqual(answer.status, 401, f"{method} {path}")
                wrong = self.server.call(method.upper(), path.replace("{", "").replace("}", ""), key="no.such")
                self.assertEqual(wrong.status, 401, f"{method} {path}")
                walked += 1
        self.assertGreater(walked, 50)

    def test_a_foreign_tenant_looks_like_an_absent_one(self):
        key = self.keys()["tenant"]["key"]
        foreign = self.job(delay="1h")["id"]
        for path, operations in self.server.openapi()["paths"].items():
            if not path.startswith("/v1/tenants/{tenant}"):
                continue
            for method in operations:
                def ask(tenant):
                    filled = path.replace("{tenant}", tenant).replace("{id}", foreign)
                    filled = filled.replace("{", "").replace("}", "")
                    return self.server.call(method.upper(), filled, {}, key=key)
                theirs, nobodys = ask("default"), ask("no-such-tenant")
                # What wants a signature does not look at keys.
                self.assertEqual(theirs.status, 401 if operations[method].get("security") == [] else 404, f"{method} {path}")
                self.assertEqual((theirs.status, theirs.json["error"]["code"]), (nobodys.status, nobodys.json["error"]["code"]))
        # Under a tenant of one's own, another's job is like one that never was.
        for word, body in (("", None), ("/explain", None)):
            theirs = self.server.get(f"/v1/tenants/acme/jobs/{foreign}{word}", key=key)
            self.refused(theirs, 404, "job_not_found")
        for word in ("cancel", "retry", "run", "rerun"):
            self.refused(self.server.post(f"/v1/tenants/acme/jobs/{foreign}/{word}", key=key), 404, "job_not_found")
        for word in ("heartbeat", "complete", "release"):
            self.refused(self.server.post(f"/v1/tenants/acme/jobs/{foreign}/{word}", {"token": 1}, key=key), 404, "job_not_found")

    def test_scopes(self):
        keys = self.keys()
        base = "/v1/tenants/acme"
        self.ok(self.server.post(base + "/jobs", {"type": "a"}, key=keys["tenant"]["key"]), 201)
        self.refused(self.server.post(base + "/jobs", {"type": "a"}, key=keys["worker"]["key"]), 403, "forbidden")
        self.assertEqual(len(self.ok(self.server.post("/v1/leases", {"worker": "w"}, key=keys["worker"]["key"]))["items"]), 1)
        self.refused(self.server.post("/v1/leases", {"worker": "w"}, key=keys["read"]["key"]), 403, "forbidden")
        self.ok(self.server.get(base + "/jobs", key=keys["read"]["key"]))
        self.refused(self.server.get("/v1/keys", key=keys["tenant"]["key"]), 403, "forbidden")
        self.assertEqual([one["tenant"] for one in self.ok(self.server.get("/v1/tenants", key=keys["read"]["key"]))["items"]], ["acme"])
        self.assertEqual(self.server.call("DELETE", "/v1/keys/" + keys["read"]["id"]).status, 204)
        self.assertEqual(self.server.get(base + "/jobs", key=keys["read"]["key"]).status, 401)
        listed = self.server.get("/v1/keys")
        for key in keys.values():
            self.assertNotIn(key["key"].split(".")[1].encode(), listed.body)

    def test_a_key_says_for_which_tenants_it_is(self):
        """All is said in words; what is left out or empty never means it, and a key makes no tenant."""
        before = [one["id"] for one in self.ok(self.server.get("/v1/keys"))["items"]]
        tenants = self.ok(self.server.get("/v1/tenants"))["items"]
        for scope in ("read", "worker", "tenant"):
            key = {"name": scope, "scope": scope}
            self.refused(self.server.post("/v1/keys", key), 400, "invalid_request", "tenants")
            for wrong in ([], "", "ALL", "everybody", ["all", 5], {}, True, 5):
                self.refused(self.server.post("/v1/keys", {**key, "tenants": wrong}), 400, "invalid_request", "tenants")
            self.refused(self.server.post("/v1/keys", {**key, "tenants": ["default", "no-such-tenant"]}), 422, "invalid_configuration",
                         "no-such-tenant")
            self.refused(self.server.post("/v1/keys", {**key, "tenants": ["all"]}), 422, "invalid_configuration", '"all"')
        for wrong in ([], ["default"]):
            self.refused(self.server.post("/v1/keys", {"name": "a", "scope": "admin", "tenants": wrong}), 400, "invalid_request", "tenants")
        self.assertEqual([one["id"] for one in self.ok(self.server.get("/v1/keys"))["items"]], before)
        self.assertEqual(self.ok(self.server.get("/v1/tenants"))["items"], tenants)
        for scope in SCOPES:
            made = self.ok(self.server.post("/v1/keys", {"name": scope, "scope": scope, "tenants": "all"}), 201)
            self.assertEqual(self.ok(self.server.get("/v1/tenants", key=made["key"]))["items"], tenants)
            listed = {one["id"]: one["tenants"] for one in self.ok(self.server.get("/v1/keys"))["items"]}
            self.assertEqual(listed[made["id"]], "all")
            self.assertEqual(self.server.call("DELETE", "/v1/keys/" + made["id"]).status, 204)

    def test_writes_leave_a_trail(self):
        self.ok(self.server.put("/v1/tenants/trail/settings", {"weight": 2}))
        actions = [row["action"] for row in self.ok(self.server.get("/v1/tenants/trail/audit"))["items"]]
        self.assertEqual(actions, ["tenant.make", "put"])

    def test_the_page_signs_in_once(self):
        page = self.server.get("/", key="")
        self.assertIn(b"<title>Carillon</title>", page.body)
        self.assertIn("default-src 'none'", page.headers["content-security-policy"])
        token = self.server.login
        signed = self.server.sign_in({"token": token})
        self.ok(signed)
        cookie = signed.headers["set-cookie"].split(";")[0]
        self.assertIn("HttpOnly", signed.headers["set-cookie"])
        self.assertIn("SameSite=Strict", signed.headers["set-cookie"])
        self.ok(self.server.get("/v1/status", key="", headers={"Cookie": cookie}))
        self.assertEqual(self.server.sign_in({"token": token}).status, 401)
        origin = f"http://127.0.0.1:{self.server.port}"
        bare = self.server.post(T + "/jobs", {"type": "a"}, key="", headers={"Cookie": cookie, "Origin": origin})
        self.assertEqual(bare.status, 403)
        foreign = self.server.post(T + "/jobs", {"type": "a"}, key="", headers={
            "Cookie": cookie, "Origin": "http://evil.example", "X-CSRF-Token": signed.json["csrf_token"]})
        self.assertEqual(foreign.status, 403)
        self.ok(self.server.post(T + "/jobs", {"type": "a", "delay": "1h"}, key="", headers={
            "Cookie": cookie, "Origin": origin, "X-CSRF-Token": signed.json["csrf_token"]}), 201)

    def test_signing_in_is_for_our_own_page_alone(self):
        body, own = {"key": self.server.key}, {"Origin": self.server.origin, "Content-Type": "application/json"}
        for origin in (None, "null", "http://evil.example", f"http://127.0.0.1:{self.server.port + 1}", "http://localhost", ""):
            headers = {**own, "Origin": origin} if origin is not None else {"Content-Type": "application/json"}
            answer = self.server.post("/login", body, key="", headers=headers)
            self.refused(answer, 403, "forbidden", "Origin")
            self.assertNotIn("set-cookie", answer.headers)
            self.refused(self.server.post("/logout", key="", headers={name: value for name, value in headers.items() if name == "Origin"}),
                         403, "forbidden", "Origin")
        for kind in (None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data"):
            headers = {**own, "Content-Type": kind} if kind else {"Origin": self.server.origin}
            answer = self.server.post("/login", body, key="", headers=headers)
            self.refused(answer, 400, "invalid_request", "application/json")
            self.assertNotIn("set-cookie", answer.headers)
        self.ok(self.server.post("/login", body, key="", headers={**own, "Content-Type": "Application/JSON; charset=utf-8"}))

    def test_signing_out(self):
        signed = self.server.sign_in({"key": self.server.key})
        name, cookie = signed.headers["set-cookie"].split(";")[0].split("=", 1)
        self.assertEqual(name, f"carillon_session_{self.server.port}")
        mine = {"Cookie": f"other=1; {name}={cookie}"}
        self.ok(self.server.get("/v1/status", key="", headers=mine))
        # That of a server on another port is not ours.
        self.assertEqual(self.server.get("/v1/status", key="", headers={"Cookie": f"carillon_session_1={cookie}"}).status, 401)
        self.assertEqual(self.server.post("/logout", key="", headers={**mine, "Origin": "http://evil.example"}).status, 403)
        self.ok(self.server.get("/v1/status", key="", headers=mine))
        out = self.server.post("/logout", key="", headers={**mine, "Origin": self.server.origin})
        self.assertEqual(out.status, 204)
        self.assertIn(f"{name}=; ", out.headers["set-cookie"])
        self.assertIn("Max-Age=0", out.headers["set-cookie"])
        self.assertEqual(self.server.get("/v1/status", key="", headers=mine).status, 401)

    def test_a_key_has_so_many_sessions(self):
        key = self.ok(self.server.post("/v1/keys", {"name": "many", "scope": "read", "tenants": "all"}), 201)["key"]
        cookies = [self.server.sign_in({"key": key}).headers["set-cookie"].split(";")[0] for _ in range(21)]
        others = self.server.sign_in({"key": self.server.key}).headers["set-cookie"].split(";")[0]
        stand = [self.server.get("/v1/status", key="", headers={"Cookie": one}).status for one in [*cookies, others]]
        self.assertEqual(stand, [401] + [200] * 21, "the oldest makes room, and nobody else's")

    def test_answers_are_what_they_say_and_are_not_kept(self):
        for path, kept in (("/v1/status", "no-store"), ("/v1/nothing", "no-store"), ("/healthz", "no-store"), ("/", "no-store"),
                           ("/page.js", "no-cache"), ("/page.css", "no-cache"), ("/metrics", "no-store"), ("/%zz", "no-store")):
            headers = self.server.get(path).headers
            self.assertEqual((headers["x-content-type-options"], headers["cache-control"]), ("nosniff", kept), path)

    # ---- Bad input ----
    def test_bad_bodies(self):
        bad = [('{"type": "a",}', "line 1"), ("[]", "job"), ('{"type": 1}', "type"), ('{"type":"a","typo":1}', "typo"),
               ('{"type":"a","priority":9}', "priority"), ('{"type":"a","priority":-1}', "priority"), ('{"type":"a","type":"b"}', "type"),
               ('{"type":"a","payload":NaN}', "line 1"), ('{"type":"a","run_at":"10000-01-01T00:00:00Z"}', "run_at"),
               ('{"type":"a","delay":"x"}', "delay"), ('{"type":"a","delay":"-5s"}', "delay"), ('{"type":"a","run_at":"2026-01-01T00:00:00Z","delay":"1s"}', "delay"),
               (b'{"type":"\xff"}', "UTF-8"), ("", ""), ('{"type":"' + "x" * 300 + '"}', "type"), ("[" * 10000, "")]
        before = len(self.ok(self.server.get(T + "/jobs?type=a&limit=500"))["items"])
        for text, part in bad:
            answer = self.server.call("POST", T + "/jobs", raw=text)
            self.assertIn(answer.status, (400, 422), f"{text[:60]} {answer.body}")
            self.assertIn(answer.json["error"]["code"], ("invalid_request", "invalid_configuration"))
            self.assertIn(part, answer.json["error"]["message"])
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?type=a&limit=500"))["items"]), before)
        self.refused(self.server.post(T + "/jobs", {"type": "a", "depends_on": ["01a1e562-f79c-7000-8001-460fc96ad6db"]}), 422, "dependency_not_met")

    def test_bad_queries_and_paths(self):
        self.refused(self.server.get(T + "/jobs?limit=0"), 400, "invalid_request", "limit")
        self.refused(self.server.get(T + "/jobs?limit=501"), 400, "invalid_request", "limit")
        self.refused(self.server.get(T + "/jobs?colour=red"), 400, "invalid_request", "colour")
        self.refused(self.server.get(T + "/jobs?state=done,odd"), 400, "invalid_request", "odd")
        self.refused(self.server.get(T + "/jobs?since=yesterday"), 400, "invalid_request", "since")
        self.refused(self.server.get(T + "/jobs?cursor=x"), 400, "invalid_request", "cursor")
        self.refused(self.server.get(T + "/jobs/none"), 404, "job_not_found")
        self.refused(self.server.get("/v2/jobs"), 404, "route_not_found")
        wrong = self.server.call("DELETE", T + "/jobs")
        self.refused(wrong, 405, "method_not_allowed")
        self.assertEqual(wrong.headers["allow"], "POST, GET")

    def test_a_body_that_is_too_large(self):
        answer = self.server.call("POST", T + "/jobs", raw='{"type":"a","payload":"' + "x" * (3 << 20) + '"}')
        self.assertEqual(answer.status, 413)

    # ---- The process ----
    def test_status_metrics_and_readiness(self):
        self.assertEqual(self.ok(self.server.get("/healthz", key=""))["status"], "ok")
        self.assertEqual(self.ok(self.server.get("/readyz"))["status"], "ready")
        self.job(type="measured")
        leased = self.lease(types=["measured"])[0]
        self.ok(self.server.post(f"{T}/jobs/{leased['id']}/complete", {"token": leased["token"]}))
        text = self.server.get("/metrics").body.decode()
        self.assertRegex(text, r"(?m)^carillon_jobs_picked_total [1-9]")
        self.assertRegex(text, r"(?m)^carillon_jobs_succeeded_total [1-9]")
        self.assertGreaterEqual(self.ok(self.server.get("/v1/status"))["totals"]["picked"], 1)

    def test_events_as_they_happen(self):
        stream = socket.create_connection(("127.0.0.1", self.server.port), timeout=20)
        stream.sendall(f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.server.key}\r\n\r\n".encode())
        heard = b""
        while b"events follow" not in heard:
            heard += stream.recv(4096)
        job = self.job(delay="1h")
        while job["id"].encode() not in heard:
            heard += stream.recv(4096)
        self.assertIn(b"event: job.changed", heard)
        stream.close()


class Restart(unittest.TestCase):
    def test_what_was_answered_is_there_after_a_kill(self):
        with Server(PROGRAM) as server:
            made = [server.post(T + "/jobs", {"type": "kept", "delay": "1h"}).json["id"] for _ in range(20)]
            key = server.post("/v1/keys", {"name": "later", "scope": "admin"}).json["key"]
            server.put("/v1/tenants/acme/settings", {"weight": 2})
            server.stop(signal.SIGKILL)
            server.start()
            listed = server.get(T + "/jobs?type=kept&limit=500", key=key)
            self.assertEqual(sorted(one["id"] for one in listed.json["items"]), sorted(made))
            self.assertIn("acme", [one["tenant"] for one in server.get("/v1/tenants").json["items"]])

    def test_a_tenant_outlives_the_keys_that_name_it(self):
        with Server(PROGRAM) as server:
            server.put("/v1/tenants/acme")
            key = server.post("/v1/keys", {"name": "k", "scope": "tenant", "tenants": ["acme"]}).json
            job = server.post("/v1/tenants/acme/jobs", {"type": "kept", "delay": "1h"}, key=key["key"]).json
            server.call("DELETE", "/v1/keys/" + key["id"])
            server.stop(signal.SIGKILL)
            server.start()
            self.assertEqual(server.get(f"/v1/tenants/acme/jobs/{job['id']}").json["id"], job["id"])

    def test_a_key_that_was_stored_with_an_empty_list_is_for_all_still(self):
        """Keys of scope read, worker and admin could be made so once; nobody's key is to change by an update."""
        with Server(PROGRAM) as server:
            made = {scope: server.post("/v1/keys", {"name": scope, "scope": scope, "tenants": "all"}).json for scope in SCOPES}
            server.put("/v1/tenants/acme")
            server.stop()
            with sqlite3.connect(os.path.join(server.folder, "carillon.db")) as database:
                changed = sum(database.execute(
                    """update documents set body = replace(body, '"tenants":"all"', '"tenants":[]') where kind = 'key' and name = ?""",
                    (made[scope]["id"],)).rowcount for scope in SCOPES)
                self.assertEqual(changed, len(SCOPES))
            server.start()
            for scope in SCOPES:
                names = [one["tenant"] for one in server.get("/v1/tenants", key=made[scope]["key"]).json.get("items", [])]
                # Of scope tenant there was never one without names: it is nobody's.
                self.assertEqual(names, [] if scope == "tenant" else ["acme", "default"], scope)

    def test_it_ends_well_when_asked(self):
        with Server(PROGRAM) as server:
            waiting = threading.Thread(target=lambda: server.post("/v1/leases", {"worker": "w", "wait": "2s"}))
            waiting.start()
            time.sleep(0.2)
            self.assertEqual(server.stop(), 0)
            waiting.join(timeout=30)


class Operations(unittest.TestCase):
    """What an operator sets and sees: the log, pins and defaults, health, progress."""

    def settings(self, **values):
        return [part for name, value in values.items() for part in ("--set", f"{name.replace('__', '.')}={value}")]

    def said(self, server, how=signal.SIGTERM, code=0):
        """Ends it; what it has logged, as text."""
        server.process.send_signal(how)
        self.assertEqual(server.process.wait(timeout=60), code)
        with server.process.stdout, server.process.stderr as log:
            return log.read()

    def ended(self, server, **how):
        """The same, a line an object."""
        return [json.loads(line) for line in self.said(server, **how).splitlines()]

    def logged(self, lines, message):
        return [line for line in lines if line["msg"].startswith(message)]

    def assert_is_in(self, length, instant, since):
        """So many seconds after something that happened between `since` and now; the clock may be set a little meanwhile."""
        self.assertGreaterEqual(seconds(instant) - length, since - 1)
        self.assertLessEqual(seconds(instant) - length, time.time() + 1)

    # ---- The log ----
    def test_start_and_stop_are_told_and_nothing_everyday(self):
        with Server(PROGRAM) as server:
            server.post(T + "/jobs", {"type": "work"})
            port = server.port
            lines = self.ended(server)
        self.assertEqual([line["msg"] for line in lines], ["started", "draining", "stopped"])
        started = lines[0]
        self.assertEqual((started["level"], started["address"]), ("info", f"127.0.0.1:{port}"))
        self.assertEqual(started["db"], "sqlite:carillon.db")
        self.assertTrue(started["version"])
        self.assertRegex(started["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_debug_tells_attempts_requests_and_what_was_ignored_but_no_payload(self):
        with Server(PROGRAM, "--log-level", "debug") as server:
            body = {"type": "work", "idempotency_key": "once", "payload": {"card": "payload-4711"}}
            job = server.post(T + "/jobs", body).json
            server.post(T + "/jobs", body)
            leased = server.post("/v1/leases", {"worker": "w"}).json["items"][0]
            path = f"{T}/jobs/{job['id']}"
            server.post(path + "/fail", {"token": leased["token"], "error": "cannot charge payload-4711: declined" + " again" * 1000, "error_class": "req"})
            server.post(path + "/complete", {"token": leased["token"] + 5})
            evil = server.post(T + "/jobs", {"type": "evil"}).json
            leased = server.post("/v1/leases", {"worker": "w", "types": ["evil"]}).json["items"][0]
            forged = 'req\n{"level":"error","msg":"forged"}'
            server.post(f"{T}/jobs/{evil['id']}/fail", {"token": leased["token"], "error": "x", "error_class": forged})
            server.get(T + "/jobs?text=query-4711")
            server.get("/v1/status", key="not.a-key-4711")
            key = server.key
            lines = self.ended(server)
        ignored = self.logged(lines, "enqueue ignored")[0]
        self.assertEqual((ignored["level"], ignored["job_id"], ignored["reason"]), ("debug", job["id"], "idempotency_key"))
        failed = self.logged(lines, "attempt failed")[0]
        self.assertEqual((failed["tenant"], failed["job_id"], failed["type"], failed["attempt"], failed["err_code"]),
                         ("default", job["id"], "work", 1, "req"))
        self.assertIn("duration_ms", failed)
        # What it said, cut, and without what its payload says.
        self.assertTrue(failed["error"].startswith("cannot charge [payload]: declined again"), failed)
        self.assertLessEqual(len(failed["error"].encode()), 500)
        self.assertTrue(self.logged(lines, "attempt starts"))
        self.assertTrue(self.logged(lines, "stale ack") or self.logged(lines, "late success"))
        requests = {(line["method"], line["path"], line["status"]) for line in self.logged(lines, "request")}
        self.assertIn(("POST", T + "/jobs", 201), requests)
        self.assertIn(("POST", T + "/jobs", 200), requests)
        self.assertIn(("GET", T + "/jobs", 200), requests)
        self.assertIn(("GET", "/v1/status", 401), requests)
        self.assertEqual([line for line in lines if line["level"] == "error"], [])
        self.assertEqual(self.logged(lines, "attempt failed")[1]["err_code"], forged)
        text = json.dumps(lines)
        for secret in ("payload-4711", "query-4711", "key-4711", key):
            self.assertNotIn(secret, text)

    def test_text_if_told_and_quiet_if_told(self):
        with Server(PROGRAM, "--log-format", "text") as server:
            text = self.said(server)
        self.assertRegex(text, r"(?m)^\S+Z INFO  started  version=\S+  address=127\.0\.0\.1:\d+  db=sqlite:carillon\.db$")
        with Server(PROGRAM, "--log-level", "error") as server:
            self.assertEqual(self.ended(server), [])

    def test_settings_of_windows_hold_for_schedules_that_say_nothing(self):
        settings = self.settings(scheduler__max_backfill_windows=3, scheduler__min_window_seconds=1800)
        with Server(PROGRAM, "--clock", "2026-01-02T00:00:00Z@0", *settings) as server:
            windows = {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "sync"}}
            self.assertEqual(server.put(T + "/schedules/sync", windows).status, 201)
            self.assertEqual(server.put(T + "/schedules/short", {**windows, "trigger": {"kind": "windows", "interval": "20m"}}).status, 422)
            self.assertEqual(server.put(T + "/schedules/sync/subjects/a", {"interval": "20m"}).status, 422)
            self.assertEqual(server.put(T + "/schedules/sync/subjects/a", {"cursor_end": "2026-01-01T00:00:00Z"}).status, 201)
            server.post("/v1/clock", {"advance": "1s"})
            self.assertEqual(len(server.get(T + "/jobs?schedule=sync").json["items"]), 3)
            self.assertIn("3 windows are open", server.get(T + "/schedules/sync/subjects/a/explain").json["summary"])
            self.assertEqual([line["msg"] for line in self.ended(server) if line["level"] == "warn"], [])

    def test_a_start_that_fails_says_why(self):
        with tempfile.TemporaryDirectory(prefix="carillon-blackbox-") as folder:
            ran = subprocess.run([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:no/such/folder/x.db"],
                                 cwd=folder, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
        self.assertEqual(ran.returncode, 1)
        line = json.loads(ran.stderr)
        self.assertEqual(line["level"], "error")
        self.assertIn("no/such/folder", line["msg"])

    def test_a_crash_leaves_a_line(self):
        with Server(PROGRAM) as server:
            last = self.ended(server, how=signal.SIGABRT, code=-signal.SIGABRT)[-1]
        self.assertEqual((last["level"], last["msg"], last["err_code"]), ("error", "crash", "SIGABRT"))

    # ---- Pins and defaults ----
    def test_what_is_pinned_is_shown_and_cannot_be_put(self):
        flags = self.settings(enabled="false", max_concurrent_jobs=3, timezone="Europe/London",
                              default_retry_backoff_seconds=90, worker__max_attempts=2, tick_ms=500)
        with Server(PROGRAM, *flags) as server:
            wanted = {"enabled": False, "max_concurrent_jobs": 3, "timezone": "Europe/London", "retention": "7d",
                      "default_retry_backoff_seconds": 90, "default_retry_max_attempts": 2, "check_interval_seconds": 0.5}
            self.assertEqual(server.get("/v1/config").json, wanted)
            for field, value in (("enabled", True), ("max_concurrent_jobs", 5), ("timezone", None),
                                 ("default_retry_backoff_seconds", 5), ("default_retry_max_attempts", 5),
                                 ("check_interval_seconds", 5)):
                answer = server.put("/v1/config", {field: value})
                self.assertEqual((answer.status, answer.json["error"]["code"]), (409, "conflict"), field)
                self.assertEqual(answer.json["error"]["details"]["field"], field)
                self.assertIn("flag", answer.json["error"]["details"]["pinned_by"])
            self.assertEqual(server.put("/v1/config", {"retention": "3d"}).json, {**wanted, "retention": "3d"})
            self.assertEqual(server.post("/v1/leases", {"worker": "w"}).json["error"]["code"], "scheduler_disabled")
            self.assertEqual(server.post(T + "/jobs", {"type": "work"}).status, 201)
            server.check_answers()

    def test_what_is_stored_holds_until_a_pin_comes(self):
        with Server(PROGRAM) as server:
            self.assertEqual(server.get("/v1/config").json["default_retry_max_attempts"], 5)
            put = server.put("/v1/config", {"timezone": "Europe/Paris", "default_retry_max_attempts": 7,
                                            "default_retry_backoff_seconds": 30, "check_interval_seconds": 2})
            self.assertEqual(put.status, 200)
            self.assertEqual((put.json["timezone"], put.json["check_interval_seconds"]), ("Europe/Paris", 2))
            self.assertEqual(server.post(T + "/jobs", {"type": "work"}).json["max_attempts"], 7)
            server.stop()
            server.start()
            self.assertEqual(server.get("/v1/config").json["timezone"], "Europe/Paris")
            server.stop()
            server.flags = self.settings(timezone="Europe/London")
            server.start()
            self.assertEqual(server.get("/v1/config").json["timezone"], "Europe/London")
            self.assertEqual(server.get("/v1/config").json["default_retry_max_attempts"], 7)

    def test_a_job_that_says_nothing_gets_the_servers_defaults(self):
        flags = self.settings(job_timeout_ms=90000, worker__lease_ms=15000, worker__max_attempts=2,
                              default_retry_backoff_seconds=600, worker__batch=5)
        with Server(PROGRAM, *flags) as server:
            made = server.post(T + "/jobs", {"type": "silent", "tags": ["x"]}).json
            self.assertEqual((made["timeout"], made["max_attempts"]), ("1m30s", 2))
            self.assertEqual(server.get(f"{T}/jobs/{made['id']}").json["timeout"], "1m30s")
            said = server.post(T + "/jobs", {"type": "says", "timeout": "5m", "max_attempts": 5, "delay": "1h"}).json
            self.assertEqual((said["timeout"], said["max_attempts"]), ("5m", 5))
            batch = server.post(T + "/jobs/batch", {"jobs": [{"type": "silent.batch", "delay": "1h"}]}).json["items"][0]
            self.assertEqual(server.get(f"{T}/jobs/{batch['id']}").json["max_attempts"], 2)
            server.put(T + "/schedules/s", {"trigger": {"kind": "every", "every": "1h"}, "job": {"type": "silent.planned"}})
            planned = server.post(T + "/schedules/s/trigger").json
            self.assertEqual((planned["timeout"], planned["max_attempts"]), ("1m30s", 2))

            before = time.time()
            leased = server.post("/v1/leases", {"worker": "w", "types": ["silent"]}).json["items"][0]
            self.assert_is_in(15, leased["lease_until"], since=before)
            then = {"token": leased["token"], "then": [{"type": "silent.after", "delay": "1h"}]}
            server.post(f"{T}/jobs/{made['id']}/complete", then)
            after = server.get(T + "/jobs?type=silent.after").json["items"][0]
            self.assertEqual((after["timeout"], after["max_attempts"]), ("1m30s", 2))

            again = server.post(T + "/jobs", {"type": "fails"}).json
            leased = server.post("/v1/leases", {"worker": "w", "types": ["fails"]}).json["items"][0]
            before = time.time()
            failed = server.post(f"{T}/jobs/{again['id']}/fail", {"token": leased["token"], "error": "no"}).json
            self.assert_is_in(600, failed["run_at"], since=before)

    def test_behind_a_proxy_the_session_is_for_tls_alone(self):
        for flags, secure in ((["--behind-proxy"], True), ([], False)):
            with Server(PROGRAM, *flags) as server:
                answer = server.sign_in({"key": server.key})
                self.assertEqual("Secure" in answer.headers["set-cookie"], secure)

    # ---- Health ----
    def test_readiness_says_which_check_failed(self):
        with Server(PROGRAM) as server:
            self.assertEqual(server.get("/readyz", key="").json, {"status": "ready"})
            ready = server.get("/v1/readiness").json
            self.assertEqual(ready["status"], "ready")
            self.assertTrue(all(check["ok"] for check in ready["checks"].values()))
            server.check_answers()
            with sqlite3.connect(os.path.join(server.folder, "carillon.db"), isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")  # another writer, which does not end
                time.sleep(1.1)
                answer = server.get("/v1/readiness")
                open_to_all = server.get("/readyz", key="")
                other.execute("ROLLBACK")
            other.close()
            self.assertEqual(answer.status, 503, answer.body)
            self.assertIn(answer.json["error"]["code"], ("store_unavailable", "not_ready"))
            checks = answer.json["error"]["details"]["checks"]
            self.assertFalse(checks["store"]["ok"])
            self.assertEqual((open_to_all.status, open_to_all.json["error"]),
                             (503, {"code": "not_ready", "message": "the server is not ready", "details": {}}))
            for _ in range(100):
                if server.get("/readyz").status == 200:
                    break
                time.sleep(0.1)
            self.assertEqual(server.get("/readyz").status, 200)

    def test_status_counts_what_there_is(self):
        with Server(PROGRAM) as server:
            for _ in range(3):
                server.post(T + "/jobs", {"type": "work"})
            server.post("/v1/tenants/acme/jobs", {"type": "other", "delay": "1h"})
            server.post(T + "/leases", {"worker": "w1", "types": ["work"]})
            status = server.get("/v1/status").json
            self.assertEqual((status["store"], status["leases"], status["workers"], status["ready"]), ("sqlite", 1, 1, 2))
            self.assertEqual((status["counts"]["queued"], status["counts"]["processing"]), (3, 1))
            self.assertIsNotNone(status["lag"]["oldest_due"])
            self.assertRegex(status["uptime"], r"^(\d+(m|s|ms))+$")
            key = server.post("/v1/keys", {"name": "acme", "scope": "read", "tenants": ["acme"]}).json["key"]
            mine = server.get("/v1/status", key=key).json
            self.assertEqual((mine["counts"]["queued"], mine["counts"]["processing"], mine["workers"]), (1, 0, 0))
            server.check_answers()

    # ---- Backups ----
    def test_a_copy_through_sqlite_is_whole_while_the_server_writes(self):
        with Server(PROGRAM) as server, tempfile.TemporaryDirectory(prefix="carillon-blackbox-") as folder:
            made = [server.post(T + "/jobs", {"type": "kept", "delay": "1h"}).json["id"] for _ in range(20)]
            writing = threading.Event()

            def write():
                while not writing.is_set():
                    server.post(T + "/jobs", {"type": "meanwhile", "delay": "1h"})
            writer = threading.Thread(target=write)
            writer.start()
            source = sqlite3.connect(os.path.join(server.folder, "carillon.db"))
            copy = sqlite3.connect(os.path.join(folder, "carillon.db"))
            source.backup(copy)
            writing.set()
            writer.join(timeout=60)
            self.assertEqual(copy.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            source.close()
            copy.close()
            shutil.copy(os.path.join(server.folder, "carillon.key"), folder)
            with Server(PROGRAM, folder=folder) as restored:
                listed = restored.get(T + "/jobs?type=kept&limit=500").json["items"]
                self.assertEqual(sorted(one["id"] for one in listed), sorted(made))

    # ---- Progress ----
    def test_bulk_work_has_an_end_to_go_to(self):
        with Server(PROGRAM) as server:
            for number in range(12):
                server.post(T + "/jobs", {"type": "a" if number < 8 else "b", "delay": "1h"})
            slow = server.post(T + "/jobs/bulk", {"action": "cancel", "filter": {"type": "a"}, "rate": 0.001}).json
            self.assertEqual((slow["total"], slow["state"]), (8, "running"))
            self.assertEqual(server.get(f"{T}/bulk/{slow['id']}").json["total"], 8)
            server.post(f"{T}/bulk/{slow['id']}/stop")
            self.assertEqual(server.post(T + "/jobs/bulk", {"action": "cancel", "filter": {"state": "queued"}}).json["total"] >= 4, True)
            server.check_answers()


def seconds(instant):
    return datetime.datetime.fromisoformat(instant.replace("Z", "+00:00")).timestamp()


if __name__ == "__main__":
    unittest.main(verbosity=1)
