"""Hooks: pushes signed by npm's standardwebhooks trigger a schedule; nobody else's do."""
import base64
import json
import os
import subprocess
import sys
import time
import unittest

from server import Server

PROGRAM, NODE_FOLDER = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
T = "/v1/tenants/default"


def secret(letter):
    return "whsec_" + base64.b64encode(letter.encode() * 32).decode()


class Signer:
    """The reference implementation, one line a question."""

    def __enter__(self):
        self.process = subprocess.Popen(["node", os.path.join(NODE_FOLDER, "signatures.mjs")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def headers(self, key, body, webhook_id="msg_1", at=None):
        at = int(time.time()) if at is None else at
        question = {"op": "sign", "secret": key, "id": webhook_id, "timestamp": at, "body": body}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        signature = json.loads(self.process.stdout.readline())["signature"]
        return {"webhook-id": webhook_id, "webhook-timestamp": str(at), "webhook-signature": signature}


class Hooks(unittest.TestCase):
    def setUp(self):
        self.server = Server(PROGRAM)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.signer = Signer()
        self.signer.__enter__()
        self.addCleanup(self.signer.__exit__)
        self.ok(self.server.put(T + "/schedules/orders", {
            "trigger": {"kind": "every", "every": "24h"}, "job": {"type": "order.import", "meta": {"team": "shop"}}}), 201)
        self.ok(self.server.put(T + "/hooks/shop", self.body()))

    def tearDown(self):
        self.assertGreater(self.server.check_answers(), 0)

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code, part=""):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.json["error"]["code"], code)
        self.assertIn(part, answer.json["error"]["message"])

    def body(self, **more):
        return {"schedule": "orders", "subject": "/customer/id", "secret": secret("a"), **more}

    def push(self, text, headers, path=T + "/hooks/shop"):
        return self.server.call("POST", path, key="", headers=headers, raw=text)

    def jobs(self):
        return self.ok(self.server.get(T + "/jobs?type=order.import"))["items"]

    def test_a_signed_push_runs_the_schedule_once(self):
        text = json.dumps({"customer": {"id": "user-17"}, "total": 12.50})
        pushed = self.ok(self.push(text, self.signer.headers(secret("a"), text)), 201)
        self.assertEqual(set(pushed), {"id", "deduplicated"})
        job = self.ok(self.server.get(f"{T}/jobs/{pushed['id']}"))
        self.assertEqual((job["type"], job["origin"], job["created_by"], job["priority"]), ("order.import", "manual", "hook:shop", 2))
        self.assertEqual(job["payload"], json.loads(text))
        self.assertEqual(job["meta"], {"team": "shop", "hook": {"name": "shop", "webhook_id": "msg_1", "subject": "user-17"}})
        # The sender has not heard the answer and pushes again, signed anew.
        again = self.ok(self.push(text, self.signer.headers(secret("a"), text, at=int(time.time()) + 5)), 200)
        self.assertEqual(again, {"id": pushed["id"], "deduplicated": True})
        self.assertEqual(len(self.jobs()), 1)
        other = json.dumps({"customer": {"id": 18}})
        self.refused(self.push(other, self.signer.headers(secret("a"), other)), 409, "idempotency_conflict")
        self.ok(self.push(other, self.signer.headers(secret("a"), other, "msg_2")), 201)
        self.assertEqual(len(self.jobs()), 2)

    def test_nobody_else_gets_in(self):
        text = json.dumps({"customer": {"id": "user-17"}})
        good = self.signer.headers(secret("a"), text)
        now = int(time.time())
        wrong = [{}, {**good, "webhook-id": "msg_2"}, {**good, "webhook-timestamp": str(now - 7)},
                 {**good, "webhook-signature": "v1,AAAA"}, {k: v for k, v in good.items() if k != "webhook-timestamp"},
                 self.signer.headers(secret("b"), text), self.signer.headers(secret("a"), text + " "),
                 self.signer.headers(secret("a"), text, at=now - 330), self.signer.headers(secret("a"), text, at=now + 330)]
        for headers in wrong:
            known = self.push(text, headers)
            self.refused(known, 401, "unauthorized")
            # A hook that is not there, and a tenant that is not there, say the same, word by word.
            for path in (T + "/hooks/other", "/v1/tenants/nobody/hooks/shop"):
                self.assertEqual((known.status, known.body), (lambda a: (a.status, a.body))(self.push(text, headers, path)))
        # A key is no signature, an admin's neither.
        self.refused(self.server.call("POST", T + "/hooks/shop", raw=text), 401, "unauthorized")
        self.assertEqual(self.jobs(), [])
        self.assertNotIn("nobody", [one["tenant"] for one in self.ok(self.server.get("/v1/tenants"))["items"]])
        # The negative control: what is refused above for one reason each is good without it.
        self.ok(self.push(text, good), 201)
        self.refused(self.push(text, good, T + "/hooks/other"), 401, "unauthorized")

    def test_what_is_pushed_must_have_a_subject(self):
        for number, (text, part) in enumerate((("{", "line 1"), ('{"customer": {}}', "/customer/id"), ("[]", "/customer/id"), ('{"customer": {"id": null}}', "/customer/id"),
                                               ('{"customer": {"id": [1]}}', "whole number"), ('{"customer": {"id": 1.5}}', "whole number"),
                                               (json.dumps({"customer": {"id": "x" * 600}}), "bytes"))):
            self.refused(self.push(text, self.signer.headers(secret("a"), text, f"bad_{number}")), 400, "invalid_request", part)
        text = json.dumps({"customer": {"id": 1}})
        self.refused(self.push(text, self.signer.headers(secret("a"), text, "x" * 300)), 400, "invalid_request", "webhook-id")
        self.assertEqual(self.jobs(), [])

    def test_a_secret_is_kept_changed_and_never_shown(self):
        text = json.dumps({"customer": {"id": "u"}})
        shown = self.server.get(T + "/hooks/shop")
        self.assertEqual(self.ok(shown), {"schedule": "orders", "subject": "/customer/id", "expected_at": None, "priority": None})
        changed = self.server.put(T + "/hooks/shop", self.body(secret=secret("b"), priority="low"))
        self.assertEqual(self.ok(changed)["priority"], 4)
        self.assertNotIn(b"whsec", shown.body + changed.body)
        # Both ends need not change at the same time.
        for number, letter in enumerate("ab"):
            self.ok(self.push(text, self.signer.headers(secret(letter), text, f"either_{number}")), 201)
        self.server.stop()
        self.server.start()
        self.assertEqual(self.ok(self.push(text, self.signer.headers(secret("b"), text, "after")), 201)["deduplicated"], False)
        self.assertEqual(self.jobs()[0]["priority"], 4)
        self.assertEqual(self.server.call("DELETE", T + "/hooks/shop").status, 204)
        self.refused(self.push(text, self.signer.headers(secret("b"), text, "gone")), 401, "unauthorized")
        self.refused(self.server.get(T + "/hooks/shop"), 404, "hook_not_found")
        self.refused(self.server.call("DELETE", T + "/hooks/shop"), 404, "hook_not_found")
        # A new hook of the name does not know the secrets of the old one.
        self.ok(self.server.put(T + "/hooks/shop", self.body(secret=secret("c"))))
        self.refused(self.push(text, self.signer.headers(secret("b"), text, "old")), 401, "unauthorized")
        trail = [(row["action"], row["target"]) for row in self.ok(self.server.get(T + "/audit"))["items"]]
        self.assertEqual([one for one in trail if one[0].startswith("hook")],
                         [("hook.put", "shop"), ("hook.delete", "shop"), ("hook.put", "shop"), ("hook.put", "shop")])
        self.assertNotIn(b"whsec", self.server.get(T + "/audit").body)

    def test_a_hook_that_cannot_work_is_refused(self):
        path = T + "/hooks/bad"
        self.refused(self.server.put(path, self.body(schedule="none")), 422, "invalid_configuration", "none")
        self.refused(self.server.put(path, self.body(expected_at="/at")), 422, "invalid_configuration", "adaptive")
        for more, part in (({"subject": "customer"}, "subject"), ({"subject": "/a~2"}, "subject"), ({"subject": 1}, "subject"),
                           ({"expected_at": "x"}, "expected_at"), ({"secret": "x"}, "whsec_"), ({"priority": 9}, "priority"), ({"colour": 1}, "colour")):
            self.refused(self.server.put(path, self.body(**more)), 400, "invalid_request", part)
        self.refused(self.server.put(path, {k: v for k, v in self.body().items() if k != "secret"}), 400, "invalid_request", "secret")
        self.refused(self.server.put(T + "/hooks/" + "n" * 196, self.body()), 400, "invalid_request", "195")
        self.refused(self.server.get(path), 404, "hook_not_found")

    def test_a_hook_on_windows_is_refused(self):
        self.ok(self.server.put(T + "/schedules/sync", {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "sync"}}), 201)
        self.refused(self.server.put(T + "/hooks/bad", self.body(schedule="sync")), 422, "invalid_configuration", "windows")
        self.refused(self.server.get(T + "/hooks/bad"), 404, "hook_not_found")

    def test_a_push_about_a_subject(self):
        self.ok(self.server.put(T + "/schedules/stock", {"trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}], "otherwise": ["4h", "6h"]},
                                                         "job": {"type": "stock.check"}}), 201)
        self.ok(self.server.put(T + "/schedules/stock/subjects/17", {}), 201)
        self.ok(self.server.put(T + "/hooks/shop", self.body(schedule="stock", expected_at="/due")))

        def push(webhook_id, due=None, customer=17):
            text = json.dumps({"customer": {"id": customer}, "due": due})
            return self.push(text, self.signer.headers(secret("a"), text, webhook_id))

        self.refused(push("m1", customer="nobody"), 404, "subject_not_found", "nobody")
        # An instant is written as everywhere: RFC 3339, or Unix milliseconds.
        self.assertEqual(push("m2", "2030-01-01T01:00:00+01:00").status, 201)
        self.assertEqual(self.ok(self.server.get(T + "/schedules/stock/subjects/17"))["expected_at"], "2030-01-01T00:00:00.000Z")
        self.assertIn(push("m3", 1893459600000).status, (200, 201))
        self.assertEqual(self.ok(self.server.get(T + "/schedules/stock/subjects/17"))["expected_at"], "2030-01-01T01:00:00.000Z")
        for number, due in enumerate((True, {}, "soon", 1.5)):
            self.refused(push(f"bad{number}", due), 400, "invalid_request", "/due")
        leased, = self.ok(self.server.post("/v1/leases", {"worker": "w", "types": ["stock.check"], "wait": "10s"}))["items"]
        self.assertEqual(push("m4").status, 202, "one more check behind the one that runs")
        self.ok(self.server.post(f"{T}/jobs/{leased['id']}/complete", {"token": leased["token"]}))
        self.assertEqual(self.server.call("DELETE", T + "/schedules/stock").status, 204)
        self.refused(push("m5"), 404, "schedule_not_found", "stock")

    def test_a_schedule_that_is_gone_and_a_scheduler_that_is_disabled(self):
        text = json.dumps({"customer": {"id": "u"}})
        self.ok(self.server.put("/v1/config", {"enabled": False}))
        self.refused(self.push(text, self.signer.headers(secret("a"), text)), 503, "scheduler_disabled")
        self.ok(self.server.put("/v1/config", {"enabled": True}))
        self.ok(self.push(text, self.signer.headers(secret("a"), text)), 201)
        self.assertEqual(self.server.call("DELETE", T + "/schedules/orders").status, 204)
        self.refused(self.push(text, self.signer.headers(secret("a"), text, "late")), 404, "schedule_not_found")


if __name__ == "__main__":
    unittest.main(verbosity=1)
