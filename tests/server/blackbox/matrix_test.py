"""Every route, by every kind of caller, in every spelling: who gets what, and that nobody gets more.

The routes come from the reference, which the server makes from its own table: a new one is in here the day it is written. What is
expected follows from what the reference says of the route, and from nothing else:

- no key, a malformed, expired or revoked one: 401; a scope that is too low: 403; a tenant that is not the key's: as if there
  were none, in status and body but for the name itself; a session's write without token or Origin: 403;
- one letter of a literal segment percent-encoded: answers as the plain spelling does;
- other case, doubled slash, dot segment, slash at the end: 404 route_not_found, or 401 without a key;
- what is refused writes nothing, and what is allowed writes nothing outside of the caller's tenants.
"""
import collections
import http.client
import json
import os
import re
import sqlite3
import sys
import unittest

from server import Answer, Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
CONTROLS = "--controls" in sys.argv
if CONTROLS:
    sys.argv.remove("--controls")

SCOPES = ("read", "worker", "tenant", "admin")
NEEDS = {"No key.": None, "A signature.": "signature", "Any key.": 0, "A key of all tenants.": 0, "A key of scope worker, tenant or admin.": 1,
         "A key of scope tenant or admin.": 2, "A key of scope admin.": 3}
OWN, OTHER, FOREIGN, ABSENT, SCRATCH = "acme", "beta", "victim", "nobody", "scratch"
ABSENT_JOB = "01a1e562-f79c-7000-8001-460fc96ad6db"
VOLATILE = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|\d{4}-\d\d-\d\dT[0-9:.]+Z|whsec_[A-Za-z0-9+/=_-]+|\d+")
NEW = re.compile(rb'"(id|key|token)":"[^"]*"')  # what is made at random for each
WRONG_SHOWN = 20


class Route:
    def __init__(self, method, path, operation, components):
        self.method = method.upper()
        self.path = path
        self.segments = [segment for segment in path.split("/") if segment]
        self.needs = NEEDS[operation["description"]]
        self.is_open = operation["description"] == "No key."
        self.is_signed = operation["description"] == "A signature."
        self.of_server = operation["description"] == "A key of all tenants."
        self.of_tenant = path.startswith("/v1/tenants/{tenant}")
        self.lasts = path == "/v1/events"
        self.body = None
        for content in operation.get("requestBody", {}).get("content", {}).values():
            schema = components[content["schema"]["$ref"].rsplit("/", 1)[1]]
            self.body = (schema.get("examples") or [{}])[0]
        if isinstance(self.body, dict):
            self.body = {name: value for name, value in self.body.items() if name != "wait"}

    def __str__(self):
        return f"{self.method} {self.path}"

    def filled(self, tenant, names):
        return joined([tenant if segment == "{tenant}" else names.get(segment, "none") if segment.startswith("{") else segment
                       for segment in self.segments])

    def literals(self):
        return [i for i, segment in enumerate(self.segments) if not segment.startswith("{") and re.search("[a-z]", segment)]


def split(path):
    return path.split("/")[1:] if path != "/" else []


def joined(segments):
    return "/" + "/".join(segments)


def encoded(route, path):
    """One letter of each literal segment, and of all at once."""
    def one(segment, upper):
        at = re.search("[a-z]", segment).start()
        return segment[:at] + (f"%{ord(segment[at]):02X}" if upper else f"%{ord(segment[at]):02x}") + segment[at + 1:]
    segments = split(path)
    for n, i in enumerate(route.literals()):
        yield joined([one(segment, n % 2) if j == i else segment for j, segment in enumerate(segments)])
    if len(route.literals()) > 1:
        yield joined([one(segment, True) if j in route.literals() else segment for j, segment in enumerate(segments)])


def misspelled(route, path):
    """Spellings that are of no route."""
    segments = split(path)
    for i in route.literals():
        yield "case", joined([segment.capitalize() if j == i else segment for j, segment in enumerate(segments)])
        yield "case", joined([segment.upper() if j == i else segment for j, segment in enumerate(segments)])
    for i in range(len(segments) + 1):
        yield "doubled slash", joined(segments[:i] + [""] + segments[i:]) if i < len(segments) else path + ("//" if segments else "/")
        yield "dot segment", joined(segments[:i] + ["."] + segments[i:])
        yield "dot segment", joined(segments[:i] + ["x", ".."] + segments[i:])
        yield "dot segment", joined(segments[:i] + ["%2e%2E"] + segments[i:])
    if segments:
        yield "slash at the end", path + "/"


