"""The command line against a real server: what it prints on a terminal and in a pipe, how it exits, what it watches.

  cli_test.py PROGRAM
"""
import json
import os
import subprocess
import sys
import threading
import time
import unittest

from server import Server, far_off

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli_client"))
from terminal import on_terminal  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
DONE, FAILED, USAGE, NOT_FOUND, CONFLICT, UNREACHABLE = range(6)


class CommandLine(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def environment(self, **more):
        return {"PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm",
                "HOME": "/nonexistent", "CARILLON_SERVER": f"http://127.0.0.1:{self.server.port}", **more}

    def ran(self, *words, stdin="", **environment):
        return subprocess.run([PROGRAM, *words], input=stdin, capture_output=True, text=True, timeout=60, cwd=self.server.folder,
                              env=self.environment(**environment), check=False)

    def exits(self, code, *words, **options):
        ran = self.ran(*words, **options)
        self.assertEqual(ran.returncode, code, f"{words}: {ran.stdout}{ran.stderr}")
        return ran

    def answer(self, *words, **options):
        return json.loads(self.exits(DONE, *words, **options).stdout)

    def on_terminal(self, *words, columns=160, **environment):
        return on_terminal([PROGRAM, *words], self.environment(**environment), self.server.folder, columns)

    def enqueue(self, *words):
        return self.exits(DONE, "enqueue", *words).stdout.strip()

    def leased(self, kind):
        return self.server.post("/v1/leases", {"worker": "w", "types": [kind], "wait": "10s"}).json["items"][0]

    # ---- What is printed ----
    def test_json_in_a_pipe_and_a_table_on_a_terminal(self):
        job = self.enqueue("cli.table", "--payload", '{"a": 1}', "--in", "1h")
        listed = self.answer("jobs", "list", "--type", "cli.table")
        self.assertEqual([one["id"] for one in listed["items"]], [job])
        code, text = self.on_terminal("jobs", "list", "--type", "cli.table")
        self.assertEqual(code, DONE)
        self.assertIn("\x1b[1mID\x1b[0m", text.splitlines()[0])
        self.assertIn(job, text)
        _, plain = self.on_terminal("jobs", "list", "--type", "cli.table", NO_COLOR="1")
        self.assertNotIn("\x1b", plain)
        self.assertIn(job, plain)
        _, as_json = self.on_terminal("jobs", "list", "--type", "cli.table", "--json")
        self.assertEqual(json.loads(as_json)["items"][0]["id"], job)

    def test_every_list_reads_a_real_answer(self):
        self.server.put(T + "/schedules/cli", {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "never"}})
        self.server.put(T + "/limits/cli", {"rate": 5, "per": "1s"})
        self.enqueue("cli.list", "--in", "1h")
        for words in (["jobs"], ["dlq"], ["schedules"], ["tenants"], ["queues"], ["limits"], ["keys"], ["status"], ["config"]):
            with self.subTest(words):
                self.assertIsInstance(self.answer(*words), dict)
                code, text = self.on_terminal(*words, NO_COLOR="1")
                self.assertEqual(code, DONE, text)
                self.assertFalse(text.startswith("{"), text)
                self.assertNotIn("\x1b", text)

    def test_a_key_of_no_tenant_is_refused_with_the_flags_to_use(self):
        said = self.exits(USAGE, "keys", "create", "w", "--scope", "worker").stderr
        self.assertIn("needs --for-tenant T or --all-tenants", said)
        self.exits(DONE, "keys", "create", "w", "--scope", "worker", "--all-tenants")

    # ---- The life of things ----
    def test_a_job_from_the_shell(self):
        words = ["enqueue", "cli.life", "--payload", "-", "--key", "cli-1", "--priority", "high", "--in", "1h"]
        job = self.exits(DONE, *words, stdin='{"n": 1}').stdout.strip()
        self.assertEqual(self.exits(DONE, *words, stdin='{"n": 1}').stdout.strip(), job)
        shown = self.answer("jobs", "show", job)
        self.assertEqual((shown["priority"], shown["payload"]), (2, {"n": 1}))
        self.assertIn("summary", self.answer("explain", job))
        self.assertEqual(self.answer("jobs", "cancel", job)["state"], "cancelled")

    def test_a_schedule_from_a_file(self):
        path = os.path.join(self.server.folder, "digest.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"name": "digest", "trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "cli.digest"}}, file)
        self.assertEqual(self.answer("schedules", "put", path)["revision"], 1)
        self.assertEqual(len(self.answer("schedules", "preview", "digest", "--count", "3")["items"]), 3)
        self.assertIsNotNone(self.answer("schedules", "pause", "digest")["paused_until"])
        self.assertIsNone(self.answer("schedules", "resume", "digest")["paused_until"])
        self.assertEqual(self.answer("schedules", "trigger", "digest")["origin"], "manual")
        self.assertIn("summary", self.answer("explain", "digest"))
        self.exits(DONE, "schedules", "delete", "digest")
        self.exits(NOT_FOUND, "schedules", "show", "digest")

    def test_subjects_from_a_file_and_back(self):
        self.server.put(T + "/schedules/cli-digest", {"trigger": {"kind": "delivery", "due": "08:00"}, "enabled": False, "job": {"type": "never"}})
        path = os.path.join(self.server.folder, "users.ndjson")
        with open(path, "w", encoding="utf-8") as file:
            for i in range(12_000):
                file.write(json.dumps({"subject": f"user-{i:05}", "due": f"{i % 24:02}:00"}) + "\n")
        self.assertEqual(self.answer("subjects", "import", "cli-digest", path), {"created": 12_000, "updated": 0, "unchanged": 0})
        exported = self.exits(DONE, "subjects", "export", "cli-digest").stdout
        with open(path, encoding="utf-8") as file:
            self.assertEqual([json.loads(line) for line in exported.splitlines()], [json.loads(line) for line in file])
        self.assertEqual(self.answer("subjects", "import", "cli-digest", "-", stdin=exported)["unchanged"], 12_000)
        bad = exported.splitlines()[:7000] + ['{"subject": "x", "due": "25:00"}']
        ran = self.exits(USAGE, "subjects", "import", "cli-digest", "-", stdin="\n".join(bad))
        self.assertIn("standard input line 7001: ", ran.stderr)
        self.assertIn("lines 1 to 5000 were imported: 0 created, 0 updated, 5000 unchanged", ran.stderr)
        code, text = self.on_terminal("subjects", "import", "cli-digest", path)
        self.assertEqual(code, DONE, text)
        self.assertIn("import KiB", text)
        self.assertIn("0 created, 0 updated, 12000 unchanged", text)

    def test_a_subject_from_the_shell(self):
        # No window is open, and none opens meanwhile.
        self.server.put(T + "/schedules/cli-sub", {"trigger": {"kind": "delivery", "due": far_off()}, "job": {"type": "cli.sub"}})
        due = far_off(minutes=-30)
        self.assertEqual(self.answer("subjects", "put", "cli-sub", "ada/1", "--due", due, "--timezone", "Europe/Paris")["due"], due)
        self.assertEqual(self.answer("subjects", "patch", "cli-sub", "ada/1", '{"due": null}')["due"], None)
        self.assertEqual(self.answer("subjects", "show", "cli-sub", "ada/1")["timezone"], "Europe/Paris")
        self.assertEqual([one["subject"] for one in self.answer("subjects", "list", "cli-sub", "--enabled")["items"]], ["ada/1"])
        self.assertEqual(len(self.answer("subjects", "preview", "cli-sub", "ada/1", "--count", "2")["items"]), 2)
        self.assertIn("summary", self.answer("subjects", "explain", "cli-sub", "ada/1"))
        self.assertIn("summary", self.answer("explain", "cli-sub/ada/1"))
        self.assertEqual(self.answer("subjects", "trigger", "cli-sub", "ada/1", "--payload", "{}")["subject"], "ada/1")
        self.assertEqual(self.answer("schedules", "outcomes", "cli-sub", "--date", "2020-01-01")["counts"]["success"], 0)
        for words in (["subjects", "list", "cli-sub"], ["subjects", "show", "cli-sub", "ada/1"], ["subjects", "preview", "cli-sub", "ada/1"],
                      ["schedules", "outcomes", "cli-sub"], ["schedules", "outcomes", "cli-sub", "--items"]):
            code, text = self.on_terminal(*words, NO_COLOR="1")
            self.assertEqual(code, DONE, text)
            self.assertFalse(text.startswith("{"), text)
        self.assertEqual(self.answer("subjects", "pause", "cli-sub", "ada/1")["enabled"], False)
        self.assertEqual([one["subject"] for one in self.answer("subjects", "list", "cli-sub", "--disabled")["items"]], ["ada/1"])
        self.assertIsNotNone(self.answer("subjects", "resume", "cli-sub", "ada/1")["next_at"])
        self.assertIn("cli-sub/ada/1 paused", self.on_terminal("subjects", "pause", "cli-sub", "ada/1", NO_COLOR="1")[1])
        self.assertIn("cli-sub/ada/1 resumed, next 2", self.on_terminal("subjects", "resume", "cli-sub", "ada/1", NO_COLOR="1")[1])
        self.exits(NOT_FOUND, "subjects", "pause", "cli-sub", "nobody")
        self.exits(DONE, "subjects", "delete", "cli-sub", "ada/1")
        self.exits(NOT_FOUND, "subjects", "show", "cli-sub", "ada/1")
        self.exits(USAGE, "subjects", "put", "cli-sub", "x", "--interval", "1h")

    def test_a_file_without_cursors_can_be_imported_again(self):
        self.server.put(T + "/schedules/cli-cur", {"trigger": {"kind": "windows", "interval": "1h", "max_backfill": 1}, "job": {"type": "cli.cur"}})
        began = int(time.time() - 3 * 3600) * 1000
        line = json.dumps({"subject": "a", "mode": "full", "cursor_end": began}) + "\n"
        self.assertEqual(self.answer("subjects", "import", "cli-cur", "-", stdin=line)["created"], 1)
        with_cursor = self.exits(DONE, "subjects", "export", "cli-cur").stdout
        self.assertEqual(self.answer("subjects", "import", "cli-cur", "-", stdin=with_cursor)["unchanged"], 1)
        job = self.leased("cli.cur")
        self.server.post(f"{T}/jobs/{job['id']}/complete", {"token": job["token"]})
        # The cursor has gone on, and never falls.
        self.assertIn("cursor", self.exits(CONFLICT, "subjects", "import", "cli-cur", "-", stdin=with_cursor).stderr)
        without = self.exits(DONE, "subjects", "export", "cli-cur", "--without-cursors").stdout
        self.assertEqual(json.loads(without), {"subject": "a", "mode": "full"})
        before = self.answer("subjects", "show", "cli-cur", "a")["cursor_end"]
        self.assertEqual(self.answer("subjects", "import", "cli-cur", "-", stdin=without)["unchanged"], 1)
        self.assertEqual(self.answer("subjects", "show", "cli-cur", "a")["cursor_end"], before)
        self.assertEqual(self.server.get(T + "/schedules/cli-cur/subjects.ndjson?cursors=maybe").status, 400)

    def test_windows_by_hand_from_the_shell(self):
        self.server.put(T + "/schedules/cli-win", {"trigger": {"kind": "windows", "interval": "1h"}, "job": {"type": "cli.win"}})
        self.answer("subjects", "put", "cli-win", "a")
        job = self.answer("schedules", "trigger", "cli-win", "--subject", "a", "--window-start", "2026-01-01", "--window-end", "2026-01-01T01:00")
        self.assertEqual(job["payload"]["window_end"], "2026-01-01T01:00:00.000Z")
        self.assertEqual(self.answer("schedules", "backfill", "cli-win", "--from", "2026-01-01", "--to", "2026-01-02")["done"], 24)
        self.exits(USAGE, "schedules", "trigger", "cli-win", "--subject", "a")

    def test_parked_jobs_in_bulk(self):
        for _ in range(3):
            self.enqueue("cli.parked")
            leased = self.leased("cli.parked")
            self.server.post(f"{T}/jobs/{leased['id']}/fail", {"token": leased["token"], "error": "no", "permanent": True})
        self.assertEqual(len(self.answer("dlq", "list", "--type", "cli.parked")["items"]), 3)
        code, text = self.on_terminal("dlq", "discard", "--filter", "type=cli.parked")
        self.assertEqual(code, DONE, text)
        self.assertIn("3", text)
        self.assertEqual(self.answer("dlq", "list", "--type", "cli.parked")["items"], [])

    # ---- Watching ----
    def ended(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def watching(self, *words):
        """(the process, what it has told so far)"""
        process = subprocess.Popen([PROGRAM, "jobs", "watch", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.server.folder, env=self.environment())
        told = []
        reader = threading.Thread(target=lambda: told.extend((line["id"], line["state"]) for line in map(json.loads, process.stdout)))
        reader.start()
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(reader.join)
        self.addCleanup(self.ended, process)
        return process, told

    def until(self, condition, meanwhile=lambda: None):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "it has not come to that")
            meanwhile()
            time.sleep(0.05)

    def test_watching_all_jobs_and_one(self):
        _, told = self.watching()
        # It tells of what comes after it listens; until then jobs of another kind come in vain.
        self.until(lambda: told, meanwhile=lambda: self.enqueue("cli.unheard", "--in", "1h"))
        job = self.enqueue("cli.watched")

        def work():
            leased = self.leased("cli.watched")
            time.sleep(0.3)
            self.server.post(f"{T}/jobs/{job}/complete", {"token": leased["token"]})
        worker = threading.Thread(target=work)
        worker.start()
        one = self.exits(DONE, "jobs", "watch", job)
        worker.join(timeout=30)
        self.assertEqual(json.loads(one.stdout.splitlines()[-1])["state"], "done")
        self.until(lambda: (job, "done") in told)
        self.assertEqual([state for changed, state in told if changed == job], ["queued", "processing", "done"])

    def test_watching_so_many_changes(self):
        process, told = self.watching("--count", "3")
        self.until(lambda: process.poll() is not None, meanwhile=lambda: self.enqueue("cli.counted", "--in", "1h"))
        self.assertEqual(process.returncode, DONE)
        self.until(lambda: len(told) >= 3)
        self.assertEqual([state for _, state in told], ["queued"] * 3)

    # ---- How it exits ----
    def test_exit_codes(self):
        job = self.enqueue("cli.codes", "--in", "1h")
        absent = "01968e2c-5b1a-7000-8000-000000000001"
        self.exits(DONE, "jobs", "show", job)
        self.exits(FAILED, "status", CARILLON_KEY="no.such-key")
        self.exits(USAGE, "jobs", "bogus")
        self.exits(USAGE, "enqueue", "not a type")
        self.exits(NOT_FOUND, "jobs", "show", absent)
        self.exits(NOT_FOUND, "explain", absent)
        self.exits(CONFLICT, "jobs", "retry", job)
        self.exits(UNREACHABLE, "status", "--server", "http://127.0.0.1:1")
        bad = self.exits(CONFLICT, "enqueue", "cli.codes", "--key", "cli-codes", "--payload", "1", "--in", "1h") \
            if self.enqueue("cli.codes", "--key", "cli-codes", "--in", "1h") else None
        self.assertIn("idempotency_conflict", bad.stderr)
        for words in (["jobs", "show", absent], ["jobs", "retry", job]):
            ran = self.ran(*words)
            self.assertEqual(ran.stdout, "")
            self.assertRegex(ran.stderr, r"^carillon: .*\n$")

    def test_a_parked_job_that_is_watched_fails(self):
        job = self.enqueue("cli.fails")
        leased = self.leased("cli.fails")
        self.server.post(f"{T}/jobs/{job}/fail", {"token": leased["token"], "error": "no", "permanent": True})
        self.exits(FAILED, "jobs", "watch", job)

    # ---- The machine ----
    def test_doctor_beside_its_server(self):
        ran = self.ran("doctor")
        found = {item["check"]: item["result"] for item in json.loads(ran.stdout)["items"]}
        for check in ("configuration", "folder", "database", "clock", "time zones", "server", "version"):
            self.assertEqual(found[check], "ok", ran.stdout)
        self.assertEqual(ran.returncode, DONE, ran.stdout)

    def test_bash_completes(self):
        script = 'source <(carillon completion bash); COMP_WORDS=(carillon jobs re); COMP_CWORD=2; COMP_LINE="carillon jobs re"; ' \
                 'COMP_POINT=${#COMP_LINE}; $(complete -p carillon | sed "s/.*-F \\([^ ]*\\).*/\\1/") carillon re jobs; echo "${COMPREPLY[@]}"'
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, cwd=self.server.folder, env=self.environment(),
                             check=False)
        self.assertEqual(ran.stdout.split(), ["retry", "rerun"], ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
