"""The audit trail of a real server: every route that writes leaves a row which says what changed, or says why it does not."""
import json
import os
import sys
import threading
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/acme"
IN_PATH = "/v1/tenants/{tenant}"
SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
OTHER_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CANARY = "CANARY-7f3a"
DAILY = {"trigger": {"kind": "daily", "at": "03:00"}, "job": {"type": "digest.send", "payload": {"secret_of_mine": CANARY}}}
WINDOWS = {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "poll"}}

# What leaves no row, and why.
EXEMPT = {
    "POST " + IN_PATH + "/jobs": "a job carries who made it; by a session it leaves a row: test_jobs_made_by_hand",
    "POST " + IN_PATH + "/jobs/batch": "the same",
    "POST " + IN_PATH + "/hooks/{name}": "a push: its job carries the hook that made it",
    "POST " + IN_PATH + "/leases": "workers' words stand with the attempts of the job",
    "POST " + IN_PATH + "/leases/settle": "the same",
    "POST " + IN_PATH + "/leases/extend": "the same",
    "POST /v1/leases": "the same",
    "POST /v1/leases/settle": "the same",
    "POST /v1/leases/extend": "the same",
    "POST " + IN_PATH + "/jobs/{id}/heartbeat": "the same",
    "POST " + IN_PATH + "/jobs/{id}/complete": "the same",
    "POST " + IN_PATH + "/jobs/{id}/fail": "the same",
    "POST " + IN_PATH + "/jobs/{id}/defer": "the same",
    "POST " + IN_PATH + "/jobs/{id}/release": "the same",
    "PUT " + IN_PATH + "/effects/{key}": "the same",
    "POST " + IN_PATH + "/effects/{key}/done": "the same",
    "POST " + IN_PATH + "/effects/{key}/undo": "the same",
    "POST /v1/preview": "it writes nothing",
    "POST /v1/clock": "of a rehearsal alone: test_moves_of_a_rehearsals_clock",
    "POST /login": "without a key: test_signing_in_and_out",
    "POST /logout": "the same",
    "POST /v1/login-links": "nothing is kept of it; who comes in by it leaves a row",
}


def rows_of(server, path):
    """The whole trail, newest first."""
    rows, cursor = [], ""
    while True:
        answer = server.get(f"{path}/audit?limit=500{cursor}")
        if answer.status == 404:  # a tenant that is not there yet
            return rows
        page = answer.json
        rows += page["items"]
        if not page["next_cursor"]:
            return rows
        cursor = "&cursor=" + page["next_cursor"]


def check_row(rows):
    """One new row, and it says what changed."""
    assert len(rows) == 1, f"expected one row, not {rows}"
    row = rows[0]
    assert row["actor"] and row["action"], row
    detail = row["detail"]
    assert set(detail) >= {"before", "after"}, f"it does not say what changed: {row}"
    assert detail["before"] != detail["after"] or "***" in json.dumps(detail), f"it says that nothing changed: {row}"
    assert detail["before"] or detail["after"] or None in (detail["before"], detail["after"]), f"empty: {row}"
    return row


