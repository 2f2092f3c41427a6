#!/usr/bin/env python3
"""The command line's client side against a fake server: what it asks, what it prints in both forms, how it exits.

  cli_client_test.py PROGRAM [unittest arguments]
"""
import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_server import FakeServer, error  # noqa: E402
from terminal import on_terminal  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
ID = "01968e2c-5b1a-7000-8000-000000000001"
T = "/v1/tenants/default"
DONE, FAILED, USAGE, NOT_FOUND, CONFLICT, UNREACHABLE = range(6)


def job(**fields):
    base = {"id": ID, "tenant": "default", "queue": "default", "type": "mail.send", "payload": {}, "priority": 3,
            "state": "queued", "reason": None, "run_at": "2026-03-30T08:00:00.000Z", "attempt": 0, "max_attempts": 5,
            "defer_reason": None, "last_error": None}
    return {**base, **fields}


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


class ClientTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = FakeServer()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    def setUp(self):
        self.server.reset()

    def env(self, extra):
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", "HOME": "/nonexistent",
                "CARILLON_SERVER": self.server.url, "CARILLON_KEY": "the-key", **extra}

    def run_cli(self, *words, stdin="", env=None, cwd=None):
        done = subprocess.run([PROGRAM, *words], input=stdin.encode(), capture_output=True, env=self.env(env or {}),
                              cwd=cwd or self.folder.name, timeout=60)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_terminal(self, *words, columns=100, env=None):
        """On a terminal of that width; both streams are one."""
        code, text = on_terminal([PROGRAM, *words], self.env(env or {}), self.folder.name, columns)
        return Ran(code, text, text)

    def asked_once(self, method, path, body=None):
        self.assertEqual([(a.method, a.path) for a in self.server.asked], [(method, path)])
        if body is not None:
            self.assertEqual(json.loads(self.server.asked[0].body), body)
        return self.server.asked[0]

    def assert_fails(self, ran, code, *parts):
        self.assertEqual(ran.code, code, ran.err + ran.out)
        self.assertEqual(ran.out, "")
        self.assertTrue(ran.err.startswith("carillon: "), ran.err)
        self.assertEqual(ran.err.count("\n"), 1, ran.err)
        for part in parts:
            self.assertIn(part, ran.err)


