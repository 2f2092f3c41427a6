"""Bodies and queries that cannot be right, on every route that takes one: 400 or 422 with a code, a message and the field;
never a 500, and never anything written.

What is wrong is made from /openapi.json: each field of each body gets values that its schema does not allow. That nothing
was written is seen in the database file itself.

  bad_input_test.py PROGRAM
"""
import json
import os
import sqlite3
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
UNKNOWN = "zz_unknown"

# Texts that are not JSON, and the line and column where that is seen.
NOT_JSON = [
    ("{", 1, 2), ('{"a":}', 1, 6), ('{"a":1,}', 1, 8), ("{'a':1}", 1, 2), ('{"a" 1}', 1, 6), ("nul", 1, 1), ('{"a":NaN}', 1, 6),
    ('{"a":Infinity}', 1, 6), ('{"a":-Infinity}', 1, 7), ('{"a":01}', 1, 7), ('{"a":1.}', 1, 8), ('{"a":1e}', 1, 8), ('{"a":+1}', 1, 6),
    ('{"a":1} x', 1, 9), ('{"a":1}{}', 1, 8), ('{"a":"b', 1, 8), ('{"a":"\t"}', 1, 7), ('{"a":"\\x"}', None, None),
    ('{"a":"\\ud800"}', None, None), ('{\n  "a": 1,\n  "b": }', 3, 8), ('{"a":1,\n"a":2}', 2, 1), (b'{"a":"\xff"}', 1, 7),
    (b'{"\xc3\x28":1}', None, None), (b'{"a":"\xed\xa0\x80"}', None, None), (b"\xef\xbb\xbf{}", 1, 1), ('{"a":' + "[" * 70 + "]" * 70 + "}", 1, 69),
    ("[" * 4_000, 1, 65), ("\x00", 1, 1), ('{"a":/**/1}', 1, 6),
]
NOT_OBJECTS = ["[]", '"x"', "1", "true", "null", "[{}]"]

