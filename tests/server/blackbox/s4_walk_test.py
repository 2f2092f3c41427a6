"""S4's worker over HTTP: its reference loop (18.9) with leases, heartbeats and stalled jobs (18.4), workers in parallel (18.13), and guilds that
see nothing of each other (18.12). Its helper, gates and recurrence are walked in the library (S4Walk).

  s4_walk_test.py PROGRAM
"""
import collections
import os
import sys
import threading
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
GUILDS = ("g1", "g2")


class S4Walk(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)
        cls.keys = {}
        for guild in GUILDS:
            cls.server.accepted(cls.server.put("/v1/tenants/" + guild))
            cls.keys[guild] = cls.server.accepted(cls.server.post("/v1/keys", {"name": guild, "scope": "tenant", "tenants": [guild]}))["key"]
        # Least privilege: it leases and settles, for every guild.
        cls.worker = cls.server.accepted(cls.server.post("/v1/keys", {"name": "worker", "scope": "worker", "tenants": list(GUILDS)}))["key"]

    def ok(self, answer):
        return self.server.accepted(answer)

    def schedule_once(self, guild, kind, **more):
        return self.ok(self.server.post(f"/v1/tenants/{guild}/jobs", {"type": kind, **more}, key=self.keys[guild]))

    def job(self, guild, job):
        return self.ok(self.server.get(f"/v1/tenants/{guild}/jobs/{job['id']}", key=self.keys[guild]))

    def lease_due_jobs(self, kind, batch=10, worker="w1", **more):
        body = {"worker": worker, "types": [kind], "limit": batch, **more}
        return self.ok(self.server.post("/v1/leases", body, key=self.worker))["items"]

    def say(self, job, word, **more):
        return self.server.post(f"/v1/tenants/{job['tenant']}/jobs/{job['id']}/{word}", {"token": job["token"], **more}, key=self.worker)

    def test_a_job_is_queued_processing_done(self):  # 18.3, 18.4 "States"
        made = self.schedule_once("g1", "reminder.send", payload={"eventId": 7}, idempotency_key="reminder:7")
        self.assertEqual((made["state"], made["attempt"], made["priority"]), ("queued", 0, 3))
        due, = self.lease_due_jobs("reminder.send", lease="60s")
        self.assertEqual((due["id"], due["tenant"], due["payload"], due["idempotency_key"]), (made["id"], "g1", {"eventId": 7}, "reminder:7"))
        shown = self.job("g1", made)
        self.assertEqual((shown["state"], shown["worker"]), ("processing", "w1"))
        self.assertIsNotNone(shown["lease_until"])
        self.assertEqual(self.lease_due_jobs("reminder.send"), [], "claimed by one")
        self.assertEqual(self.ok(self.say(due, "complete"))["state"], "done")

    def test_a_long_job_renews_its_lease(self):  # 18.4 "Long jobs"
        self.schedule_once("g1", "long")
        due, = self.lease_due_jobs("long", lease="30s")
        beat = self.ok(self.say(due, "heartbeat", progress={"percent": 50}))
        self.assertGreaterEqual(beat["lease_until"], due["lease_until"])
        self.assertEqual((beat["cancel_requested"], beat["gate"]), (False, None))

    def test_a_stalled_job_is_queued_again(self):  # 18.4 "Stalled job recovery", counter jobs.stalled
        made = self.schedule_once("g1", "stalls")
        first, = self.lease_due_jobs("stalls", lease="1s", worker="dies")
        again, = self.lease_due_jobs("stalls", wait="30s")
        self.assertEqual((again["id"], again["attempt"]), (made["id"], 2), "attempts is incremented")
        self.assertEqual(self.job("g1", made)["attempts"][0]["result"], "lease_lost")
        self.server.refused(self.say(first, "complete"), 409, "stale_token", "lease_lost")
        self.ok(self.say(again, "complete"))
        self.assertIn("carillon_jobs_stalled_total 1", self.server.get("/metrics").body.decode())

    def test_an_effect_is_guarded_by_its_key(self):  # 18.6
        self.schedule_once("g1", "guarded")
        claims = []
        for _ in range(2):
            due, = self.lease_due_jobs("guarded", wait="10s")
            effect = {"job": due["id"], "token": due["token"]}
            claims.append(self.ok(self.server.put("/v1/tenants/g1/effects/reminder:7", effect, key=self.worker))["claim"])
            if claims[-1] == "first":
                self.ok(self.server.post("/v1/tenants/g1/effects/reminder:7/done", effect, key=self.worker))
                self.ok(self.say(due, "fail", error="the answer was lost", retry_after="0s"))
            else:
                self.ok(self.say(due, "complete"))
        self.assertEqual(claims, ["first", "done"], "if already done, short-circuit to done")

    def test_workers_in_parallel_run_each_job_once(self):  # 18.13 soak
        count = 300
        for guild in GUILDS:
            jobs = {"jobs": [{"type": "soak", "idempotency_key": f"k{i // 2}"} for i in range(2 * count)]}  # each asked for twice
            self.ok(self.server.post(f"/v1/tenants/{guild}/jobs/batch", jobs, key=self.keys[guild]))
        ran, lock = collections.Counter(), threading.Lock()

        def work(name):
            while items := self.lease_due_jobs("soak", worker=name):
                with lock:
                    ran.update((job["tenant"], job["id"]) for job in items)
                settled = [{"id": job["id"], "token": job["token"], "complete": {}} for job in items]
                self.ok(self.server.post("/v1/leases/settle", {"items": settled}, key=self.worker))
        workers = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        self.assertEqual((len(ran), set(ran.values())), (2 * count, {1}), "no duplicates")

    def test_a_guild_sees_nothing_of_another(self):  # 18.12
        made = self.schedule_once("g1", "secret", delay="1h", idempotency_key="same")
        for path in (f"/v1/tenants/g1/jobs/{made['id']}", "/v1/tenants/g1/jobs", "/v1/tenants/g1/schedules"):
            self.server.refused(self.server.get(path, key=self.keys["g2"]), 404, "tenant_not_found", "your key is for g2")
        self.server.refused(self.server.get(f"/v1/tenants/g2/jobs/{made['id']}", key=self.keys["g2"]), 404, "job_not_found")
        self.assertFalse(self.schedule_once("g2", "secret", delay="1h", idempotency_key="same")["deduplicated"], "a key is a guild's own")
        self.server.refused(self.server.post("/v1/tenants/g1/jobs", {"type": "x"}, key=self.worker), 403, "forbidden")


if __name__ == "__main__":
    unittest.main()
