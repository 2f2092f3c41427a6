"""Bad neighbours: streams of events that nobody reads, and webhooks that hang. A tenant that behaves notices neither.

Each attack is run a second time with its door open again (REOPEN_HOLE), and must then do harm: else the test proves nothing.
"""
import contextlib
import json
import socket
import sys
import threading
import time
import unittest

from neighbours import GOOD, Attack, Neighbour, neighbourhood, on_another, run_pairs

PROGRAM = sys.argv[1]
CONTROLS = "--controls" in sys.argv
if CONTROLS:
    sys.argv.remove("--controls")
CONTROL = unittest.skipUnless(CONTROLS, "this build has no switches that open doors again")
BAD = "bad"
STREAMS_OF_KEY = 32
KEYS = 13
JOBS_PER_SECOND = 3000


class UnreadStreams(Attack):
    """416 streams of events that nobody reads, and 3,000 jobs a second to tell of."""

    def __init__(self, place, jobs_at_once=300):
        super().__init__(place)
        self.keys = [place.new_key(BAD) for _ in range(KEYS)]
        self.pause = jobs_at_once / JOBS_PER_SECOND
        self.body = json.dumps({"jobs": [{"type": "work", "payload": number} for number in range(jobs_at_once)]}).encode()
        self.streams = []

    def open_stream(self, key):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(10)
        stream.connect(("127.0.0.1", self.port))
        stream.sendall(self.head("GET", "/v1/events", key))
        return stream

    def begin(self, number):
        for key in self.keys:
            for _ in range(STREAMS_OF_KEY):
                self.streams.append(self.open_stream(key))

    def step(self, number):
        began = time.monotonic()
        with contextlib.closing(self.connect()) as connection:
            connection.sendall(self.head("POST", f"/v1/tenants/{BAD}/jobs/batch", self.keys[0], len(self.body)) + self.body)
            connection.recv(4096)
        time.sleep(max(0.0, self.pause - (time.monotonic() - began)))

    def end(self):
        for stream in self.streams:
            stream.close()


