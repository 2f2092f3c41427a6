"""Handlers without code from outside: their limits, and webhooks over https."""
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"


class Target:
    """What webhooks call: it answers as it is told, and knows when each call began and how many there were at once."""

    def __init__(self, context=None, answer=lambda count: (200, {})):
        target = self
        self.began, self.running, self.most, self.gate = [], 0, 0, threading.Event()
        self.lock = threading.Lock()
        self.gate.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                with target.lock:
                    target.began.append(time.monotonic())
                    count = len(target.began)
                    target.running += 1
                    target.most = max(target.most, target.running)
                target.gate.wait(timeout=60)
                with target.lock:
                    target.running -= 1
                status, headers = answer(count)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # a client that does not trust us goes away
                pass
        self.http = Listener(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.set()
        self.http.shutdown()
        self.http.server_close()


def until(condition, seconds=30):
    for _ in range(seconds * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


class Handlers(unittest.TestCase):
    def serve(self, *settings, allow="127.0.0.1"):
        server = Server(PROGRAM, "--set", f"webhooks.allow={allow}", *settings)
        self.addCleanup(server.own_folder.cleanup)
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def handle(self, server, target, limits=(), scheme="http", name="call", host="127.0.0.1"):
        body = {"kind": "webhook", "url": f"{scheme}://{host}:{target.port}/", "limits": list(limits)}
        return self.ok(server.put(f"{T}/handlers/{name}", body))

    def jobs(self, server, count, **fields):
        made = self.ok(server.post(T + "/jobs/batch", {"jobs": [{"type": "call", **fields}] * count}), 201)["items"]
        return [one["id"] for one in made]

    def done(self, server):
        return len(self.ok(server.get(T + "/jobs?state=done&limit=500"))["items"])

    # ---- Limits ----
    def test_a_handlers_concurrency_holds_for_jobs_that_name_no_limit(self):
        server = self.serve("--max-concurrency", "16")
        with Target() as target:
            target.gate.clear()
            self.ok(server.put(T + "/limits/partner", {"concurrency": 2}))
            self.handle(server, target, ["partner"])
            ids = self.jobs(server, 12)
            self.assertTrue(until(lambda: target.running == 2))
            time.sleep(0.5)
            self.assertEqual(target.running, 2)
            whys = {self.ok(server.get(f"{T}/jobs/{one}/explain"))["steps"][-1]["why"] for one in ids}
            self.assertIn("limit:partner", whys)
            target.gate.set()
            self.assertTrue(until(lambda: self.done(server) == 12))
            self.assertEqual(target.most, 2)
            # Without them the same jobs run all at once: it was the limit that held them.
            target.gate.clear()
            self.handle(server, target)
            self.jobs(server, 12)
            self.assertTrue(until(lambda: target.running > 2))

    def test_limits_of_a_handler_that_changes_hold_for_jobs_that_wait_already(self):
        server = self.serve("--max-concurrency", "16")
        with Target() as target:
            target.gate.clear()
            self.ok(server.put(T + "/limits/partner", {"concurrency": 1}))
            self.ok(server.put(T + "/queues/default", {"paused": True}))
            self.handle(server, target)
            self.jobs(server, 8)
            self.handle(server, target, ["partner"])
            self.ok(server.put(T + "/queues/default", {"paused": False}))
            self.assertTrue(until(lambda: target.running == 1))
            time.sleep(0.5)
            target.gate.set()
            self.assertTrue(until(lambda: self.done(server) == 8))
            self.assertEqual(target.most, 1)
            # And after a restart, from what is stored.
            target.most = 0
            server.stop()
            server.start()
            self.jobs(server, 8)
            self.assertTrue(until(lambda: self.done(server) == 16))
            self.assertEqual(target.most, 1)

    def test_a_handlers_rate_holds(self):
        server = self.serve()
        with Target() as target:
            self.ok(server.put(T + "/limits/partner", {"rate": 5, "per": "1s", "burst": 1}))
            self.handle(server, target, ["partner"])
            self.jobs(server, 8)
            self.assertTrue(until(lambda: self.done(server) == 8))
            # Seven intervals of 200 ms; a call may be a little late, and the next one is then closer to it.
            self.assertGreater(target.began[-1] - target.began[0], 1.2)

    def test_a_job_takes_its_own_limits_too(self):
        server = self.serve("--max-concurrency", "16")
        with Target() as target:
            target.gate.clear()
            self.ok(server.put(T + "/limits/partner", {"concurrency": 3}))
            self.ok(server.put(T + "/limits/own", {"concurrency": 1}))
            self.handle(server, target, ["partner"])
            self.jobs(server, 6, limits=["own"])
            self.assertTrue(until(lambda: target.running == 1))
            self.jobs(server, 6)
            self.assertTrue(until(lambda: target.running == 3))
            time.sleep(0.3)
            self.assertEqual(target.running, 3)
            target.gate.set()
            self.assertTrue(until(lambda: self.done(server) == 12))
            self.assertEqual(target.most, 3)

    def test_too_many_requests_teaches_the_handlers_limit(self):
        server = self.serve()
        with Target(answer=lambda count: (429, {"Retry-After": "3"}) if count == 1 else (200, {})) as target:
            self.ok(server.put(T + "/limits/partner", {"concurrency": 1}))
            self.handle(server, target, ["partner"])
            ids = self.jobs(server, 4)
            self.assertTrue(until(lambda: self.done(server) == 4))
            self.assertGreater(target.began[1] - target.began[0], 2)
            self.assertEqual(self.ok(server.get(f"{T}/jobs/{ids[-1]}"))["attempt"], 1)

    def test_an_operators_handler_has_limits_too(self):
        with tempfile.TemporaryDirectory(prefix="carillon-blackbox-") as folder:
            config = os.path.join(folder, "limits.toml")
            with open(config, "w") as file:
                file.write('[handlers."call"]\nkind = "exec"\nargv = ["/bin/sleep", "0.4"]\nallow_root = true\nlimits = ["cpu"]\n')
            server = self.serve("--config", config, "--max-concurrency", "8")
            self.ok(server.put("/v1/limits/cpu", {"concurrency": 1}))
            began = time.monotonic()
            self.jobs(server, 4)
            self.assertTrue(until(lambda: self.done(server) == 4))
            self.assertGreater(time.monotonic() - began, 1.5)
            self.ok(server.put("/v1/limits/cpu", {"concurrency": 4}))
            began = time.monotonic()
            self.jobs(server, 4)
            self.assertTrue(until(lambda: self.done(server) == 8))
            self.assertLess(time.monotonic() - began, 1.5)
            with open(config, "w") as file:
                file.write('[handlers."call"]\nkind = "exec"\nargv = ["/bin/true"]\nallow_root = true\nlimits = ["a", "b", "c", "d", "e"]\n')
            refused = subprocess.run([PROGRAM, "config", "check", "--config", config], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("at most 4", refused.stdout + refused.stderr)

    # ---- https ----
    def certificates(self, folder):
        """An authority of our own and a certificate by it for 127.0.0.1."""
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority")
        openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=target")
        with open(os.path.join(folder, "names"), "w") as file:
            file.write("subjectAltName=IP:127.0.0.1")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", "server.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "server.pem"), os.path.join(folder, "server.key"))
        return context, os.path.join(folder, "ca.pem")

    def attempt(self, server, one):
        self.assertTrue(until(lambda: self.ok(server.get(f"{T}/jobs/{one}"))["attempts"]))
        return self.ok(server.get(f"{T}/jobs/{one}"))

    def test_webhooks_over_https(self):
        with tempfile.TemporaryDirectory(prefix="carillon-blackbox-") as folder:
            context, authority = self.certificates(folder)
            with Target(context) as target:
                server = self.serve("--set", f"webhooks.ca_file={authority}", allow="127.0.0.1,localhost")
                self.handle(server, target, scheme="https")
                job = self.attempt(server, self.jobs(server, 1)[0])
                self.assertEqual(job["state"], "done", job)
                # The certificate is for the address, not for this name.
                self.handle(server, target, scheme="https", host="localhost")
                job = self.attempt(server, self.jobs(server, 1)[0])
                self.assertEqual((job["state"], len(target.began)), ("queued", 1), job)

    def test_a_certificate_that_nobody_vouches_for_is_refused(self):
        with tempfile.TemporaryDirectory(prefix="carillon-blackbox-") as folder:
            context, _ = self.certificates(folder)
            with Target(context) as target:
                server = self.serve()  # trusts whom the system trusts
                self.handle(server, target, scheme="https")
                job = self.attempt(server, self.jobs(server, 1)[0])
                self.assertEqual((job["state"], target.began), ("queued", []), job)
                self.assertRegex(job["attempts"][0]["error"], "certificate|SSL|TLS")

    def test_a_file_of_authorities_must_be_there(self):
        with self.assertRaisesRegex(RuntimeError, "webhooks.ca_file"):
            self.serve("--set", "webhooks.ca_file=/no/such/file.pem")


if __name__ == "__main__":
    unittest.main(verbosity=1)