class Matrix:
    """A server, all kinds of callers, and a count of what answered otherwise than it should."""

    def __init__(self, hole=None):
        self.server = Server(PROGRAM, environment={"REOPEN_HOLE": hole} if hole else None)
        self.calls = 0
        self.wrong = collections.Counter()
        self.connection = None

    def __enter__(self):
        self.server.start()
        self.reference = self.server.openapi()
        components = self.reference["components"]["schemas"]
        self.routes = [Route(method, path, operation, components) for path, operations in self.reference["paths"].items()
                       for method, operation in operations.items()]
        self.templates = collections.defaultdict(list)
        for route in self.routes:
            self.templates[len(route.segments)].append(route.segments)
        self.furnish()
        return self

    def __exit__(self, *_):
        self.drop()
        self.server.__exit__()

    # ---- What there is ----
    ok = staticmethod(Server.accepted)

    def furnish(self):
        server = self.server
        for tenant in (OWN, OTHER, FOREIGN, SCRATCH):
            self.ok(server.put(f"/v1/tenants/{tenant}"))
        base = f"/v1/tenants/{FOREIGN}"
        daily = {"trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "theirs.work"}}
        job = self.ok(server.post(base + "/jobs", {"type": "theirs.work", "delay": "20h", "tags": ["secret-tag"]}))["id"]
        bulk = self.ok(server.post(base + "/jobs/bulk", {"action": "retry", "filter": {"queue": "none"}}))["id"]
        self.ok(server.put(base + "/schedules/theirs", daily))
        self.ok(server.put(base + "/limits/theirs", {"rate": 7, "per": "1s"}))
        self.ok(server.put(base + "/queues/theirs", {"max_concurrency": 7}))
        self.ok(server.put(base + "/settings", {"weight": 7}))
        self.ok(server.put(base + "/handlers/theirs", {"kind": "webhook", "url": "https://hooks.example.com/theirs"}))
        self.ok(server.put(base + "/hooks/theirs", {"schedule": "theirs", "subject": "/id", "secret": "whsec_" + "A" * 32}))
        self.ok(server.put("/v1/limits/theirs", {"rate": 5, "per": "1s"}))  # for all; our own tenant has none of that name
        # A job that somebody works on.
        self.ok(server.post(base + "/jobs", {"type": "theirs.leased"}))
        leased = self.ok(server.post(base + "/leases", {"worker": "theirs", "types": ["theirs.leased"], "lease": "1h"}))["items"][0]
        self.theirs = {"{id}": job, "{name}": "theirs", "{type}": "theirs", "{queue}": "theirs", "{subject}": "theirs", "{key}": "theirs"}
        self.absents = {"{id}": ABSENT_JOB, "{name}": "absent", "{type}": "absent", "{queue}": "absent", "{subject}": "absent", "{key}": "absent"}
        self.bulk = bulk
        self.leased = leased

        def key(scope, tenants, **more):
            return self.ok(server.post("/v1/keys", {"name": f"{scope}-key", "scope": scope, "tenants": tenants, **more}))
        self.own = {scope: key(scope, [OWN])["key"] for scope in SCOPES[:3]}
        self.own["admin"] = key("admin", "all")["key"]
        self.several = key("tenant", [OWN, OTHER])["key"]
        self.others = {scope: key(scope, [OTHER])["key"] for scope in SCOPES[:3]}
        self.expired = key("admin", "all", expires_at="2020-01-01T00:00:00Z")["key"]
        revoked = key("admin", "all")
        self.revoked = revoked["key"]
        self.session = self.sign_in(self.own["admin"])
        self.old_session = self.sign_in(self.revoked)
        self.ok(server.call("DELETE", "/v1/keys/" + revoked["id"]))

    def sign_in(self, key):
        signed = self.server.sign_in({"key": key})
        self.ok(signed)
        return {"Cookie": signed.headers["set-cookie"].split(";")[0], "Origin": self.server.origin, "X-CSRF-Token": signed.json["csrf_token"]}

    # ---- Calls ----
    def drop(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def call(self, route, path, headers, body=None):
        self.calls += 1
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=90)
        sent = dict(headers)
        text = None
        if route.body is not None:
            text = json.dumps(route.body if body is None else body)
            sent["Content-Type"] = "application/json"
        self.connection.request(route.method, path, text, sent)
        response = self.connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if headers.get("content-type") == "text/event-stream":
            self.drop()
            return Answer(response.status, headers, b"")
        answer = Answer(response.status, headers, response.read())
        if headers.get("connection", "").lower() == "close":
            self.drop()
        return answer

    def judge(self, kind, good, what):
        if good:
            return
        self.wrong[kind] += 1
        if sum(self.wrong.values()) <= WRONG_SHOWN:
            print(f"  wrong ({kind}): {what}", flush=True)

    @staticmethod
    def code(answer):
        return answer.json["error"]["code"] if answer.json and "error" in answer.json else None

    def refused(self, kind, route, path, headers, status, code, who):
        answer = self.call(route, path, headers)
        self.judge(kind, (answer.status, self.code(answer)) == (status, code),
                   f"{route.method} {path} by {who}: {answer.status} {self.code(answer)}, expected {status} {code}")
        return answer

    def is_of_another(self, segments):
        """Whether this spelling is one of another route, which has a parameter in its place."""
        return any(all(wanted.startswith("{") and given not in ("", ".", "..") or wanted == given for wanted, given in zip(template, segments))
                   for template in self.templates[len(segments)])

    # ---- Callers ----
    @staticmethod
    def bearer(key):
        return {"Authorization": "Bearer " + key}

    def strangers(self):
        """Those whose word counts nothing."""
        admin = self.own["admin"]
        yield "nobody", {}
        yield "no scheme", {"Authorization": admin}
        yield "another scheme", {"Authorization": "Basic " + admin}
        yield "an empty key", {"Authorization": "Bearer "}
        yield "a wrong secret", self.bearer(admin[:-1] + ("A" if admin[-1] != "A" else "B"))
        yield "an id alone", self.bearer(admin.split(".")[0] + ".")
        yield "an expired key", self.bearer(self.expired)
        yield "a revoked key", self.bearer(self.revoked)
        yield "the session of a revoked key", self.old_session
        yield "a session that never was", {**self.session, "Cookie": self.session["Cookie"][:-2] + "xx"}

    def careless(self):
        """Sessions that do not show that our own page writes."""
        session = self.session
        yield "a session without token", {name: value for name, value in session.items() if name != "X-CSRF-Token"}
        yield "a session without Origin", {name: value for name, value in session.items() if name != "Origin"}
        yield "a session with a wrong token", {**session, "X-CSRF-Token": session["X-CSRF-Token"][:-1] + "_"}
        yield "a session from another origin", {**session, "Origin": "http://evil.example"}

    def known(self):
        for scope, key in self.own.items():
            yield f"a key of scope {scope}", self.bearer(key)
        yield "a key of several", self.bearer(self.several)
        yield "a session", self.session

    # ---- Stages ----
    def refuse_all(self):
        """All that must be refused, and must leave the database as it is."""
        before = self.rows()
        for route in self.routes:
            path = route.filled(OWN, self.absents)
            plain = [path, *encoded(route, path)]
            for who, headers in self.strangers():
                for spelling in plain:
                    if not route.is_open:
                        self.refused("stranger", route, spelling, headers, 401, "unauthorized", who)
            if not route.is_open and not route.is_signed:
                for spelling in plain:
                    for scope in SCOPES[:route.needs]:
                        self.refused("scope", route, spelling, self.bearer(self.own[scope]), 403, "forbidden", f"scope {scope}")
                    if route.of_server:
                        self.refused("scope", route, spelling, self.bearer(self.own["tenant"]), 403, "forbidden", "a key of one tenant")
                    if route.method != "GET":
                        for who, headers in self.careless():
                            self.refused("session", route, spelling, headers, 403, "forbidden", who)
            if route.of_tenant:
                self.foreign_tenants(route)
            self.misspell(route, path)
        after = self.rows()
        for table in sorted(set(before) | set(after)):
            self.judge("written", before.get(table) == after.get(table),
                       f"{table} has changed: {sorted(set(after.get(table, [])) ^ set(before.get(table, [])))[:3]}")

    def foreign_tenants(self, route):
        """Another's tenant is like one that never was."""
        for who, key in [*((f"another's key of scope {scope}", key) for scope, key in self.others.items()), ("a key of several", self.several)]:
            theirs = route.filled(FOREIGN, self.theirs)
            for spelling in [theirs, *encoded(route, theirs)]:
                foreign = self.call(route, spelling, self.bearer(key))
                absent = self.call(route, spelling.replace(FOREIGN, ABSENT), self.bearer(key))
                expected = (401, "unauthorized") if route.is_signed else (404, "tenant_not_found")
                self.judge("foreign", (foreign.status, self.code(foreign)) == expected, f"{route.method} {spelling} by {who}: {foreign.status}")
                self.judge("foreign", (foreign.status, foreign.body.replace(FOREIGN.encode(), ABSENT.encode())) == (absent.status, absent.body),
                           f"{route.method} {spelling} by {who}: {foreign.body} is not {absent.body}")

    def misspell(self, route, path):
        seen = set()
        for kind, spelling in misspelled(route, path):
            if spelling in seen:
                continue
            seen.add(spelling)
            if kind == "case" and self.is_of_another(split(spelling)):
                continue
            for who, headers in [next(iter(self.strangers())), ("an expired key", self.bearer(self.expired)),
                                 ("the session of a revoked key", self.old_session)]:
                self.refused(kind, route, spelling, headers, 401, "unauthorized", who)
            for who, headers in [*self.known(), *self.careless(), ("another's key", self.bearer(self.others["tenant"]))]:
                self.refused(kind, route, spelling, headers, 404, "route_not_found", who)

    def allow(self):
        """What is allowed answers the same in both spellings, and touches nothing outside of the caller's tenants."""
        before = self.seen_by_admin()
        for route in self.routes:
            if route.is_open or route.is_signed:
                self.same_answers(route, route.filled(OWN, self.theirs), {}, "nobody")
                before = self.seen_by_admin()
                continue
            for who, headers in self.known():
                if "admin" in who or who == "a session":
                    continue
                scope = 2 if who == "a key of several" else SCOPES.index(who.rsplit(" ", 1)[1])
                if scope < route.needs or route.of_server:
                    continue
                self.same_answers(route, route.filled(OWN, self.theirs), headers, who)
                self.foreign_names(route, headers, who)
            now = self.seen_by_admin()
            for path in before:
                self.judge("outside", now[path] == before[path], f"after {route}: {path} is {now[path][:200]}, was {before[path][:200]}")
            before = now  # each is told once
        self.foreign_jobs()
        # Admins last: what they do is for all.
        for route in self.routes:
            if route.is_open or route.is_signed or route.path == "/v1/keys/{id}":
                continue
            self.same_answers(route, route.filled(SCRATCH, self.absents), self.bearer(self.own["admin"]), "an admin")

    def same_answers(self, route, path, headers, who):
        def told(answer):
            body = NEW.sub(b"#", answer.body) if answer.status == 201 else answer.body
            return answer.status, VOLATILE.sub(b"#", body)
        self.call(route, path, headers)  # what it makes or removes is made or removed from here on
        plain = self.call(route, path, headers)
        for spelling in encoded(route, path):
            answer = self.call(route, spelling, headers)
            same = told(answer) == told(plain)
            # Lists of what the calls before have made grow, and what the process counts runs on.
            if not same and route.method == "GET" and route.path in ("/metrics", "/v1/status", "/v1/tenants/{tenant}/audit", "/v1/audit"):
                same = answer.status == plain.status
            self.judge("encoded", same and self.code(answer) != "route_not_found",
                       f"{route.method} {spelling} by {who}: {answer.status} {answer.body[:200]}, plain {plain.status} {plain.body[:200]}")

    def foreign_names(self, route, headers, who):
        """Under a tenant of one's own, another's thing is like one that never was."""
        if not route.of_tenant or not any(name in self.theirs for name in route.segments):
            return
        names = dict(self.theirs, **({"{id}": self.bulk} if "/bulk/" in route.path else {}))
        absents = dict(self.absents)
        for _ in range(2):  # what is made or removed by the first is made or removed of both
            foreign = self.call(route, route.filled(OWN, names), headers)
            absent = self.call(route, route.filled(OWN, absents), headers)
        renamed = foreign.body
        for name, value in names.items():
            renamed = renamed.replace(value.encode(), absents[name].encode())
        same = (foreign.status, VOLATILE.sub(b"#", renamed)) == (absent.status, VOLATILE.sub(b"#", absent.body))
        self.judge("foreign", same, f"{route} by {who}: {foreign.status} {foreign.body[:200]} is not {absent.status} {absent.body[:200]}")

    def foreign_jobs(self):
        """Jobs of others that a body names."""
        job, token = self.leased["id"], self.leased["token"]
        words = {"complete": {}, "fail": {"error": "x"}, "defer": {"until": "1h"}, "release": {}}
        asked = [("POST", base + "/leases/settle", {"items": [{"id": "JOB", "token": token, word: body}]}) for base in ("/v1", f"/v1/tenants/{OWN}")
                 for word, body in words.items()]
        asked += [("POST", base + "/leases/extend", {"items": [{"id": "JOB", "token": token}]}) for base in ("/v1", f"/v1/tenants/{OWN}")]
        asked += [("PUT", f"/v1/tenants/{OWN}/effects/e", {"job": "JOB", "token": token}),
                  ("POST", f"/v1/tenants/{OWN}/effects/e/done", {"job": "JOB", "token": token}),
                  ("POST", f"/v1/tenants/{OWN}/effects/e/undo", {"job": "JOB", "token": token}),
                  ("POST", f"/v1/tenants/{OWN}/jobs", {"type": "a", "depends_on": ["JOB"]}),
                  ("POST", f"/v1/tenants/{OWN}/jobs/batch", {"jobs": [{"type": "a", "depends_on": ["JOB"]}]})]
        before = self.server.get(f"/v1/tenants/{FOREIGN}/jobs/{job}").body
        for method, path, body in asked:
            text = json.dumps(body)
            answers = [self.server.call(method, path, raw=text.replace("JOB", name), key=self.several) for name in (job, ABSENT_JOB)]
            self.calls += 2
            foreign, absent = ((answer.status, answer.body.replace(job.encode(), ABSENT_JOB.encode())) for answer in answers)
            self.judge("foreign", foreign == absent, f"{method} {path} {text}: {foreign} is not {absent}")
        self.judge("outside", self.server.get(f"/v1/tenants/{FOREIGN}/jobs/{job}").body == before, "a foreign job has changed")

    # ---- What is there ----
    def rows(self):
        """Every row of the database, but for what the server writes by itself."""
        with sqlite3.connect(f"file:{os.path.join(self.server.folder, 'carillon.db')}?mode=ro", uri=True) as database:
            tables = [name for name, in database.execute("select name from sqlite_master where type = 'table'")]
            found = {table: [repr(row) for row in database.execute(f"select * from {table}")] for table in tables}
        database.close()
        found["documents"] = [row for row in found["documents"] if "'probe'" not in row]
        return {table: sorted(rows) for table, rows in found.items() if table != "sqlite_sequence"}

    def seen_by_admin(self):
        base = f"/v1/tenants/{FOREIGN}"
        paths = ["/v1/limits", "/v1/maintenance", "/v1/config", "/v1/keys", "/v1/tenants", "/v1/audit",
                 *(base + path for path in ("/settings", "/limits", "/queues", "/maintenance", "/schedules", "/jobs", "/handlers/theirs",
                                            "/hooks/theirs", "/audit", f"/bulk/{self.bulk}"))]
        return {path: self.server.get(path).body for path in paths}

    def run(self):
        self.refuse_all()
        self.allow()
        return sum(self.wrong.values())


class MatrixTest(unittest.TestCase):
    def test_every_route_by_every_caller_in_every_spelling(self):
        with Matrix() as matrix:
            wrong = matrix.run()
            print(f"REPORT matrix: {len(matrix.routes)} routes, {matrix.calls} calls, {wrong} wrong", flush=True)
            self.assertGreater(len(matrix.routes), 70)
            self.assertEqual(wrong, 0, dict(matrix.wrong))
            self.assertIsNone(matrix.server.process.poll(), "it is still there")


@unittest.skipUnless(CONTROLS, "this build has no switches that open doors again")
class Controls(unittest.TestCase):
    """With a door open again, the matrix must see it."""

    def control(self, hole, kinds):
        with Matrix(hole) as matrix:
            wrong = matrix.run()
            print(f"REPORT matrix with {hole}: {matrix.calls} calls, {wrong} wrong: {dict(matrix.wrong)}", flush=True)
            for kind in kinds:
                self.assertGreater(matrix.wrong[kind], 0, kind)

    def test_what_is_read_off_the_raw_path(self):
        self.control("raw_path", ("encoded", "outside"))

    def test_a_session_that_outlives_its_key(self):
        self.control("session_outlives_key", ("stranger",))


if __name__ == "__main__":
    unittest.main(verbosity=1)