class Target:
    """A server for webhooks on loopback: /ok answers, /hang never does."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.hanging = []
        self.called = {}  # when, by job
        self.changed = threading.Condition()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError):
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return connection.close()
                    head += piece
                if head.startswith(b"POST /hang"):
                    self.hanging.append(connection)
                    return None
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = head.split(b"\r\n\r\n", 1)[1]
                while len(body) < length:
                    body += connection.recv(65536)
                with self.changed:
                    self.called[json.loads(body)["job"]["id"]] = time.monotonic()
                    self.changed.notify_all()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def wait_for_call(self, job, seconds):
        """When the call for it came; None: not within that time."""
        with self.changed:
            self.changed.wait_for(lambda: job in self.called, seconds)
            return self.called.get(job)

    def close(self):
        self.listener.close()
        for connection in self.hanging:
            connection.close()


class Events(unittest.TestCase):
    def test_streams_that_nobody_reads_do_not_stop_the_others(self):
        with neighbourhood(PROGRAM) as place, on_another(PROGRAM, UnreadStreams) as elsewhere:
            report = run_pairs(place, UnreadStreams(place), elsewhere=elsewhere)
            made = place.server.get(f"/v1/tenants/{BAD}/quotas").json["live_jobs"]["used"]
            self.assertGreater(made, 3000, "the attack was not made")
            report.check(self)

    @CONTROL
    def test_with_the_door_open_they_do(self):
        with neighbourhood(PROGRAM, hole="events_on_driver") as place:
            report = run_pairs(place, UnreadStreams(place, jobs_at_once=1500), pairs=1, seconds=4.0)
            self.assertNotEqual(report.faults(), [], "the attack does no harm: it tests nothing")

    def test_a_key_and_all_keys_together_have_so_many_streams_and_no_more(self):
        with neighbourhood(PROGRAM) as place:
            attack = UnreadStreams(place)
            key = attack.keys[0]
            streams = [attack.open_stream(key) for _ in range(STREAMS_OF_KEY)]
            for stream in streams:
                self.assertTrue(stream.recv(12).endswith(b" 200"))
            refused = place.server.get("/v1/events", key=key)
            self.assertEqual((refused.status, refused.json["error"]["code"]), (429, "too_many_streams"), refused.body)
            self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
            # Another key has its own; and a place is free again when its client is gone.
            other = attack.open_stream(attack.keys[1])
            self.assertTrue(other.recv(12).endswith(b" 200"))
            streams.pop().close()
            until = time.monotonic() + 10
            while time.monotonic() < until:
                again = attack.open_stream(key)
                if again.recv(12).endswith(b" 200"):
                    break
                again.close()
                time.sleep(0.05)
            else:
                self.fail("the place of a stream that is gone stays taken")
            for stream in [*streams, other, again]:
                stream.close()

    def test_events_are_told_within_moments(self):
        with neighbourhood(PROGRAM) as place:
            with contextlib.closing(socket.create_connection(("127.0.0.1", place.port), timeout=10)) as stream:
                stream.sendall(Attack.head("GET", "/v1/events", place.good_key))
                heard = stream.recv(4096)
                while b"events follow" not in heard:
                    heard += stream.recv(4096)
                took = []
                for number in range(20):
                    made = place.server.post(f"/v1/tenants/{GOOD}/jobs", {"type": "work"}, key=place.good_key)
                    began = time.monotonic()
                    heard = b""
                    while made.json["id"].encode() not in heard:
                        heard += stream.recv(65536)
                    took.append(time.monotonic() - began)
                self.assertLess(sorted(took)[len(took) // 2], 0.1, took)


class Called(Neighbour):
    """Makes jobs for its webhook, some 20 a second: how long until the call comes."""

    def __init__(self, place, target):
        super().__init__(place)
        self.target = target

    def live(self, until, took, failed):
        while time.monotonic() < until:
            began = time.monotonic()
            made = self.place.server.post(f"/v1/tenants/{GOOD}/jobs", {"type": "hook"}, key=self.place.good_key)
            called = self.target.wait_for_call(made.json["id"], 5) if made.status == 201 else None
            if called is None:
                failed.append(f"hook: {made.status}, not called")
            else:
                took.append(called - began)
            time.sleep(max(0.0, 0.05 - (time.monotonic() - began)))


class HangingHost(Attack):
    """Calls to a host that takes them and never answers: more than there are slots, and more of them all the time."""

    def __init__(self, place):
        super().__init__(place)
        self.target = None
        self.most = 0

    def start(self):
        # A new one each time: calls to the last one have failed.
        self.target = Target()
        answer = self.place.server.put(f"/v1/tenants/{BAD}/handlers/hook",
                                       {"kind": "webhook", "url": self.target.url("/hang"), "timeout": "60s"})
        assert answer.status == 200, answer.body
        super().start()

    def step(self, number):
        self.place.server.post(f"/v1/tenants/{BAD}/jobs/batch", {"jobs": [{"type": "hook", "max_attempts": 1}] * 20})
        time.sleep(0.1)

    def stop(self):
        super().stop()
        self.most = max(self.most, len(self.target.hanging))
        self.place.server.post(f"/v1/tenants/{BAD}/jobs/bulk", {"action": "cancel", "all": True})
        self.target.close()


class Webhooks(unittest.TestCase):
    SLOTS = 4

    @contextlib.contextmanager
    def place(self, hole=None):
        target = Target()
        try:
            with neighbourhood(PROGRAM, "--max-concurrency", str(self.SLOTS), "--drain", "1s", "--set",
                               "webhooks.allow=127.0.0.1",
                               hole=hole) as place:
                place.bad_key = place.new_key(BAD)
                answer = place.server.put(f"/v1/tenants/{GOOD}/handlers/hook", {"kind": "webhook", "url": target.url("/ok")})
                assert answer.status == 200, answer.body
                yield place, target
        finally:
            target.close()

    def hang(self, place, target, timeout, jobs):
        answer = place.server.put(f"/v1/tenants/{BAD}/handlers/hook",
                                  {"kind": "webhook", "url": target.url("/hang"), "timeout": timeout})
        self.assertEqual(answer.status, 200, answer.body)
        answer = place.server.post(f"/v1/tenants/{BAD}/jobs/batch", {"jobs": [{"type": "hook", "max_attempts": 1}] * jobs})
        self.assertEqual(answer.status, 201, answer.body)

    def seconds_until_done(self, place, most):
        """How long a job of the tenant that behaves takes; inf: longer than that."""
        began = time.monotonic()
        made = place.server.post(f"/v1/tenants/{GOOD}/jobs", {"type": "hook"}, key=place.good_key)
        self.assertEqual(made.status, 201, made.body)
        answer = place.server.get(f"/v1/tenants/{GOOD}/jobs/{made.json['id']}?wait={most}s", key=place.good_key)
        return time.monotonic() - began if answer.json["state"] == "done" else float("inf")

    def wait_for(self, is_so, why):
        until = time.monotonic() + 30
        while not is_so():
            self.assertLess(time.monotonic(), until, why)
            time.sleep(0.02)

    def slowest_beside_failures(self, hole=None):
        """Five of the other tenant's calls to the same server have had no answer."""
        with self.place(hole) as (place, target):
            self.hang(place, target, "1s", 8)
            self.wait_for(lambda: len(target.hanging) >= 5, "the calls that hang are not made")
            time.sleep(1.5)
            return max(self.seconds_until_done(place, 6) for _ in range(5))

    def slowest_beside_hanging(self, hole=None):
        """The other tenant's calls wait for a minute, and there are more of them than slots."""
        with self.place(hole) as (place, target):
            self.hang(place, target, "60s", 10 * self.SLOTS)
            self.wait_for(lambda: len(target.hanging) >= self.SLOTS - 1, "the calls that hang are not made")
            time.sleep(0.5)
            return max(self.seconds_until_done(place, 6) for _ in range(5))

    def test_calls_come_as_fast_beside_a_host_that_hangs(self):
        with self.place() as (place, target):
            attack = HangingHost(place)
            report = run_pairs(place, attack, neighbour=Called(place, target))
            self.assertGreaterEqual(attack.most, self.SLOTS - 1, "the attack was not made")
            report.check(self)

    def test_with_the_door_open_they_do_not(self):
        with self.place("breaker_of_all_tenants") as (place, target):
            report = run_pairs(place, HangingHost(place), pairs=1, seconds=4.0, neighbour=Called(place, target))
            self.assertNotEqual(report.faults(), [], "the attack does no harm: it tests nothing")

    def test_a_host_that_does_not_answer_another_tenant_is_called(self):
        self.assertLess(self.slowest_beside_failures(), 5)

    @CONTROL
    def test_with_the_door_open_it_is_left_alone(self):
        self.assertGreater(self.slowest_beside_failures("breaker_of_all_tenants"), 5)

    def test_calls_of_another_tenant_that_hang_leave_a_slot(self):
        self.assertLess(self.slowest_beside_hanging(), 5)

    @CONTROL
    def test_with_the_door_open_they_leave_none(self):
        self.assertGreater(self.slowest_beside_hanging("breaker_of_all_tenants"), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
