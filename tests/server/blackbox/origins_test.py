"""Where jobs come from, over HTTP: runs by hand, dependents, what PATCH changes.

  origins_test.py PROGRAM
"""
import datetime
import os
import sys
import unittest

from server import Server, far_off

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


WINDOW = {"window_start": "2026-01-01T05:00:00Z", "window_end": "2026-01-01T06:00:00Z"}


class Origins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.server.check_answers()

    def ok(self, answer, status=200):
        return self.server.ok(answer, status)

    def refused(self, *what):
        return self.server.refused(*what)

    def patch(self, path, body):
        return self.server.call("PATCH", path, body)

    def put(self, name, **definition):
        self.ok(self.server.put(f"{T}/schedules/{name}", definition), 201)
        return f"{T}/schedules/{name}"

    def lease(self, kind):
        item, = self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "wait": "10s"}))["items"]
        return item

    def settle(self, item, how="complete", **said):
        return self.ok(self.server.post(f"{T}/jobs/{item['id']}/{how}", {"token": item["token"], **said}))

    # ---- What a job tells ----
    def test_a_run_by_hand_tells_its_schedule(self):
        path = self.put("plain", trigger={"kind": "daily", "at": far_off()}, job={"type": "plain", "payload": {"a": 1, "b": 1}})
        made = self.ok(self.server.post(path + "/trigger", {"payload": {"b": 2}}), 201)
        told = {name: made[name] for name in ("origin", "schedule", "subject", "slot", "parent_id", "payload", "priority")}
        self.assertEqual(told, {"origin": "manual", "schedule": "plain", "subject": "", "slot": None, "parent_id": None,
                                "payload": {"a": 1, "b": 2}, "priority": 2})
        leased = self.lease("plain")
        self.assertEqual((leased["schedule"], leased["slot"], leased["trigger"]), ("plain", None, "manual"))
        self.settle(leased)
        again = self.ok(self.server.post(f"{T}/jobs/{made['id']}/rerun"), 201)
        self.assertEqual((again["origin"], again["parent_id"], again["schedule"]), ("manual", made["id"], "plain"))
        listed = self.ok(self.server.get(T + "/jobs?schedule=plain"))["items"]
        self.assertEqual([job["id"] for job in listed], [again["id"], made["id"]])
        self.assertEqual(self.ok(self.server.get(T + "/jobs?schedule=nothing"))["items"], [])
        # It is no occurrence.
        self.assertEqual(self.ok(self.server.get(path))["last_outcome"], None)
        self.assertEqual(self.ok(self.server.get(path + "/outcomes/items"))["items"], [])

    def test_a_window_by_hand_tells_which_it_is(self):
        path = self.put("windows", trigger={"kind": "windows", "interval": "1h", "mode": "full"}, job={"type": "windows", "payload": {"a": 1}})
        self.ok(self.server.put(path + "/subjects/t", {}), 201)
        before = self.ok(self.server.get(path + "/subjects/t"))
        made = self.ok(self.server.post(path + "/subjects/t/trigger", {**WINDOW, "mode": "delta", "payload": {"b": 2}}), 201)
        self.assertEqual((made["schedule"], made["subject"], made["slot"]), ("windows", "t", "2026-01-01T05:00:00.000Z"))
        self.assertEqual((made["payload"]["mode"], made["payload"]["a"], made["payload"]["b"]), ("delta", 1, 2))
        self.assertIn("_delta_manual_", made["key"])
        self.settle(self.lease("windows"))
        after = self.ok(self.server.get(path + "/subjects/t"))
        self.assertEqual((after["cursor_end"], after["open_job"], after["status"]),
                         (before["cursor_end"], before["open_job"], before["status"]))
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?schedule=windows&subject=t"))["items"]), 1)
        bulk = self.ok(self.server.post(path + "/backfill", {"subject": "t", "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T02:00:00Z"}), 202)
        self.assertIn("id", bulk)
        for _ in range(2):
            backfilled = self.lease("windows")
            self.assertEqual((backfilled["schedule"], backfilled["subject"]), ("windows", "t"))
            self.assertIn(backfilled["slot"], ("2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z"))
            self.settle(backfilled)
        self.refused(self.server.post(path + "/subjects/t/trigger", {**WINDOW, "mode": "no mode"}), 400, "invalid_request")
        other = self.put("modeless", trigger={"kind": "daily", "at": far_off()}, job={"type": "modeless"})
        self.refused(self.server.post(other + "/trigger", {"mode": "delta"}), 422, "invalid_configuration")

    # ---- Dependents ----
    def test_a_job_on_others_is_a_dependent(self):
        parent = self.ok(self.server.post(T + "/jobs", {"type": "parent"}), 201)
        child = self.ok(self.server.post(T + "/jobs", {"type": "child", "depends_on": [parent["id"]]}), 201)
        self.assertEqual((child["origin"], child["parent_id"], child["depends_on"]), ("dependent", parent["id"], [parent["id"]]))
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{child['id']}"))["origin"], "dependent")
        batch = self.ok(self.server.post(T + "/jobs/batch", {"jobs": [{"type": "parent"}, {"type": "child", "depends_on": ["#0"]}]}), 201)
        first, second = (item["id"] for item in batch["items"])
        self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{second}"))["parent_id"], first)
        self.ok(self.server.post(f"{T}/jobs/{first}/cancel"))
        self.ok(self.server.post(f"{T}/jobs/{parent['id']}/cancel"))
        for one, cause in ((second, first), (child["id"], parent["id"])):
            ended = self.ok(self.server.get(f"{T}/jobs/{one}"))
            self.assertEqual((ended["state"], ended["reason"]), ("cancelled", "dependency_not_met"))
            self.assertEqual(ended["last_error"], {"code": "dependency_not_met", "message": f"job {cause}, which it depends on, ended as cancelled"})
            explained = self.ok(self.server.get(f"{T}/jobs/{one}/explain"))
            self.assertIn(cause, explained["summary"])
        late = self.ok(self.server.post(T + "/jobs", {"type": "child", "depends_on": [first]}), 201)
        self.assertEqual((late["state"], late["last_error"]["code"]), ("cancelled", "dependency_not_met"))
        self.assertIn(first, late["last_error"]["message"])

    # ---- Triggers ----
    def test_a_trigger_says_whether_it_made_a_job(self):
        path = self.put("checks", trigger={"kind": "adaptive", "otherwise": "4h"}, job={"type": "checks", "payload": {"a": 1}})
        self.ok(self.server.put(path + "/subjects/x", {}), 201)
        made = self.ok(self.server.post(path + "/subjects/x/trigger", {"payload": {"b": 2}}), 201)
        self.assertEqual(made["payload"], {"a": 1, "b": 2})
        moved = self.ok(self.server.post(path + "/trigger", {"subject": "x", "payload": {"c": 3}}), 200)
        self.assertEqual((moved["id"], moved["payload"]), (made["id"], {"a": 1, "b": 2, "c": 3}))
        running = self.lease("checks")
        self.assertEqual(running["payload"], {"a": 1, "b": 2, "c": 3})
        self.refused(self.server.post(path + "/subjects/x/trigger"), 409, "job_already_running")
        self.settle(running)
        self.assertNotEqual(self.ok(self.server.post(path + "/subjects/x/trigger"), 201)["id"], made["id"])

    def test_skip_does_not_overlap_by_hand_either(self):
        path = self.put("skips", trigger={"kind": "every", "every": "1s"}, overlap="skip", job={"type": "skips"})
        running = self.lease("skips")
        self.refused(self.server.post(path + "/trigger"), 409, "job_already_running")
        self.settle(running)
        self.ok(self.server.call("DELETE", path), 204)
        path = self.put("allows", trigger={"kind": "every", "every": "1s"}, job={"type": "allows"})
        self.lease("allows")
        self.ok(self.server.post(path + "/trigger"), 201)
        self.ok(self.server.call("DELETE", path), 204)

    def test_a_subject_is_put_and_run_in_one_call(self):
        path = self.put("watch", trigger={"kind": "adaptive", "otherwise": "4h"}, job={"type": "watch"})
        shown = self.ok(self.server.put(path + "/subjects/x", {"priority": 1, "trigger": True}), 201)
        running = self.lease("watch")
        self.assertEqual((running["id"], running["subject"], running["priority"]), (shown["triggered"], "x", 1))
        # If it cannot run, nothing is changed.
        self.refused(self.server.put(path + "/subjects/x", {"priority": 5, "trigger": True}), 409, "job_already_running")
        self.assertEqual(self.ok(self.server.get(path + "/subjects/x"))["priority"], 1)
        self.settle(running)
        self.assertNotIn("triggered", self.ok(self.server.put(path + "/subjects/x", {"priority": 1})))
        self.refused(self.server.put(path + "/subjects/x", {"trigger": "yes"}), 400, "invalid_request")
        self.refused(self.patch(path + "/subjects/x", {"trigger": True}), 400, "invalid_request")
        actions = [row["action"] for row in self.ok(self.server.get(T + "/audit?limit=500"))["items"] if row["target"] == "watch/x"]
        self.assertEqual(sorted(actions), ["schedule.trigger", "subject.put"])

    # ---- PATCH ----
    def test_patch_merges_what_is_nested(self):
        path = self.put("patched", trigger={"kind": "every", "every": "4h", "anchor": "2026-01-01T00:00:00Z"}, misfire={"policy": "all", "max": 3},
                        job={"type": "patched", "payload": {"a": {"b": 1}}, "timeout": "10s", "meta": {"m": 1}, "retry": {"kind": "fixed", "delay": "1m"}})
        changed = self.ok(self.patch(path, {"job": {"priority": 1, "timeout": None}, "misfire": {"max": 5}}))
        self.assertEqual((changed["job"]["type"], changed["job"]["priority"], changed["job"]["payload"]), ("patched", 1, {"a": {"b": 1}}))
        self.assertNotIn("timeout", changed["job"])
        self.assertEqual((changed["misfire"]["policy"], changed["misfire"]["max"]), ("all", 5))
        changed = self.ok(self.patch(path, {"job": {"payload": {"c": None}, "meta": {"n": 2}}}))
        self.assertEqual((changed["job"]["payload"], changed["job"]["meta"]), ({"c": None}, {"n": 2}))
        changed = self.ok(self.patch(path, {"trigger": {"every": "2h", "anchor": None}}))
        self.assertEqual(changed["trigger"], {"kind": "every", "every": "2h"})
        # Of another kind: not merged.
        changed = self.ok(self.patch(path, {"trigger": {"kind": "daily", "at": far_off()}, "job": {"retry": {"kind": "none"}}}))
        self.assertEqual((changed["trigger"]["kind"], changed["job"]["retry"]), ("daily", {"kind": "none"}))
        changed = self.ok(self.patch(path, {"job": {"type": "renamed"}}))
        self.assertEqual((changed["job"]["type"], changed["job"]["priority"]), ("renamed", 1))
        error = self.refused(self.patch(path, {"job": {"timeout": "soon"}}), 400, "invalid_request", "job.timeout (line 1, column 21)")
        self.assertEqual(error["details"]["field"], "job.timeout")
        self.refused(self.patch(path, {"job": {"nothing": 1}}), 400, "invalid_request", "job.nothing")
        self.refused(self.patch(path, {"job": None}), 400, "invalid_request", "job")
        self.refused(self.patch(path, {"name": "other"}), 400, "invalid_request", "name")

    def test_a_queued_job_is_patched(self):
        self.ok(self.server.put(T + "/limits/smtp", {"concurrency": 1}))
        made = self.ok(self.server.post(T + "/jobs", {"type": "queued", "payload": {"a": 1}, "delay": "1h", "tags": ["kept"]}), 201)
        path = f"{T}/jobs/{made['id']}"
        changed = self.ok(self.patch(path, {"payload": {"b": 2}, "limits": ["smtp"], "priority": "high", "retry": {"kind": "fixed", "delay": "7m"}}))
        self.assertEqual((changed["payload"], changed["limits"], changed["priority"], changed["tags"]), ({"b": 2}, ["smtp"], 2, ["kept"]))
        self.refused(self.patch(path, {"limits": ["gone"]}), 422, "invalid_configuration", "gone")
        self.refused(self.patch(path, {"retry": {"kind": "never"}}), 400, "invalid_request", "retry")
        self.refused(self.patch(path, {}), 400, "invalid_request")
        self.refused(self.patch(path, {"type": "other"}), 400, "invalid_request", "type")
        changed = self.ok(self.patch(path, {"limits": None, "priority": None, "run_at": made["created_at"]}))
        self.assertEqual((changed["limits"], changed["priority"]), ([], 3))
        running = self.lease("queued")
        self.assertEqual(running["payload"], {"b": 2})
        self.refused(self.patch(path, {"payload": 1}), 409, "job_already_running")
        failed = self.settle(running, "fail", error="no luck")
        self.assertEqual(failed["state"], "queued")
        # By the policy that it was given: one of the default's first delays is a minute.
        self.assertGreater(seconds(failed["run_at"]) - seconds(running["run_at"]), 400)
        self.ok(self.server.post(path + "/cancel"))
        self.refused(self.patch(path, {"payload": 1}), 409, "conflict")
        details = [row["detail"] for row in self.ok(self.server.get(T + "/audit?limit=500"))["items"]
                   if row["action"] == "job.change" and row["target"] == made["id"]]
        self.assertEqual(len(details), 2)
        self.assertNotIn('"b"', str(details), "payloads are not shown")

    # ---- Times ----
    def test_times_are_instants_or_local(self):
        path = self.put("timed", timezone="Europe/Paris", starts_at="2030-01-05T09:00:00", ends_at="2031-01-05T09:00:00Z",
                        trigger={"kind": "rrule", "rrule": "FREQ=DAILY", "start": "2030-01-01T08:00:00Z"}, job={"type": "timed"})
        shown = self.ok(self.server.get(path))
        self.assertEqual((shown["starts_at"], shown["ends_at"]), ("2030-01-05T09:00:00", "2031-01-05T09:00:00.000Z"))
        self.assertEqual(shown["next_at"], "2030-01-05T08:00:00.000Z")
        self.refused(self.server.put(T + "/schedules/untimed", {"trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "t"}, "starts_at": "soon"}),
                     400, "invalid_request", "starts_at")

    def test_a_subject_has_its_own_start(self):
        path = self.put("starts", fan_out=True, trigger={"kind": "every", "every": "7d", "anchor": "2026-01-01T00:00:00Z"}, job={"type": "starts"})
        shown = self.ok(self.server.put(path + "/subjects/x", {"start": "2035-01-01T12:34:00"}), 201)
        self.assertEqual((shown["start"], shown["next_at"]), ("2035-01-01T12:34:00", "2035-01-01T12:34:00.000Z"))
        lines = self.server.get(path + "/subjects.ndjson").body.decode()
        self.assertIn('"start":"2035-01-01T12:34:00"', lines)
        self.assertIsNone(self.ok(self.patch(path + "/subjects/x", {"start": None}))["start"])

    def test_a_plain_schedule_gives_its_jobs_a_subject(self):
        path = self.put("labelled", subject="user-9", trigger={"kind": "every", "every": "1s"}, job={"type": "labelled"})
        self.assertEqual(self.ok(self.server.get(path))["subject"], "user-9")
        leased = self.lease("labelled")
        self.assertEqual((leased["subject"], leased["trigger"]), ("user-9", "scheduled"))
        self.settle(leased)
        listed = self.ok(self.server.get(T + "/jobs?subject=user-9&state=done"))["items"]
        self.assertEqual([job["id"] for job in listed], [leased["id"]])
        self.ok(self.server.call("DELETE", path), 204)
        self.refused(self.server.put(T + "/schedules/both", {"subject": "x", "fan_out": True, "trigger": {"kind": "every", "every": "1h"}, "job": {"type": "t"}}),
                     422, "invalid_configuration", "subject")


if __name__ == "__main__":
    unittest.main()
