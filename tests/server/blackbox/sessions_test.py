"""What a key has open ends with it: sessions, login links, event streams, parked calls, calls that wait in line, and a body that is still on
its way."""
import datetime
import http.client
import json
import os
import socket
import sys
import threading
import time
import unittest

from server import Line, Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
CONTROLS = "--controls" in sys.argv
if CONTROLS:
    sys.argv.remove("--controls")
T = "/v1/tenants/default"
PROMPT = 1.0  # seconds after which nothing of a key is left


def in_seconds(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


class Held:
    """A call that lasts, and when it ended."""

    def __init__(self, server, method, path, key=None, body=None, headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=90)
        sent = dict(headers or {})
        if key:
            sent["Authorization"] = "Bearer " + key
        self.connection.request(method, path, None if body is None else json.dumps(body), sent)
        self.status = None
        self.ended = None
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        response = self.connection.getresponse()
        self.status = response.status
        try:
            response.read()
        except http.client.IncompleteRead:
            pass
        self.ended = time.monotonic()
        self.connection.close()

    def wait(self):
        self.thread.join(timeout=30)
        return self.ended


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)

    def make_key(self, scope="admin", **more):
        answer = self.server.post("/v1/keys", {"name": "k", "scope": scope, "tenants": "all", **more})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json

    def session_of(self, key):
        signed = self.server.sign_in({"key": key["key"]})
        self.assertEqual(signed.status, 200, signed.body)
        return {"Cookie": signed.headers["set-cookie"].split(";")[0], "Origin": self.server.origin, "X-CSRF-Token": signed.json["csrf_token"]}

    def hold_all(self, key, session):
        """Every kind of call that lasts, by the key and by a session of it."""
        job = self.server.post(T + "/jobs", {"type": "held", "delay": "1h"}).json["id"]
        lease = {"worker": "w", "types": ["nothing.there"], "wait": "20s"}
        held = {}
        for how, credentials in (("key", {"key": key["key"]}), ("session", {"headers": session})):
            held[f"events by {how}"] = Held(self.server, "GET", "/v1/events", **credentials)
            held[f"leases by {how}"] = Held(self.server, "POST", "/v1/leases", body=lease, **credentials)
            held[f"leases of a tenant by {how}"] = Held(self.server, "POST", T + "/leases", body=lease, **credentials)
            held[f"a job's end by {how}"] = Held(self.server, "GET", f"{T}/jobs/{job}?wait=20s", **credentials)
        time.sleep(0.5)  # they wait
        for name, one in held.items():
            self.assertIsNone(one.ended, name)
        return held

    def all_end(self, held, since):
        for name, one in held.items():
            ended = one.wait()
            self.assertIsNotNone(ended, name)
            self.assertLess(ended - since, PROMPT, name)
            self.assertEqual(one.status, 200 if name.startswith("events") else 401, name)

    def test_a_revoked_key_leaves_nothing(self):
        key = self.make_key()
        session = self.session_of(key)
        self.assertEqual(self.server.post("/v1/keys", {"name": "n", "scope": "admin"}, key="", headers=session).status, 201)
        others = self.make_key()
        stays = Held(self.server, "POST", "/v1/leases", key=others["key"], body={"worker": "w", "types": ["nothing.there"], "wait": "3s"})
        held = self.hold_all(key, session)
        self.assertEqual(self.server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
        self.all_end(held, time.monotonic())
        self.assertEqual(self.server.get("/v1/status", key="", headers=session).status, 401)
        again = self.server.post("/v1/keys", {"name": "n", "scope": "admin"}, key="", headers=session)
        self.assertEqual(again.status, 401, again.body)
        stays.wait()
        self.assertEqual(stays.status, 200, "another key's call goes on")

    def test_a_key_that_expires_leaves_nothing(self):
        key = self.make_key(expires_at=in_seconds(2.5))
        over = time.monotonic() + 2.5
        session = self.session_of(key)
        held = self.hold_all(key, session)
        self.all_end(held, over)
        self.assertEqual(self.server.get("/v1/status", key="", headers=session).status, 401)
        self.assertEqual(self.server.get("/v1/status", key=key["key"]).status, 401)

    def test_a_session_may_what_its_key_may(self):
        key = self.make_key(scope="read", tenants=["default"])
        session = self.session_of(key)
        self.assertEqual(self.server.get(T + "/jobs", key="", headers=session).status, 200)
        self.assertEqual(self.server.post(T + "/jobs", {"type": "a"}, key="", headers=session).status, 403)
        self.assertEqual(self.server.get("/v1/tenants/other/jobs", key="", headers=session).status, 404)

    def test_sign_ins_of_a_key_are_bounded(self):
        """Each leaves a row in the trail, which is kept for long."""
        key = self.make_key(scope="read", tenants=["default"])
        began = int(time.time() // 60)
        answers = [self.server.sign_in({"key": key["key"]}) for _ in range(100)]
        minutes = int(time.time() // 60) - began + 1
        good = [one for one in answers if one.status == 200]
        self.assertGreaterEqual(len(good), 30)
        self.assertLessEqual(len(good), 30 * minutes)
        refused = [one for one in answers if one.status != 200]
        self.assertEqual({(one.status, one.json["error"]["code"]) for one in refused}, {(429, "too_many_sign_ins")})
        self.assertLessEqual(int(refused[0].headers["retry-after"]), 60)
        trail = self.server.get("/v1/audit?limit=500").json["items"]
        mine = [row for row in trail if row["action"] == "session.begin" and key["id"] in row["actor"]]
        self.assertEqual(len(mine), len(good))
        self.assertEqual(self.server.sign_in({"key": self.make_key()["key"]}).status, 200, "another key may")

    def test_signing_in_with_nothing_is_no_failed_sign_in(self):
        def fails():
            return sum(row["action"] == "session.fail" for row in self.server.get("/v1/audit?limit=500").json["items"])
        before = fails()
        answer = self.server.sign_in({})
        self.assertEqual((answer.status, answer.json["error"]["message"]), (400, "signing in needs token or key"))
        self.assertEqual(fails(), before)

    def test_a_body_that_comes_after_its_key_was_revoked(self):
        """The head was looked at in time; the write must not happen."""
        for pause in (0.0, 0.7):
            key = self.make_key()
            body = json.dumps({"type": "late.body", "delay": "1h"}).encode()
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
                client.sendall((f"POST {T}/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key['key']}\r\n"
                                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode() + body[:5])
                time.sleep(0.2)
                self.assertEqual(self.server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
                time.sleep(pause)
                client.sendall(body[5:])
                answer = client.makefile("rb").read()
            self.assertIn(b" 401 ", answer.split(b"\r\n")[0])
        self.assertEqual(self.server.get(T + "/jobs?type=late.body").json["items"], [])

    def test_calls_that_wait_in_line_do_nothing_once_their_key_is_revoked(self):
        key = self.make_key()
        with Line(self.server, key["key"]) as line:
            line.add("POST", "/v1/keys", {"name": "reborn", "scope": "admin"})
            line.add("PUT", T + "/limits/reborn", {"concurrency": 1})
            self.assertTrue(line.waits(), "the line was too short to wait in")
            self.assertEqual(self.server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
            self.assertEqual(line.answers(), [401, 401])
        self.assertNotIn("reborn", [one["name"] for one in self.server.get("/v1/keys").json["items"]])
        self.assertEqual(self.server.get(T + "/limits/reborn").status, 404)

    def test_a_key_makes_no_other_after_it_was_revoked(self):
        revoked = []
        for _ in range(30):
            key = self.make_key()
            revoked.append(key["id"])
            start = threading.Barrier(3)

            def make():
                start.wait()
                self.server.post("/v1/keys", {"name": "heir", "scope": "admin"}, key=key["key"])
            makers = [threading.Thread(target=make) for _ in range(2)]
            for one in makers:
                one.start()
            start.wait()
            self.assertEqual(self.server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
            for one in makers:
                one.join()
        rows = self.server.get("/v1/audit?limit=500").json["items"]  # the newest first: in the order of commits
        for key in revoked:
            deeds = [row["action"] for row in rows if row["actor"] == "key:" + key or row["target"] == key]
            self.assertEqual(deeds[0], "key.delete", deeds)

    def test_calls_that_wait_in_line_do_nothing_once_their_session_is_over(self):
        key = self.make_key()
        session = self.session_of(key)
        with Line(self.server, key["key"]) as line:
            line.add("PUT", T + "/limits/after-logout", {"concurrency": 1}, headers=session)
            self.assertTrue(line.waits(), "the line was too short to wait in")
            self.assertEqual(self.server.post("/logout", key="", headers=session).status, 204)
            self.assertEqual(line.answers(), [401])
        self.assertEqual(self.server.get(T + "/limits/after-logout").status, 404)

    def test_what_a_session_has_open_ends_with_it(self):
        key = self.make_key()
        ended, stays = self.session_of(key), self.session_of(key)
        events = [Held(self.server, "GET", "/v1/events", headers=one) for one in (ended, stays)]
        parked = Held(self.server, "POST", "/v1/leases", headers=ended, body={"worker": "w", "types": ["nothing.there"], "wait": "20s"})
        time.sleep(0.5)
        self.assertEqual(self.server.post("/logout", key="", headers=ended).status, 204)
        self.all_end({"events": events[0], "leases": parked}, time.monotonic())
        time.sleep(PROMPT)
        self.assertIsNone(events[1].ended, "another session of the key goes on")
        self.assertEqual(self.server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
        self.assertIsNotNone(events[1].wait())

    def test_a_call_is_charged_once_however_long_its_body_takes(self):
        tenant = "/v1/tenants/charged"
        self.assertEqual(self.server.put(tenant).status, 200)
        key = self.make_key(scope="tenant", tenants=["charged"])
        self.assertEqual(self.server.put(tenant + "/quotas", {"calls_per_second": 1}).status, 200)
        time.sleep(1.1)
        body = json.dumps({"type": "slow.body", "delay": "1h"}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
            client.sendall((f"POST {tenant}/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key['key']}\r\n"
                            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode())
            time.sleep(0.1)
            self.assertEqual(self.server.call("DELETE", "/v1/keys/" + self.make_key()["id"]).status, 204)  # keys are looked at again
            client.sendall(body)
            answer = client.makefile("rb").read()
        self.assertIn(b" 201 ", answer.split(b"\r\n")[0])

    def test_a_key_drives_out_no_login_link_of_another(self):
        link, reader = self.server.login, self.make_key(scope="read", tenants=["default"])
        own = [self.server.post("/v1/login-links", key=reader["key"]).json["token"] for _ in range(101)]
        self.assertEqual(self.server.sign_in({"token": link}).status, 200)
        self.assertEqual([self.server.sign_in({"token": own[i]}).status for i in (90, 91, 100)], [401, 200, 200])

    def test_a_login_link_ends_with_its_key(self):
        with Server(PROGRAM) as server:
            used, unused = server.login, server.login
            signed = server.sign_in({"token": used})
            cookie = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
            self.assertEqual(server.get("/v1/status", key="", headers=cookie).status, 200)
            other = server.post("/v1/keys", {"name": "other", "scope": "admin"}).json["key"]
            self.assertEqual(server.call("DELETE", "/v1/keys/" + server.key.split(".")[0], key=other).status, 204)
            self.assertEqual(server.get("/v1/status", key="", headers=cookie).status, 401)
            self.assertEqual(server.sign_in({"token": unused}).status, 401)


@unittest.skipUnless(CONTROLS, "this build has no switches that open doors again")
class Control(unittest.TestCase):
    """With the door open again, the same test sees it."""

    def test_a_session_that_outlives_its_key_is_noticed(self):
        with Server(PROGRAM, environment={"REOPEN_HOLE": "session_outlives_key"}) as server:
            key = server.post("/v1/keys", {"name": "k", "scope": "admin"}).json
            signed = server.sign_in({"key": key["key"]})
            session = {"Cookie": signed.headers["set-cookie"].split(";")[0], "Origin": server.origin,
                       "X-CSRF-Token": signed.json["csrf_token"]}
            self.assertEqual(server.call("DELETE", "/v1/keys/" + key["id"]).status, 204)
            again = server.post("/v1/keys", {"name": "n", "scope": "admin"}, key="", headers=session)
            self.assertEqual(again.status, 201, "the test would not notice")


if __name__ == "__main__":
    unittest.main(verbosity=1)
