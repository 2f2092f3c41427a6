"""Pushes about subjects: the same webhook-id is the same push, whatever it came to.

  hook_subjects_test.py PROGRAM
"""
import base64
import hashlib
import hmac
import json
import os
import signal
import sys
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
SECRET = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
START = "2026-03-28T06:00:00Z"
DELIVERY = {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "digest"}}
ADAPTIVE = {"trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}], "otherwise": "4h"}, "job": {"type": "check"}}


class HookSubjects(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Server(PROGRAM, "--clock", START + "@0")
        self.addCleanup(self.server.__exit__)
        self.server.start()

    def ok(self, answer, *statuses):
        self.assertIn(answer.status, statuses or (200,), answer.body)
        return answer.json

    def hooked(self, name, definition, **more):
        self.ok(self.server.put(f"{T}/schedules/{name}", definition), 200, 201)
        self.ok(self.server.put(f"{T}/schedules/{name}/subjects/ada", {}), 201)
        return self.server.put(f"{T}/hooks/{name}", {"schedule": name, "subject": "/who", "secret": "whsec_" + SECRET, **more})

    def push(self, name, webhook_id, body):
        text, now = json.dumps(body), str(int(time.time()))
        signature = hmac.new(base64.b64decode(SECRET), f"{webhook_id}.{now}.{text}".encode(), hashlib.sha256).digest()
        return self.server.call("POST", f"{T}/hooks/{name}", raw=text, key="", headers={
            "webhook-id": webhook_id, "webhook-timestamp": now, "webhook-signature": "v1," + base64.b64encode(signature).decode()})

    def advance(self, to):
        self.ok(self.server.post("/v1/clock", {"to": to}))

    def finish(self, kind, **word):
        job, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind]}))["items"]
        self.ok(self.server.post(f"{T}/jobs/{job['id']}/complete", {"token": job["token"], **word}))
        return job["id"]

    def jobs(self, kind):
        return self.ok(self.server.get(f"{T}/jobs?type={kind}"))["items"]

    def subject(self, schedule):
        return self.ok(self.server.get(f"{T}/schedules/{schedule}/subjects/ada"))

    def test_a_push_that_ran_the_open_delivery_is_not_repeated_once_the_day_is_final(self):
        self.ok(self.hooked("digest", DELIVERY))
        self.advance("2026-03-28T07:05:00Z")
        first = self.push("digest", "m1", {"who": "ada"})
        self.assertEqual((first.status, first.json["deduplicated"]), (201, False), first.body)
        self.assertEqual(self.finish("digest"), first.json["id"])
        again = self.push("digest", "m1", {"who": "ada"})
        self.assertEqual((again.status, again.json), (200, {"id": first.json["id"], "deduplicated": True}))
        self.assertEqual(len(self.jobs("digest")), 1, "no second send")
        other = self.push("digest", "m1", {"who": "ada", "more": 1})
        self.assertEqual((other.status, other.json["error"]["code"]), (409, "idempotency_conflict"), other.body)
        self.assertEqual(self.push("digest", "m2", {"who": "ada"}).status, 201)
        self.assertEqual(len(self.jobs("digest")), 2, "another push is another run, which touches no day")

    def test_a_push_about_a_check_learns_and_does_not_move_it_twice(self):
        self.ok(self.hooked("watch", ADAPTIVE, expected_at="/at", priority=1))
        first = self.push("watch", "m1", {"who": "ada", "at": "2026-03-28T12:00:00Z"})
        self.assertEqual(first.status, 201, first.body)
        job, = self.jobs("check")
        self.assertEqual((job["id"], job["priority"], job["created_by"]), (first.json["id"], 1, "hook:watch"))
        self.finish("check", subject={"status": "pending"})
        standing = self.subject("watch")
        self.assertEqual(standing["expected_at"], "2026-03-28T12:00:00.000Z")
        self.assertLessEqual(standing["next_at"], "2026-03-28T06:10:00.000Z")
        for _ in range(3):
            again = self.push("watch", "m1", {"who": "ada", "at": "2026-03-28T12:00:00Z"})
            self.assertEqual((again.status, again.json["deduplicated"]), (200, True), again.body)
        self.assertEqual(self.subject("watch"), standing, "a repeated push changes nothing")
        self.assertEqual(len(self.jobs("check")), 1)

    def test_a_push_beside_an_open_check_runs_it_and_moves_the_next_one(self):
        self.ok(self.hooked("watch", ADAPTIVE, expected_at="/at"))
        self.ok(self.server.post(f"{T}/schedules/watch/subjects/ada/trigger", {}), 200, 201)
        far = self.subject("watch")["next_at"]
        push = self.push("watch", "m1", {"who": "ada", "at": 1774702800000})  # 2026-03-28T13:00:00Z, as a number
        self.assertEqual(push.status, 201, push.body)
        near = self.subject("watch")
        self.assertEqual(near["expected_at"], "2026-03-28T13:00:00.000Z")
        self.assertLess(near["next_at"], far)
        self.assertEqual(len(self.jobs("check")), 1, "one open check a subject")
        self.finish("check")
        self.assertEqual(self.push("watch", "m1", {"who": "ada", "at": 1774702800000}).status, 200)
        self.assertEqual(len(self.jobs("check")), 1)

    def payload(self, job):
        return self.ok(self.server.get(f"{T}/jobs/{job}"))["payload"]

    def lease(self, kind):
        return self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "lease": "10m"}))["items"]

    def test_what_was_pushed_and_by_which_delivery_is_in_the_job(self):
        self.ok(self.hooked("watch", {**ADAPTIVE, "job": {"type": "check", "payload": {"url": "u"}, "meta": {"team": "shop"}}}))
        body = {"who": "ada", "price": 12.50, "nested": {"a": [1]}}
        pushed = self.push("watch", "m1", body)
        job = self.ok(self.server.get(f"{T}/jobs/{pushed.json['id']}"))
        self.assertEqual(job["payload"], {"url": "u", "push": body})
        self.assertEqual(job["meta"], {"team": "shop", "hook": {"name": "watch", "webhook_id": "m1", "subject": "ada"}})
        # It has not begun: another push is looked at by the same check.
        again = self.push("watch", "m2", {"who": "ada", "price": 13})
        self.assertEqual((again.status, again.json["id"]), (201, pushed.json["id"]))
        leased, = self.lease("check")
        self.assertEqual(leased["payload"], {"url": "u", "push": {"who": "ada", "price": 13}})

    def test_the_open_delivery_gets_what_was_pushed(self):
        self.ok(self.hooked("digest", DELIVERY))
        self.advance("2026-03-28T07:05:00Z")
        pushed = self.push("digest", "m1", {"who": "ada", "n": 1})
        self.assertEqual(self.payload(pushed.json["id"]), {"push": {"who": "ada", "n": 1}})

    def test_a_push_during_a_running_check_is_one_more_check(self):
        self.ok(self.hooked("watch", ADAPTIVE, expected_at="/at"))
        first = self.push("watch", "m1", {"who": "ada"}).json["id"]
        running, = self.lease("check")
        self.assertEqual(running["id"], first)
        body = {"who": "ada", "at": "2026-03-28T12:00:00Z"}
        pushed = self.push("watch", "m2", body)
        self.assertEqual((pushed.status, pushed.json["deduplicated"]), (202, False), pushed.body)
        self.assertNotEqual(pushed.json["id"], first)
        self.assertEqual(self.subject("watch")["expected_at"], "2026-03-28T12:00:00.000Z", "applied at once")
        for _ in range(3):
            again = self.push("watch", "m2", body)
            self.assertEqual((again.status, again.json), (200, {"id": pushed.json["id"], "deduplicated": True}))
        self.assertEqual(self.lease("check"), [], "one check at a time")
        self.assertEqual(len(self.jobs("check")), 2)
        self.ok(self.server.post(f"{T}/jobs/{first}/complete", {"token": running["token"]}))
        following, = self.lease("check")
        self.assertEqual((following["id"], following["payload"]), (pushed.json["id"], {"push": body}))

    def test_a_push_during_a_running_check_outlives_the_server(self):
        self.ok(self.hooked("watch", ADAPTIVE))
        first = self.push("watch", "m1", {"who": "ada"}).json["id"]
        running, = self.lease("check")
        pushed = self.push("watch", "m2", {"who": "ada", "n": 2})
        self.assertEqual(pushed.status, 202, pushed.body)
        self.server.stop(signal.SIGKILL)
        self.server.start()
        again = self.push("watch", "m2", {"who": "ada", "n": 2})
        self.assertEqual((again.status, again.json["id"]), (200, pushed.json["id"]), again.body)
        self.assertEqual(len(self.jobs("check")), 2)
        self.ok(self.server.post(f"{T}/jobs/{first}/complete", {"token": running["token"]}))
        following, = self.lease("check")
        self.assertEqual((following["id"], following["payload"]), (pushed.json["id"], {"push": {"who": "ada", "n": 2}}))

    def test_a_hook_says_what_its_subject_is_good_for(self):
        secret = {"secret": "whsec_" + SECRET}
        self.ok(self.server.put(f"{T}/schedules/plain", {"trigger": {"kind": "every", "every": "24h"}, "job": {"type": "plain"}}), 201)
        told = self.ok(self.server.put(f"{T}/hooks/plain", {"schedule": "plain", "subject": "/who", **secret}))
        self.assertIn("has no fan_out", told["warnings"][0])
        without = self.ok(self.server.put(f"{T}/hooks/plain", {"schedule": "plain", **secret}))
        self.assertEqual((without["subject"], without["warnings"]), (None, []))
        job = self.push("plain", "m1", {"any": 1})
        self.assertEqual(self.payload(job.json["id"]), {"any": 1})
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{job.json['id']}"))["meta"], {"hook": {"name": "plain", "webhook_id": "m1"}})
        self.ok(self.server.put(f"{T}/schedules/watch", ADAPTIVE), 201)
        needs = self.server.put(f"{T}/hooks/watch", {"schedule": "watch", **secret})
        self.assertEqual((needs.status, needs.json["error"]["details"]["field"]), (422, "subject"), needs.body)

    def test_what_a_push_cannot_do_is_said(self):
        self.ok(self.hooked("watch", ADAPTIVE))
        absent = self.push("watch", "m1", {"who": "nobody"})
        self.assertEqual((absent.status, absent.json["error"]["code"]), (404, "subject_not_found"), absent.body)
        windows = self.hooked("sync", {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "sync"}})
        self.assertEqual((windows.status, windows.json["error"]["code"]), (422, "invalid_configuration"), windows.body)

    def test_who_ran_it_by_hand_is_in_the_audit_trail(self):
        self.ok(self.hooked("digest", DELIVERY))
        job = self.ok(self.server.post(f"{T}/schedules/digest/subjects/ada/trigger", {}), 200, 201)
        self.assertIsNotNone(job["created_by"])
        rows = self.ok(self.server.get(f"{T}/audit"))["items"]
        self.assertIn(("schedule.trigger", "digest/ada"), [(row["action"], row["target"]) for row in rows])


if __name__ == "__main__":
    unittest.main()
