"""Quotas: what a tenant may have, set by an admin, and what it is told beyond."""
import sys
import time
import unittest

from server import Server, far_off

PROGRAM = sys.argv[1]
T = "/v1/tenants/acme"


class Quotas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.server.check_answers()

    def setUp(self):
        # Each test has a tenant of its own.
        name = self.id().split(".")[-1].replace("_", "-")[:60]
        self.tenant = "/v1/tenants/" + name
        self.assertLess(self.server.put(self.tenant).status, 300)
        made = self.server.post("/v1/keys", {"name": name, "scope": "tenant", "tenants": [name]})
        self.assertEqual(made.status, 201, made.body)
        self.key = made.json["key"]

    def set(self, **quotas):
        answer = self.server.put(self.tenant + "/quotas", quotas)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def call(self, method, path, body=None):
        return self.server.call(method, self.tenant + path, body, key=self.key)

    def made(self, method, path, body=None):
        answer = self.call(method, path, body)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer

    def refused(self, answer, status, quota, allowed):
        self.assertEqual((answer.status, answer.json["error"]["code"]), (status, "quota_exceeded"), answer.body)
        self.assertEqual(answer.json["error"]["details"], {"quota": quota, "allowed": allowed})
        if status == 429:
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)

    def eventually(self, is_so, why):
        until = time.monotonic() + 20
        while not is_so():
            self.assertLess(time.monotonic(), until, why)
            time.sleep(0.1)

    def test_defaults_are_shown_and_only_an_admin_sets_others(self):
        shown = self.made("GET", "/quotas").json
        self.assertEqual(shown["live_jobs"], {"allowed": 10_000_000, "used": 0})
        self.assertEqual(shown["subjects"], {"allowed": 20_000_000, "used": 0})
        for name in ("schedules", "handlers", "hooks", "limits"):
            self.assertEqual(shown[name], {"allowed": 10_000, "used": 0}, name)
        self.assertEqual(shown["names"]["allowed"], 10_000)
        self.assertEqual(shown["calls_per_second"], {"allowed": None})
        self.assertEqual(self.call("PUT", "/quotas", {"live_jobs": 10**9}).status, 403)
        self.assertEqual(self.set(hooks=3)["hooks"]["allowed"], 3)
        self.assertEqual(self.set(limits=4)["hooks"]["allowed"], 3)
        self.assertEqual(self.set(hooks=None)["hooks"]["allowed"], 10_000)
        for wrong in ({"jobs": 1}, {"hooks": -1}, {"hooks": "many"}, [], {"calls_per_second": 0}):
            self.assertEqual(self.server.put(self.tenant + "/quotas", wrong).status, 400, wrong)

    def test_a_put_that_changes_nothing_leaves_no_word_in_the_trail(self):
        def trail():
            return [row["action"] for row in self.server.get(self.tenant + "/audit").json["items"]].count("quotas.put")
        self.set(hooks=3)
        self.assertEqual(trail(), 1)
        self.set(hooks=3)
        self.set()
        self.assertEqual(trail(), 1)
        self.set(hooks=4)
        self.assertEqual(trail(), 2)

    def test_live_jobs(self):
        self.set(live_jobs=5)
        ids = [self.made("POST", "/jobs", {"type": "work"}).json["id"] for _ in range(3)]
        self.refused(self.call("POST", "/jobs/batch", {"jobs": [{"type": "work"}] * 3}), 429, "live_jobs", 5)
        self.made("POST", "/jobs/batch", {"jobs": [{"type": "work"}] * 2})
        self.refused(self.call("POST", "/jobs", {"type": "work"}), 429, "live_jobs", 5)
        self.assertEqual(self.made("GET", "/quotas").json["live_jobs"], {"allowed": 5, "used": 5})
        # One that has ended makes room, within moments.
        self.made("POST", f"/jobs/{ids[0]}/cancel")
        self.eventually(lambda: self.call("POST", "/jobs", {"type": "work"}).status == 201, "no room though one has ended")
        self.refused(self.call("POST", "/jobs", {"type": "work"}), 429, "live_jobs", 5)

    def test_a_quota_below_what_is_there_stops_what_is_new_and_nothing_else(self):
        ids = [self.made("POST", "/jobs", {"type": "work"}).json["id"] for _ in range(3)]
        self.set(live_jobs=1)
        self.refused(self.call("POST", "/jobs", {"type": "work"}), 429, "live_jobs", 1)
        leased = self.made("POST", "/leases", {"worker": "w", "limit": 3}).json["items"]
        self.assertEqual({one["id"] for one in leased}, set(ids))
        # A completion is never refused, nor what follows from it.
        follow = {"complete": {"then": [{"type": "after"}]}}
        settled = self.call("POST", "/leases/settle",
                            {"items": [{"id": one["id"], "token": one["token"], **follow} for one in leased]})
        self.assertEqual(settled.status, 200, settled.body)
        self.assertEqual(len(self.made("GET", "/jobs?type=after").json["items"]), 3)

    def test_occurrences_of_schedules_are_never_lost_to_a_quota(self):
        self.made("PUT", "/schedules/often", {"trigger": {"kind": "every", "every": "1s"}, "job": {"type": "work"}})
        self.set(live_jobs=0)
        self.refused(self.call("POST", "/schedules/often/trigger", {}), 429, "live_jobs", 0)
        self.made("PUT", "/schedules/each", {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "work"}, "fan_out": True})
        self.made("PUT", "/schedules/each/subjects/one", {})
        self.refused(self.call("POST", "/schedules/each/subjects/one/trigger", {}), 429, "live_jobs", 0)
        self.refused(self.call("PUT", "/schedules/each/subjects/two", {"trigger": True}), 429, "live_jobs", 0)
        self.eventually(lambda: self.made("GET", "/jobs?schedule=often").json["items"], "the occurrence was not planned")

    def test_schedules(self):
        self.set(schedules=1)
        daily = {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "work"}}
        self.made("PUT", "/schedules/one", daily)
        self.refused(self.call("PUT", "/schedules/two", daily), 409, "schedules", 1)
        self.made("PUT", "/schedules/one", {**daily, "job": {"type": "other"}})

    def test_subjects(self):
        self.set(subjects=3)
        self.made("PUT", "/schedules/each", {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "work"}, "fan_out": True})
        self.made("PUT", "/schedules/each/subjects/one", {})
        self.made("PUT", "/schedules/each/subjects/two", {})

        def imported(*names):
            text = "".join(f'{{"subject": "{name}"}}\n' for name in names)
            return self.server.call("POST", self.tenant + "/schedules/each/subjects/import", raw=text, key=self.key)
        self.refused(imported("one", "three", "four"), 409, "subjects", 3)
        answer = imported("one", "two", "three")
        self.assertEqual((answer.status, answer.json["created"]), (200, 1), answer.body)
        self.refused(self.call("PUT", "/schedules/each/subjects/four", {}), 409, "subjects", 3)
        self.made("PUT", "/schedules/each/subjects/three", {"enabled": False})
        self.assertEqual(imported("one", "two", "three").status, 200, "those that are there may be sent again")
        self.assertEqual(self.made("GET", "/quotas").json["subjects"], {"allowed": 3, "used": 3})

    def test_handlers_hooks_and_limits(self):
        self.set(handlers=1, hooks=1, limits=1)
        handler = {"kind": "webhook", "url": "https://example.com/"}
        self.made("PUT", "/handlers/one", handler)
        self.refused(self.call("PUT", "/handlers/two", handler), 409, "handlers", 1)
        self.made("PUT", "/handlers/one", handler)
        self.made("PUT", "/limits/one", {"rate": 1})
        self.refused(self.call("PUT", "/limits/two", {"rate": 1}), 409, "limits", 1)
        self.made("PUT", "/limits/one", {"rate": 2})
        self.made("PUT", "/schedules/pushed", {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "work"}})
        hook = {"schedule": "pushed", "subject": "/who", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
        self.made("PUT", "/hooks/one", hook)
        self.refused(self.call("PUT", "/hooks/two", hook), 409, "hooks", 1)
        self.made("PUT", "/hooks/one", hook)

    def test_names_of_queues_and_types(self):
        self.set(names=3)
        self.made("POST", "/jobs", {"type": "a"})
        self.made("POST", "/jobs", {"type": "b"})
        self.refused(self.call("POST", "/jobs", {"type": "c"}), 409, "names", 3)
        self.refused(self.call("POST", "/jobs/batch", {"jobs": [{"type": "a", "queue": "other"}]}), 409, "names", 3)
        self.made("POST", "/jobs/batch", {"jobs": [{"type": "a"}, {"type": "b"}] * 50})

    def test_queues_and_schedules_bring_names(self):
        self.set(names=2)
        self.made("PUT", "/queues/one", {"paused": True})
        self.made("PUT", "/queues/two", {"paused": True})
        self.refused(self.call("PUT", "/queues/three", {"paused": True}), 409, "names", 2)
        self.made("PUT", "/queues/one", {"paused": False})
        daily = {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "work", "queue": "one"}}
        self.refused(self.call("PUT", "/schedules/s", daily), 409, "names", 2)
        self.set(names=3)
        self.made("PUT", "/schedules/s", daily)
        self.refused(self.call("PATCH", "/schedules/s", {"job": {"type": "other", "queue": "one"}}), 409, "names", 3)

    def test_who_repeats_what_was_accepted_hears_of_it_without_room_for_more(self):
        self.set(live_jobs=2)
        job = {"type": "work", "idempotency_key": "k", "payload": {"n": 1}}
        first = self.made("POST", "/jobs", job)
        self.assertEqual(first.status, 201)
        # What was there already is not counted.
        for _ in range(5):
            again = self.made("POST", "/jobs", job)
            self.assertEqual((again.status, again.json["deduplicated"]), (200, True))
        self.made("POST", "/jobs", {"type": "work"})
        again = self.made("POST", "/jobs", job)
        self.assertEqual((again.status, again.json["id"], again.json["deduplicated"]), (200, first.json["id"], True))
        batch = self.made("POST", "/jobs/batch", {"jobs": [job]})
        self.assertEqual(batch.json["items"], [{"id": first.json["id"], "deduplicated": True}])
        self.refused(self.call("POST", "/jobs/batch", {"jobs": [job, {"type": "work"}]}), 429, "live_jobs", 2)
        self.refused(self.call("POST", "/jobs", {**job, "idempotency_key": "other"}), 429, "live_jobs", 2)
        self.assertEqual(self.call("POST", "/jobs", {**job, "payload": {"n": 2}}).status, 409, "another payload")

    def test_a_backfill_goes_on_as_there_is_room(self):
        self.made("PUT", "/schedules/w", {"trigger": {"kind": "windows", "interval": "1m"}, "fan_out": False, "job": {"type": "work"}})
        day = {"from": "2026-01-10T00:00:00Z", "to": "2026-01-11T00:00:00Z"}
        self.made("POST", "/schedules/w/pause", {})
        self.eventually(lambda: self.call("POST", "/jobs/bulk", {"action": "cancel", "all": True}).status == 202, "not cancelled")
        self.eventually(lambda: self.made("GET", "/quotas").json["live_jobs"]["used"] == 0, "jobs are left")
        self.set(live_jobs=10)
        begun = self.call("POST", "/schedules/w/backfill", day)
        self.assertEqual(begun.status, 202, begun.body)
        self.eventually(lambda: self.made("GET", "/quotas").json["live_jobs"]["used"] >= 10, "nothing was made")
        time.sleep(2.5)
        used = self.made("GET", "/quotas").json["live_jobs"]["used"]
        self.assertEqual(used, 10, "it goes beyond what is allowed")
        self.assertEqual(self.made("GET", "/bulk/" + begun.json["id"]).json["state"], "running")
        self.refused(self.call("POST", "/jobs", {"type": "work"}), 429, "live_jobs", 10)
        self.refused(self.call("POST", "/schedules/w/backfill", day), 429, "live_jobs", 10)
        self.set(live_jobs=1500)
        self.eventually(lambda: self.made("GET", "/bulk/" + begun.json["id"]).json["state"] == "done", "it does not go on")
        self.assertEqual(self.made("GET", "/quotas").json["live_jobs"]["used"], 1440)

    def test_what_schedules_made_is_counted(self):
        self.made("PUT", "/schedules/often", {"trigger": {"kind": "every", "every": "1s"}, "job": {"type": "work"}, "overlap": "allow"})
        self.set(live_jobs=2)
        self.eventually(lambda: self.made("GET", "/quotas").json["live_jobs"]["used"] >= 4, "nothing was planned")
        time.sleep(8)  # until it was its turn to be counted
        self.refused(self.call("POST", "/jobs", {"type": "work"}), 429, "live_jobs", 2)

    def test_calls_per_second(self):
        self.set(calls_per_second=5)
        answers = [self.call("GET", "/jobs") for _ in range(30)]
        refused = [answer for answer in answers if answer.status != 200]
        self.assertTrue(refused, "none of 30 calls at once was refused")
        self.refused(refused[0], 429, "calls_per_second", 5)
        # An admin is not held up: else nobody could put it right.
        for _ in range(20):
            self.assertEqual(self.server.get(self.tenant + "/jobs").status, 200)
        self.eventually(lambda: self.call("GET", "/jobs").status == 200, "calls stay refused")

    def test_they_outlast_a_restart(self):
        with Server(PROGRAM) as server:
            server.put(T + "/quotas", {"live_jobs": 1})
            server.post(T + "/jobs", {"type": "work"})
            server.stop()
            server.start()
            shown = server.get(T + "/quotas").json
            self.assertEqual(shown["live_jobs"], {"allowed": 1, "used": 1})
            until = time.monotonic() + 20
            while server.post(T + "/jobs", {"type": "work"}).status != 429:
                self.assertLess(time.monotonic(), until, "the quota does not hold after a restart")
                time.sleep(0.2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