DURATIONS = ["-5s", "", "1", "NaN", "5 minutes", "99999999999999999999h", "1h-1m", 5, True, [], {}]
INSTANTS = ["yesterday", "", "10000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-01-01T25:00:00Z", "-0001-01-01T00:00:00Z", True, [], {}]
# Fields whose schema says less than the server knows.
MORE = {
    "retry": [{"kind": "fixed"}, {"kind": "fixed", "delay": "-1s"}, {"kind": "zz"}, {"kind": "table", "delays": []}, {"kind": "none", UNKNOWN: 1},
              {"kind": "exponential", "base": "1m", "jitter": 7}],
    "quiet_hours": [{"start": "25:00", "end": "07:00"}, {"start": "22:00"}, {"start": "22:00", "end": "22:00"},
                    {"start": "22:00", "end": "07:00", "days": ["someday"]}, {"start": "22:00", "end": "07:00", UNKNOWN: 1},
                    {"start": "22:00", "end": "07:00", "timezone": "Moon/Base"}],
    "trigger": [{}, {"kind": "zz"}, {"kind": "daily"}, {"kind": "daily", "at": "25:00"}, {"kind": "cron", "cron": "* * *"},
                {"kind": "cron", "cron": "0 0 30 2 *"}, {"kind": "rrule", "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
                {"kind": "every", "every": "-1h"}, {"kind": "every", "every": "0s"}, {"kind": "once", "at": "10000-01-01T00:00:00Z"},
                {"kind": "after", "schedule": "no-such"}, {"kind": "daily", "at": "08:00", UNKNOWN: 1}],
    "job": [{}, {"type": ""}, {"type": "a b"}, {"type": "x", "priority": 9}, {"type": "x", UNKNOWN: 1}, {"type": "x", "timeout": "-1s"}, {"type": 5}],
    "misfire": [{"policy": "zz"}, {"policy": "all", "max": 0}, {UNKNOWN: 1}, {"grace": "-1s"}],
    "dst": [{"gap": "zz"}, {"overlap": "zz"}, {UNKNOWN: 1}],
    "exclude_dates": [["someday"], ["2026-02-30"], ["10000-01-01"], [5]],
    "timezone": ["Moon/Base", "", "../etc/passwd", "\u0000"],
    "overlap": ["zz"], "starts_at": INSTANTS, "ends_at": INSTANTS, "from": INSTANTS,
    "jitter": DURATIONS, "retention": ["-5s", "", "1", "5 minutes", 5], "timeout": DURATIONS,
    "type": ["", "a b", "a/b", "\u0001", "a\nb", "ü", "x" * 300],
    "queue": ["", "a b", "\u0001", "x" * 300], "worker": ["", "\u0000", "a b", "x" * 300], "name": ["", "\u0001", "x" * 300],
    "limits": [["a b"], [""], ["\u0001"], [5], ["x"] * 1000], "tags": [["a b"], [""], [{}], ["x"] * 1000], "tenants": [["a b"], [5]],
    "idempotency_key": ["\u0001", "x" * 3000], "subject": ["\u0001", "x" * 3000], "unique_until": ["never", "", "-1s"],
    "depends_on": [["zz"], ["#1"], [5], ["#99999999999999999999"], ["00000000-0000-0000-0000-000000000000"]],
    "meta": [{"x": "y" * 100_000}],
    "url": ["", "zz", "ftp://example.com/", "http://127.0.0.1:1/", "http://[::1]/", "http://10.0.0.1/", "http://169.254.169.254/"],
    "secret": ["zz", "whsec_!", "whsec_"], "kind": ["exec", "email", "zz"],
    "rate": [0, -1, 1e300], "burst": [0, -1, 1e300], "concurrency": [0, -1, 10**12], "weight": [0, -1, 10**12], "max_concurrency": [0, -1, 10**12],
    "max_concurrent_jobs": [0, -1, 10**12, 1.5], "check_interval_seconds": [0, -1, 10**12], "default_retry_max_attempts": [0, -1, 10**12],
    "default_retry_backoff_seconds": [-1, 10**12], "per": DURATIONS, "until": [], "retry_after": ["never", "-1s", ""],
    "scope": ["root", ""], "token": [-1, 1.5, 10**30], "priority": [0, 6, "urgent", 1.5, -1],
}


# What an object in a body must have before one of its fields alone is wrong.
GOOD_INSIDE = {"retry": {"kind": "exponential", "base": "1m"}, "fail": {"error": "x"}, "defer": {"until": "1h"}}


def wrong_for(schema, name):
    """Values that the schema does not allow, or that its name says cannot work."""
    values = list(MORE.get(name, []))
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    for choice in schema.get("oneOf", []):
        kinds |= {choice["type"]} if isinstance(choice["type"], str) else set(choice["type"])
    if kinds:
        samples = {"string": "zz", "integer": 1.5, "number": 7, "boolean": True, "array": [], "object": {}}
        allowed = kinds | ({"integer"} if "number" in kinds else set())
        values += [value for kind, value in samples.items()
                   if kind not in allowed and not (kind == "number" and "integer" in kinds)]
    if schema.get("format") == "date-time":
        values += INSTANTS
    if "90s" in schema.get("examples", []):
        values += DURATIONS
    if "enum" in schema or "const" in schema:
        values += ["zz", ""]
    if kinds & {"integer", "number"} and "string" not in kinds:
        values += ["1", -10**30, 10**400]
    if "minimum" in schema:
        values.append(schema["minimum"] - 1)
    if "maximum" in schema:
        values.append(schema["maximum"] + 1)
    return values


def text_of(body):
    return json.dumps(body)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server = Server(PROGRAM)
        server.start()
        # Far off, or not enabled: nothing may happen by itself.
        server.put(T + "/schedules/s", {"trigger": {"kind": "every", "every": "100h"}, "job": {"type": "never"}})
        server.put(T + "/schedules/d", {"trigger": {"kind": "delivery", "due": "08:00"}, "enabled": False, "job": {"type": "never"}})
        server.put(T + "/schedules/d/subjects/u", {})
        server.put("/v1/limits/l", {"rate": 1, "per": "1s"})
        server.put(T + "/limits/l", {"rate": 1, "per": "1s"})
        cls.queued = server.post(T + "/jobs", {"type": "later", "delay": "100h"}).json["id"]
        made = server.post(T + "/jobs", {"type": "leased"}).json
        cls.leased = server.post("/v1/leases", {"worker": "w", "types": ["leased"], "lease": "20h"}).json["items"][0]
        assert cls.leased["id"] == made["id"]
        cls.schemas = server.openapi()["components"]["schemas"]
        cls.file = sqlite3.connect(os.path.join(server.folder, "carillon.db"))
        cls.cases = 0

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        try:
            cls.server.check_answers()
        finally:
            cls.server.__exit__()
        print(f"REPORT bad input: {cls.cases} bodies and queries refused, none with a 500, nothing written", flush=True)

    # ---- What is there ----
    def written(self):
        """Changes with every commit to the file."""
        return self.file.execute("PRAGMA data_version").fetchone()[0]

    def stored(self):
        tables = [row[0] for row in self.file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        return {table: sorted(map(repr, self.file.execute(f"SELECT * FROM {table}"))) for table in tables}

    def visible(self):
        """What the server says is so: what it keeps in memory is not in the file."""
        paths = ("/v1/config", "/v1/tenants", "/v1/limits", "/v1/maintenance", "/v1/keys", T + "/settings", T + "/queues", T + "/limits",
                 T + "/maintenance", T + "/schedules", T + "/schedules/d/subjects", T + "/jobs?limit=500")
        return {path: self.server.get(path).json for path in paths}

    # ---- Each route that takes a body ----
    def routes(self):
        for path, operations in self.server.openapi()["paths"].items():
            for method, operation in operations.items():
                # A push by hook is refused for want of a signature, before its body is looked at: hooks_test.py.
                if "requestBody" not in operation or (method == "post" and "/hooks/" in path):
                    continue
                content = operation["requestBody"]["content"].get("application/json")
                if content is None:  # lines of an import: subjects_test.py
                    continue
                name = content["schema"]["$ref"].rsplit("/", 1)[1]
                yield method.upper(), self.filled(path), name

    def filled(self, path):
        of_worker = any(path.endswith(word) for word in ("/heartbeat", "/complete", "/fail", "/defer", "/release"))
        return (path.replace("{tenant}", "default").replace("{id}", self.leased["id"] if of_worker else self.queued)
                .replace("{name}", "l" if "limits" in path else "d" if "subjects" in path else "s").replace("{subject}", "u").replace("{key}", "e").replace("{queue}", "q").replace("{type}", "t"))

    def good(self, name):
        """A body that would be obeyed."""
        mine = {"token": self.leased["token"]}
        item = {"id": self.leased["id"], **mine}
        return {"NewJob": {"type": "x"}, "JobBatch": {"jobs": [{"type": "x"}, {"type": "y"}]}, "JobPatch": {"priority": 2},
                "BulkRequest": {"action": "cancel", "filter": {"type": "none"}}, "LeaseRequest": {"worker": "w", "types": ["none"]},
                "SettleRequest": {"items": [{**item, "complete": {}}]}, "ExtendRequest": {"items": [item]}, "Heartbeat": mine,
                "Complete": mine, "Fail": {**mine, "error": "x"}, "Defer": {**mine, "until": "1h"}, "Release": mine,
                "EffectClaim": {"job": self.leased["id"], **mine}, "EffectDone": {"job": self.leased["id"], **mine},
                "ScheduleDefinition": {"trigger": {"kind": "daily", "at": "09:00"}, "job": {"type": "never"}},
                "SchedulePatch": {}, "Pause": {}, "Trigger": {}, "SubjectTrigger": {}, "SubjectRequest": {}, "SubjectPatch": {},
                "Backfill": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}, "PreviewRequest": {"trigger": "every:1h"}, "Settings": {}, "QueueSettings": {},
                "LimitRule": {"rate": 5, "per": "1s"}, "QuotasRequest": {}, "MaintenanceRequest": {}, "Config": {}, "KeyRequest": {"name": "k", "scope": "read", "tenants": "all"},
                "Login": {"key": "no.such"}, "HandlerRequest": {"kind": "webhook", "url": "https://hooks.example.com/x"},
                "HookRequest": {"schedule": "s", "subject": "/id", "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}}.get(name)

    def resolved(self, schema):
        return self.schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema

    def spoiled(self, schema, body, path=""):
        """(body, field, value): the body with one field of it, however deep, made wrong."""
        schema = self.resolved(schema)
        for name, of_field in schema.get("properties", {}).items():
            of_field = self.resolved(of_field)
            field = f"{path}.{name}" if path else name
            for value in wrong_for(of_field, name):
                yield {**body, name: value}, field, value
            deeper = []
            if of_field.get("type") == "object" and of_field.get("properties"):
                deeper = list(self.spoiled(of_field, body.get(name, GOOD_INSIDE.get(name, {})), field))
            if of_field.get("type") == "array" and self.resolved(of_field["items"]).get("type") == "object":
                items = body.get(name) or [{"type": "x"}]
                deeper = [(items[:-1] + [inner], at, value) for inner, at, value in
                          self.spoiled(of_field["items"], items[-1], f"{field}[{len(items) - 1}]")]
            for inner, at, value in deeper:
                yield {**body, name: inner}, at, value
        if schema.get("additionalProperties") is False or path == "":
            yield {**body, UNKNOWN: 1}, f"{path}.{UNKNOWN}" if path else UNKNOWN, 1
        for name in schema.get("required", []):
            if name in body:
                yield {key: value for key, value in body.items() if key != name}, f"{path}.{name}" if path else name, None

    def refused(self, method, path, text, field=None):
        type(self).cases += 1
        shown = f"{method} {path} {text[:300]!r}"
        page = {"Origin": self.server.origin, "Content-Type": "application/json"}  # signing in is for our own page
        answer = self.server.call(method, path, raw=text.encode() if isinstance(text, str) else text, headers=page)
        if answer.status not in (400, 422):
            return f"{shown}: {answer.status} {answer.body[:300]!r}"
        error = answer.json["error"]
        if error["code"] not in ("invalid_request", "invalid_configuration", "dependency_not_met") or not error["message"]:
            return f"{shown}: {error}"
        told = error["details"].get("field", "")
        # A field that is wrong inside may be told by its outer one.
        if field and not (told and (field.startswith(told) or told.startswith(field))):
            return f"{shown}: the field {field} is not named: {error}"
        return None

    def check(self, failures):
        failed = [failure for failure in failures if failure]
        self.assertFalse(failed, f"{len(failed)} of {len(failures)}:\n" + "\n".join(failed[:40]))

    def rehearsed_only(self, path):
        return path == "/v1/clock"

    def test_every_field_of_every_body(self):
        before, seen = self.stored(), self.visible()
        version, failures = self.written(), []
        for method, path, name in self.routes():
            body = self.good(name)
            if self.rehearsed_only(path):
                continue
            self.assertIsNotNone(body, f"{name} has no example here")
            for wrong, field, value in self.spoiled(self.schemas[name], body):
                if self.is_fine(name, field, value):
                    continue
                failure = self.refused(method, path, text_of(wrong), field)
                now = self.written()
                if now != version:
                    failure = failure or f"{method} {path} {text_of(wrong)[:300]}: something was written"
                    version = now
                failures.append(failure)
        self.check(failures)
        self.assertEqual(self.stored(), before)
        self.assertEqual(self.visible(), seen)

    def objects(self, schema, body, path=""):
        """(path, schema, body with an unknown field in it) of each object of a body that says which fields it has."""
        schema = self.resolved(schema)
        if schema.get("properties") is not None and (schema.get("additionalProperties") is False or path == ""):
            yield path, schema, {**body, UNKNOWN: 1}
        for name, of_field in schema.get("properties", {}).items():
            of_field = self.resolved(of_field)
            at = f"{path}.{name}" if path else name
            if of_field.get("type") == "object" and of_field.get("properties") is not None:
                needed = schema.get("required", [])
                beside = {other: value for other, value in body.items() if other in needed or not isinstance(value, dict)}  # of some only one may be said
                for inner_path, inner, spoiled in self.objects(of_field, {}, at):
                    yield inner_path, inner, {**beside, name: spoiled}
            if of_field.get("type") == "array" and self.resolved(of_field["items"]).get("type") == "object":
                items = body.get(name) or [{"type": "x"}]
                for inner_path, inner, spoiled in self.objects(of_field["items"], items[0], f"{at}[0]"):
                    yield inner_path, inner, {**body, name: [spoiled]}

    def test_an_unknown_field_is_told_with_exactly_the_fields_of_the_schema(self):
        """Also before what is missing: of the outermost object nothing else is given."""
        wrong, walked = [], 0
        page = {"Origin": self.server.origin, "Content-Type": "application/json"}
        for method, path, name in self.routes():
            if self.rehearsed_only(path):
                continue
            bodies = [("", self.schemas[name], {UNKNOWN: 1}), *self.objects(self.schemas[name], self.good(name))]
            for at, schema, body in bodies:
                answer = self.server.call(method, path, raw=text_of(body), headers=page)
                error = (answer.json or {}).get("error", {"message": "", "details": {}})
                told = error["message"].split("allowed are ")[-1].split(", ") if "allowed are " in error["message"] else []
                field = f"{at}.{UNKNOWN}" if at else UNKNOWN
                if (answer.status, error["details"].get("field"), told) != (400, field, sorted(schema["properties"])):
                    wrong.append(f"{method} {path} {text_of(body)}: {answer.status} {error['message']}, not {sorted(schema['properties'])}")
                walked += 1
        self.assertFalse(wrong, "\n".join(wrong))
        self.assertGreater(walked, 60)

    def is_fine(self, name, field, value):
        """What the generator takes for wrong and is not."""
        last = field.rsplit(".", 1)[-1]
        if name == "PreviewRequest" and last == "trigger" and isinstance(value, str):
            return False
        if last in ("subject", "name") and isinstance(value, str) and name in ("Complete", "SettleRequest") and "then" not in field:
            return True
        if last == "type" and name == "BulkRequest" or (name == "BulkRequest" and last in ("queue", "subject") and isinstance(value, str)):
            return isinstance(value, str)
        if name == "Login" and isinstance(value, str):
            return True
        if name == "SchedulePatch" and value == {}:  # merged, it changes nothing
            return True
        return False

    def test_what_is_no_json_is_told_with_its_place(self):
        before, failures = self.stored(), []
        for method, path, name in self.routes():
            if self.rehearsed_only(path):
                continue
            for text, line, column in NOT_JSON:
                failures.append(self.refused(method, path, text))
                details = self.server.seen[-1][2].json["error"]["details"]
                if "line" not in details or (line and (details["line"], details["column"]) != (line, column)):
                    failures.append(f"{method} {path} {text[:60]!r}: expected {line}:{column}, told {details}")
                if "line" not in self.server.seen[-1][2].json["error"]["message"]:
                    failures.append(f"{method} {path} {text[:60]!r}: {self.server.seen[-1][2].json}")
            for text in NOT_OBJECTS:
                failures.append(self.refused(method, path, text))
        self.check(failures)
        self.assertEqual(self.stored(), before)

    def test_blanks_around_a_body_change_nothing(self):
        for path, body in ((T + "/limits/blank", '{ "rate" : 5 ,\n "per" : "1s" }'), ("/v1/limits/blank", '{"concurrency": 2}'), (T + "/maintenance", "{ }"),
                           (T + "/settings", "{ }"), (T + "/queues/blank", "{ }"), ("/v1/config", "{ }"),
                           (T + "/schedules/blank", '{ "trigger": {"kind": "every", "every": "100h"} , "job": {"type": "x"} }')):
            blank = self.server.put(path, raw=f"\n \t{body}\r\n ")
            plain = self.server.put(path, raw=body)
            self.assertIn(blank.status, (200, 201), blank.body)
            self.assertEqual({**blank.json, "updated_at": None}, {**plain.json, "updated_at": None}, path)
        for path in (T + "/limits", "/v1/limits", T + "/maintenance", T + "/queues", T + "/schedules"):
            self.assertEqual(self.server.get(path).status, 200)
        for path in (T + "/limits/blank", "/v1/limits/blank", T + "/maintenance", T + "/schedules/blank"):
            self.assertEqual(self.server.call("DELETE", path).status, 204)

    def test_a_place_is_that_of_the_body_as_it_was_sent(self):
        text = '{\n  "trigger": {"kind": "daily", "at": "08:00"},\n  "job": {"type": "never"},\n  "timezone": "Moon/Base"\n}'
        for method, body in (("PUT", text), ("PATCH", '{\n\n "enabled": true,\n  "timezone": "Moon/Base"}')):
            answer = self.server.call(method, T + "/schedules/s", raw=body)
            self.assertEqual(answer.status, 422)
            self.assertEqual(answer.json["error"]["details"], {"field": "timezone", "line": 4, "column": 15})

    def test_a_refused_first_write_makes_no_tenant(self):
        answer = self.server.post("/v1/tenants/unborn/jobs", {"type": ""})
        self.assertEqual(answer.status, 400)
        self.assertNotIn("unborn", [one["tenant"] for one in self.server.get("/v1/tenants").json["items"]])
        self.assertEqual(self.server.get("/v1/tenants/unborn/jobs").json["error"]["code"], "tenant_not_found")

    def test_queries(self):
        failures = []
        for path, operations in self.server.openapi()["paths"].items():
            operation = operations.get("get")
            if operation is None or not path.startswith("/v1/") or self.rehearsed_only(path):
                continue
            filled = self.filled(path)
            failures.append(self.refused("GET", f"{filled}?{UNKNOWN}=1", "", UNKNOWN))
            for parameter in (one["name"] for one in operation["parameters"] if one["in"] == "query"):
                wrong = {"limit": ["0", "-1", "501", "x", "", "1.5", "99999999999999999999", "NaN"], "cursor": ["zz"] if path.endswith("jobs") else [],
                         "since": ["yesterday", "10000-01-01T00:00:00Z", ""], "until": ["2026-02-30T00:00:00Z", "x"], "state": ["zz", "", "queued,"],
                         "wait": ["-1s", "x", "61s", "99999999999h"], "count": ["0", "-1", "1001", "x"]}.get(parameter, [])
                for value in wrong:
                    failures.append(self.refused("GET", f"{filled}?{parameter}={value}", "", parameter))
                failures.append(self.refused("GET", f"{filled}?{parameter}=1&{parameter}=1", "", parameter))
        self.check(failures)

    def test_names_in_paths(self):
        """No name in a path is an error of the server's own."""
        names = ["%00", "%0a", "%ff", "a%20b", "%C3%BC", "x" * 300, "..%2f..", "%22", "0", "-", "%F0%9F%92%A9", "null"]
        body = {"GET": None, "DELETE": None}
        for path, operations in self.server.openapi()["paths"].items():
            if "{" not in path:
                continue
            for method, operation in operations.items():
                reference = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("$ref", "")
                given = body.get(method.upper(), self.good(reference.rsplit("/", 1)[-1]) or {})
                for name in names:
                    asked = path.replace("{tenant}", "default") if path.count("{") > 1 else path
                    while "{" in asked:
                        asked = asked[:asked.index("{")] + name + asked[asked.index("}") + 1:]
                    if operation["description"].startswith("No key") or (method == "delete" and "/maintenance" in path):
                        continue
                    answer = self.server.call(method.upper(), asked, given)
                    self.assertLess(answer.status, 500, f"{method} {asked}: {answer.body}")


if __name__ == "__main__":
    unittest.main(verbosity=1)
