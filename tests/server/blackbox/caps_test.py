"""How many attempts run at once, counted where they arrive, and what becomes of claims that never began.

Webhooks and commands call a target on loopback, which knows how many of them it has at any instant. (invariants 6, 12)
"""
import collections
import http.server
import json
import os
import signal
import sys
import tempfile
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
CAPS = (1, 2, 4, 8)
# A command that is one call of the target: with the shell alone, so that many of them cost little.
CALL = ("exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'POST /exec HTTP/1.1\\r\\nJob: %s\\r\\nAttempt: %s\\r\\n"
        "Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n' $CARILLON_JOB_ID $CARILLON_ATTEMPT >&3; read -r line <&3")
# On a disk that is quick, so that claims run ahead however busy the machine is.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Target:
    """Answers at once, after a while, or not before `open` is set; and counts."""

    def __init__(self, takes=lambda count: 0.0):
        target = self
        self.lock, self.open = threading.Lock(), threading.Event()
        self.running = self.most = 0
        self.calls = collections.Counter()  # by path
        self.attempts = {}                  # of each job, in the order of its calls
        self.takes = takes                  # None: until it is open
        self.open.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with target.lock:
                    target.running += 1
                    target.most = max(target.most, target.running)
                    target.calls[self.path] += 1
                    said = json.loads(body) if body else None
                    job = said["job"]["id"] if said else self.headers["job"]
                    target.attempts.setdefault(job, []).append(said["attempt"] if said else int(self.headers["attempt"]))
                    seconds = target.takes(sum(target.calls.values()))
                if seconds is None:
                    target.open.wait(timeout=60)
                else:
                    time.sleep(seconds)
                with target.lock:
                    target.running -= 1
                try:
                    self.send_response(200)
                    self.send_header("content-length", "0")
                    self.end_headers()
                except OSError:
                    pass  # it was killed

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass
        self.http = Listener(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open.set()
        self.http.shutdown()
        self.http.server_close()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Caps(unittest.TestCase):
    def serve(self, target, *flags):
        folder = tempfile.TemporaryDirectory(prefix="carillon-caps-", dir=FOLDER)
        self.addCleanup(folder.cleanup)
        server = Server(PROGRAM, "--set", "webhooks.allow=127.0.0.1", *flags, folder=folder.name)
        rights = "allow_root = true\n" if os.geteuid() == 0 else ""
        with open(os.path.join(server.folder, "carillon.toml"), "w") as file:
            file.write(f'[handlers.run]\nkind = "exec"\nargv = ["/bin/bash", "-c", {json.dumps(CALL.format(port=target.port))}]\n{rights}')
        server.__enter__()
        self.addCleanup(server.__exit__)
        Server.accepted(server.put(T + "/handlers/call", {"kind": "webhook", "url": f"http://127.0.0.1:{target.port}/hook"}))
        return server

    def jobs(self, server, kinds, **fields):
        made = Server.ok(server.post(T + "/jobs/batch", {"jobs": [{"type": kind, **fields} for kind in kinds]}), 201)["items"]
        return [one["id"] for one in made]

    def done(self, server):
        return server.get("/v1/status").json["counts"].get("done", 0)

    def run_all(self, server, target, cap, kinds):
        ids = self.jobs(server, kinds)
        self.assertTrue(until(lambda: self.done(server) == len(ids)), server.get("/v1/status").body)
        self.assertEqual(sum(target.calls.values()), len(ids))
        self.assertLessEqual(target.most, cap, "attempts at once, counted at their target")

    # ---- Invariant 6 ----
    MIXED = ["call", "run", "call", "call"] * 40

    def test_webhooks_and_commands_keep_to_the_nodes_cap(self):
        for cap in CAPS:
            with self.subTest(cap=cap), Target(lambda count: 0.004) as target:
                server = self.serve(target, "--max-concurrency", str(cap))
                self.run_all(server, target, cap, self.MIXED)
                self.assertEqual(target.calls, {"/hook": 120, "/exec": 40})
                server.__exit__()

    def test_webhooks_and_commands_keep_to_the_cap_of_all_nodes(self):
        for cap in CAPS:
            with self.subTest(cap=cap), Target(lambda count: 0.004) as target:
                server = self.serve(target, "--max-concurrency", "8")
                Server.accepted(server.put("/v1/config", {"max_concurrent_jobs": cap}))
                self.run_all(server, target, cap, self.MIXED)
                server.__exit__()

    def test_webhooks_alone_and_commands_alone_use_all_of_it(self):
        for kind in ("call", "run"):
            with self.subTest(kind=kind), Target(lambda count: None) as target:
                server = self.serve(target, "--max-concurrency", "4")
                target.open.clear()
                self.jobs(server, [kind] * 20)
                self.assertTrue(until(lambda: target.running == 4))
                target.open.set()
                self.assertTrue(until(lambda: self.done(server) == 20))
                self.assertEqual(target.most, 4)
                server.__exit__()

    def test_a_cap_that_changes_while_jobs_run_holds_from_then_on(self):
        with Target(lambda count: None) as target:
            server = self.serve(target, "--max-concurrency", "8")
            target.open.clear()
            self.jobs(server, ["call", "call", "run"] * 60)
            self.assertTrue(until(lambda: target.running == 8))
            for cap, before in ((3, 8), (1, 3), (5, 1), (8, 5)):
                Server.accepted(server.put("/v1/config", {"max_concurrent_jobs": cap}))
                if cap < before:  # those that run go on to their end; no other starts before there is room
                    self.assertEqual(target.running, before)
                    target.open.set()
                    target.open.clear()
                self.assertTrue(until(lambda: target.running == cap), (cap, target.running))
                target.most = cap
                time.sleep(0.3)
                self.assertEqual((target.running, target.most), (cap, cap))
            target.open.set()
            self.assertTrue(until(lambda: self.done(server) == 180))
            self.assertLessEqual(target.most, 8)

    # ---- What runs is what is shown ----
    def test_what_is_in_flight_is_what_runs(self):
        """Quick calls make claims run ahead; then the target holds what it has, and nothing else runs."""
        for cap in (1, 4):
            with self.subTest(cap=cap), Target(lambda count: 0.001 if count <= 60 else None) as target:
                server = self.serve(target, "--max-concurrency", str(cap))
                target.open.clear()
                self.jobs(server, ["call", "run"] * 100)
                self.assertTrue(until(lambda: target.running == cap and sum(target.calls.values()) == 60 + cap))
                time.sleep(1.2)  # a tick has told it
                status = Server.ok(server.get("/v1/status"))
                self.assertEqual((status["in_flight"], target.running), (cap, cap))
                gauge = [line for line in server.get("/metrics").body.decode().splitlines() if line.startswith("carillon_in_flight ")]
                self.assertEqual([float(line.split()[1]) for line in gauge], [cap])
                self.assertEqual(status["ready"] + status["counts"]["processing"], 140)
                target.open.set()
                self.assertTrue(until(lambda: self.done(server) == 200))
                server.__exit__()

    # ---- Invariant 12 ----
    def killed_while_claims_run_ahead(self, kind, **fields):
        """What each of 200 jobs has come to when the server was killed while some ran and others were claimed."""
        with Target(lambda count: None if count > 60 else 0.001) as target:
            server = self.serve(target, "--max-concurrency", "2")
            target.open.clear()
            ids = self.jobs(server, [kind] * 200, **fields)
            self.assertTrue(until(lambda: sum(target.calls.values()) == 62))
            time.sleep(0.5)  # rounds go by: what runs is known to
            server.stop(signal.SIGKILL)
            ran = {job for job in ids if job in target.attempts}
            target.takes = lambda count: 0.0
            target.open.set()
            server.start()
            self.assertTrue(until(lambda: (lambda counts: counts["queued"] + counts["processing"] == 0)(
                server.get("/v1/status").json["counts"])), server.get("/v1/status").body)
            states = {job: Server.ok(server.get(f"{T}/jobs/{job}")) for job in ids}
            server.__exit__()
        return ran, target.attempts, states

    def test_a_job_that_never_began_is_not_parked_by_a_kill(self):
        for kind in ("run", "call"):
            with self.subTest(kind=kind):
                ran, _, jobs = self.killed_while_claims_run_ahead(kind, max_attempts=1)
                parked = {job for job, read in jobs.items() if read["state"] == "dlq"}
                self.assertLessEqual(parked, ran, "parked, and never called")
                self.assertEqual(len(parked), 2, "those that ran when it was killed")
                self.assertEqual(collections.Counter(read["state"] for read in jobs.values()), {"done": 198, "dlq": 2})

    def test_a_claim_that_never_began_costs_no_attempt(self):
        for kind in ("run", "call"):
            with self.subTest(kind=kind):
                ran, attempts, jobs = self.killed_while_claims_run_ahead(kind, max_attempts=3,
                                                                         retry={"kind": "fixed", "delay": "1s"})
                self.assertEqual({read["state"] for read in jobs.values()}, {"done"})
                self.assertEqual({attempts[job][0] for job in jobs}, {1}, "the first time that each is called")
                self.assertEqual(sum(len(calls) for calls in attempts.values()), 202)
                self.assertEqual([attempts[job][1] for job in ran if len(attempts[job]) == 2], [2, 2])


if __name__ == "__main__":
    unittest.main()
