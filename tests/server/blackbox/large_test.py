"""As much as the API takes: batches of 10,000, bodies of 32 MiB, lists of 100,000 jobs read page by page.

  large_test.py PROGRAM
"""
import http.client
import json
import os
import sys
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
MIB = 1 << 20
JOBS, BATCH = 100_000, 10_000


class Large(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def counted(self):
        return sum(self.server.get("/v1/status").json["counts"].values())

    def pages(self, query):
        """Every id of a list, page by page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=90)
        cursor, seen, count = "", [], 0
        while True:
            connection.request("GET", f"{T}/jobs?limit=500{query}{cursor}", headers={"Authorization": "Bearer " + self.server.key})
            page = json.loads(connection.getresponse().read())
            self.assertLessEqual(len(page["items"]), 500)
            seen += [item["id"] for item in page["items"]]
            count += 1
            if page["next_cursor"] is None:
                connection.close()
                return seen, count
            cursor = "&cursor=" + page["next_cursor"]

    def test_a_hundred_thousand_jobs_page_by_page_while_others_come(self):
        made = []
        body = json.dumps({"jobs": [{"type": "paged", "delay": "10h"}] * BATCH})
        began = time.monotonic()
        for _ in range(JOBS // BATCH):
            answer = self.server.post(T + "/jobs/batch", raw=body)
            self.assertEqual(answer.status, 201, answer.body[:500])
            items = answer.json["items"]
            self.assertEqual(len(items), BATCH)
            self.assertFalse(any(item["deduplicated"] for item in items))
            made += [item["id"] for item in items]
        self.assertEqual(len(set(made)), JOBS)
        stored = time.monotonic() - began

        stop, late = threading.Event(), []

        def others():
            while not stop.is_set():
                late.append(self.server.post(T + "/jobs", {"type": "paged", "delay": "10h"}).json["id"])
        writer = threading.Thread(target=others)
        writer.start()
        began = time.monotonic()
        try:
            seen, pages = self.pages("&type=paged")
        finally:
            stop.set()
            writer.join(timeout=60)
        walked = time.monotonic() - began
        self.assertEqual(len(seen), len(set(seen)), "a job was listed twice")
        self.assertEqual(set(made) - set(seen), set(), "a job that was there all along was not listed")
        self.assertLessEqual(set(seen) - set(made), set(late), "a job was listed that nobody made")
        self.assertEqual(seen, sorted(seen, reverse=True))
        self.assertGreater(len(late), 0)
        print(f"REPORT pagination: {JOBS} jobs stored in batches of {BATCH} in {stored:.1f} s, each listed once over {pages} pages in "
              f"{walked:.1f} s while {len(late)} more came", flush=True)

    def test_one_more_than_a_batch_takes_is_refused_and_none_is_made(self):
        before = self.counted()
        answer = self.server.post(T + "/jobs/batch", {"jobs": [{"type": "over"}] * (BATCH + 1)})
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "invalid_request"))
        self.assertIn("more than 10000 items", answer.json["error"]["message"])
        self.assertEqual(answer.json["error"]["details"]["field"], "jobs")
        self.assertEqual(self.counted(), before)

    def test_the_last_of_a_batch_can_refuse_all(self):
        before = self.counted()
        answer = self.server.post(T + "/jobs/batch", {"jobs": [{"type": "all"}] * (BATCH - 1) + [{"type": "all", "priority": 9}]})
        self.assertEqual((answer.status, answer.json["error"]["details"]["field"]), (400, f"jobs[{BATCH - 1}].priority"))
        self.assertEqual(self.counted(), before)

    def test_32_mib_fit_and_a_byte_more_does_not(self):
        jobs = [{"type": "wide", "delay": "10h", "payload": "x" * (MIB - 1024)} for _ in range(31)]
        text = json.dumps({"jobs": jobs})
        text += " " * (32 * MIB - len(text))
        self.assertEqual(len(text), 32 * MIB)
        self.assertEqual(self.server.post(T + "/jobs/batch", raw=text).status, 201)
        before = self.counted()
        # It is refused by what its head says, before it is sent.
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.putrequest("POST", T + "/jobs/batch")
        connection.putheader("Authorization", "Bearer " + self.server.key)
        connection.putheader("Content-Length", str(32 * MIB + 1))
        connection.endheaders()
        response = connection.getresponse()
        self.assertEqual((response.status, json.loads(response.read())["error"]["code"]), (413, "body_too_large"))
        connection.close()
        self.assertEqual(self.counted(), before)


if __name__ == "__main__":
    unittest.main(verbosity=1)