class Requests(ClientTest):
    """Each command asks for what it should, and prints the server's answer as JSON into a pipe."""

    def check(self, words, method, path, body=None, answer=None, status=200):
        self.server.reset()
        self.server.on(method, path, {"ok": True} if answer is None else answer, status)
        ran = self.run_cli(*words)
        self.assertEqual(ran.code, DONE, f"{words}: {ran.err}")
        self.asked_once(method, path, body)
        return ran

    def test_each_command_calls_its_route(self):
        page = {"items": [], "next_cursor": None}
        rows = [
            (["jobs"], "GET", T + "/jobs", None, page),
            (["jobs", "list", "--state", "dlq", "--type", "a b", "--limit", "5", "--since", "2026-03-29"], "GET",
             T + "/jobs?state=dlq&type=a%20b&since=2026-03-29T00%3A00%3A00.000Z&limit=5", None, page),
            (["jobs", "list", "--queue", "q", "--schedule", "s", "--subject", "u/1", "--tag", "t", "--text", "x",
              "--until", "2026-03-29T01:00:00Z", "--cursor", "abc"], "GET",
             T + "/jobs?queue=q&schedule=s&subject=u%2F1&tag=t&text=x&until=2026-03-29T01%3A00%3A00.000Z&cursor=abc", None, page),
            (["jobs", "show", ID], "GET", f"{T}/jobs/{ID}"),
            (["jobs", "show", ID, "--wait", "30s"], "GET", f"{T}/jobs/{ID}?wait=30s"),
            (["jobs", "cancel", ID], "POST", f"{T}/jobs/{ID}/cancel", {}),
            (["jobs", "retry", ID], "POST", f"{T}/jobs/{ID}/retry", {}),
            (["jobs", "rerun", ID], "POST", f"{T}/jobs/{ID}/rerun", {}),
            (["jobs", "run", ID], "POST", f"{T}/jobs/{ID}/run", {}),
            (["dlq"], "GET", T + "/jobs?state=dlq", None, page),
            (["dlq", "list", "--type", "x"], "GET", T + "/jobs?state=dlq&type=x", None, page),
            (["schedules"], "GET", T + "/schedules", None, page),
            (["schedules", "list", "--limit", "7"], "GET", T + "/schedules?limit=7", None, page),
            (["schedules", "show", "a"], "GET", T + "/schedules/a"),
            (["schedules", "pause", "a"], "POST", T + "/schedules/a/pause", {}),
            (["schedules", "pause", "a", "--until", "2026-03-29T09:00"], "POST", T + "/schedules/a/pause",
             {"until": "2026-03-29T09:00:00.000Z"}),
            (["schedules", "resume", "a"], "POST", T + "/schedules/a/resume", {}),
            (["schedules", "trigger", "a", "--subject", "u", "--payload", '{"x":1}', "--priority", "2"], "POST",
             T + "/schedules/a/trigger", {"subject": "u", "payload": {"x": 1}, "priority": 2}),
            (["schedules", "trigger", "a", "--subject", "u", "--window-start", "2026-03-29", "--window-end", "2026-03-29T01:00"], "POST",
             T + "/schedules/a/trigger", {"subject": "u", "window_start": "2026-03-29T00:00:00.000Z", "window_end": "2026-03-29T01:00:00.000Z"}),
            (["schedules", "backfill", "a", "--from", "2026-03-29", "--to", "2026-03-30", "--detach"], "POST", T + "/schedules/a/backfill",
             {"from": "2026-03-29T00:00:00.000Z", "to": "2026-03-30T00:00:00.000Z"}),
            (["schedules", "outcomes", "a"], "GET", T + "/schedules/a/outcomes"),
            (["schedules", "outcomes", "a", "--date", "2026-03-29"], "GET", T + "/schedules/a/outcomes?date=2026-03-29"),
            (["schedules", "outcomes", "a", "--items"], "GET", T + "/schedules/a/outcomes/items", None, page),
            (["schedules", "outcomes", "a", "--subject", "u/1", "--from", "2026-03-29", "--to", "2026-03-29T12:00", "--limit", "5"], "GET",
             T + "/schedules/a/outcomes/items?subject=u%2F1&from=2026-03-29&to=2026-03-29T12%3A00%3A00.000Z&limit=5", None, page),
            (["subjects", "list", "a"], "GET", T + "/schedules/a/subjects", None, page),
            (["subjects", "list", "a", "--prefix", "u-", "--disabled", "--status", "none", "--due-until", "2026-03-29", "--limit", "7"], "GET",
             T + "/schedules/a/subjects?prefix=u-&status=none&due_until=2026-03-29T00%3A00%3A00.000Z&enabled=false&limit=7", None, page),
            (["subjects", "show", "a", "u/1"], "GET", T + "/schedules/a/subjects/u%2F1"),
            (["subjects", "put", "a", "u"], "PUT", T + "/schedules/a/subjects/u", {}),
            (["subjects", "put", "a", "u", '{"due": "08:00"}'], "PUT", T + "/schedules/a/subjects/u", {"due": "08:00"}),
            (["subjects", "put", "a", "u", "--due", "08:00", "--timezone", "Europe/Paris", "--interval", "1h", "--mode", "full", "--priority", "high",
              "--payload", '{"x":1}', "--uses-limit", "l", "--uses-limit", "m", "--expected-at", "2026-03-29", "--cursor-end", "2026-03-30", "--disabled"],
             "PUT", T + "/schedules/a/subjects/u",
             {"enabled": False, "due": "08:00", "timezone": "Europe/Paris", "interval": "1h", "mode": "full", "priority": 2, "limits": ["l", "m"],
              "payload": {"x": 1}, "expected_at": "2026-03-29T00:00:00.000Z", "cursor_end": "2026-03-30T00:00:00.000Z"}),
            (["subjects", "patch", "a", "u", '{"due": null}'], "PATCH", T + "/schedules/a/subjects/u", {"due": None}),
            (["subjects", "patch", "a", "u", "--enabled"], "PATCH", T + "/schedules/a/subjects/u", {"enabled": True}),
            (["subjects", "pause", "a", "u/1"], "PATCH", T + "/schedules/a/subjects/u%2F1", {"enabled": False}),
            (["subjects", "resume", "a", "u"], "PATCH", T + "/schedules/a/subjects/u", {"enabled": True}),
            (["subjects", "delete", "a", "u"], "DELETE", T + "/schedules/a/subjects/u"),
            (["subjects", "trigger", "a", "u", "--priority", "critical"], "POST", T + "/schedules/a/trigger", {"subject": "u", "priority": 1}),
            (["subjects", "explain", "a", "u"], "GET", T + "/schedules/a/subjects/u/explain"),
            (["subjects", "preview", "a", "u", "--count", "3"], "GET", T + "/schedules/a/subjects/u/preview?count=3"),
            (["schedules", "delete", "a"], "DELETE", T + "/schedules/a"),
            (["schedules", "preview", "a", "--count", "3"], "GET", T + "/schedules/a/preview?count=3"),
            (["explain", ID], "GET", f"{T}/jobs/{ID}/explain"),
            (["explain", "digest"], "GET", T + "/schedules/digest/explain"),
            (["explain", "digest/user/17"], "GET", T + "/schedules/digest/subjects/user%2F17/explain"),
            (["tenants"], "GET", "/v1/tenants", None, page),
            (["tenants", "list"], "GET", "/v1/tenants", None, page),
            (["tenants", "create", "acme"], "PUT", "/v1/tenants/acme", {}),
            (["tenants", "delete", "acme"], "DELETE", "/v1/tenants/acme"),
            (["tenants", "show"], "GET", T + "/settings"),
            (["tenants", "show", "acme"], "GET", "/v1/tenants/acme/settings"),
            (["tenants", "set", "acme", "weight=2", "timezone=Europe/London", "max_concurrency=null"], "PUT",
             "/v1/tenants/acme/settings", {"weight": 2, "timezone": "Europe/London", "max_concurrency": None}),
            (["queues"], "GET", T + "/queues", None, page),
            (["queues", "set", "q", "--max-concurrency", "3"], "PUT", T + "/queues/q", {"max_concurrency": 3}),
            (["queues", "set", "q", "--max-concurrency", "none"], "PUT", T + "/queues/q", {"max_concurrency": None}),
            (["queues", "pause", "q"], "PUT", T + "/queues/q", {"paused": True}),
            (["queues", "resume", "q"], "PUT", T + "/queues/q", {"paused": False}),
            (["limits"], "GET", T + "/limits", None, page),
            (["limits", "list", "--global"], "GET", "/v1/limits", None, page),
            (["limits", "show", "api"], "GET", T + "/limits/api"),
            (["limits", "put", "api", "--rate", "10", "--per", "1s", "--burst", "20", "--concurrency", "4"], "PUT",
             T + "/limits/api", {"rate": 10, "per": "1s", "burst": 20, "concurrency": 4}),
            (["limits", "put", "api", "--global", "--rate", "0.5"], "PUT", "/v1/limits/api", {"rate": 0.5}),
            (["limits", "delete", "api"], "DELETE", T + "/limits/api"),
            (["keys"], "GET", "/v1/keys", None, page),
            (["keys", "create", "ci", "--scope", "write", "--for-tenant", "a", "--for-tenant", "b", "--expires-at",
              "2027-01-01"], "POST", "/v1/keys",
             {"name": "ci", "scope": "write", "tenants": ["a", "b"], "expires_at": "2027-01-01T00:00:00.000Z"}),
            (["keys", "create", "ops", "--scope", "read", "--all-tenants"], "POST", "/v1/keys",
             {"name": "ops", "scope": "read", "tenants": "all"}),
            (["keys", "create", "boss", "--scope", "admin"], "POST", "/v1/keys", {"name": "boss", "scope": "admin"}),
            (["keys", "delete", "k1"], "DELETE", "/v1/keys/k1"),
            (["config"], "GET", "/v1/config"),
            (["config", "show"], "GET", "/v1/config"),
            (["config", "set", "enabled=false", "max_concurrent_jobs=5"], "PUT", "/v1/config",
             {"enabled": False, "max_concurrent_jobs": 5}),
            (["slo"], "GET", "/v1/slo"),
            (["status"], "GET", "/v1/status"),
        ]
        for row in rows:
            words, method, path = row[:3]
            with self.subTest(" ".join(words)):
                answer = row[4] if len(row) > 4 else {"ok": True}
                ran = self.check(words, method, path, row[3] if len(row) > 3 else None, answer)
                self.assertEqual(ran.json, answer)

    def test_key_tenant_and_agent_are_sent(self):
        self.server.on("GET", "/v1/tenants/acme/queues", {"items": []})
        self.assertEqual(self.run_cli("queues", "--tenant", "acme").code, DONE)
        asked = self.server.asked[0]
        self.assertEqual(asked.headers["Authorization"], "Bearer the-key")
        self.assertTrue(asked.headers["User-Agent"].startswith("carillon/"))

    def test_the_key_comes_from_the_flag_then_the_environment_then_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, key in (("carillon.key", "of-the-folder"), ("other.key", "of-the-flag")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(key + "\n")
            for words, env, expected in ((["--key-file", "other.key"], {}, "of-the-flag"), ([], {}, "the-key"),
                                         ([], {"CARILLON_KEY": ""}, "of-the-folder")):
                self.server.reset()
                self.server.on("GET", "/v1/status", {})
                self.assertEqual(self.run_cli("status", *words, env=env, cwd=folder).code, DONE)
                self.assertEqual(self.server.asked[0].headers["Authorization"], "Bearer " + expected)
        self.server.reset()
        self.server.on("GET", "/v1/status", {})
        self.run_cli("status", env={"CARILLON_KEY": ""})
        self.assertIsNone(self.server.asked[0].headers["Authorization"])

    def test_a_proxy_of_the_environment_does_not_see_what_is_for_this_machine(self):
        self.server.on("GET", "/v1/status", {})
        self.assertEqual(self.run_cli("status", env={"http_proxy": "http://127.0.0.1:1"}).code, DONE)

    def test_if_match_guards_a_put(self):
        self.server.on("PUT", T + "/schedules/digest", {"revision": 4})
        text = '{"name": "digest", "trigger": {"kind": "daily", "at": "08:00"}, "job": {"type": "x"}}'
        ran = self.run_cli("schedules", "put", "-", "--if-match", "3", stdin=text)
        self.assertEqual(ran.code, DONE, ran.err)
        self.assertEqual(self.server.asked[0].headers["If-Match"], "3")
        self.assertEqual(self.server.asked[0].body, text)

    def test_a_schedule_is_put_from_a_file_under_its_own_name_or_the_one_given(self):
        path = os.path.join(self.folder.name, "schedule.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"trigger": {"kind": "daily"}}')
        self.assert_fails(self.run_cli("schedules", "put", path), USAGE, "--name")
        self.check(["schedules", "put", path, "--name", "nightly"], "PUT", T + "/schedules/nightly",
                   {"trigger": {"kind": "daily"}})

    def test_every_page_is_fetched_as_one(self):
        self.server.on("GET", T + "/jobs?limit=500", {"items": [job(id="1")], "next_cursor": "n/2"})
        self.server.on("GET", T + "/jobs?limit=500&cursor=n%2F2", {"items": [job(id="2")], "next_cursor": None})
        ran = self.run_cli("jobs", "list", "--all")
        self.assertEqual([item["id"] for item in ran.json["items"]], ["1", "2"])
        self.assertIsNone(ran.json["next_cursor"])


class Enqueue(ClientTest):
    def test_prints_the_id_also_in_a_pipe(self):
        self.server.on("POST", T + "/jobs", job(deduplicated=False), 201)
        ran = self.run_cli("enqueue", "mail.send", "--payload", '{"to": "ada"}', "--queue", "q", "--priority", "1",
                           "--in", "10m", "--key", "k", "--max-attempts", "3", "--timeout", "30s", "--deadline",
                           "2026-04-01", "--subject", "u", "--depends-on", "a", "--depends-on", "b", "--tag", "t",
                           "--uses-limit", "l")
        self.assertEqual((ran.code, ran.out), (DONE, ID + "\n"), ran.err)
        self.asked_once("POST", T + "/jobs", {
            "type": "mail.send", "payload": {"to": "ada"}, "queue": "q", "priority": 1, "delay": "10m",
            "idempotency_key": "k", "max_attempts": 3, "timeout": "30s", "deadline": "2026-04-01T00:00:00.000Z",
            "subject": "u", "depends_on": ["a", "b"], "tags": ["t"], "limits": ["l"]})

    def test_with_json_it_prints_the_job(self):
        self.server.on("POST", T + "/jobs", job(deduplicated=True), 200)
        self.assertEqual(self.run_cli("enqueue", "x", "--json").json["deduplicated"], True)

    def test_the_payload_comes_from_a_file_or_from_standard_input_unchanged(self):
        text = '{"n": 12345678901234567890.10, "s": "\u00e9"}'
        path = os.path.join(self.folder.name, "payload.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for words, stdin in ((["--payload", "@" + path], ""), (["--payload", "-"], text)):
            self.server.reset()
            self.server.on("POST", T + "/jobs", job(), 201)
            self.assertEqual(self.run_cli("enqueue", "x", *words, stdin=stdin).code, DONE)
            self.assertIn(text, self.server.asked[0].body)

    def test_bad_input_is_refused_before_anything_is_sent(self):
        for words, says in (([], "type is required"), (["x", "--payload", "{"], "must be JSON"),
                            (["x", "--payload", "@/no/such"], "cannot read"), (["x", "--at", "tomorrow"], "--at"),
                            (["x", "--at", "2026-01-01", "--in", "5m"], "--in"), (["x", "--priority", "urgent"], "--priority"), (["x", "--priority", "6"], "--priority"),
                            (["x", "--tenant", "a b"], "tenant"), (["x", "--server", "ftp://x"], "http://HOST:PORT"),
                            (["x", "--key-file", "/no/such"], "cannot read"), (["x", "y"], "y"), (["x", "--bogus"], "bogus")):
            with self.subTest(words):
                ran = self.run_cli("enqueue", *words)
                self.assertIn(ran.code, (USAGE, FAILED))
                self.assert_fails(ran, ran.code, says)
        self.assertEqual(self.server.asked, [])


class Errors(ClientTest):
    def test_each_answer_has_its_exit_code_and_the_servers_words(self):
        rows = [(400, "invalid_request", USAGE), (422, "invalid_configuration", USAGE), (422, "dependency_not_met", USAGE),
                (401, "unauthorized", FAILED), (403, "forbidden", FAILED), (404, "job_not_found", NOT_FOUND),
                (409, "conflict", CONFLICT), (409, "job_already_running", CONFLICT),
                (409, "idempotency_conflict", CONFLICT), (409, "stale_token", CONFLICT), (412, "conflict", CONFLICT),
                (413, "too_large", FAILED), (429, "too_many_requests", FAILED), (500, "database_error", FAILED),
                (503, "scheduler_disabled", FAILED), (503, "store_unavailable", FAILED), (507, "store_full", FAILED)]
        for status, code, exit_code in rows:
            with self.subTest(f"{status} {code}"):
                self.server.reset()
                self.server.on("GET", f"{T}/jobs/{ID}", error(code, "what went wrong"), status, {"Retry-After": "7"})
                ran = self.run_cli("jobs", "show", ID)
                self.assert_fails(ran, exit_code, f"what went wrong ({code})", "try again after 7 s")

    def test_a_missing_key_says_where_keys_come_from(self):
        self.server.on("GET", "/v1/status", error("unauthorized", "no key"), 401)
        self.assert_fails(self.run_cli("status"), FAILED, "--key-file")

    def test_a_server_that_is_not_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
            self.assert_fails(self.run_cli("status", "--server", url), UNREACHABLE, f"cannot reach {url}")
            self.assert_fails(self.run_cli("jobs", "watch", "--server", url), UNREACHABLE, url)

    def test_answers_that_are_not_ours(self):
        self.server.on("GET", "/v1/status", b"<html>hello</html>")
        self.assert_fails(self.run_cli("status"), FAILED, "not JSON")
        self.server.reset()
        self.server.on("GET", "/v1/status", b"nothing here", 404)
        self.assert_fails(self.run_cli("status"), NOT_FOUND, "answered 404")
        self.server.reset()
        self.server.on("GET", "/v1/status", b"", 302, {"Location": "http://127.0.0.1:1/"})
        self.assert_fails(self.run_cli("status"), FAILED, "answered 302")

    def test_an_error_cannot_act_on_the_terminal(self):
        self.server.on("GET", "/v1/status", error("x", "a\x1b[2Jb\nc"), 500)
        self.assert_fails(self.run_cli("status"), FAILED, "a [2Jb c")
        self.server.reset()
        self.server.on("GET", "/v1/status", error("x", "a\u009b2Jb\u202ec"), 500)
        self.assert_fails(self.run_cli("status"), FAILED, "a 2Jb c")

    def test_wrong_usage(self):
        for words in (["jobs", "bogus"], ["jobs", "show"], ["schedules", "put"], ["keys", "create", "x"],
                      ["queues", "set", "q"], ["queues", "set", "q", "--max-concurrency", "0"],
                      ["tenants", "set", "acme", "weight"], ["tenants", "create", "a/b"], ["config", "set", "x=1", "x=2"],
                      ["jobs", "show", ID, "--wait", "soon"], ["jobs", "list", "--since", "then"],
                      ["jobs", "watch", "--count", "0"]):
            with self.subTest(words):
                self.assert_fails(self.run_cli(*words), USAGE)
        self.assertEqual(self.server.asked, [])


class Subjects(ClientTest):
    IMPORT = T + "/schedules/a/subjects/import"

    def lines(self, count):
        return "".join(json.dumps({"subject": f"u{i}"}) + "\n" for i in range(1, count + 1))

    def test_an_import_goes_in_chunks_and_is_counted(self):
        for created in (3, 3, 1):
            self.server.on("POST", self.IMPORT, {"created": created, "updated": 1, "unchanged": 0})
        path = os.path.join(self.folder.name, "users.ndjson")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.lines(4) + "\n  \n" + self.lines(3))
        ran = self.run_cli("subjects", "import", "a", path, "--chunk", "3")
        self.assertEqual((ran.code, ran.json), (DONE, {"created": 7, "updated": 3, "unchanged": 0}), ran.err)
        self.assertEqual([asked.body.count("\n") for asked in self.server.asked], [3, 3, 1])
        self.assertEqual(self.server.asked[0].headers["Content-Type"], "application/x-ndjson")
        code, text = on_terminal([PROGRAM, "subjects", "import", "a", path], self.env({}), self.folder.name, 100)
        self.assertEqual(code, DONE)
        self.assertIn("1 created, 1 updated, 0 unchanged", text)

    def test_a_bad_line_is_told_by_its_number_in_the_file(self):
        self.server.on("POST", self.IMPORT, {"created": 2, "updated": 0, "unchanged": 0})
        self.server.on("POST", self.IMPORT, error("invalid_request", "due: no time", line=2), 400)
        ran = self.run_cli("subjects", "import", "a", "-", "--chunk", "2", stdin=self.lines(1) + "\n" + self.lines(5))
        self.assert_fails(ran, USAGE, "standard input line 5: due: no time (invalid_request); lines 1 to 3 were imported: 2 created, 0 updated")
        self.assertEqual(len(self.server.asked), 2)
        self.server.reset()
        self.server.on("POST", self.IMPORT, error("schedule_not_found", "there is no schedule"), 404)
        self.assert_fails(self.run_cli("subjects", "import", "a", "-", stdin=self.lines(1)), NOT_FOUND, "nothing was imported")
        self.server.reset()
        self.assertEqual(self.run_cli("subjects", "import", "a", "-").json, {"created": 0, "updated": 0, "unchanged": 0})
        self.assert_fails(self.run_cli("subjects", "import", "a", "/no/such"), FAILED, "cannot read")
        self.assert_fails(self.run_cli("subjects", "import", "a", "/"), FAILED, "folder")
        self.assertEqual(self.server.asked, [])

    def test_an_export_prints_every_page(self):
        path = T + "/schedules/a/subjects.ndjson"
        self.server.on("GET", T + "/schedules/a", {"name": "a", "subjects": 2})
        self.server.on("GET", path, b'{"subject":"a"}\n', headers={"next-cursor": "n%3Aa%2Fb"})
        self.server.on("GET", path + "?cursor=n%3Aa%2Fb", '{"subject":"b"}\n'.encode())
        ran = self.run_cli("subjects", "export", "a")
        self.assertEqual((ran.code, ran.out), (DONE, '{"subject":"a"}\n{"subject":"b"}\n'), ran.err)
        self.server.reset()
        self.server.on("GET", T + "/schedules/a", {"name": "a", "subjects": 2})
        self.server.on("GET", path + "?cursors=false", b'{"subject":"a"}\n', headers={"next-cursor": "n%3Aa%2Fb"})
        self.server.on("GET", path + "?cursors=false&cursor=n%3Aa%2Fb", '{"subject":"b"}\n'.encode())
        ran = self.run_cli("subjects", "export", "a", "--without-cursors")
        self.assertEqual((ran.code, ran.out), (DONE, '{"subject":"a"}\n{"subject":"b"}\n'), ran.err)
        self.server.reset()
        self.server.on("GET", T + "/schedules/a", {"name": "a", "subjects": None})
        self.server.on("GET", path, error("conflict", "no fan_out"), 409)
        self.assert_fails(self.run_cli("subjects", "export", "a"), CONFLICT, "no fan_out")

    def test_lists_and_days_on_a_terminal(self):
        item = {"subject": "ada", "enabled": True, "due": "07:30", "timezone": "Europe/Paris", "interval": None, "mode": None, "cadence_state": None,
                "next_at": "2026-03-30T06:30:00.000Z", "status": "success", "last_run_at": "2026-03-29T06:31:00.000Z", "error_count": 0}
        self.server.on("GET", T + "/schedules/a/subjects", {"items": [item, {**item, "subject": "bob", "enabled": False, "status": None}], "next_cursor": "n:bob"})
        ran = self.on_terminal("subjects", "list", "a", columns=140, env={"NO_COLOR": "1"})
        self.assertIn("07:30 Europe/Paris", ran.out)
        self.assertIn("disabled", ran.out)
        self.assertIn("more: --cursor n:bob", ran.out)
        self.server.on("GET", T + "/schedules/a/outcomes", {"date": "2026-03-29", "counts": {"success": 12, "open": 0},
                                                            "by_due_minute": [[480, "success", 12]]})
        ran = self.on_terminal("schedules", "outcomes", "a", env={"NO_COLOR": "1"})
        self.assertIn("2026-03-29", ran.out)
        self.assertIn("08:00", ran.out)
        self.server.on("GET", T + "/schedules/a/subjects/u/preview?count=10", {"items": [
            {"at": "2026-03-29T06:30:00.000Z", "local": "2026-03-29T08:30:00+02:00", "note": None, "day": "2026-03-29", "cutoff": "2026-03-29T07:30:00.000Z"}]})
        ran = self.on_terminal("subjects", "preview", "a", "u", columns=140, env={"NO_COLOR": "1"})
        self.assertIn("CUTOFF", ran.out)

    def test_wrong_usage(self):
        for words in (["subjects"], ["subjects", "list"], ["subjects", "show", "a"], ["subjects", "put", "a", "u", "{}", "--due", "08:00"],
                      ["subjects", "put", "a", "u", "{"], ["subjects", "import", "a"], ["subjects", "import", "a", "-", "--chunk", "0"],
                      ["subjects", "pause", "a"], ["subjects", "resume", "a", "u", "--until", "2026-03-29"],
                      ["subjects", "list", "a", "--enabled", "--disabled"], ["subjects", "list", "a", "--due-until", "soon"],
                      ["schedules", "trigger", "a", "--window-start", "2026-03-29"], ["schedules", "backfill", "a", "--from", "2026-03-29"],
                      ["schedules", "outcomes", "a", "--date", "2026-03-29", "--items"]):
            with self.subTest(words):
                self.assert_fails(self.run_cli(*words), USAGE)
        self.assertEqual(self.server.asked, [])


class Bulk(ClientTest):
    def bulk(self, **fields):
        return {"id": "b1", "action": "retry", "state": "running", "total": 1000, "done": 0, "failed": 0, **fields}

    def test_it_is_watched_until_its_end(self):
        self.server.on("POST", T + "/jobs/bulk", {"id": "b1"}, 202)
        self.server.on("GET", T + "/bulk/b1", self.bulk(done=400))
        self.server.on("GET", T + "/bulk/b1", self.bulk(state="done", done=1000))
        ran = self.run_cli("dlq", "retry", "--filter", "type=mail.send", "--filter", "since=2026-03-29", "--rate", "50")
        self.assertEqual(ran.code, DONE, ran.err)
        self.assertEqual(ran.json["done"], 1000)
        self.assertEqual(ran.err, "")
        self.assertEqual([a.path for a in self.server.asked], [T + "/jobs/bulk", T + "/bulk/b1", T + "/bulk/b1"])
        self.assertEqual(json.loads(self.server.asked[0].body), {
            "action": "retry", "rate": 50,
            "filter": {"state": "dlq", "type": "mail.send", "since": "2026-03-29T00:00:00.000Z"}})

    def test_on_a_terminal_a_bar_shows_how_far_it_is(self):
        self.server.on("POST", T + "/jobs/bulk", {"id": "b1"}, 202)
        self.server.on("GET", T + "/bulk/b1", self.bulk(done=500))
        self.server.on("GET", T + "/bulk/b1", self.bulk(state="done", done=1000))
        ran = self.on_terminal("dlq", "discard", "--all")
        self.assertEqual(ran.code, DONE)
        self.assertIn("discard  [###############---------------]  50 %  500/1000", ran.out)
        self.assertTrue(ran.out.endswith("discard done: 1000 jobs\n"), ran.out)
        self.assertEqual(json.loads(self.server.asked[0].body), {"action": "discard", "filter": {"state": "dlq"}})

    def test_jobs_that_could_not_be_changed_make_it_fail(self):
        self.server.on("POST", T + "/jobs/bulk", {"id": "b1"}, 202)
        self.server.on("GET", T + "/bulk/b1", self.bulk(state="done", done=9, failed=1))
        self.assertEqual(self.run_cli("jobs", "cancel", "--filter", "queue=q").code, FAILED)

    def test_detached_it_prints_the_work(self):
        self.server.on("POST", T + "/jobs/bulk", {"id": "b1"}, 202)
        ran = self.run_cli("jobs", "cancel", "--all", "--detach")
        self.assertEqual((ran.code, ran.json), (DONE, {"id": "b1"}))
        self.asked_once("POST", T + "/jobs/bulk", {"action": "cancel", "all": True})

    def test_every_job_is_never_meant_by_forgetting_a_word(self):
        for words in (["dlq", "retry"], ["dlq", "discard"], ["jobs", "cancel"], ["jobs", "cancel", ID, "--all"],
                      ["jobs", "cancel", "--all", "--filter", "type=a"],
                      ["dlq", "retry", "--filter", "color=red"], ["dlq", "retry", "--filter", "type"],
                      ["dlq", "retry", "--filter", "state=done"], ["dlq", "retry", "--filter", "type=a", "--filter", "type=b"]):
            with self.subTest(words):
                self.assert_fails(self.run_cli(*words), USAGE)
        self.assertEqual(self.server.asked, [])


class Watch(ClientTest):
    def test_it_follows_the_events_of_its_tenant(self):
        stream = (": hello\n\nevent: sched.tick.stop\ndata: {}\n\n"
                  'event: job.changed\ndata: {"id": "1", "tenant": "default", "state": "queued"}\n\n'
                  'event: job.changed\ndata: {"id": "2", "tenant": "acme", "state": "queued"}\n\n'
                  'event: job.changed\r\ndata: {"id": "1", "tenant": "default",\ndata:  "state": "done"}\r\n\r\n').encode()
        self.server.on("GET", "/v1/events", stream, headers={"Content-Type": "text/event-stream", "Connection": "close"})
        ran = self.run_cli("jobs", "watch", "--count", "2")
        self.assertEqual(ran.code, DONE, ran.err)
        self.assertEqual([json.loads(line)["state"] for line in ran.out.splitlines()], ["queued", "done"])

    def test_a_stream_that_breaks_is_taken_up_again(self):
        def stream(state):
            return f'event: job.changed\ndata: {{"id": "1", "tenant": "default", "state": "{state}"}}\n\n'.encode()
        for state in ("queued", "done"):
            self.server.on("GET", "/v1/events", stream(state), headers={"Connection": "close"})
        ran = self.run_cli("jobs", "watch", "--count", "2")
        self.assertEqual([json.loads(line)["state"] for line in ran.out.splitlines()], ["queued", "done"])

    def test_without_a_stream_it_polls(self):
        self.server.on("GET", "/v1/events", error("not_found", "none"), 404)
        for state in ("queued", "queued", "processing", "done"):
            self.server.on("GET", T + "/jobs", {"items": [job(state=state)], "next_cursor": None})
        ran = self.run_cli("jobs", "watch", "--count", "2", "--poll-interval", "10ms")
        self.assertEqual([json.loads(line)["state"] for line in ran.out.splitlines()], ["processing", "done"])

    def test_one_job_until_its_end(self):
        self.server.on("GET", f"{T}/jobs/{ID}", job())
        self.server.on("GET", f"{T}/jobs/{ID}?wait=30s", job(state="processing"))
        self.server.on("GET", f"{T}/jobs/{ID}?wait=30s", job(state="done"))
        ran = self.on_terminal("jobs", "watch", ID)
        self.assertEqual((ran.code, ran.out), (DONE, f"{ID}  queued\n{ID}  processing\n{ID}  done\n"))

    def test_one_job_that_is_parked_fails(self):
        self.server.on("GET", f"{T}/jobs/{ID}", job(state="dlq"))
        self.assertEqual(self.run_cli("jobs", "watch", ID).code, FAILED)


class Terminal(ClientTest):
    def list_jobs(self, *items, next_cursor=None, **options):
        self.server.on("GET", T + "/jobs", {"items": list(items), "next_cursor": next_cursor})
        return self.on_terminal("jobs", **options)

    def test_a_table_with_colours(self):
        ran = self.list_jobs(job(state="done", attempt=1), next_cursor="n2", columns=140)
        head, row, more = ran.out.splitlines()
        self.assertIn("\x1b[1mID\x1b[0m", head)
        self.assertIn(ID + "  \x1b[32mdone\x1b[0m   mail.send  default  3     2026-03-30 08:00:00Z  1/5      -", row)
        self.assertEqual(more, "more: --cursor n2, or --all")

    def test_no_colours_with_no_color(self):
        ran = self.list_jobs(job(), env={"NO_COLOR": "1"})
        self.assertNotIn("\x1b", ran.out)

    def test_columns_fit_the_width(self):
        ran = self.list_jobs(job(type="a-type-with-a-very-long-name-that-goes-on-and-on", reason="日本語の理由" * 10),
                             columns=130, env={"NO_COLOR": "1"})
        for line in ran.out.splitlines():
            wide = sum(2 if ord(c) > 0x2e80 else 1 for c in line)
            self.assertLessEqual(wide, 130, line)
        self.assertIn("…", ran.out)
        self.assertIn(ID, ran.out)

    def test_what_stands_in_a_job_cannot_act_on_the_terminal(self):
        ran = self.list_jobs(job(state="dlq", last_error={"code": "x", "message": "a\x1b]0;owned\x07b\u202ec\nd"}),
                             columns=200, env={"NO_COLOR": "1"})
        self.assertNotIn("\x1b", ran.out)
        self.assertNotIn("\u202e", ran.out)
        self.assertEqual(len(ran.out.splitlines()), 2)

    def test_an_empty_list_is_a_sentence(self):
        self.assertEqual(self.list_jobs().out, "no jobs\n")

    def test_json_on_a_terminal(self):
        self.server.on("GET", T + "/jobs", {"items": [], "next_cursor": None})
        self.assertEqual(self.on_terminal("jobs", "--json").json, {"items": [], "next_cursor": None})

    def test_json_cannot_act_on_the_terminal_either(self):
        """The text of a payload is sent as it was given: raw, it would move the cursor or turn the line around."""
        hostile = job(payload={"a": "x\u009b2Jy\u202ez\u2066\x7f", "b": "ü 漢"})
        self.server.on("GET", T + "/jobs", {"items": [hostile], "next_cursor": None})
        ran = self.on_terminal("jobs", "--json")
        for acting in "\u009b\u202e\u2066\x7f":
            self.assertNotIn(acting, ran.out)
        self.assertIn("ü 漢", ran.out)
        self.assertEqual(ran.json["items"][0]["payload"], hostile["payload"])
        # In a pipe it stays as it was sent.
        self.assertIn("\u202e", self.run_cli("jobs", "--json").out)

    def test_a_job_with_its_attempts(self):
        attempt = {"number": 1, "trigger": "scheduled", "worker": "w1", "started_at": "2026-03-30T08:00:00.000Z",
                   "finished_at": None, "duration_ms": 12, "result": "error", "error_class": "req", "error": "boom"}
        self.server.on("GET", f"{T}/jobs/{ID}", job(attempts=[attempt]))
        out = self.on_terminal("jobs", "show", ID, env={"NO_COLOR": "1"}).out
        self.assertIn("run_at        2026-03-30 08:00:00Z\n", out)
        self.assertIn("1  scheduled  w1      2026-03-30 08:00:00Z  12  error   boom", out)

    def test_an_explanation(self):
        self.server.on("GET", T + "/schedules/digest/explain", {
            "summary": "waiting: quiet hours", "next_at": "2026-03-30T08:00:00.000Z",
            "steps": [{"at": "2026-03-30T07:00:00.000Z", "what": "deferred", "why": "quiet_hours", "detail": {"a": 1}}]})
        self.assertEqual(self.on_terminal("explain", "digest", env={"NO_COLOR": "1"}).out,
                         "waiting: quiet hours\nnext: 2026-03-30 08:00:00Z\n\n"
                         "AT                    WHAT      WHY          DETAIL\n"
                         '2026-03-30 07:00:00Z  deferred  quiet_hours  {"a": 1}\n')

    def test_objectives(self):
        item = {"name": "cutoff_miss_rate", "state": "breached", "value": 0.25, "threshold": 0.05, "unit": "ratio", "window": "15m",
                "samples": 8, "breaches_in_a_row": 4, "since": "2026-03-30T08:00:00.000Z", "reason": None, "due_bucket": 485}
        well = {**item, "name": "dlq", "state": "ok", "value": None, "unit": "jobs", "threshold": 0, "breaches_in_a_row": 0,
                "due_bucket": None}
        self.server.on("GET", "/v1/slo", {"items": [item, well], "evaluated_at": None})
        self.assertEqual(self.on_terminal("slo", columns=140, env={"NO_COLOR": "1"}).out,
                         "SLO               STATE     VALUE  AT MOST     WINDOW  IN A ROW  SINCE                 DETAIL\n"
                         "cutoff_miss_rate  breached  0.25   0.05 ratio  15m     4         2026-03-30 08:00:00Z  most of those due at 08:05\n"
                         "dlq               ok        -      0 jobs      15m     0         2026-03-30 08:00:00Z  -\n")

    def test_sentences(self):
        self.server.on("POST", f"{T}/jobs/{ID}/cancel", job(state="cancelled"))
        self.assertEqual(self.on_terminal("jobs", "cancel", ID).out, f"{ID} cancelled\n")
        self.server.on("DELETE", T + "/schedules/a", None, 204)
        self.assertEqual(self.on_terminal("schedules", "delete", "a").out, "a deleted\n")
        self.server.on("POST", "/v1/keys", {"id": "k1", "key": "secret"}, 201)
        self.assertEqual(self.on_terminal("keys", "create", "ci", "--scope", "admin").out,
                         "k1  secret  (shown only now)\n")
        self.server.on("PUT", T + "/queues/q", {"paused": True})
        self.assertEqual(self.on_terminal("queues", "pause", "q").out, "q paused\n")


class Doctor(ClientTest):
    def findings(self, ran):
        return {item["check"]: (item["result"], item["message"]) for item in ran.json["items"]}

    def healthy(self):
        version = self.run_cli("version").out.strip()
        self.server.on("GET", "/healthz", {"ok": True})
        self.server.on("GET", "/v1/status", {"version": version})

    def test_all_is_well(self):
        self.healthy()
        ran = self.run_cli("doctor")
        found = self.findings(ran)
        for check in ("configuration", "folder", "database", "lock", "clock", "time zones", "server", "version"):
            self.assertEqual(found[check][0], "ok", found)
        self.assertIn("space", found)
        self.assertIn("open files", found)
        self.assertEqual(ran.code, DONE)

    def test_a_server_of_another_version_or_none_at_all(self):
        self.server.on("GET", "/healthz", {})
        self.server.on("GET", "/v1/status", {"version": "9.9.9"})
        self.assertEqual(self.findings(self.run_cli("doctor"))["version"][0], "warning")
        ran = self.run_cli("doctor", "--server", "http://127.0.0.1:1")
        self.assertEqual((ran.code, self.findings(ran)["server"][0]), (FAILED, "problem"))

    def test_how_much_database_and_logs_take(self):
        with tempfile.TemporaryDirectory() as folder:
            path, events = os.path.join(folder, "x.db"), os.path.join(folder, "events")
            for name, size in ((path, 3 << 20), (path + "-wal", 40 << 10), (events, 5_000)):
                with open(name, "wb") as file:
                    file.write(b"SQLite format 3\0".ljust(size, b"\0"))
            os.chmod(path, 0o600)
            with_log = self.findings(self.run_cli("doctor", "--offline", "--db", "sqlite:" + path, "--event-log", events))
            self.assertEqual(with_log["size"], ("ok", f'database 3.0 MiB, its write-ahead log 40 KiB, event log "{events}" 5 KiB'))
            self.assertEqual(with_log["database"], ("ok", f'"{path}"'))
            without = self.findings(self.run_cli("doctor", "--offline", "--db", f"sqlite:{folder}/y.db"))
            self.assertEqual(without["size"], ("ok", "database 0 KiB, its write-ahead log 0 KiB, no event log"))

    def test_what_is_wrong_on_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            with open(path, "w", encoding="utf-8") as file:
                file.write("this is not a database at all")
            ran = self.run_cli("doctor", "--offline", "--db", "sqlite:" + path)
            self.assertEqual((ran.code, self.findings(ran)["database"][0]), (FAILED, "problem"))
            ran = self.run_cli("doctor", "--offline", "--db", f"sqlite:{folder}/no/such/x.db")
            self.assertEqual(self.findings(ran)["folder"][0], "problem")
            with open(path, "wb") as file:
                file.write(b"SQLite format 3\0")
            os.chmod(path, 0o644)
            self.assertEqual(self.findings(self.run_cli("doctor", "--offline", "--db", "sqlite:" + path))["database"][0],
                             "warning")
            with open(path + ".lock", "w", encoding="utf-8") as lock:
                lock.write("process 4711 on host\n")
                lock.flush()
                fcntl.flock(lock, fcntl.LOCK_EX)
                found = self.findings(self.run_cli("doctor", "--offline", "--db", "sqlite:" + path))
                self.assertIn("process 4711 on host has the database open", found["lock"][1])
        ran = self.run_cli("doctor", "--offline", "--db", "oracle:x")
        self.assertEqual((ran.code, self.findings(ran)["configuration"][0]), (FAILED, "problem"))
        self.assertEqual(self.server.asked, [])


class ConfigCheck(ClientTest):
    def test_it_says_where_each_value_comes_from_and_no_secrets(self):
        path = os.path.join(self.folder.name, "c.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('retention = "3d"\n[handlers."a.b"]\nkind = "exec"\nargv = ["/bin/true", "hunter2"]\nallow_root = true\n')
        env = {"WORKER_POLL_MS": "250", "CARILLON_ADMIN_KEY": "ops.hunter2-hunter2-hunter2-hunter2-hunter2"}
        ran = self.run_cli("config", "check", "--config", path, "--max-concurrency", "4", "--set", "sat_ratio=0.5", env=env)
        self.assertEqual(ran.code, DONE, ran.err)
        found = {item["key"]: (item["value"], item["source"], item["origin"]) for item in ran.json["items"]}
        self.assertEqual(found["tick_ms"], ("250", "environment", "environment WORKER_POLL_MS"))
        self.assertEqual(found["max_concurrency"], ("4", "flag", "flag --max-concurrency"))
        self.assertEqual(found["sat_ratio"], ("0.5", "flag", "flag --set sat_ratio"))
        self.assertEqual(found["retention"], ("3d", "file", path + ", line 1"))
        self.assertEqual(found["listen"], ("127.0.0.1:7440", "default", "default"))
        self.assertEqual(ran.json["handlers"], [{"type": "a.b", "kind": "exec", "runs": "/bin/true", "tenants": "all"}])
        self.assertNotIn("hunter2", ran.out)
        out = self.on_terminal("config", "check", "--config", path, env={**env, "NO_COLOR": "1"}).out
        self.assertIn("environment WORKER_POLL_MS", out)
        self.assertNotIn("hunter2", out)

    def test_what_serve_would_refuse_is_one_line(self):
        self.assert_fails(self.run_cli("config", "check", "--listen", "0.0.0.0:80"), USAGE, "--behind-proxy")
        self.assertEqual(self.run_cli("config", "check", "--listen", "0.0.0.0:80", "--behind-proxy").code, DONE)
        self.assert_fails(self.run_cli("config", "check", "--set", "nonsense"), USAGE, "KEY=VALUE")
        self.assert_fails(self.run_cli("config", "check", "--tick-ms", "0"), USAGE, "flag --tick-ms")
        self.assert_fails(self.run_cli("config", "check", "--config", "/no/such"), USAGE, "/no/such")


class Completion(ClientTest):
    def complete(self, *words):
        return self.run_cli("__complete", *words).out.split()

    def test_commands_options_and_values(self):
        self.assertIn("schedules", self.complete("s"))
        self.assertEqual(self.complete("jobs", "re"), ["retry", "rerun"])
        self.assertEqual(self.complete("subjects", "p"), ["put", "patch", "pause", "preview"])
        self.assertEqual(self.complete("subjects", "export", "--with"), ["--without-cursors"])
        self.assertEqual(self.complete("jobs", "list", "--sta"), ["--state"])
        self.assertEqual(self.complete("jobs", "list", "--state", "d"), ["dlq", "done"])
        self.assertIn("--tenant", self.complete("dlq", "retry", "--"))
        self.assertEqual(self.complete("dlq", "retry", "--filter", "sc"), ["schedule="])
        self.assertIn("--max-concurrency", self.complete("config", "check", "--max"))


if __name__ == "__main__":
    unittest.main(verbosity=0)
