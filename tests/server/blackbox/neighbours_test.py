"""What callers without a key, with large bodies, or with very many of them cannot take from the others.

  neighbours_test.py PROGRAM
"""
import contextlib
import json
import os
import sys
import threading
import time
import unittest

from neighbours import Attack, neighbourhood, rss_mib, run_pairs

PROGRAM = os.path.abspath(sys.argv.pop(1))
MIB = 1 << 20
BAD = "bad"
FROM_PAGE = ["Origin: http://x", "Content-Type: application/json"]  # as a browser sends it, to the host x


def list_of(item, size):
    """About `size` bytes of one list."""
    return "[" + ",".join([item] * (size // (len(item) + 1))) + "]"


# ---- Attacks ---------------------------------------------------------------------------------------------------------

class Logins(Attack):
    """Sign-ins of 1 MiB, many at once, whose senders do not wait for the answer."""
    threads = 8

    def __init__(self, place):
        super().__init__(place)
        body = ('{"token": ' + list_of("0", MIB - 100) + "}").encode()
        self.bytes = self.head("POST", "/login", length=len(body), more=FROM_PAGE) + body

    def step(self, number):
        with self.connect() as connection:
            connection.sendall(self.bytes)
            connection.settimeout(0.3)
            with contextlib.suppress(OSError):
                connection.recv(100)


class Settlings(Attack):
    """Bodies of 31 MiB, of very many small values."""
    threads = 2

    def __init__(self, place, items=None):
        super().__init__(place)
        self.key = place.new_key(BAD, "worker")
        self.body = ('{"items": ' + (items or list_of("0", 31 * MIB)) + "}").encode()

    def step(self, number):
        with self.connect() as connection:
            connection.sendall(self.head("POST", f"/v1/tenants/{BAD}/leases/settle", self.key, len(self.body)))
            connection.sendall(self.body)
            connection.settimeout(20)
            connection.recv(1000)


class Unfinished(Attack):
    """Many large bodies that never end, and answers that nobody reads."""
    threads = 4

    def __init__(self, place):
        super().__init__(place)
        self.key = place.new_key(BAD)
        self.open = []

    def step(self, number):
        connection = self.connect(timeout=5)
        self.open.append(connection)
        path = f"/v1/tenants/{BAD}/jobs/batch"
        if len(self.open) % 2 == 0:
            connection.sendall(self.head("POST", path, self.key, 31 * MIB))
        else:
            connection.sendall(self.head("POST", path, self.key, more=["Transfer-Encoding: chunked"]))
            connection.sendall(b"%x\r\n" % (8 * MIB))
        connection.settimeout(1)
        with contextlib.suppress(OSError):
            connection.sendall(b" " * (7 * MIB))
        if len(self.open) > 200:
            for one in self.open[:100]:
                one.close()
            del self.open[:100]


# ---- Beside them -----------------------------------------------------------------------------------------------------

class Neighbours(unittest.TestCase):
    def test_sign_ins_of_a_megabyte(self):
        with neighbourhood(PROGRAM) as place:
            run_pairs(place, Logins(place)).check(self)

    def test_settling_with_31_mebibytes(self):
        with neighbourhood(PROGRAM) as place:
            run_pairs(place, Settlings(place)).check(self)

    def test_settling_with_31_mebibytes_that_are_kept_whole(self):
        item = json.dumps({"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "token": 1, "complete": {"output": 0}})
        large = list_of("0", 30_000)
        items = "[" + ",".join([item.replace('"output": 0', '"output": ' + large)] * 1000) + "]"
        with neighbourhood(PROGRAM) as place:
            run_pairs(place, Settlings(place, items)).check(self)

    def test_bodies_that_never_end(self):
        with neighbourhood(PROGRAM) as place:
            run_pairs(place, Unfinished(place)).check(self)


# ---- One by one ------------------------------------------------------------------------------------------------------

class Bounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.place = cls.stack.enter_context(neighbourhood(PROGRAM))
        cls.server = cls.place.server

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def test_a_sign_in_may_have_four_kibibytes(self):
        page = {"Origin": f"http://127.0.0.1:{self.place.port}", "Content-Type": "application/json"}
        answer = self.server.call("POST", "/login", raw=json.dumps({"token": "x" * 3900}), key="", headers=page)
        self.assertEqual(answer.status, 401, answer.body)
        answer = self.server.call("POST", "/login", raw=json.dumps({"token": "x" * 4200}), key="", headers=page)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (413, "body_too_large"))

    def test_lists_of_names_have_a_thousand(self):
        for name in ("types", "queues"):
            body = {"worker": "w", name: [f"n{i}" for i in range(1000)]}
            self.assertEqual(self.server.post("/v1/leases", body).status, 200)
            body[name].append("one more")
            answer = self.server.post("/v1/leases", body)
            self.assertEqual(answer.status, 400)
            self.assertIn(f"{name} (line 1, column", answer.json["error"]["message"])
            self.assertIn("more than 1000 items", answer.json["error"]["message"])

    def test_items_of_a_call_are_counted_while_they_are_read(self):
        item = {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "token": 1}
        self.assertEqual(self.server.post("/v1/leases/extend", {"items": [item] * 1000}).status, 200)
        answer = self.server.post("/v1/leases/extend", {"items": [item] * 1001})
        self.assertEqual(answer.status, 400)
        self.assertIn("more than 1000 items", answer.json["error"]["message"])
        # What stands behind the first item too many is not looked at.
        answer = self.server.post("/v1/leases/settle", raw='{"items": [' + "0," * 1000 + "x")
        self.assertIn("more than 1000 items", answer.json["error"]["message"])
        answer = self.server.post("/v1/tenants/default/jobs/batch", raw='{"jobs": [' + "0," * 10_000 + "x")
        self.assertIn("more than 10000 items", answer.json["error"]["message"])

    def test_dense_payloads_of_a_megabyte_are_taken(self):
        for payload in (list_of("0", MIB - 10), list_of("[]", MIB - 10), list_of('{"a":1}', MIB - 10),
                        "{" + ",".join(f'"{i:x}":0' for i in range(90_000)) + "}"):
            answer = self.server.post("/v1/tenants/default/jobs", raw='{"type": "t", "delay": "1h", "payload": %s}' % payload)
            self.assertEqual(answer.status, 201, answer.body[:300])
            self.assertEqual(json.dumps(answer.json["payload"], separators=(",", ":")), payload)

    def test_a_batch_of_ten_thousand_with_tags_is_taken(self):
        jobs = [{"type": "x", "delay": "1h", "tags": list("abcdefghij"), "priority": 3, "queue": "q"}] * 10_000
        answer = self.server.post("/v1/tenants/default/jobs/batch", raw=json.dumps({"jobs": jobs}, separators=(",", ":")))
        self.assertEqual(answer.status, 201, answer.body[:300])

    def test_one_large_body_takes_a_small_multiple_and_is_given_back(self):
        before = rss_mib(self.place.pid)
        worst = 0.0
        for item in ("0", "[]", '{"":0}', "[[0]]", '"a"'):
            done, peak = threading.Event(), []

            def watch():
                while not done.is_set():
                    peak.append(rss_mib(self.place.pid))
                    time.sleep(0.005)
            watcher = threading.Thread(target=watch)
            watcher.start()
            answer = self.server.post("/v1/leases/settle", raw='{"items": [{"id": "x", "x": %s}]}' % list_of(item, 31 * MIB))
            done.set()
            watcher.join()
            self.assertEqual(answer.status, 400, answer.body[:300])
            worst = max(worst, max(peak) - before)
        # The body twice, and what it may be read into.
        self.assertLess(worst, 2 * 31 + 32 + 40, "MiB more than before")
        until = time.monotonic() + 5
        while rss_mib(self.place.pid) > before + 32 and time.monotonic() < until:
            time.sleep(0.1)
        self.assertLess(rss_mib(self.place.pid), before + 32)


# ---- Doors that are opened again: what the tests above measure would then be seen ------------------------------------

class Reopened(unittest.TestCase):
    def test_sign_ins_in_the_line_of_all_hold_up_an_admin(self):
        """180 sign-ins of 1 MiB: with the hole an admin's call waits for all of them."""
        def waited(hole):
            with neighbourhood(PROGRAM, hole=hole) as place:
                attack = Logins(place)
                connections = []
                for _ in range(180):
                    connection = attack.connect()
                    with contextlib.suppress(OSError):
                        connection.sendall(attack.bytes)
                    connections.append(connection)
                began = time.monotonic()
                status = place.server.get("/v1/tenants/default/jobs").status
                took = time.monotonic() - began
                for connection in connections:
                    connection.close()
                self.assertEqual(status, 200)
                return took
        closed, opened = waited(None), waited("login_in_shared_pool")
        print(f"REPORT an admin waits {closed * 1000:.0f} ms, with the hole {opened * 1000:.0f} ms")
        self.assertLess(closed, 1.0)
        self.assertGreater(opened, 3 * closed)

    def test_large_bodies_on_the_net_thread_stop_everything(self):
        with neighbourhood(PROGRAM, hole="parse_on_net") as place:
            report = run_pairs(place, Settlings(place), pairs=1)
        self.assertTrue(any("/healthz" in fault or "memory" in fault for fault in report.faults()), report)


if __name__ == "__main__":
    unittest.main()
