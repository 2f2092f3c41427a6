"""What callers without a key, with large bodies, or with very many of them cannot take from the others.

  neighbours_test.py PROGRAM [--controls]
"""
import contextlib
import functools
import json
import os
import resource
import select
import socket
import sys
import tempfile
import threading
import time
import unittest

from neighbours import FULL, Attack, neighbourhood, on_another, rss_mib, run_pairs
from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
CONTROLS = "--controls" in sys.argv
if CONTROLS:
    sys.argv.remove("--controls")
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


class Parked(Attack):
    """As many connections as a key may have calls: each with calls that wait, and more behind them than are read."""
    threads = 4
    CONNECTIONS = 400     # a thread
    PIPELINED = 24        # calls on one: 16 are taken in

    def __init__(self, place):
        super().__init__(place)
        self.key = place.new_key(BAD, "worker")
        self.open = [[] for _ in range(self.threads)]
        body = json.dumps({"worker": "w", "types": ["none"], "wait": "30s"}).encode()
        poll = self.head("POST", f"/v1/tenants/{BAD}/leases", self.key, len(body)) + body
        small = self.head("GET", f"/v1/tenants/{BAD}/jobs", self.key)
        self.bytes = poll * self.PIPELINED + small * 400  # nobody reads what these are told

    def begin(self, number):
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def step(self, number):
        mine = self.open[number]
        if len(mine) >= self.CONNECTIONS:
            for one in mine[:100]:
                one.close()
            del mine[:100]
        connection = self.connect(timeout=5)
        mine.append(connection)
        connection.settimeout(0.2)
        connection.sendall(self.bytes)
        # Some 200 per second, as Crowd: where the system takes all bytes at once it would be 10,000, a flood of connections.
        time.sleep(0.02)


class Choosy(Attack):
    """Calls that wait, each for a thousand names that no other asks for, and workers of ever new names that ask once; beside them
    jobs of ever new kinds, which the engine holds against all of these."""
    threads = 3
    CONNECTIONS = 500 if FULL else 250    # with 16 calls that wait on each
    CALLS = 16

    def __init__(self, place):
        super().__init__(place)
        self.worker, self.owner = place.new_key(BAD, "worker"), place.new_key(BAD)
        self.open = []
        self.made = [0] * self.threads
        self.names = [f"n{i}" for i in range(999)]

    def call(self, key, path, body):
        text = json.dumps(body, separators=(",", ":")).encode()
        return self.head("POST", f"/v1/tenants/{BAD}{path}", key, len(text)) + text

    def step(self, number):
        self.made[number] += 1
        (self.wait, self.ask, self.make)[number](self.made[number])

    def wait(self, number):
        if len(self.open) >= self.CONNECTIONS:
            return time.sleep(0.05)
        connection = self.connect(timeout=5)
        self.open.append(connection)
        connection.sendall(b"".join(
            self.call(self.worker, "/leases", {"worker": "w", "types": [f"{number}.{i}", *self.names], "wait": "60s"})
            for i in range(self.CALLS)))

    def ask(self, number):
        names = [str(i).ljust(60, "x") for i in range(1000)]
        with self.connect(timeout=5) as connection:
            connection.sendall(self.call(self.worker, "/leases", {"worker": f"w{number}", "types": [str(number), *names[1:]]}))
            connection.recv(1000)

    def make(self, number):
        with self.connect(timeout=30) as connection:
            jobs = [{"type": f"t{(number * 200 + i) % 97}", "queue": f"q{(number * 200 + i) % 101}"} for i in range(200)]
            connection.sendall(self.call(self.owner, "/jobs/batch", {"jobs": jobs}))
            connection.recv(1000)
        time.sleep(0.2)


