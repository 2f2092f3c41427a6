"""A server of our own for a test: started on a free port in a folder of its own, and stopped."""
import datetime
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import tempfile
import time

import jsonschema


def far_off(minutes=0):
    """A time of day half a day from now in UTC, and hours off in Europe and America: what is due then is not while a test runs."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12, minutes=minutes)).strftime("%H:%M")


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body
        self.json = json.loads(body) if body and headers.get("content-type", "").startswith("application/json") else None


class Server:
    """with Server(program) as server: server.get("/v1/status")"""

    def __init__(self, program, *flags, folder=None, environment=None):
        self.program = program
        self.flags = flags
        self.environment = {"PATH": os.environ["PATH"], **(environment or {})}
        self.own_folder = None if folder else tempfile.TemporaryDirectory(prefix="carillon-blackbox-")
        self.folder = folder or self.own_folder.name
        self.reference = None
        self.seen = []

    @classmethod
    def share(cls, case, program, *flags):
        """One server for all tests of a class, which ends after them."""
        case.server = cls(program, *flags)
        case.server.start()
        case.addClassCleanup(case.server.__exit__)

    def __enter__(self):
        self.start()
        return self

    def start(self):
        self.process = subprocess.Popen([self.program, "serve", "--listen", "127.0.0.1:0", *self.flags], cwd=self.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        said = ""
        while True:
            line = self.process.stdout.readline()
            if not line:
                said += self.process.stderr.read()
                self.stop()
                raise RuntimeError("the server did not start: " + said)
            said += line
            page = re.search(r"http://[^:]+:(\d+)/", line)
            if page:
                self.port = int(page.group(1))
                break
        with open(os.path.join(self.folder, "carillon.key")) as file:
            self.key = file.read().strip()

    @property
    def login(self):
        """A token that signs in once."""
        return self.post("/v1/login-links").json["token"]

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        if self.own_folder:
            self.own_folder.cleanup()

    def call(self, method, path, body=None, key=None, headers=None, raw=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        sent = dict(headers or {})
        if key != "":
            sent["Authorization"] = "Bearer " + (key or self.key)
        text = raw if raw is not None else (None if body is None else json.dumps(body))
        connection.request(method, path, text, sent)
        response = connection.getresponse()
        answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        connection.close()
        self.seen.append((method, path, answer))
        return answer

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def put(self, path, body=None, **more):
        return self.call("PUT", path, body, **more)

    # ---- What was answered ----
    @staticmethod
    def ok(answer, status=200):
        """The content of this answer."""
        assert answer.status == status, (answer.status, answer.body)
        return answer.json

    @staticmethod
    def accepted(answer, *statuses):
        """The content of one of these answers, or of any success."""
        assert answer.status in (statuses or (200, 201, 202, 204)), (answer.status, answer.body)
        return answer.json

    @staticmethod
    def refused(answer, status, code, part=""):
        """The error of a call that was refused so."""
        assert answer.status == status and answer.json["error"]["code"] == code, (answer.status, answer.body)
        assert part in answer.json["error"]["message"], answer.body
        return answer.json["error"]

    # ---- People at the page ----
    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def sign_in(self, body):
        """As our own page does it."""
        return self.post("/login", body, key="", headers={"Origin": self.origin, "Content-Type": "application/json"})

    # ---- The reference ----
    def openapi(self):
        if self.reference is None:
            self.reference = self.get("/openapi.json").json
        return self.reference

    def operation_of(self, method, path):
        given = path.split("?")[0].strip("/").split("/")
        best = None
        for template, operations in self.openapi()["paths"].items():
            wanted = template.strip("/").split("/")
            if len(wanted) != len(given) or method.lower() not in operations:
                continue
            if all(w.startswith("{") or w == g for w, g in zip(wanted, given)):
                literal = sum(not w.startswith("{") for w in wanted)
                if best is None or literal > best[0]:
                    best = (literal, operations[method.lower()])
        return best[1] if best else None

    def check_answers(self):
        """Every JSON answer so far is what the reference says. Returns how many were checked."""
        components = self.openapi()["components"]
        checked = 0
        for method, path, answer in list(self.seen):
            operation = self.operation_of(method, path)
            if operation is None or answer.json is None:
                continue
            responses = operation["responses"]
            described = responses.get(str(answer.status))
            if described is None and answer.status >= 400:
                described = responses["default"]
            assert described is not None, f"{method} {path}: {answer.status} is not in the reference"
            schema = dict(described["content"]["application/json"]["schema"], components=components)
            try:
                jsonschema.Draft202012Validator(schema).validate(answer.json)
            except jsonschema.ValidationError as error:
                raise AssertionError(f"{method} {path} {answer.status}: {error.message} at {list(error.path)}") from None
            checked += 1
        return checked


class Line:
    """Calls of one key, so slow and so many that what is added after them waits in line."""

    SLOW = {"trigger": "rrule:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "count": 1000, "timezone": "America/New_York"}
    AT_ONCE = 12  # on a connection
    LONG = 3.0    # seconds of work for two threads

    def __init__(self, server, key):
        self.server = server
        self.key = key
        self.connections = []
        self.added = []

    def connect(self, data):
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        connection.sendall(data)
        return connection

    def call(self, method, path, body, headers=None):
        text = json.dumps(body)
        sent = {"Host": "x", "Content-Length": len(text), **(headers or {"Authorization": "Bearer " + self.key})}
        if headers:
            sent["Host"] = self.server.origin.split("//")[1]
        return (f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items()) + "\r\n" + text).encode()

    def __enter__(self):
        began = time.monotonic()
        assert self.server.post("/v1/preview", self.SLOW, key=self.key).status == 200
        count = int(min(600, max(60, 2 * self.LONG / (time.monotonic() - began))))
        for _ in range(0, count, self.AT_ONCE):
            self.connections.append(self.connect(self.AT_ONCE * self.call("POST", "/v1/preview", self.SLOW)))
        return self

    def add(self, method, path, body, headers=None):
        self.added.append(self.connect(self.call(method, path, body, headers)))

    def waits(self):
        """What was added has been let in, and none of it has an answer."""
        time.sleep(0.3)
        return not select.select(self.added, [], [], 0)[0]

    def answers(self):
        return [int(one.recv(12)[9:]) for one in self.added]

    def __exit__(self, *_):
        for one in self.connections + self.added:
            one.close()
