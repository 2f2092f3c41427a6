"""Subjects from outside: put, listed by the ten thousand, imported and exported, run by hand, and how their days end.

  subjects_test.py PROGRAM
"""
import http.client
import http.server
import json
import os
import sys
import threading
import time
import unittest
import urllib.parse

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
FIELDS = ["subject", "enabled", "due", "timezone", "start", "interval", "mode", "priority", "limits", "payload", "attempts", "next_at", "open_job", "last_date",
          "status", "last_run_at", "cursor_end", "planned_end", "gaps", "expected_at", "cadence_state", "last_status", "last_checked_at",
          "last_available_at", "error_count", "last_error"]
DELIVERY = {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "digest", "payload": {"top": 10, "lang": "en"}}}
WINDOWS = {"trigger": {"kind": "windows", "interval": "60m", "mode": "full"}, "job": {"type": "sync"}}
ADAPTIVE = {"trigger": {"kind": "adaptive", "bands": [{"within": "24h", "every": "10m"}], "otherwise": ["4h", "6h"]}, "job": {"type": "check"}}


def lines(items):
    return "".join(json.dumps(item) + "\n" for item in items)


class Case(unittest.TestCase):
    maxDiff = None

    def ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refused(self, answer, status, code, part="", **details):
        self.assertEqual((answer.status, (answer.json or {"error": {"code": None}})["error"]["code"]), (status, code), answer.body)
        self.assertIn(part, answer.json["error"]["message"])
        for name, value in details.items():
            self.assertEqual(answer.json["error"]["details"].get(name), value, answer.body)
        return answer.json["error"]

    def schedule(self, name, definition):
        self.assertIn(self.server.put(f"{T}/schedules/{name}", definition).status, (200, 201), self.server.seen[-1][2].body)
        return f"{T}/schedules/{name}"

    def patch(self, path, body, **more):
        return self.server.call("PATCH", path, body, **more)

    def delete(self, path, **more):
        return self.server.call("DELETE", path, **more)

    def imported(self, path, items):
        return self.ok(self.server.post(path + "/subjects/import", raw=lines(items)))

    def exported(self, path):
        text, cursor, pages = "", "", 0
        while True:
            answer = self.server.get(f"{path}/subjects.ndjson" + cursor)
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/x-ndjson"), answer.body)
            text += answer.body.decode()
            pages += 1
            if "next-cursor" not in answer.headers:
                return text, pages
            cursor = "?cursor=" + answer.headers["next-cursor"]

    def listed(self, path, **query):
        names, cursor = [], None
        while True:
            asked = {**query, **({"cursor": cursor} if cursor else {})}
            page = self.ok(self.server.get(path + "/subjects?" + urllib.parse.urlencode(asked)))
            names += [item["subject"] for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return names


class Subjects(Case):
    """At noon, and it stays noon: whatever the time of day, nobody's window is open and nothing is planned in between."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--clock", "2026-03-28T12:00:00Z@0")
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        try:
            print(f"REPORT {cls.server.check_answers()} answers about subjects agree with the reference", flush=True)
        finally:
            cls.server.__exit__()

    # ---- One ----
    def test_the_life_of_a_subject(self):
        path = self.schedule("life", DELIVERY)
        self.ok(self.server.put("/v1/limits/smtp", {"concurrency": 8}))
        body = {"due": "07:30", "timezone": "Europe/Paris", "priority": "high", "limits": ["smtp"], "payload": {"name": "Ada"}}
        answer = self.server.put(path + "/subjects/ada", body)
        made = self.ok(answer, 201)
        self.assertEqual(list(made), FIELDS)
        self.assertEqual({name: made[name] for name in ("subject", "enabled", "due", "timezone", "priority", "limits", "payload")},
                         {"subject": "ada", "enabled": True, "due": "07:30", "timezone": "Europe/Paris", "priority": 2, "limits": ["smtp"],
                          "payload": {"name": "Ada"}})
        self.assertEqual((made["interval"], made["status"], made["last_date"], made["cursor_end"], made["expected_at"]), (None,) * 5)
        self.assertEqual(made["next_at"], "2026-03-29T04:30:00.000Z")  # the clocks there go forward that night
        self.assertTrue(answer.headers["etag"])

        again = self.server.put(path + "/subjects/ada", body)
        self.assertEqual((again.status, again.json["due"], again.headers["etag"]), (200, "07:30", answer.headers["etag"]))
        read = self.server.get(path + "/subjects/ada")
        self.assertEqual(self.ok(read)["timezone"], "Europe/Paris")
        self.assertEqual(read.headers["etag"], answer.headers["etag"])
        self.refused(self.server.put(path + "/subjects/ada", {}, headers={"If-Match": '"77777"'}), 409, "conflict")
        self.refused(self.patch(path + "/subjects/ada", {"due": "09:00"}, headers={"If-Match": "x"}), 400, "invalid_request", field="if-match")

        patched = self.ok(self.patch(path + "/subjects/ada", {"due": None, "enabled": False}))
        self.assertEqual((patched["due"], patched["timezone"], patched["enabled"], patched["next_at"]), (None, "Europe/Paris", False, None))
        self.assertEqual(self.ok(self.patch(path + "/subjects/ada", {"enabled": True}))["next_at"], "2026-03-29T05:00:00.000Z")
        self.assertEqual(self.ok(self.server.put(path + "/subjects/ada", {}))["timezone"], None)

        whole = self.ok(self.server.get(path))
        self.assertEqual((whole["fan_out"], whole["subjects"], whole["state"]), (True, 1, None))
        self.assertEqual(self.delete(path + "/subjects/ada").status, 204)
        self.refused(self.server.get(path + "/subjects/ada"), 404, "subject_not_found")
        self.refused(self.delete(path + "/subjects/ada"), 404, "subject_not_found")
        self.assertEqual(self.ok(self.server.get(path))["subjects"], 0)

    def test_names_may_be_anything_that_is_text(self):
        path = self.schedule("names", DELIVERY)
        names = ["user/17", "Zoë", "a b", "x" * 512, "100%", "?#&=+", "import", "export", "subjects.ndjson", "日本"]
        for name in names:
            made = self.ok(self.server.put(f"{path}/subjects/{urllib.parse.quote(name, safe='')}", {}), 201)
            self.assertEqual(made["subject"], name)
            self.ok(self.server.get(f"{path}/subjects/{urllib.parse.quote(name, safe='')}"))
        self.assertEqual(self.listed(path, limit=3), sorted(names, key=lambda name: name.encode()))
        self.assertEqual({json.loads(line)["subject"] for line in self.exported(path)[0].splitlines()}, set(names))
        self.refused(self.server.put(f"{path}/subjects/{'x' * 513}", {}), 400, "invalid_request", "512")

    def test_what_a_subject_cannot_say(self):
        path = self.schedule("cannot", DELIVERY)
        one = path + "/subjects/x"
        for body, status, field in (({"due": "25:00"}, 400, "due"), ({"timezone": "Moon/Base"}, 422, "timezone"), ({"interval": "1h"}, 422, None),
                                    ({"mode": "full"}, 422, None), ({"cursor_end": "2026-01-01T00:00:00Z"}, 422, None),
                                    ({"expected_at": "2026-01-01T00:00:00Z"}, 422, None), ({"payload": 5}, 400, "payload"),
                                    ({"priority": 9}, 400, "priority"), ({"limits": "smtp"}, 400, "limits"), ({"enabled": "yes"}, 400, "enabled"),
                                    ({"zz_unknown": 1}, 400, "zz_unknown"), ({"subject": "y"}, 400, "subject"), ([], 400, None)):
            for method in ("PUT", "PATCH"):
                if method == "PATCH":
                    self.server.put(path + "/subjects/there", {})
                answer = self.server.call(method, one if method == "PUT" else path + "/subjects/there", body)
                code = "invalid_request" if status == 400 else "invalid_configuration"
                error = self.refused(answer, status, code)
                if field:
                    self.assertEqual(error["details"].get("field"), field, (method, body, error))
        self.refused(self.server.get(one), 404, "subject_not_found")
        windows = self.schedule("cannot-windows", WINDOWS)
        self.refused(self.server.put(windows + "/subjects/x", {"interval": "30s"}), 422, "invalid_configuration", "shortest")
        self.refused(self.server.put(windows + "/subjects/x", {"due": "08:00"}), 422, "invalid_configuration", "delivery")

    def test_a_cursor_is_never_lowered(self):
        path = self.schedule("cursor", {**WINDOWS, "enabled": False})
        made = self.ok(self.server.put(path + "/subjects/news", {"cursor_end": "2026-01-01T00:00:00Z"}), 201)
        self.assertEqual((made["cursor_end"], made["planned_end"]), ("2026-01-01T00:00:00.000Z",) * 2)
        self.refused(self.patch(path + "/subjects/news", {"cursor_end": "2025-12-31T00:00:00Z"}), 409, "conflict", "raised")
        raised = self.ok(self.patch(path + "/subjects/news", {"cursor_end": "2026-01-02T00:00:00Z"}))
        self.assertEqual(raised["cursor_end"], "2026-01-02T00:00:00.000Z")
        self.assertEqual([(gap["start"], gap["end"], gap["outcome"], gap["reason"], gap["job_id"]) for gap in raised["gaps"]],
                         [("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "missed", "cursor_set", None)])
        item, = self.ok(self.server.get(path + "/outcomes/items?subject=news"))["items"]
        self.assertEqual((item["slot"], item["until"], item["count"], item["reason"]),
                         ("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", 24, "cursor_set"))
        self.assertEqual(self.ok(self.server.get(path + "/subjects"))["items"][0]["gaps"], raised["gaps"])

    def test_without_fan_out_the_schedule_is_its_own_subject(self):
        path = self.schedule("plain", {"trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "never"}})
        for method, word, body in (("GET", "", None), ("GET", "/x", None), ("PUT", "/x", {}), ("PATCH", "/x", {}), ("DELETE", "/x", None),
                                   ("GET", ".ndjson", None), ("GET", "/x/preview", None), ("GET", "/x/explain", None), ("POST", "/x/trigger", {})):
            self.refused(self.server.call(method, f"{path}/subjects{word}", body), 409, "conflict", "fan_out")
        self.refused(self.server.post(path + "/subjects/import", raw='{"subject": "x"}\n'), 409, "conflict", "fan_out")
        self.refused(self.server.post(path + "/trigger", {"subject": "x"}), 409, "conflict")
        whole = self.ok(self.server.get(path))
        self.assertEqual((whole["fan_out"], whole["subjects"]), (False, None))
        self.assertEqual(list(whole["state"]), FIELDS[FIELDS.index("attempts"):])
        self.assertEqual(whole["state"]["next_at"], whole["next_at"])
        single = self.schedule("single", {**WINDOWS, "fan_out": False})
        whole = self.ok(self.server.get(single))
        self.assertIsNotNone(whole["state"]["cursor_end"])
        self.assertEqual(self.ok(self.server.get(single + "/preview?count=2"))["items"][0]["window_start"], whole["state"]["planned_end"])

    def test_what_is_absent(self):
        path = self.schedule("absent", DELIVERY)
        for method, word, body in (("GET", "", None), ("PATCH", "", {}), ("DELETE", "", None), ("POST", "/trigger", {}), ("GET", "/preview", None),
                                   ("GET", "/explain", None)):
            self.refused(self.server.call(method, f"{path}/subjects/nobody{word}", body), 404, "subject_not_found")
            self.refused(self.server.call(method, f"{T}/schedules/none/subjects/nobody{word}", body), 404, "schedule_not_found")
        for word in ("subjects", "subjects.ndjson", "outcomes", "outcomes/items"):
            self.refused(self.server.get(f"{T}/schedules/none/{word}"), 404, "schedule_not_found")
        self.refused(self.server.put(T + "/schedules/none/subjects/x", {}), 404, "schedule_not_found")
        self.refused(self.server.post(T + "/schedules/none/subjects/import", raw='{"subject": "x"}'), 404, "schedule_not_found")
        self.refused(self.server.post(path + "/trigger", {"subject": "nobody"}), 404, "subject_not_found")
        windows = self.schedule("absent-windows", WINDOWS)
        day = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
        self.refused(self.server.post(windows + "/backfill", {"subject": "nobody", **day}), 404, "subject_not_found")
        self.refused(self.server.post(T + "/schedules/none/backfill", day), 404, "schedule_not_found")

    def test_a_foreign_tenant_has_none_of_it(self):
        path = self.schedule("foreign", DELIVERY)
        self.ok(self.server.put(path + "/subjects/ada", {}), 201)
        self.server.put("/v1/tenants/other")
        key = self.ok(self.server.post("/v1/keys", {"name": "o", "scope": "tenant", "tenants": ["other"]}), 201)["key"]
        for method, word, body in (("GET", "/ada", None), ("PUT", "/ada", {}), ("GET", "", None), ("DELETE", "/ada", None), ("GET", ".ndjson", None)):
            self.refused(self.server.call(method, f"{path}/subjects{word}", body, key=key), 404, "tenant_not_found")
            ours = f"/v1/tenants/other/schedules/foreign/subjects{word}"
            self.refused(self.server.call(method, ours, body, key=key), 404, "schedule_not_found")
        self.ok(self.server.get(path + "/subjects/ada"))

    def test_scopes_and_the_audit_trail(self):
        path = self.schedule("trail", DELIVERY)
        keys = {scope: self.ok(self.server.post("/v1/keys", {"name": scope, "scope": scope, "tenants": ["default"]}), 201) for scope in ("read", "worker", "tenant")}
        for scope in ("read", "worker"):
            for method, word, body in (("PUT", "/x", {}), ("PATCH", "/x", {}), ("DELETE", "/x", None), ("POST", "/import", {}), ("POST", "/x/trigger", {})):
                self.refused(self.server.call(method, f"{path}/subjects{word}", body, key=keys[scope]["key"]), 403, "forbidden")
            self.ok(self.server.get(path + "/subjects", key=keys[scope]["key"]))
        self.ok(self.server.put(path + "/subjects/x", {}, key=keys["tenant"]["key"]), 201)
        self.ok(self.patch(path + "/subjects/x", {"due": "09:00"}, key=keys["tenant"]["key"]))
        self.ok(self.server.post(path + "/subjects/import", raw='{"subject": "y"}\n', key=keys["tenant"]["key"]))
        self.assertEqual(self.delete(path + "/subjects/x", key=keys["tenant"]["key"]).status, 204)
        trail = self.ok(self.server.get(T + "/audit?limit=500"))["items"]
        mine = [item for item in trail if item["actor"] == "key:" + keys["tenant"]["id"]]
        self.assertEqual(len(mine), 4, mine)
        self.assertTrue(all(item["action"].startswith("subject") and "trail" in item["target"] for item in mine), mine)

    # ---- Many ----
    def test_ten_thousand_are_imported_listed_and_exported(self):
        path = self.schedule("many", {**DELIVERY, "enabled": False})
        items = [{"subject": f"user-{i:05}", "due": f"{i % 24:02}:{i % 60:02}", "payload": {"n": i}} for i in range(10_000)]
        items[17]["enabled"] = False
        self.assertEqual(self.imported(path, items), {"created": 10_000, "updated": 0, "unchanged": 0})
        self.assertEqual(self.imported(path, items), {"created": 0, "updated": 0, "unchanged": 10_000})
        self.assertEqual(self.imported(path, [{**items[0], "due": "12:12"}, items[1], {"subject": "zoe"}]), {"created": 1, "updated": 1, "unchanged": 1})
        self.assertEqual(self.ok(self.server.get(path))["subjects"], 10_001)
        self.assertEqual(self.listed(path, limit=500), [item["subject"] for item in items] + ["zoe"])
        self.assertEqual(self.listed(path, prefix="user-0001", limit=4), [f"user-{i:05}" for i in range(10, 20)])
        self.assertEqual(self.listed(path, enabled="false"), ["user-00017"])
        self.assertEqual(self.listed(path, prefix="z", enabled="true", status="none"), ["zoe"])
        self.assertEqual(self.listed(path, status="success"), [])

        text, pages = self.exported(path)
        self.assertEqual(pages, 21)
        self.assertEqual(json.loads(text.splitlines()[17]), items[17])
        copy = self.schedule("copy", {**DELIVERY, "enabled": False})
        self.assertEqual(self.ok(self.server.post(copy + "/subjects/import", raw=text)), {"created": 10_001, "updated": 0, "unchanged": 0})
        self.assertEqual(self.exported(copy)[0], text)
        self.assertEqual(self.ok(self.server.post(path + "/subjects/import", raw=text))["unchanged"], 10_001)

    def test_windows_and_checks_are_exported_as_they_stand(self):
        self.ok(self.server.put("/v1/limits/api", {"concurrency": 8}))
        for kind, definition, items in (
                ("w", WINDOWS, [{"subject": "a", "interval": "2h", "mode": "quick", "cursor_end": "2026-01-01T00:00:00Z"}]),
                ("a", ADAPTIVE, [{"subject": "a", "expected_at": "2030-01-01T00:00:00Z", "priority": 2, "limits": ["api"]}, {"subject": "b"}])):
            path = self.schedule(f"export-{kind}", {**definition, "enabled": False})
            self.imported(path, items)
            read = [json.loads(line) for line in self.exported(path)[0].splitlines()]
            # What was given, and nothing that was not; instants as they come back everywhere.
            self.assertEqual(read, [{**item, **{key: item[key].replace("Z", ".000Z") for key in ("cursor_end", "expected_at") if key in item}}
                                    for item in items])
            for line in read:
                stands = self.ok(self.server.get(f"{path}/subjects/{line['subject']}"))
                self.assertEqual({key: stands[key] for key in line}, line)
            self.assertEqual(self.imported(path, read), {"created": 0, "updated": 0, "unchanged": len(items)})

    def test_a_bad_line_is_named_and_nothing_is_imported(self):
        path = self.schedule("bad", DELIVERY)
        good = [{"subject": f"u{i}"} for i in range(5)]
        for bad, status in (("{", 400), ("5", 400), ('{"due": "08:00"}', 400), ('{"subject": ""}', 400), ('{"subject": "x", "zz": 1}', 400),
                            ('{"subject": "x", "due": "25:00"}', 400), ('{"subject": "x", "timezone": "Moon/Base"}', 422),
                            ('{"subject": "x", "interval": "1h"}', 422), ('{"subject": "x", "payload": []}', 400)):
            for place in (1, 4, 6):
                text = lines(good).splitlines()
                text.insert(place - 1, bad)
                code = "invalid_request" if status == 400 else "invalid_configuration"
                self.refused(self.server.post(path + "/subjects/import", raw="\n".join(text)), status, code, line=place)
        self.refused(self.server.post(path + "/subjects/import", raw=b'{"subject": "a"}\n{"subject": "\xff"}\n'), 400, "invalid_request", line=2)
        self.assertEqual(self.ok(self.server.get(path))["subjects"], 0)
        self.assertEqual(self.listed(path), [])
        self.assertEqual(self.imported(path, []), {"created": 0, "updated": 0, "unchanged": 0})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.putrequest("POST", path + "/subjects/import")
        for name, value in (("Authorization", "Bearer " + self.server.key), ("Content-Length", str((32 << 20) + 1))):
            connection.putheader(name, value)
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)
        connection.close()

    def test_queries_that_cannot_be(self):
        path = self.schedule("queries", DELIVERY)
        self.ok(self.server.put(path + "/subjects/x", {}), 201)
        for word, field in (("subjects?limit=0", "limit"), ("subjects?limit=501", "limit"), ("subjects?enabled=yes", "enabled"), ("subjects?status=zz", "status"),
                            ("subjects?due_until=soon", "due_until"), ("subjects?cursor=zz", "cursor"), ("subjects?due_until=2099-01-01T00:00:00Z&cursor=n:x", "cursor"),
                            ("subjects?zz=1", "zz"), ("subjects.ndjson?cursor=zz", "cursor"), ("subjects/x?zz=1", "zz"), ("subjects/x/preview?count=0", "count"),
                            ("subjects/x/explain?zz=1", "zz"), ("outcomes?date=today", "date"), ("outcomes?date=2026-02-30", "date"), ("outcomes?zz=1", "zz"),
                            ("outcomes/items?from=zz", "from"), ("outcomes/items?cursor=zz", "cursor"), ("outcomes/items?limit=501", "limit")):
            self.refused(self.server.get(f"{path}/{word}"), 400, "invalid_request", field=field)
        for body, field in (({"window_start": "2026-01-01T00:00:00Z"}, "window_end"), ({"window_end": "2026-01-01T00:00:00Z"}, "window_start"),
                            ({"zz": 1}, "zz"), ({"subject": 5}, "subject"), ({"subject": ""}, "subject")):
            self.refused(self.server.post(path + "/trigger", body), 400, "invalid_request", field=field)
        self.refused(self.server.post(path + "/subjects/x/trigger", {"subject": "x"}), 400, "invalid_request", field="subject")
        for body, field in (({}, "from"), ({"from": "2026-01-01T00:00:00Z"}, "to"), ({"from": "x", "to": "2026-01-01T00:00:00Z"}, "from"),
                            ({"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "zz": 1}, "zz")):
            self.refused(self.server.post(path + "/backfill", body), 400, "invalid_request", field=field)
        day = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
        self.refused(self.server.post(path + "/backfill", day), 422, "invalid_configuration")
        self.refused(self.server.post(path + "/subjects/x/trigger", {"window_start": day["from"], "window_end": day["to"]}), 422, "invalid_configuration")


class Sink(http.server.BaseHTTPRequestHandler):
    """A provider that knows when."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        said = json.dumps({"subject": {"status": "on its way", "expected_at": "2026-03-01T12:00:00Z"}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


class Rehearsed(Case):
    """On a clock that stands still until it is told."""

    def rehearse(self, start, *flags, environment=None):
        server = Server(PROGRAM, "--clock", f"{start}@0", *flags, environment=environment)
        self.addCleanup(server.__exit__)
        server.start()
        self.server = server
        self.addCleanup(server.check_answers)

    def advance(self, **move):
        self.ok(self.server.post("/v1/clock", move))

    def leased(self, kind, limit=100):
        return self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "limit": limit}))["items"]

    def complete(self, job, **word):
        return self.ok(self.server.post(f"{T}/jobs/{job['id']}/complete", {"token": job["token"], **word}))

    def failed(self, job, **word):
        return self.ok(self.server.post(f"{T}/jobs/{job['id']}/fail", {"token": job["token"], "error": "no answer", **word}))

    def subject(self, path, name):
        return self.ok(self.server.get(f"{path}/subjects/{name}"))

    def test_what_is_due_soon_comes_first(self):
        self.rehearse("2026-03-28T12:00:00Z")
        path = self.schedule("due", {**DELIVERY, "trigger": {"kind": "delivery", "due": "08:00", "window": "10m"}})
        self.imported(path, [{"subject": f"u{hour:02}", "due": f"{hour:02}:30"} for hour in range(24)])
        by_time = sorted(self.ok(self.server.get(path + "/subjects?limit=500"))["items"], key=lambda item: (item["next_at"], item["subject"]))
        found = self.listed(path, due_until="2099-01-01T00:00:00Z", limit=5)
        self.assertEqual(found, [item["subject"] for item in by_time])
        self.assertEqual(self.listed(path, due_until=by_time[9]["next_at"]), found[:10])
        self.assertEqual(self.listed(path, due_until="2020-01-01T00:00:00Z"), [])
        self.assertEqual(self.ok(self.server.get(path))["next_at"], by_time[0]["next_at"])

    def test_a_day_of_deliveries(self):
        self.rehearse("2026-03-28T05:30:00Z")  # before the first window: eve's opens at 06:00
        path = self.schedule("digest", {**DELIVERY, "on_cutoff": {"type": "reset"}})
        self.imported(path, [{"subject": "ada", "payload": {"name": "Ada"}}, {"subject": "bob", "due": "08:30"}, {"subject": "eve", "timezone": "Europe/Paris"},
                             {"subject": "off", "enabled": False}])
        times = self.ok(self.server.get(path + "/subjects/eve/preview?count=3"))["items"]
        self.assertEqual([(time["at"], time["day"], time["cutoff"]) for time in times],
                         [("2026-03-28T06:00:00.000Z", "2026-03-28", "2026-03-28T07:00:00.000Z"), ("2026-03-29T05:00:00.000Z", "2026-03-29", "2026-03-29T06:00:00.000Z"),
                          ("2026-03-30T05:00:00.000Z", "2026-03-30", "2026-03-30T06:00:00.000Z")])
        explained = self.ok(self.server.get(path + "/subjects/ada/explain"))
        self.assertEqual(explained["summary"], "next: day 2026-03-28, from 2026-03-28T07:00:00.000Z until its cutoff at 2026-03-28T08:00:00.000Z")
        self.assertEqual(explained["next_at"], "2026-03-28T07:00:00.000Z")
        self.assertIn("disabled", self.ok(self.server.get(path + "/subjects/off/explain"))["summary"])

        self.advance(to="2026-03-28T07:30:00Z")  # eve's window has passed
        eve = self.subject(path, "eve")
        self.assertEqual((eve["status"], eve["last_date"], eve["error_count"]), ("cutoff_reached", "2026-03-28", 1))
        follow, = self.leased("reset")
        self.assertEqual(follow["subject"], "eve")
        self.complete(follow)

        jobs = {job["subject"]: job for job in self.leased("digest")}
        self.assertEqual(set(jobs), {"ada", "bob"})
        self.assertEqual((jobs["ada"]["payload"], jobs["ada"]["slot"], jobs["ada"]["deadline"]),
                         ({"top": 10, "lang": "en", "name": "Ada"}, "2026-03-28", "2026-03-28T08:00:00.000Z"))
        ada = self.subject(path, "ada")
        self.assertEqual((ada["open_job"], ada["attempts"], ada["status"]), (jobs["ada"]["id"], 1, None))
        self.complete(jobs["ada"])
        ada = self.subject(path, "ada")
        self.assertEqual((ada["status"], ada["last_date"], ada["last_run_at"], ada["open_job"], ada["next_at"]),
                         ("success", "2026-03-28", "2026-03-28T07:30:00.000Z", None, "2026-03-29T07:00:00.000Z"))
        shown = self.ok(self.server.get(f"{T}/jobs/{jobs['ada']['id']}"))
        self.assertEqual((shown["slot"], shown["max_attempts"], shown["subject"]), ("2026-03-28", None, "ada"))
        self.failed(jobs["bob"])
        bob = self.subject(path, "bob")
        self.assertEqual((bob["next_at"], bob["attempts"], bob["last_run_at"]), ("2026-03-28T07:40:00.000Z", 1, None))
        explained = self.ok(self.server.get(path + "/subjects/bob/explain"))
        self.assertEqual(explained["next_at"], bob["next_at"])
        self.assertIn("day 2026-03-28 is open", explained["summary"])
        self.assertIn("failed", [step["what"] for step in explained["steps"]])
        self.assertEqual(self.ok(self.server.get(path + "/outcomes?date=2026-03-28"))["counts"]["open"], 1)

        self.advance(to="2026-03-28T09:00:00Z")
        day = self.ok(self.server.get(path + "/outcomes?date=2026-03-28"))
        self.assertEqual(day, {"date": "2026-03-28", "counts": {"success": 1, "cutoff_reached": 2, "skipped": 0, "missed": 0, "cancelled": 0, "open": 0, "dlq": 0},
                               "by_due_minute": [[480, "success", 1], [480, "cutoff_reached", 1], [510, "cutoff_reached", 1]]})
        self.assertEqual(self.ok(self.server.get(path + "/outcomes"))["date"], "2026-03-28")
        items = self.ok(self.server.get(path + "/outcomes/items?limit=2"))
        rest = self.ok(self.server.get(path + "/outcomes/items?limit=2&cursor=" + urllib.parse.quote(items["next_cursor"])))
        self.assertIsNone(rest["next_cursor"])
        self.assertEqual([(item["subject"], item["slot"], item["until"], item["outcome"]) for item in items["items"] + rest["items"]],
                         [("ada", "2026-03-28", None, "success"), ("bob", "2026-03-28", None, "cutoff_reached"), ("eve", "2026-03-28", None, "cutoff_reached")])
        self.assertEqual(items["items"][0]["job_id"], jobs["ada"]["id"])
        self.assertEqual(len(self.ok(self.server.get(path + "/outcomes/items?subject=bob&from=2026-03-28&to=2026-03-29"))["items"]), 1)
        self.assertEqual(self.ok(self.server.get(path + "/outcomes/items?from=2026-03-29"))["items"], [])
        self.assertEqual(self.listed(path, status="cutoff_reached"), ["bob", "eve"])
        self.assertEqual(self.ok(self.server.get(path + "/subjects/bob/explain"))["steps"][-2]["why"], "deadline")

    def test_a_delivery_by_hand(self):
        self.rehearse("2026-03-28T06:00:00Z")
        path = self.schedule("digest", DELIVERY)
        self.ok(self.server.put(path + "/subjects/ada", {}), 201)
        outside = self.ok(self.server.post(path + "/subjects/ada/trigger", {"payload": {"test": True}}), 201)
        self.assertEqual((outside["origin"], outside["slot"], outside["subject"], outside["payload"]), ("manual", None, "ada", {"top": 10, "lang": "en", "test": True}))
        self.complete(self.leased("digest")[0])
        self.assertIsNone(self.subject(path, "ada")["status"])
        self.advance(to="2026-03-28T07:05:00Z")
        self.failed(self.leased("digest")[0])
        self.assertEqual(self.leased("digest"), [])
        opened = self.ok(self.server.post(path + "/trigger", {"subject": "ada"}))
        self.assertEqual(opened["slot"], "2026-03-28")
        job, = self.leased("digest")
        self.assertEqual(job["id"], opened["id"])
        self.refused(self.server.post(path + "/subjects/ada/trigger"), 409, "job_already_running")
        self.complete(job)
        self.assertEqual(self.subject(path, "ada")["status"], "success")

    def test_windows_their_cursor_and_gaps(self):
        self.rehearse("2026-01-01T05:00:30Z")
        path = self.schedule("sync", {**WINDOWS, "trigger": {"kind": "windows", "interval": "60m", "mode": "full", "max_backfill": 4}})
        self.ok(self.server.put(path + "/subjects/news", {"cursor_end": "2026-01-01T00:00:00Z"}), 201)
        self.advance(advance="1s")
        jobs = sorted(self.leased("sync"), key=lambda job: job["slot"])
        self.assertEqual([job["slot"] for job in jobs], [f"2026-01-01T0{hour}:00:00.000Z" for hour in range(4)])
        self.assertEqual({key: jobs[0]["payload"][key] for key in ("window_start", "window_end", "mode", "trigger", "backfilled")},
                         {"window_start": "2026-01-01T00:00:00.000Z", "window_end": "2026-01-01T01:00:00.000Z", "mode": "full", "trigger": "scheduled",
                          "backfilled": True})
        news = self.subject(path, "news")
        self.assertEqual((news["cursor_end"], news["planned_end"], news["next_at"]), ("2026-01-01T00:00:00.000Z", "2026-01-01T04:00:00.000Z", None))
        explained = self.ok(self.server.get(path + "/subjects/news/explain"))
        self.assertIn("4 windows are open, as many as may be", explained["summary"])
        for job in jobs[1:3]:
            self.complete(job)
        self.assertEqual(self.subject(path, "news")["cursor_end"], "2026-01-01T00:00:00.000Z")
        self.failed(jobs[0], permanent=True)
        news = self.subject(path, "news")
        self.assertEqual(news["cursor_end"], "2026-01-01T03:00:00.000Z")
        self.assertEqual([(gap["start"], gap["outcome"], gap["job_id"]) for gap in news["gaps"]], [("2026-01-01T00:00:00.000Z", "dlq", jobs[0]["id"])])
        self.ok(self.server.post(f"{T}/jobs/{jobs[0]['id']}/retry"))
        again = next(job for job in self.leased("sync") if job["id"] == jobs[0]["id"])
        self.complete(again)
        news = self.subject(path, "news")
        self.assertEqual((news["gaps"], news["cursor_end"]), ([], "2026-01-01T03:00:00.000Z"))

        one = self.ok(self.server.post(path + "/subjects/news/trigger", {"window_start": "2025-12-31T00:00:00Z", "window_end": "2025-12-31T01:00:00Z"}), 201)
        self.assertEqual((one["origin"], one["payload"]["trigger"], one["payload"]["window_end"]), ("manual", "manual", "2025-12-31T01:00:00.000Z"))
        self.assertIn("_manual_", one["key"])
        self.refused(self.server.post(path + "/trigger", {"subject": "news", "window_start": "2025-12-31T01:00:00Z", "window_end": "2025-12-31T00:00:00Z"}),
                     400, "invalid_request")
        self.assertEqual(self.subject(path, "news")["cursor_end"], "2026-01-01T03:00:00.000Z")

    def test_the_names_of_the_seed_bound_windows(self):
        self.rehearse("2026-01-01T20:00:30Z", environment={"SCHEDULER_MAX_BACKFILL_WINDOWS": "3", "SCHEDULER_MIN_WINDOW_SECONDS": "600",
                                                           "SCHEDULER_TICK_MINUTES": "1"})
        self.assertEqual(self.ok(self.server.get("/v1/config"))["check_interval_seconds"], 60)
        self.refused(self.server.put(T + "/schedules/short", {**WINDOWS, "trigger": {"kind": "windows", "interval": "9m"}}), 422, "invalid_configuration", "shortest")
        path = self.schedule("sync", WINDOWS)
        self.refused(self.server.put(path + "/subjects/x", {"interval": "599s"}), 422, "invalid_configuration", "shortest")
        self.ok(self.server.put(path + "/subjects/news", {"cursor_end": "2026-01-01T00:00:00Z"}), 201)
        self.advance(advance="1s")
        jobs = self.leased("sync")
        self.assertEqual(len(jobs), 3)
        self.complete(jobs[0])
        self.assertEqual(len(self.leased("sync")), 1, "as one closes, the next opens")
        # What a schedule says itself counts more.
        own = self.schedule("own", {**WINDOWS, "trigger": {"kind": "windows", "interval": "60m", "max_backfill": 5}, "job": {"type": "own"}})
        self.ok(self.server.put(own + "/subjects/news", {"cursor_end": "2026-01-01T00:00:00Z"}), 201)
        self.advance(advance="1s")
        self.assertEqual(len(self.leased("own")), 5)

    def test_backfill_is_bulk_work(self):
        self.rehearse("2026-01-10T00:00:30Z")
        path = self.schedule("sync", WINDOWS)
        self.imported(path, [{"subject": name, "cursor_end": "2026-01-10T00:00:00Z"} for name in ("a", "b")])
        for subject, wanted in (("a", 24), (None, 48)):
            bulk = self.ok(self.server.post(path + "/backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z",
                                                                 **({"subject": subject} if subject else {})}), 202)
            self.assertEqual(bulk["action"], "backfill")
            end = time.monotonic() + 60
            shown = self.ok(self.server.get(f"{T}/bulk/{bulk['id']}"))
            while shown["state"] == "running" and time.monotonic() < end:
                time.sleep(0.05)
                shown = self.ok(self.server.get(f"{T}/bulk/{bulk['id']}"))
            self.assertEqual((shown["id"], shown["state"], shown["done"], shown["failed"]), (bulk["id"], "done", wanted, 0))
        jobs = self.leased("sync")
        self.assertEqual(len(jobs), 72)
        self.assertEqual({job["payload"]["trigger"] for job in jobs}, {"manual"})
        self.assertEqual(self.subject(path, "a")["cursor_end"], "2026-01-10T00:00:00.000Z")
        self.refused(self.server.post(path + "/backfill", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:30:00Z", "subject": "a"}), 422,
                     "invalid_configuration", "whole number")
        self.refused(self.server.post(path + "/backfill", {"from": "2026-01-09T00:00:00Z", "to": "2026-02-01T00:00:00Z", "subject": "a"}), 422,
                     "invalid_configuration", "not over")

    def test_adaptive_checks_learn_from_their_results(self):
        self.rehearse("2026-03-01T00:00:00Z")
        path = self.schedule("watch", ADAPTIVE)
        made = self.ok(self.server.put(path + "/subjects/acme", {"expected_at": "2026-03-20T00:00:00Z"}), 201)
        self.assertEqual((made["expected_at"], made["cadence_state"]), ("2026-03-20T00:00:00.000Z", "otherwise"))
        now = self.ok(self.server.post(path + "/subjects/acme/trigger", {"priority": 1}), 201)
        job, = self.leased("check")
        self.assertEqual((job["id"], job["priority"]), (now["id"], 1))
        self.refused(self.server.post(f"{T}/jobs/{job['id']}/complete", {"token": job["token"], "subject": {"status": "x" * 201}}), 400, "invalid_request",
                     field="subject.status")
        self.complete(job, subject={"expected_at": "2026-03-01T06:00:00Z", "status": "available"})
        acme = self.subject(path, "acme")
        self.assertEqual((acme["expected_at"], acme["last_status"], acme["last_checked_at"], acme["last_available_at"], acme["cadence_state"]),
                         ("2026-03-01T06:00:00.000Z", "available", "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "1d"))
        self.assertLessEqual(acme["next_at"], "2026-03-01T00:10:00.000Z")
        explained = self.ok(self.server.get(path + "/subjects/acme/explain"))
        self.assertIn("the next check is at " + acme["next_at"], explained["summary"])
        self.assertEqual(explained["steps"][-1]["detail"]["cadence_state"], "1d")
        self.assertEqual(len(self.ok(self.server.get(path + "/subjects/acme/preview?count=5"))["items"]), 5)
        self.advance(advance="1h")  # nobody takes the check that is due: the others find it open
        reasons = [item["reason"] for item in self.ok(self.server.get(path + "/outcomes/items?subject=acme"))["items"]]
        self.assertIn("check_open", reasons)
        self.ok(self.patch(path + "/subjects/acme", {"expected_at": None}))
        self.assertIsNone(self.subject(path, "acme")["expected_at"])

    def test_a_webhook_says_what_its_check_found(self):
        sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
        threading.Thread(target=sink.serve_forever, daemon=True).start()
        self.addCleanup(sink.server_close)
        self.addCleanup(sink.shutdown)
        address = f"127.0.0.1:{sink.server_address[1]}"
        self.rehearse("2026-03-01T00:00:00Z", "--set", f"webhooks.allow={address}")
        self.ok(self.server.put(T + "/handlers/check", {"kind": "webhook", "url": f"http://{address}/"}))
        path = self.schedule("watch", ADAPTIVE)
        self.ok(self.server.put(path + "/subjects/acme", {}), 201)
        self.advance(advance="4h")
        acme = self.subject(path, "acme")
        self.assertEqual((acme["status"], acme["last_status"], acme["expected_at"], acme["cadence_state"]),
                         ("success", "on its way", "2026-03-01T12:00:00.000Z", "1d"))

    def test_a_pause_holds_all_and_is_explained(self):
        self.rehearse("2026-03-28T06:00:00Z")
        path = self.schedule("digest", DELIVERY)
        self.ok(self.server.put(path + "/subjects/ada", {}), 201)
        self.ok(self.server.post(path + "/pause", {"until": "2026-03-28T12:00:00Z"}))
        self.assertIsNone(self.subject(path, "ada")["next_at"])
        explained = self.ok(self.server.get(path + "/subjects/ada/explain"))
        self.assertEqual((explained["summary"], explained["steps"][-1]["why"]), ("its schedule is paused until 2026-03-28T12:00:00.000Z", "paused"))
        self.advance(to="2026-03-28T13:00:00Z")
        self.assertIsNone(self.ok(self.server.get(path))["paused_until"])
        self.assertEqual(self.leased("digest"), [])
        self.assertEqual(self.subject(path, "ada")["next_at"], "2026-03-29T07:00:00.000Z")
        self.assertEqual(self.ok(self.server.get(path + "/outcomes/items"))["items"], [])
        self.assertIn("1 subject, the next is", self.ok(self.server.get(path + "/explain"))["summary"])

    def test_an_edit_reaches_every_subject(self):
        self.rehearse("2026-03-28T09:00:00Z")
        path = self.schedule("digest", DELIVERY)
        self.imported(path, [{"subject": f"u{i:04}"} for i in range(2500)] + [{"subject": "own", "due": "06:00"}])
        self.ok(self.server.call("PATCH", path, {"trigger": {"kind": "delivery", "due": "12:00"}}))
        self.advance(advance="10s")
        whole = self.ok(self.server.get(path))
        self.assertEqual((whole["revision"], whole["replanning"]), (2, None))
        page = self.ok(self.server.get(path + "/subjects?limit=500&prefix=u"))["items"]
        self.assertEqual({item["next_at"] for item in page}, {"2026-03-29T11:00:00.000Z"})
        self.assertEqual(self.subject(path, "own")["next_at"], "2026-03-29T05:00:00.000Z")


if __name__ == "__main__":
    unittest.main(verbosity=1)
