"""What a schedule with fan_out shows of all its subjects, and what stays of one that is deleted.

  schedules_test.py PROGRAM
"""
import json
import os
import sys
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"


class Schedules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.check_answers()
        finally:
            cls.server.__exit__()

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code, part=""):
        self.assertEqual((answer.status, answer.json["error"]["code"]), (status, code), answer.body)
        self.assertIn(part, answer.json["error"]["message"])

    def windows(self, name, **trigger):
        """Of each subject the windows of the last hours are due at once."""
        path = f"{T}/schedules/{name}"
        self.ok(self.server.put(path, {"trigger": {"kind": "windows", "interval": "1h", "max_backfill": 1, **trigger}, "job": {"type": name}}), 201)
        return path

    def put(self, path, *subjects):
        began = int(time.time() - 4 * 3600) * 1000
        for subject in subjects:
            self.ok(self.server.put(f"{path}/subjects/{subject}", {"cursor_end": began}), 201)

    def ends(self, kind, how, **said):
        """One of its jobs, of whichever subject."""
        job, = self.ok(self.server.post("/v1/leases", {"worker": "w", "types": [kind], "wait": "10s"}))["items"]
        self.ok(self.server.post(f"{T}/jobs/{job['id']}/{how}", {"token": job["token"], **said}))
        return job

    def breaks(self, kind, error):
        """It is parked, and an operator gives it up."""
        job = self.ends(kind, "fail", error=error, permanent=True)
        self.ok(self.server.post(f"{T}/jobs/{job['id']}/cancel"))

    def results(self, path):
        shown = self.ok(self.server.get(path))
        return shown["last_outcome"], shown["error_count"], shown["last_error"]

    def test_the_schedule_counts_over_all_its_subjects(self):
        path = self.windows("counted")
        self.put(path, "a", "b", "c")
        before = self.ok(self.server.get(path))
        self.assertEqual(self.results(path), (None, 0, None))
        self.breaks("counted", "one")
        self.breaks("counted", "two")
        self.assertEqual(self.results(path), ("cancelled", 2, "two"))
        listed = {one["name"]: one for one in self.ok(self.server.get(T + "/schedules"))["items"]}["counted"]
        self.assertEqual((listed["error_count"], listed["last_error"]), (2, "two"))
        # That is no edit; and an edit does not forget it.
        after = self.ok(self.server.get(path))
        self.assertEqual((after["revision"], after["updated_at"]), (before["revision"], before["updated_at"]))
        paused = self.ok(self.server.post(path + "/pause"))
        self.assertEqual((paused["last_outcome"], paused["error_count"]), ("cancelled", 2))
        self.ok(self.server.post(path + "/resume"))
        self.ends("counted", "complete")
        self.assertEqual(self.results(path), ("success", 0, None))

    def test_what_is_parked_is_seen_at_once(self):
        """In the schedule, its subject, both lists and both explanations."""
        path = self.windows("parking")
        self.put(path, "a")
        job = self.ends("parking", "fail", error="boom", permanent=True)
        self.assertEqual(self.results(path), ("dlq", 1, "boom"))
        listed = {one["name"]: one for one in self.ok(self.server.get(T + "/schedules"))["items"]}["parking"]
        self.assertEqual((listed["last_outcome"], listed["error_count"], listed["last_error"]), ("dlq", 1, "boom"))
        for one in (self.ok(self.server.get(path + "/subjects/a")), *self.ok(self.server.get(path + "/subjects?status=dlq"))["items"]):
            self.assertEqual((one["subject"], one["status"], one["error_count"], one["last_error"], one["last_run_at"]),
                             ("a", "dlq", 1, "boom", None))
        self.assertEqual(self.ok(self.server.get(path + "/subjects?status=success"))["items"], [])
        for explained in (self.ok(self.server.get(path + "/explain")), self.ok(self.server.get(path + "/subjects/a/explain"))):
            self.assertIn("1 in a row went wrong, the last one is parked: boom", explained["summary"])
            self.assertIn("dlq", [step["why"] for step in explained["steps"]])
        # Given up, it is not counted twice; a success ends the row.
        self.ok(self.server.post(f"{T}/jobs/{job['id']}/cancel"))
        self.assertEqual(self.results(path), ("cancelled", 1, "boom"))
        self.ends("parking", "complete")
        self.assertEqual(self.results(path), ("success", 0, None))

    def test_without_subjects_too(self):
        path = f"{T}/schedules/alone"
        self.ok(self.server.put(path, {"trigger": {"kind": "every", "every": "1s"}, "job": {"type": "alone", "max_attempts": 1}}), 201)
        self.ends("alone", "fail", error="boom")
        self.assertEqual(self.results(path), ("dlq", 1, "boom"))
        state = self.ok(self.server.get(path))["state"]
        self.assertEqual((state["status"], state["error_count"], state["last_error"]), ("dlq", 1, "boom"))
        self.assertIn("the last one is parked: boom", self.ok(self.server.get(path + "/explain"))["summary"])
        self.ok(self.server.call("DELETE", path), 204)

    def test_a_list_shows_the_gaps_of_each(self):
        path = self.windows("gappy")
        self.put(path, "a", "b")
        job = self.ends("gappy", "fail", error="no", permanent=True)
        items = self.ok(self.server.get(path + "/subjects"))["items"]
        self.assertEqual({one["subject"]: [gap["job_id"] for gap in one["gaps"]] for one in items},
                         {"a": [], "b": [], job["subject"]: [job["id"]]})

    def test_outcomes_of_a_deleted_schedule_stay(self):
        path = self.windows("gone")
        self.put(path, "a")
        job = self.ends("gone", "complete")
        self.assertEqual(self.server.call("DELETE", path).status, 204)
        self.refused(self.server.get(path), 404, "schedule_not_found")
        self.refused(self.server.get(path + "/subjects"), 404, "schedule_not_found")
        items = self.ok(self.server.get(path + "/outcomes/items"))["items"]
        self.assertIn((job["id"], "success"), [(one["job_id"], one["outcome"]) for one in items])
        of_a = self.ok(self.server.get(path + "/outcomes/items?subject=a"))["items"]
        self.assertEqual(of_a, items)
        date = min(one["slot"] for one in items)[:10]
        self.assertGreaterEqual(self.ok(self.server.get(f"{path}/outcomes?date={date}"))["counts"]["success"], 1)
        self.assertIn("date", self.ok(self.server.get(path + "/outcomes")))
        self.refused(self.server.get(T + "/schedules/never-was/outcomes"), 404, "schedule_not_found")
        self.refused(self.server.get(T + "/schedules/never-was/outcomes/items"), 404, "schedule_not_found")
        # Made anew it begins without results, and knows what was.
        made = self.ok(self.server.put(path, {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "gone"}}), 201)
        self.assertEqual((made["last_outcome"], made["error_count"], made["subjects"]), (None, 0, 0))
        self.assertEqual(self.ok(self.server.get(path + "/outcomes/items"))["items"], items)

    def test_a_subject_that_no_path_reaches_is_refused(self):
        path = self.windows("named")
        for name in (".", ".."):
            lines = json.dumps({"subject": "fine"}) + "\n" + json.dumps({"subject": name}) + "\n"
            self.refused(self.server.call("POST", path + "/subjects/import", raw=lines), 400, "invalid_request", f'subject "{name}"')
        self.assertEqual(self.ok(self.server.get(path))["subjects"], 0)
        for name in ("...", ".a", "a.."):
            self.ok(self.server.put(f"{path}/subjects/{name}", {}), 201)


if __name__ == "__main__":
    unittest.main(verbosity=1)