class Trail(unittest.TestCase):
    parked_so_far = 0

    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)
        cls.ok(cls.server.put(T))
        cls.ok(cls.server.put("/v1/tenants/other"))

    ok = staticmethod(Server.accepted)

    def new_rows(self, before, path):
        return rows_of(self.server, path)[:len(rows_of(self.server, path)) - before]

    def change(self, method, path, body=None, trail=T, raw=None):
        """Makes the call, and gives the row that it left."""
        before = len(rows_of(self.server, trail))
        answer = self.server.call(method, path, body, raw=raw)
        self.ok(answer)
        self.row = check_row(self.new_rows(before, trail))
        self.assertNotIn(CANARY, json.dumps(self.row))
        self.assertNotIn("whsec_", json.dumps(self.row))
        return answer.json

    def unchanged(self, method, path, body=None, trail=T, raw=None):
        before = len(rows_of(self.server, trail))
        self.ok(self.server.call(method, path, body, raw=raw))
        self.assertEqual(self.new_rows(before, trail), [], f"{method} {path} changed nothing and left a row")

    def job(self, **more):
        return self.ok(self.server.post(T + "/jobs", {"type": "nobody.serves", "payload": {"a": CANARY}, **more}))["id"]

    def parked(self):
        Trail.parked_so_far += 1
        kind = f"parked-{Trail.parked_so_far}"
        job = self.job(max_attempts=1, type=kind)
        leased = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind]}))["items"][0]
        self.ok(self.server.post(f"{T}/jobs/{job}/fail", {"token": leased["token"], "error": "no", "permanent": True}))
        return job

    # ---- One deed for each route ----

    def settings(self):
        self.change("PUT", T + "/settings", {"weight": 2})
        self.change("PUT", T + "/settings", {"weight": 3})
        self.assertEqual(self.row["detail"], {"before": {"weight": 2}, "after": {"weight": 3}})
        self.unchanged("PUT", T + "/settings", {"weight": 3})

    def queues(self):
        self.change("PUT", T + "/queues/q", {"max_concurrency": 4})
        self.change("PUT", T + "/queues/q", {"max_concurrency": 5})
        self.assertEqual(self.row["detail"]["before"], {"max_concurrency": 4})
        self.unchanged("PUT", T + "/queues/q", {"max_concurrency": 5})

    def limits_of(self, base, trail):
        self.change("PUT", base + "/limits/smtp", {"rate": 10, "per": "1s"}, trail)
        self.change("PUT", base + "/limits/smtp", {"rate": 20, "per": "1s"}, trail)
        self.assertEqual(self.row["detail"], {"before": {"rate": 10}, "after": {"rate": 20}})
        self.unchanged("PUT", base + "/limits/smtp", {"rate": 20, "per": "1s"}, trail)

    def end_limits_of(self, base, trail):
        self.ok(self.server.put(base + "/limits/gone", {"concurrency": 3}))
        self.change("DELETE", base + "/limits/gone", trail=trail)
        self.assertIsNone(self.row["detail"]["after"])
        self.assertEqual(self.row["detail"]["before"]["concurrency"], 3)

    def maintenance_of(self, base, trail):
        self.change("PUT", base + "/maintenance", {"reason": "moving"}, trail)
        self.unchanged("PUT", base + "/maintenance", {"reason": "moving"}, trail)
        self.change("DELETE", base + "/maintenance", trail=trail)
        self.unchanged("DELETE", base + "/maintenance", trail=trail)

    def config(self):
        self.change("PUT", "/v1/config", {"timezone": "Europe/London"}, "/v1")
        self.unchanged("PUT", "/v1/config", {"timezone": "Europe/London"}, "/v1")
        self.change("PUT", "/v1/config", {"timezone": None}, "/v1")

    def handlers(self):
        base = T + "/handlers/call.out"
        self.change("PUT", base, {"kind": "webhook", "url": f"https://hooks.example.com/x?k={CANARY}", "secret": SECRET})
        self.assertEqual(self.row["detail"]["after"]["url"], "https://hooks.example.com/x?***")
        self.change("PUT", base, {"kind": "webhook", "url": "https://hooks.example.com/y", "secret": SECRET})
        self.unchanged("PUT", base, {"kind": "webhook", "url": "https://hooks.example.com/y", "secret": SECRET})
        self.change("PUT", base, {"kind": "webhook", "url": "https://hooks.example.com/y", "secret": OTHER_SECRET})
        self.assertEqual(self.row["detail"]["after"]["secret"], "***")
        self.change("DELETE", base)

    def hooks(self):
        self.ok(self.server.put(T + "/schedules/hooked", DAILY))
        self.change("PUT", T + "/hooks/in", {"schedule": "hooked", "subject": "/id", "secret": SECRET})
        self.unchanged("PUT", T + "/hooks/in", {"schedule": "hooked", "subject": "/id", "secret": SECRET})
        self.change("PUT", T + "/hooks/in", {"schedule": "hooked", "subject": "/who", "secret": SECRET})
        self.assertEqual(self.row["detail"], {"before": {"subject": "/id"}, "after": {"subject": "/who"}})
        self.change("DELETE", T + "/hooks/in")

    def keys(self):
        made = self.change("POST", "/v1/keys", {"name": "ada", "scope": "read", "tenants": ["acme"]}, "/v1")
        self.assertEqual({name: self.row["detail"]["after"][name] for name in ("name", "scope", "tenants")},
                         {"name": "ada", "scope": "read", "tenants": ["acme"]})
        self.assertEqual(self.row["detail"]["after"]["hash"], "***")
        self.assertNotIn(made["key"].split(".")[1], json.dumps(self.row))
        self.change("DELETE", "/v1/keys/" + made["id"], trail="/v1")
        self.assertEqual(self.row["detail"]["before"]["name"], "ada")

    def tenants(self):
        self.change("PUT", "/v1/tenants/born", trail="/v1/tenants/born")
        self.unchanged("PUT", "/v1/tenants/born", trail="/v1/tenants/born")

    def quotas(self):
        self.change("PUT", T + "/quotas", {"schedules": 100})
        self.change("PUT", T + "/quotas", {"schedules": 200})
        self.assertEqual(self.row["detail"], {"before": {"schedules": 100}, "after": {"schedules": 200}})
        self.unchanged("PUT", T + "/quotas", {"schedules": 200})

    def schedules(self):
        base = T + "/schedules/digest"
        self.change("PUT", base, DAILY)
        self.assertEqual(self.row["detail"]["after"]["job"]["payload"], "***")
        self.unchanged("PUT", base, DAILY)
        self.change("PATCH", base, {"job": {"type": "digest.send", "payload": {"x": CANARY + "2"}}})
        self.assertEqual(self.row["detail"], {"before": {"job": {"payload": "***"}}, "after": {"job": {"payload": "***"}}})
        self.change("POST", base + "/pause", {"until": "2099-01-01T00:00:00Z"})
        self.assertEqual(self.row["detail"]["before"], {"paused_until": None})
        self.unchanged("POST", base + "/pause", {"until": "2099-01-01T00:00:00Z"})
        self.change("POST", base + "/pause")
        self.change("POST", base + "/resume")
        self.unchanged("POST", base + "/resume")
        job = self.change("POST", base + "/trigger", {"payload": {"x": CANARY}})
        self.assertEqual(self.row["detail"]["after"]["job"], job["id"])
        self.change("DELETE", base)
        self.assertEqual(self.row["detail"]["before"]["trigger"]["at"], "03:00")

    def backfill(self):
        self.ok(self.server.put(T + "/schedules/polls", WINDOWS))
        self.change("POST", T + "/schedules/polls/backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T03:00:00Z"})
        self.assertEqual(self.row["detail"]["after"]["to"], "2026-01-01T03:00:00.000Z")

    def subjects(self):
        self.ok(self.server.put(T + "/schedules/fan", {**DAILY, "fan_out": True}))
        base = T + "/schedules/fan/subjects"
        self.change("PUT", base + "/ada", {"timezone": "Europe/Paris", "payload": {"p": CANARY}})
        self.unchanged("PUT", base + "/ada", {"timezone": "Europe/Paris", "payload": {"p": CANARY}})
        self.change("PATCH", base + "/ada", {"enabled": False})
        self.assertEqual((self.row["detail"]["before"]["enabled"], self.row["detail"]["after"]["enabled"]), (True, False))
        self.change("POST", base + "/ada/trigger")
        lines = "\n".join(json.dumps({"subject": f"s{i}", "payload": {"p": CANARY}}) for i in range(20))
        self.change("POST", base + "/import", raw=lines)
        self.assertEqual(self.row["detail"]["after"], {"created": 20, "updated": 0, "unchanged": 0})
        self.unchanged("POST", base + "/import", raw=lines)
        many = "\n".join(json.dumps({"subject": f"m{i}"}) for i in range(6000))
        self.change("POST", base + "/import", raw=many)
        self.assertEqual(self.row["detail"]["after"], {"lines": 6000})
        self.change("DELETE", base + "/ada")

    def jobs(self):
        job = self.job(delay="1h")
        self.change("PATCH", f"{T}/jobs/{job}", {"priority": 1})
        self.assertEqual(self.row["detail"], {"before": {"priority": 3}, "after": {"priority": 1}})
        self.unchanged("PATCH", f"{T}/jobs/{job}", {"priority": 1})
        self.change("POST", f"{T}/jobs/{job}/run")
        self.assertEqual(set(self.row["detail"]["after"]), {"run_at"})
        self.change("POST", f"{T}/jobs/{job}/cancel")
        self.assertEqual(self.row["detail"], {"before": {"state": "queued"}, "after": {"state": "cancelled"}})
        self.unchanged("POST", f"{T}/jobs/{job}/cancel")
        made = self.change("POST", f"{T}/jobs/{job}/rerun")
        self.assertEqual((self.row["action"], self.row["target"]), ("job.rerun", job))
        self.assertEqual(self.row["detail"]["after"]["job"], made["id"])
        parked = self.parked()
        self.change("POST", f"{T}/jobs/{parked}/retry")
        self.assertEqual(self.row["detail"]["before"]["state"], "dlq")
        self.change("POST", f"{T}/jobs/{self.parked()}/discard")

    def asked_to_stop(self):
        job = self.job(type="held")
        self.ok(self.server.post(T + "/leases", {"worker": "w", "types": ["held"]}))
        self.change("POST", f"{T}/jobs/{job}/cancel")
        self.assertEqual(self.row["detail"], {"before": {"cancel_requested": False}, "after": {"cancel_requested": True}})
        self.unchanged("POST", f"{T}/jobs/{job}/cancel")

    def bulk(self):
        for _ in range(3):
            self.job(type="many")
        begun = self.change("POST", T + "/jobs/bulk", {"action": "cancel", "filter": {"type": "many", "text": CANARY}, "rate": 0.5})
        self.assertEqual(self.row["detail"]["after"]["bulk"], begun["id"])
        self.assertEqual(self.row["detail"]["after"]["filter"], {"type": "many", "payload": "***"})
        self.change("POST", f"{T}/bulk/{begun['id']}/stop")
        self.assertEqual(self.row["detail"], {"before": {"state": "running"}, "after": {"state": "stopped"}})

    def end_of_tenants(self):
        self.ok(self.server.put("/v1/tenants/brief"))
        # The tenant's own trail goes with it: that it is gone stands in the server's.
        self.change("DELETE", "/v1/tenants/brief", trail="/v1")
        self.assertEqual((self.row["action"], self.row["target"]), ("tenant.delete", "brief"))

    def deeds(self):
        in_tenant, at_all = (T, T), ("/v1", "/v1")
        return {
            "PUT /v1/tenants/{tenant}": self.tenants,
            "DELETE /v1/tenants/{tenant}": self.end_of_tenants,
            "POST /v1/keys": self.keys,
            "DELETE /v1/keys/{id}": self.keys,
            "PUT /v1/config": self.config,
            "PUT " + IN_PATH + "/quotas": self.quotas,
            "PUT /v1/limits/{name}": lambda: self.limits_of(*at_all),
            "DELETE /v1/limits/{name}": lambda: self.end_limits_of(*at_all),
            "PUT /v1/maintenance": lambda: self.maintenance_of(*at_all),
            "DELETE /v1/maintenance": lambda: self.maintenance_of(*at_all),
            "PUT " + IN_PATH + "/limits/{name}": lambda: self.limits_of(*in_tenant),
            "DELETE " + IN_PATH + "/limits/{name}": lambda: self.end_limits_of(*in_tenant),
            "PUT " + IN_PATH + "/maintenance": lambda: self.maintenance_of(*in_tenant),
            "DELETE " + IN_PATH + "/maintenance": lambda: self.maintenance_of(*in_tenant),
            "PUT " + IN_PATH + "/settings": self.settings,
            "PUT " + IN_PATH + "/queues/{queue}": self.queues,
            "PUT " + IN_PATH + "/handlers/{type}": self.handlers,
            "DELETE " + IN_PATH + "/handlers/{type}": self.handlers,
            "PUT " + IN_PATH + "/hooks/{name}": self.hooks,
            "DELETE " + IN_PATH + "/hooks/{name}": self.hooks,
            "PUT " + IN_PATH + "/schedules/{name}": self.schedules,
            "PATCH " + IN_PATH + "/schedules/{name}": self.schedules,
            "DELETE " + IN_PATH + "/schedules/{name}": self.schedules,
            "POST " + IN_PATH + "/schedules/{name}/pause": self.schedules,
            "POST " + IN_PATH + "/schedules/{name}/resume": self.schedules,
            "POST " + IN_PATH + "/schedules/{name}/trigger": self.schedules,
            "POST " + IN_PATH + "/schedules/{name}/backfill": self.backfill,
            "PUT " + IN_PATH + "/schedules/{name}/subjects/{subject}": self.subjects,
            "PATCH " + IN_PATH + "/schedules/{name}/subjects/{subject}": self.subjects,
            "DELETE " + IN_PATH + "/schedules/{name}/subjects/{subject}": self.subjects,
            "POST " + IN_PATH + "/schedules/{name}/subjects/{subject}/trigger": self.subjects,
            "POST " + IN_PATH + "/schedules/{name}/subjects/import": self.subjects,
            "PATCH " + IN_PATH + "/jobs/{id}": self.jobs,
            "POST " + IN_PATH + "/jobs/{id}/run": self.jobs,
            "POST " + IN_PATH + "/jobs/{id}/rerun": self.jobs,
            "POST " + IN_PATH + "/jobs/{id}/retry": self.jobs,
            "POST " + IN_PATH + "/jobs/{id}/discard": self.jobs,
            "POST " + IN_PATH + "/jobs/{id}/cancel": self.asked_to_stop,
            "POST " + IN_PATH + "/jobs/bulk": self.bulk,
            "POST " + IN_PATH + "/bulk/{id}/stop": self.bulk,
        }

    def test_every_route_that_writes_leaves_a_row_that_says_what_changed(self):
        writes = {f"{method.upper()} {path}" for path, operations in self.server.openapi()["paths"].items()
                  for method in operations if method not in ("get", "head")}
        deeds = {route: deed for route, deed in self.deeds().items() if route in writes}
        self.assertGreater(len(deeds), 35)
        # A new route is in one of the two, or this fails.
        self.assertEqual(writes - set(deeds) - set(EXEMPT), set(), "these routes write, and nobody has said what of it is kept")
        self.assertEqual(set(deeds) & set(EXEMPT), set())
        for deed in dict.fromkeys(deeds.values()):
            with self.subTest(deed=getattr(deed, "__qualname__", deed)):
                deed()

    def test_the_checker_sees_a_row_that_is_missing_or_empty(self):
        row = {"actor": "key:a", "action": "put", "target": "limit", "detail": {"before": {"rate": 1}, "after": {"rate": 2}}}
        check_row([row])
        for wrong in ([], [row, row], [{**row, "detail": {}}], [{**row, "detail": {"before": {}, "after": {}}}],
                      [{**row, "detail": {"before": {"rate": 1}, "after": {"rate": 1}}}], [{**row, "actor": ""}]):
            with self.assertRaises((AssertionError, KeyError)):
                check_row(wrong)

    # ---- People ----

    def from_the_page(self, cookie=None, csrf=None):
        """Headers as a browser sends them from our own page."""
        headers = {"Origin": f"http://127.0.0.1:{self.server.port}", "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        if cookie:
            headers["Cookie"] = cookie
        if csrf:
            headers["X-CSRF-Token"] = csrf
        return headers

    def sign_in(self):
        signed = self.server.post("/login", {"key": self.server.key}, key="", headers=self.from_the_page())
        self.ok(signed)
        return self.from_the_page(signed.headers["set-cookie"].split(";")[0], signed.json["csrf_token"])

    def test_signing_in_and_out(self):
        before = len(rows_of(self.server, "/v1"))
        session = self.sign_in()
        row = check_row(self.new_rows(before, "/v1"))
        self.assertEqual((row["action"], row["actor"]), ("session.begin", "key:" + self.server.key.split(".")[0]))
        self.assertEqual(row["detail"]["after"], {"by": "key", "peer": "127.0.0.1", "scope": "admin"})
        self.ok(self.server.post("/logout", key="", headers=session))
        row = check_row(self.new_rows(before + 1, "/v1"))
        self.assertEqual((row["action"], row["actor"]), ("session.end", "key:" + self.server.key.split(".")[0]))

    def test_failed_sign_ins_do_not_fill_the_store(self):
        """However many fail, a few rows are written, and they say how many it were."""
        tries, threads = 600, 4

        def fail(number):
            for i in range(tries // threads):
                answer = self.server.post("/login", {"key" if i % 2 else "token": f"wrong-{number}-{i}"}, key="", headers=self.from_the_page())
                self.assertIn(answer.status, (401, 429, 503))

        before = len(rows_of(self.server, "/v1"))
        failing = [threading.Thread(target=fail, args=(number,)) for number in range(threads)]
        for thread in failing:
            thread.start()
        for thread in failing:
            thread.join()
        rows = [row for row in self.new_rows(before, "/v1") if row["action"] == "session.fail"]
        self.assertGreaterEqual(len(rows), 1)
        self.assertLessEqual(len(rows), 10, "two minutes at most have gone by")
        for row in rows:
            self.assertEqual(row["detail"]["after"]["peer"], "127.0.0.1")
            self.assertGreaterEqual(row["detail"]["after"]["count"], 1)
        self.assertNotIn("wrong-", json.dumps(rows))

    def test_jobs_made_by_hand(self):
        session = self.sign_in()
        before = len(rows_of(self.server, T))
        made = self.ok(self.server.post(T + "/jobs", {"type": "by.hand", "payload": {"p": CANARY}, "priority": 2}, key="", headers=session))
        row = check_row(self.new_rows(before, T))
        self.assertEqual((row["action"], row["target"]), ("job.make", made["id"]))
        self.assertEqual(row["detail"]["after"], {"job": made["id"], "type": "by.hand", "queue": "default", "priority": 2, "origin": "api"})
        self.ok(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "by.hand"}, {"type": "other"}]}, key="", headers=session))
        row = check_row(self.new_rows(before + 1, T))
        self.assertEqual(row["detail"]["after"], {"jobs": 2, "types": ["by.hand", "other"]})
        # By a key it is no news: the job says who made it.
        self.ok(self.server.post(T + "/jobs", {"type": "by.key"}))
        self.assertEqual(self.new_rows(before + 2, T), [])

    def test_moves_of_a_rehearsals_clock(self):
        with Server(PROGRAM, "--clock", "2026-03-28T23:00:00Z@0") as server:
            before = len(rows_of(server, "/v1"))
            self.ok(server.post("/v1/clock", {"advance": "1h"}))
            rows = rows_of(server, "/v1")
            row = check_row(rows[:len(rows) - before])
            self.assertEqual(row["detail"], {"before": {"now": "2026-03-28T23:00:00.000Z"}, "after": {"now": "2026-03-29T00:00:00.000Z"}})


if __name__ == "__main__":
    unittest.main()
