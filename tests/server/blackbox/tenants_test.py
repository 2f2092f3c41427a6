"""What one tenant may do to others, and what is left when one is gone: limits for all, bounds, handlers, deletion."""
import base64
import http.server
import os
import signal
import sys
import threading
import time
import unittest

from server import Line, Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
CONTROLS = "--controls" in sys.argv
if CONTROLS:
    sys.argv.remove("--controls")
CONTROL = unittest.skipUnless(CONTROLS, "this build has no switches that open doors again")


def until(condition, seconds=30):
    for _ in range(seconds * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


class Busy:
    """A webhook's target that answers 429."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(429)
                self.send_header("retry-after", "3600")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class TenantsTest(unittest.TestCase):
    def serve(self, *flags, environment=None, config=None):
        server = Server(PROGRAM, *flags, environment=environment)
        if config:
            with open(os.path.join(server.folder, "carillon.toml"), "w") as file:
                file.write(config)
        self.addCleanup(server.own_folder.cleanup)
        server.start()
        self.addCleanup(lambda: server.process.poll() is None and server.stop())
        for tenant in ("acme", "globex"):
            self.ok(server.put(f"/v1/tenants/{tenant}"))
        return server

    ok = staticmethod(Server.ok)
    refused = staticmethod(Server.refused)

    def key(self, server, scope, tenants):
        return self.ok(server.post("/v1/keys", {"name": scope, "scope": scope, "tenants": tenants}), 201)["key"]

    def jobs(self, server, tenant, count, **fields):
        made = server.post(f"/v1/tenants/{tenant}/jobs/batch", {"jobs": [{"type": "call", **fields}] * count})
        return [one["id"] for one in self.ok(made, 201)["items"]]

    def lease(self, server, tenant, limit=1, key=None, **fields):
        body = {"worker": "w", "limit": limit, **fields}
        return self.ok(server.post(f"/v1/tenants/{tenant}/leases", body, key=key))["items"]

    # ---- Limits ----
    def close_by_a_worker(self, server, key, by="acme"):
        job = self.lease(server, by, key=key)[0]
        said = {"token": job["token"], "error": "too much", "rate_limited": "smtp", "retry_after": "1h"}
        self.ok(server.post(f"/v1/tenants/{by}/jobs/{job['id']}/fail", said, key=key))

    def leased_after_a_word(self, server, key):
        """How many of each tenant can be leased after a worker of acme has said that the global limit is closed."""
        self.ok(server.put("/v1/limits/smtp", {"concurrency": 8}))
        for tenant in ("acme", "globex"):
            self.jobs(server, tenant, 3, limits=["smtp"])
        self.close_by_a_worker(server, key)
        return tuple(len(self.lease(server, tenant, 3)) for tenant in ("acme", "globex"))

    def test_a_tenants_worker_closes_a_global_limit_for_its_tenant_alone(self):
        server = self.serve()
        self.assertEqual(self.leased_after_a_word(server, self.key(server, "worker", ["acme"])), (0, 3))

    def test_a_worker_of_several_tenants_is_none_of_all(self):
        server = self.serve()
        self.assertEqual(self.leased_after_a_word(server, self.key(server, "worker", ["acme", "globex"])), (0, 3))

    def test_a_worker_of_all_tenants_closes_it_for_all(self):
        server = self.serve()
        self.assertEqual(self.leased_after_a_word(server, self.key(server, "worker", "all")), (0, 0))

    @CONTROL
    def test_control_with_the_hole_open_a_tenant_closes_it_for_all(self):
        server = self.serve(environment={"REOPEN_HOLE": "tenant_teaches_global"})
        self.assertEqual(self.leased_after_a_word(server, self.key(server, "worker", ["acme"])), (0, 0))

    def test_setting_a_limit_opens_it(self):
        server = self.serve()
        worker = self.key(server, "worker", ["acme"])
        self.assertEqual(self.leased_after_a_word(server, worker), (0, 3))
        self.ok(server.put("/v1/limits/smtp", {"concurrency": 8}))
        self.assertEqual(len(self.lease(server, "acme", 2)), 2)
        self.jobs(server, "acme", 1, limits=["smtp"])
        self.ok(server.call("DELETE", "/v1/limits/smtp"), 204)
        self.assertEqual(len(self.lease(server, "acme", 1)), 1)

    def webhook_429(self, server, target):
        """Whether globex may lease under the limit that acme's webhook has answered 429 under."""
        self.ok(server.put("/v1/limits/smtp", {"concurrency": 8}))
        self.ok(server.put("/v1/tenants/acme/handlers/call", {"kind": "webhook", "url": f"http://127.0.0.1:{target.port}/"}))
        self.jobs(server, "globex", 1, limits=["smtp"])
        job = self.jobs(server, "acme", 1, limits=["smtp"])[0]
        waits = lambda: self.ok(server.get(f"/v1/tenants/acme/jobs/{job}"))["deferrals"] > 0 or any(
            one["result"] == "rate_limited" for one in self.ok(server.get(f"/v1/tenants/acme/jobs/{job}"))["attempts"])
        self.assertTrue(until(waits))
        return len(self.lease(server, "globex", 1))

    def test_a_tenants_webhook_closes_a_global_limit_for_its_tenant_alone(self):
        with Busy() as target:
            self.assertEqual(self.webhook_429(self.serve("--set", "webhooks.allow=127.0.0.1"), target), 1)

    @CONTROL
    def test_control_with_the_hole_open_a_webhook_closes_it_for_all(self):
        with Busy() as target:
            server = self.serve("--set", "webhooks.allow=127.0.0.1", environment={"REOPEN_HOLE": "tenant_teaches_global"})
            self.assertEqual(self.webhook_429(server, target), 0)

    def test_long_leases_of_one_tenant_do_not_hold_a_global_concurrency(self):
        server = self.serve()
        self.ok(server.put("/v1/limits/smtp", {"concurrency": 4}))
        self.jobs(server, "acme", 10, limits=["smtp"], timeout="24h")
        held = self.lease(server, "acme", 10, lease="24h")
        self.assertEqual(len(held), 3)
        self.jobs(server, "globex", 10, limits=["smtp"])
        self.assertEqual(len(self.lease(server, "globex", 10)), 1)
        # What ends goes to who has less than its share.
        self.ok(server.post(f"/v1/tenants/acme/jobs/{held[0]['id']}/complete", {"token": held[0]["token"]}))
        self.assertEqual(len(self.lease(server, "acme", 10)), 0)
        self.assertEqual(len(self.lease(server, "globex", 10)), 1)

    # ---- Bounds ----
    def test_a_tenant_sets_less_than_the_operator_lets_it_have_and_never_more(self):
        server = self.serve()
        path = "/v1/tenants/acme/settings"
        tenant = self.key(server, "tenant", ["acme"])
        bounds = {"max_concurrency": 10, "weight": 5, "retention": "3d"}
        shown = self.ok(server.put(path, bounds))
        self.assertEqual((shown["bounds"], shown["max_concurrency"]), (bounds, 10))
        for beyond, bound in (({"max_concurrency": 11}, "10"), ({"weight": 6}, "5"), ({"retention": "4d"}, "3d")):
            self.refused(server.put(path, beyond, key=tenant), 422, "invalid_configuration", "at most " + bound)
        own = self.ok(server.put(path, {"max_concurrency": 2, "weight": 1, "retention": "1d"}, key=tenant))
        self.assertEqual((own["max_concurrency"], own["weight"], own["retention"], own["bounds"]), (2, 1, "1d", bounds))
        cleared = self.ok(server.put(path, {"max_concurrency": None, "weight": None, "retention": None}, key=tenant))
        self.assertEqual({name: cleared[name] for name in bounds}, bounds)
        # A lower bound holds at once, and another field of its own lifts nothing.
        self.ok(server.put(path, {"max_concurrency": 3}))
        self.assertEqual(self.ok(server.put(path, {"timezone": "Europe/Berlin"}, key=tenant))["max_concurrency"], 3)
        self.jobs(server, "acme", 9)
        self.assertEqual(len(self.lease(server, "acme", 9)), 3)
        self.ok(server.put(path, {"max_concurrency": None}))
        self.assertEqual(self.ok(server.put(path, {"max_concurrency": 50}, key=tenant))["max_concurrency"], 50)

    def test_without_bounds_a_tenant_takes_no_more_turns_and_keeps_no_longer_than_others(self):
        server = self.serve()
        tenant = self.key(server, "tenant", ["acme"])
        self.refused(server.put("/v1/tenants/acme/settings", {"weight": 2}, key=tenant), 422, "invalid_configuration", "at most 1")
        self.refused(server.put("/v1/tenants/acme/settings", {"retention": "3650d"}, key=tenant), 422, "invalid_configuration")

    # ---- Handlers of the operator's file ----
    def test_a_handler_of_the_file_runs_for_the_tenants_that_it_names(self):
        server = self.serve(config='[handlers."call"]\nkind = "exec"\nargv = ["/bin/true"]\nallow_root = true\ntenants = ["acme"]\n')
        ours, theirs = self.jobs(server, "acme", 1)[0], self.jobs(server, "globex", 1)[0]
        self.assertEqual(self.ok(server.get(f"/v1/tenants/acme/jobs/{ours}?wait=30s"))["state"], "done")
        waits = self.ok(server.get(f"/v1/tenants/globex/jobs/{theirs}"))
        self.assertEqual((waits["state"], waits["attempt"]), ("queued", 0))
        self.assertEqual(self.ok(server.get(f"/v1/tenants/globex/jobs/{theirs}/explain"))["steps"][-1]["why"], "no_worker")
        self.assertEqual(self.ok(server.get("/v1/tenants/acme/handlers/call"))["kind"], "operator")
        self.refused(server.get("/v1/tenants/globex/handlers/call"), 404, "handler_not_found")
        self.assertEqual([one["id"] for one in self.lease(server, "globex", 5)], [theirs])

    # ---- The end of a tenant ----
    def fill(self, server, tenant, jobs=5):
        """Something of every kind, and nothing that lives."""
        path = f"/v1/tenants/{tenant}"
        for one in self.jobs(server, tenant, jobs):
            self.ok(server.post(f"{path}/jobs/{one}/cancel"))
        first = self.ok(server.post(path + "/jobs", {"type": "sent", "idempotency_key": "k", "queue": "own"}), 201)
        leased = self.lease(server, tenant, types=["sent"])[0]
        self.ok(server.put(f"{path}/effects/mail", {"job": first["id"], "token": leased["token"]}))
        self.ok(server.post(f"{path}/effects/mail/done", {"job": first["id"], "token": leased["token"]}))
        self.ok(server.post(f"{path}/jobs/{first['id']}/complete", {"token": leased["token"]}))
        schedule = {"trigger": {"kind": "every", "every": "24h"}, "job": {"type": "tick"}}
        self.assertIn(server.put(path + "/schedules/daily", schedule).status, (200, 201))
        secret = "whsec_" + base64.b64encode(b"a" * 32).decode()
        self.ok(server.put(path + "/hooks/push", {"schedule": "daily", "subject": "/id", "secret": secret}))
        self.ok(server.post(path + "/schedules/daily/trigger", {}), 201)
        for tick in self.lease(server, tenant, 9, types=["tick"]):
            self.ok(server.post(f"{path}/jobs/{tick['id']}/complete", {"token": tick["token"]}))
        self.assertIn(server.call("DELETE", path + "/schedules/daily").status, (200, 204))
        self.ok(server.put(path + "/settings", {"max_concurrency": 7}))
        self.ok(server.put(path + "/queues/own", {"max_concurrency": 2}))
        self.ok(server.put(path + "/limits/own", {"concurrency": 2}))
        self.ok(server.put(path + "/maintenance", {"reason": "moving"}))
        self.ok(server.put(path + "/handlers/call", {"kind": "webhook", "url": "https://example.com/"}))

    def expect_empty(self, server, tenant):
        path = f"/v1/tenants/{tenant}"
        for lists in ("/jobs", "/limits", "/schedules", "/workers"):
            self.assertEqual(self.ok(server.get(path + lists))["items"], [], lists)
        self.assertEqual([one["queue"] for one in self.ok(server.get(path + "/queues"))["items"]], ["default"])
        self.assertEqual(self.ok(server.get(path + "/settings"))["max_concurrency"], None)
        self.assertEqual(self.ok(server.get(path + "/settings"))["bounds"]["max_concurrency"], None)
        self.assertEqual(self.ok(server.get(path + "/maintenance")), {"active": False})
        for one in ("/handlers/call", "/hooks/push", "/limits/own"):
            self.assertEqual(server.get(path + one).status, 404, one)
        self.assertEqual([row["action"] for row in self.ok(server.get(path + "/audit"))["items"]], ["tenant.make"])
        again = self.ok(server.post(path + "/jobs", {"type": "sent", "idempotency_key": "k"}), 201)
        self.assertFalse(again["deduplicated"])

    def delete(self, server, tenant):
        answer = server.call("DELETE", f"/v1/tenants/{tenant}")
        self.assertIn(answer.status, (202, 204), answer.body)
        self.assertTrue(until(lambda: server.get(f"/v1/tenants/{tenant}").status == 404))

    def test_nothing_of_a_deleted_tenant_is_left_for_the_next_of_its_name(self):
        server = self.serve()
        alone, both = self.key(server, "tenant", ["acme"]), self.key(server, "worker", ["acme", "globex"])
        self.fill(server, "acme")
        self.delete(server, "acme")
        self.assertNotIn("acme", [one["tenant"] for one in self.ok(server.get("/v1/tenants"))["items"]])
        self.assertEqual(server.get("/v1/tenants", key=alone).status, 401)
        self.assertEqual([one["tenant"] for one in self.ok(server.get("/v1/tenants", key=both))["items"]], ["globex"])
        self.assertIn("tenant.delete", [row["action"] for row in self.ok(server.get("/v1/audit"))["items"]])
        server.stop()
        server.start()
        self.assertEqual(server.get("/v1/tenants/acme").status, 404)
        self.assertEqual(server.get("/v1/tenants", key=alone).status, 401)
        self.ok(server.put("/v1/tenants/acme"))
        self.expect_empty(server, "acme")
        self.assertEqual(server.get("/v1/tenants/acme", key=both).status, 404)

    def test_calls_that_wait_in_line_write_nothing_under_the_next_tenant(self):
        server = self.serve()
        # One goes with the tenant, the other is for all and stays; neither may make a tenant.
        for key in (self.key(server, "tenant", ["acme"]), self.key(server, "tenant", "all")):
            with Line(server, key) as line:
                line.add("PUT", "/v1/tenants/acme/handlers/call", {"kind": "webhook", "url": "https://example.com/"})
                line.add("PUT", "/v1/tenants/acme/limits/own", {"concurrency": 1})
                line.add("PUT", "/v1/tenants/acme/maintenance", {})
                line.add("PUT", "/v1/tenants/acme/schedules/daily", {"trigger": {"kind": "every", "every": "24h"}, "job": {"type": "tick"}})
                self.assertTrue(line.waits(), "the line was too short to wait in")
                self.delete(server, "acme")
                for status in line.answers():
                    self.assertIn(status, (401, 404, 409))
            self.ok(server.put("/v1/tenants/acme"))
            self.expect_empty(server, "acme")
            for one in self.ok(server.get("/v1/tenants/acme/jobs"))["items"]:
                self.ok(server.post(f"/v1/tenants/acme/jobs/{one['id']}/cancel"))

    ROUNDS = 30

    def together(self, *calls):
        """All at the same moment; their answers."""
        start, answers = threading.Barrier(len(calls)), [None] * len(calls)

        def run(i, call):
            start.wait()
            answers[i] = call()
        threads = [threading.Thread(target=run, args=one) for one in enumerate(calls)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return answers

    def test_a_write_beside_the_deletion_is_erased_or_refused(self):
        server = self.serve()
        key = self.key(server, "tenant", "all")
        path = "/v1/tenants/beside"
        for _ in range(self.ROUNDS):
            self.ok(server.put(path))
            deleted, *_ = self.together(
                lambda: server.call("DELETE", path),
                lambda: server.put(path + "/limits/own", {"concurrency": 1}, key=key),
                lambda: server.put(path + "/handlers/call", {"kind": "webhook", "url": "https://example.com/"}, key=key))
            self.assertIn(deleted.status, (202, 204), deleted.body)
            self.assertTrue(until(lambda: server.get(path).status == 404))
            self.ok(server.put(path))
            self.assertEqual(self.ok(server.get(path + "/limits"))["items"], [])
            self.refused(server.get(path + "/handlers/call"), 404, "handler_not_found")

    def test_a_key_that_is_revoked_beside_the_deletion_stays_revoked(self):
        server = self.serve()
        keys = []
        for i in range(self.ROUNDS):
            self.ok(server.put(f"/v1/tenants/r{i}"))
            keys.append(self.key(server, "tenant", [f"r{i}", "globex"]))
            answers = self.together(lambda: server.call("DELETE", f"/v1/tenants/r{i}"),
                                    lambda: server.call("DELETE", "/v1/keys/" + keys[-1].split(".")[0]))
            self.assertEqual([one.status for one in answers], [204, 204])
            self.assertEqual(server.get("/v1/tenants/globex", key=keys[-1]).status, 401)
        server.stop()
        server.start()
        self.assertEqual({server.get("/v1/tenants/globex", key=key).status for key in keys}, {401})

    def test_two_tenants_that_are_deleted_together_leave_a_key_that_has_neither(self):
        server = self.serve()
        for i in range(self.ROUNDS):
            pair = [f"a{i}", f"b{i}"]
            for tenant in pair:
                self.ok(server.put("/v1/tenants/" + tenant))
            key = self.key(server, "tenant", pair + ["globex"])
            self.together(*[lambda tenant=tenant: server.call("DELETE", "/v1/tenants/" + tenant) for tenant in pair])
            shown = [one for one in self.ok(server.get("/v1/keys"))["items"] if one["id"] == key.split(".")[0]]
            self.assertEqual(shown[0]["tenants"], ["globex"])
            self.assertEqual([one["tenant"] for one in self.ok(server.get("/v1/tenants", key=key))["items"]], ["globex"])

    def test_a_key_that_is_made_beside_the_deletion_does_not_open_the_next_tenant(self):
        server = self.serve()
        for i in range(self.ROUNDS):
            path = f"/v1/tenants/m{i}"
            self.ok(server.put(path))
            deleted, made = self.together(lambda: server.call("DELETE", path),
                                          lambda: server.post("/v1/keys", {"name": "k", "scope": "tenant", "tenants": [f"m{i}"]}))
            self.assertEqual(deleted.status, 204)
            self.assertIn(made.status, (201, 422), made.body)
            self.ok(server.put(path))
            if made.status == 201:
                self.assertEqual(server.get(path, key=made.json["key"]).status, 401)

    def test_what_lives_is_refused_with_what_is_left(self):
        server = self.serve()
        self.jobs(server, "acme", 3, delay="1h")
        self.jobs(server, "acme", 1)
        self.lease(server, "acme")
        schedule = {"trigger": {"kind": "every", "every": "24h"}, "job": {"type": "tick"}}
        self.assertIn(server.put("/v1/tenants/acme/schedules/daily", schedule).status, (200, 201))
        error = self.refused(server.call("DELETE", "/v1/tenants/acme"), 409, "conflict", "still has")
        self.assertIn('schedule "daily"', error["message"])
        self.assertRegex(error["message"], r"[1-4] queued jobs?, 1 processing job|4 queued jobs")
        self.assertEqual(error["details"]["schedules"], ["daily"])
        self.assertEqual(error["details"]["jobs"]["queued"] + error["details"]["jobs"]["processing"], 4)
        self.assertEqual(self.ok(server.get("/v1/tenants/acme")), {"tenant": "acme"})
        self.jobs(server, "acme", 1)  # as if nothing had been asked
        self.refused(server.call("DELETE", "/v1/tenants/default"), 409, "conflict")
        self.refused(server.call("DELETE", "/v1/tenants/nobody"), 404, "tenant_not_found")

    def test_a_deletion_goes_on_after_a_kill(self):
        server = self.serve()
        key = self.key(server, "tenant", ["acme"])
        self.fill(server, "acme", jobs=9000 if os.environ.get("CARILLON_FULL") == "1" else 0)
        for _ in range(6):
            self.jobs(server, "acme", 5000, delay="1h")
        bulk = self.ok(server.post("/v1/tenants/acme/jobs/bulk", {"action": "cancel", "filter": {"type": "call"}}), 202)["id"]
        self.assertTrue(until(lambda: self.ok(server.get(f"/v1/tenants/acme/bulk/{bulk}"))["state"] == "done", 120))
        told = {}

        def delete():
            try:
                told["status"] = server.call("DELETE", "/v1/tenants/acme").status
            except OSError:
                told["status"] = None  # killed before it answered
        asker = threading.Thread(target=delete)
        asker.start()
        seen = lambda: server.get("/v1/tenants/acme").json
        self.assertTrue(until(lambda: seen().get("state") == "deleting" and seen().get("erased", 0) > 0))
        # Meanwhile nothing is written under it.
        self.refused(server.post("/v1/tenants/acme/jobs", {"type": "call"}), 409, "conflict", "being deleted")
        self.refused(server.put("/v1/tenants/acme"), 409, "conflict", "being deleted")
        self.refused(server.call("DELETE", "/v1/tenants/acme/limits/own"), 409, "conflict", "being deleted")
        self.assertEqual(server.get("/v1/tenants/acme/jobs", key=key).status, 401)
        server.stop(signal.SIGKILL)
        asker.join()
        self.assertNotEqual(told["status"], 204)
        server.start()
        self.refused(server.put("/v1/tenants/acme"), 409, "conflict", "being deleted")
        self.assertIn("acme", [one["tenant"] for one in self.ok(server.get("/v1/tenants"))["items"] if one.get("state") == "deleting"])
        self.assertTrue(until(lambda: server.get("/v1/tenants/acme").status == 404, 120))
        self.ok(server.put("/v1/tenants/acme"))
        self.expect_empty(server, "acme")


if __name__ == "__main__":
    unittest.main()