class HeadsOnly(Attack):
    """Pushes of 1 MiB by nobody, from four addresses, of which only the head comes."""
    threads = 4
    CONNECTIONS = 300     # a thread

    def __init__(self, place):
        super().__init__(place)
        self.open = [[] for _ in range(self.threads)]

    def step(self, number):
        mine = self.open[number]
        if len(mine) >= self.CONNECTIONS:
            time.sleep(0.05)
            return
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=5,
                                              source_address=(f"127.0.0.{number + 2}", 0))
        mine.append(connection)
        length = MIB if len(mine) <= 80 else 30_000
        connection.sendall(self.head("POST", f"/v1/tenants/{BAD}/hooks/none", length=length) + b"x" * (length // 16))


class Unread(Attack):
    """Pages of some megabytes, asked for with several keys on many connections, which nobody reads."""
    threads = 3

    def __init__(self, place):
        super().__init__(place)
        owner = place.new_key(BAD)
        for _ in range(9):
            answer = place.server.post(f"/v1/tenants/{BAD}/jobs", {"type": "t", "delay": "1h", "payload": "x" * 900_000},
                                       key=owner)
            assert answer.status == 201, answer.body
        self.keys = [place.new_key(BAD, "read") for _ in range(self.threads)]
        self.open = []

    def step(self, number):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(5)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(self.head("GET", f"/v1/tenants/{BAD}/jobs?limit=100", self.keys[number]))
        self.open.append(connection)
        time.sleep(0.02 if len(self.open) < 150 else 0.5)


class Leavers(Attack):
    """Calls that say they will wait for a minute, each with a thousand names, whose callers leave at once."""
    threads = 4 if FULL else 1  # beside other work on two cores four hold up newcomers for half a second

    def __init__(self, place):
        super().__init__(place)
        key = place.new_key(BAD, "worker")
        body = json.dumps({"worker": "w", "types": [f"{i}".rjust(55, "x") for i in range(1000)], "wait": "60s"}).encode()
        self.bytes = self.head("POST", f"/v1/tenants/{BAD}/leases", key, len(body)) + body

    def step(self, number):
        with self.connect() as connection:
            connection.sendall(self.bytes)
        time.sleep(0.01)  # as in Parked: calls that are left, no flood of connections


class Crowd(Attack):
    """More connections than there are places, from the address that all others come from: half say nothing, half are two
    keys' calls that wait. Those that were closed come again."""
    threads = 4

    def __init__(self, place, places, fills_gaps=False):
        super().__init__(place)
        self.places = places
        self.fills_gaps = fills_gaps  # comes again at once for each that was closed, so that no place stays free
        self.each = places * 12 // 10 // self.threads
        self.open = [[] for _ in range(self.threads)]
        self.keys = [place.new_key(BAD, "worker") for _ in range(2)]
        self.body = json.dumps({"worker": "w", "types": ["none"], "wait": "30s"}).encode()

    def begin(self, number):
        with contextlib.suppress(ValueError, OSError):
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def start(self):
        super().start()
        until = time.monotonic() + 20
        while len(os.listdir(f"/proc/{self.place.pid}/fd")) < self.places and time.monotonic() < until:
            time.sleep(0.05)

    def step(self, number):
        mine = self.open[number]
        if len(mine) >= self.each:
            # A live one is kept: who gave it up would leave a place to others, whatever the server does.
            self.forget_closed(mine, len(mine) if self.fills_gaps else 1)
            if not self.fills_gaps or len(mine) >= self.each:
                time.sleep(0.02)  # some 200 a second: who connects has seconds to say who he is, also on a busy machine
            if len(mine) >= self.each:
                return
        connection = self.connect(timeout=5)
        mine.append(connection)
        if number < len(self.keys):
            connection.sendall(self.head("POST", f"/v1/tenants/{BAD}/leases", self.keys[number], len(self.body)) + self.body)

    @staticmethod
    def forget_closed(mine, most):
        poll = select.poll()
        by_file = {connection.fileno(): connection for connection in mine}
        for file in by_file:
            poll.register(file, select.POLLRDHUP)
        closed = {file for file, _ in poll.poll(0)[:most]}
        for file in closed:
            by_file[file].close()
        mine[:] = [connection for file, connection in by_file.items() if file not in closed]


# ---- Beside them -----------------------------------------------------------------------------------------------------

def check_beside(test, make, *flags):
    with neighbourhood(PROGRAM, *flags) as place, on_another(PROGRAM, make, *flags) as elsewhere:
        run_pairs(place, make(place), elsewhere=elsewhere).check(test)


class Neighbours(unittest.TestCase):
    def test_sign_ins_of_a_megabyte(self):
        check_beside(self, Logins)

    def test_settling_with_31_mebibytes(self):
        check_beside(self, Settlings)

    def test_settling_with_31_mebibytes_that_are_kept_whole(self):
        item = json.dumps({"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "token": 1, "complete": {"output": 0}})
        large = list_of("0", 30_000)
        items = "[" + ",".join([item.replace('"output": 0', '"output": ' + large)] * 1000) + "]"
        check_beside(self, lambda place: Settlings(place, items))

    def test_bodies_that_never_end(self):
        check_beside(self, Unfinished)

    def test_calls_that_wait_on_many_connections_with_more_behind_them(self):
        check_beside(self, Parked)

    def test_calls_that_wait_whose_callers_leave(self):
        check_beside(self, Leavers)

    def test_calls_that_wait_each_for_other_names(self):
        check_beside(self, Choosy)

    def test_heads_of_pushes_that_nobody_follows_up(self):
        check_beside(self, HeadsOnly)

    def test_answers_that_nobody_reads(self):
        check_beside(self, Unread)


class Crowded(unittest.TestCase):
    """A neighbour whose connections come from the same address as very many others, as behind a proxy."""
    PLACES = 10_000 if FULL else 1_000
    FLAGS = ("--set", f"http.connections={PLACES}", "--set", f"http.connections_each={PLACES * 8 // 10}")

    def test_more_connections_than_places(self):
        check_beside(self, lambda place: Crowd(place, self.PLACES), *self.FLAGS)

    @unittest.skipUnless(CONTROLS and FULL, "of 1,000 places some are free now and then: at full counts only, with switches")
    def test_with_the_door_open_there_is_no_place(self):
        with neighbourhood(PROGRAM, *self.FLAGS, hole="crowd_keeps_places") as place:
            report = run_pairs(place, Crowd(place, self.PLACES, fills_gaps=True), pairs=1)
        self.assertGreater(report.failed(), 0, f"the attack does no harm: it tests nothing: {report}")


class FewFiles(unittest.TestCase):
    """A process that may open 1,024 files, and 1,100 connections without a key."""

    def test_connections_leave_files_for_all_else(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            limited = os.path.join(folder, "limited")
            with open(limited, "w") as file:
                file.write(f'#!/bin/sh\nulimit -n 1024\nexec {PROGRAM} "$@"\n')
            os.chmod(limited, 0o755)
            with open(os.path.join(folder, "carillon.toml"), "w") as file:
                file.write('[handlers."run"]\nkind = "exec"\nallow_root = true\n'
                           'argv = ["/bin/sh", "-c", "test $(ulimit -n) -ge 256"]\n')
            server = stack.enter_context(Server(limited, folder=folder))
            for number in range(1100):
                connection = socket.socket()
                stack.callback(connection.close)
                connection.settimeout(5)
                connection.bind(("127.0.0.2", 0))
                connection.connect(("127.0.0.1", server.port))
            time.sleep(0.5)
            self.assertEqual(server.get("/healthz", key="").status, 200)
            made = server.post("/v1/tenants/default/jobs", {"type": "run", "max_attempts": 1})
            self.assertEqual(made.status, 201, made.body)
            job = server.get(f"/v1/tenants/default/jobs/{made.json['id']}?wait=20s").json
            self.assertEqual(job["state"], "done", job)
            self.assertLess(len(os.listdir(f"/proc/{server.process.pid}/fd")), 700)


# ---- One by one ------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def wait_for_different_names(place, key):
    """As many calls as a tenant may have wait, each for another name."""
    with contextlib.ExitStack() as stack:
        for number in range(256):
            connection = stack.enter_context(Attack(place).connect())
            body = json.dumps({"worker": "w", "types": [f"n{number}"], "wait": "60s"}).encode()
            connection.sendall(Attack.head("POST", f"/v1/tenants/{BAD}/leases", key, len(body)) + body)
        yield


def lease_one(server, tenant, kind, key):
    return server.post(f"/v1/tenants/{tenant}/leases", {"worker": "w", "types": [kind], "wait": "1s"}, key=key)


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

    def test_so_many_different_lists_of_names_wait(self):
        key = self.place.new_key(BAD, "worker")
        lease = functools.partial(lease_one, self.server)
        with wait_for_different_names(self.place, key):
            until = time.monotonic() + 20
            while (refused := lease(BAD, "more", key)).status == 200 and time.monotonic() < until:
                time.sleep(0.05)
            self.assertEqual((refused.status, refused.json["error"]["code"]), (429, "too_many_filters"))
            self.assertEqual(refused.headers["retry-after"], "1")
            self.assertEqual(lease(BAD, "n7", key).status, 200, "one that waits already")
            self.assertEqual(lease("good", "more", self.place.good_key).status, 200, "another tenant's")
        while lease(BAD, "more", key).status != 200:
            self.assertLess(time.monotonic(), until + 20)
            time.sleep(0.05)

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

@unittest.skipUnless(CONTROLS, "this build has no switches that open doors again")
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
                        connection.sendall(attack.bytes[:-1])
                    connections.append(connection)
                # All are there whole at once: one after the other a quick machine would keep up with them.
                for connection in connections:
                    with contextlib.suppress(OSError):
                        connection.sendall(attack.bytes[-1:])
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

    def test_calls_stay_when_their_callers_have_left(self):
        with neighbourhood(PROGRAM, hole="gone_calls_wait") as place:
            key = place.new_key(BAD, "worker")
            with wait_for_different_names(place, key):
                until = time.monotonic() + 20
                while lease_one(place.server, BAD, "more", key).status == 200 and time.monotonic() < until:
                    time.sleep(0.05)
            time.sleep(3)
            self.assertEqual(lease_one(place.server, BAD, "more", key).status, 429, "they are forgotten: it tests nothing")

    def test_large_bodies_on_the_net_thread_stop_everything(self):
        with neighbourhood(PROGRAM, hole="parse_on_net") as place:
            report = run_pairs(place, Settlings(place), pairs=1)
        self.assertTrue(any("/healthz" in fault or "memory" in fault for fault in report.faults()), report)


if __name__ == "__main__":
    unittest.main()
