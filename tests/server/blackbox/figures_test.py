"""What a key of some tenants is told about the server: its own figures, and nothing that others have made."""
import http.client
import json
import os
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
OTHERS = 37  # jobs of the other tenant: no number of its own is like it


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)
        cls.keys = {}
        for tenant in ("mine", "theirs"):
            cls.ok(cls.server.put("/v1/tenants/" + tenant))
            made = cls.ok(cls.server.post("/v1/keys", {"name": tenant, "scope": "read", "tenants": [tenant]}))
            cls.keys[tenant] = made["key"]
        both = cls.ok(cls.server.post("/v1/keys", {"name": "both", "scope": "read", "tenants": ["mine", "theirs"]}))
        cls.keys["both"] = both["key"]
        cls.work("theirs", OTHERS, "their.type")
        cls.work("mine", 2, "my.type")

    ok = staticmethod(Server.accepted)

    @classmethod
    def work(cls, tenant, count, kind):
        """So many jobs: some are done, two are parked, the rest wait or are leased."""
        base = "/v1/tenants/" + tenant
        cls.ok(cls.server.post(base + "/jobs/batch", {"jobs": [{"type": kind, "max_attempts": 1} for _ in range(count + 6)]}))
        leased = cls.ok(cls.server.post(base + "/leases", {"worker": "w-" + tenant, "types": [kind], "limit": count + 3}))["items"]
        words = [{"id": job["id"], "token": job["token"], "complete": {}} for job in leased[:count]]
        words += [{"id": job["id"], "token": job["token"], "fail": {"error": "no", "permanent": True}} for job in leased[count:count + 2]]
        cls.ok(cls.server.post(base + "/leases/settle", {"items": words}))

    def status(self, who):
        return self.ok(self.server.get("/v1/status", key=self.keys[who]))

    def test_a_tenants_key_sees_its_own_figures_alone(self):
        mine, theirs, both = (self.status(who) for who in ("mine", "theirs", "both"))
        everything = self.ok(self.server.get("/v1/status"))
        self.assertEqual(mine["counts"], {"waiting": 0, "queued": 3, "processing": 1, "dlq": 2, "done": 2})
        self.assertEqual((mine["ready"], mine["leases"], mine["in_flight"], mine["workers"]), (3, 1, 0, 1))
        self.assertEqual(mine["totals"], {"picked": 5, "succeeded": 2, "failed": 2, "deferred": 0, "dlq": 2, "stalled": 0, "missed": 0})
        self.assertEqual(theirs["totals"]["succeeded"], OTHERS)
        self.assertEqual(both["totals"]["succeeded"], OTHERS + 2)
        self.assertEqual((both["ready"], both["leases"], both["workers"]), (6, 2, 2))
        for whole in ("max_concurrency",):
            self.assertIsNone(mine[whole])
            self.assertIsNotNone(everything[whole])
        self.assertIsNone(mine["lag"]["planner"])
        self.assertIsNotNone(mine["lag"]["oldest_due"])
        # A key of all tenants sees the whole, as before.
        self.assertEqual(everything["totals"]["succeeded"], OTHERS + 2)
        self.assertIn("store_failures", everything["totals"])

    def test_what_others_do_does_not_move_them(self):
        before = self.status("mine")
        self.ok(self.server.post("/v1/tenants/theirs/jobs/batch", {"jobs": [{"type": "more"} for _ in range(50)]}))
        after = self.status("mine")
        for moving in ("now", "uptime", "lag"):
            before.pop(moving), after.pop(moving)
        self.assertEqual(before, after)

    def test_objectives_are_over_its_own_jobs(self):
        def objectives(**more):
            return {item["name"]: item for item in self.ok(self.server.get("/v1/slo", **more))["items"]}

        mine, both = objectives(key=self.keys["mine"]), objectives(key=self.keys["both"])
        self.assertEqual(list(mine), ["job_latency", "cutoff_miss_rate", "dlq", "stalled"])
        self.assertEqual((mine["dlq"]["value"], mine["dlq"]["state"]), (2, "breached"))
        self.assertEqual(mine["job_latency"]["samples"], 4)
        self.assertEqual(both["dlq"]["value"], 4)
        self.assertEqual(both["job_latency"]["samples"], OTHERS + 2 + 4)
        self.assertEqual(len(objectives()), 7)

    def test_metrics_are_for_keys_of_all_tenants(self):
        refused = self.server.get("/metrics", key=self.keys["both"])
        self.assertEqual((refused.status, refused.json["error"]["code"]), (403, "forbidden"))
        self.assertNotIn(b"carillon_", refused.body)
        self.assertIn(b"carillon_jobs_picked_total", self.server.get("/metrics").body)
        for_all = self.ok(self.server.post("/v1/keys", {"name": "all", "scope": "read", "tenants": "all"}))["key"]
        self.assertEqual(self.server.get("/metrics", key=for_all).status, 200)

    def test_events_of_the_server_and_of_others_are_not_told(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request("GET", "/v1/events", headers={"Authorization": "Bearer " + self.keys["mine"]})
        stream = connection.getresponse()
        self.assertEqual(stream.status, 200)
        for tenant in ("theirs", "mine"):
            self.ok(self.server.post(f"/v1/tenants/{tenant}/jobs", {"type": "seen"}))
        told = []
        while True:  # its own job comes last
            line = stream.readline().decode()
            if line.startswith("data:"):
                told.append(json.loads(line[5:]))
                if told[-1].get("tenant") == "mine":
                    break
        connection.close()
        self.assertEqual({event.get("tenant") or event["metadata"].get("tenant") for event in told}, {"mine"})

    def test_its_answers_are_what_the_reference_says(self):
        for who in self.keys:
            self.server.get("/v1/status", key=self.keys[who])
            self.server.get("/v1/slo", key=self.keys[who])
        self.assertGreaterEqual(self.server.check_answers(), 6)

    def test_nothing_names_another_tenant(self):
        for path in ("/v1/status", "/v1/slo", "/v1/tenants", "/v1/tenants/mine/workers", "/v1/tenants/mine/queues"):
            answer = self.server.get(path, key=self.keys["mine"])
            self.assertEqual(answer.status, 200)
            self.assertNotIn(b"theirs", answer.body, path)


if __name__ == "__main__":
    unittest.main()
