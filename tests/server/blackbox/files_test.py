"""What a server leaves on the machine: its key file, its event log, the programs that it runs; and what signals do to it."""
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
SECONDS_MAX = 60
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def until(what, seconds=SECONDS_MAX):
    """What it gives, as soon as it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def marked(mark):
    """Processes that carry the mark in their environment or on their command line."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            for file in ("environ", "cmdline"):
                with open(f"/proc/{name}/{file}", "rb") as text:
                    if mark.encode() in text.read():
                        found.append(int(name))
                        break
        except OSError:
            pass
    return found


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w") as file:
        file.write(text)


def exec_handler(kind, *argv, more="allow_root = true\n"):
    return f'[handlers."{kind}"]\nkind = "exec"\nargv = {json.dumps(argv)}\n{more}'


class Logged(Server):
    """A server whose log is a file."""

    def start(self):
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([self.program, "serve", "--listen", "127.0.0.1:0", *self.flags], cwd=self.folder,
                                            stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment)
        said = ""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start: " + read(self.log))
            said += line
            page = re.search(r"http://[^:]+:(\d+)/", line)
            if page:
                break
        self.port = int(page.group(1))
        self.key = read(self.folder, "carillon.key").strip()
        self.process.stderr = open(os.devnull)

    def lines(self, message):
        return [one for one in map(json.loads, read(self.log).splitlines()) if one["msg"].startswith(message)]

    def reload(self):
        before = len(self.lines("the configuration was"))
        self.process.send_signal(signal.SIGHUP)
        return until(lambda: self.lines("the configuration was")[before:])[-1]


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="carillon-files-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def refused(self, *flags, listen="127.0.0.1:0"):
        done = subprocess.run([PROGRAM, "serve", "--listen", listen, *flags], cwd=self.folder, capture_output=True, text=True,
                              timeout=SECONDS_MAX, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def names(self, end=""):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(end))


class KeyFile(Folder):
    def test_each_database_has_its_own_and_none_is_written_over(self):
        with Server(PROGRAM, folder=self.folder) as first:
            key = first.key
        # Another database in the same folder.
        write(key + "\n", self.folder, "copy")
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:other.db"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        try:
            until(lambda: "other.key" in self.names())
            until(lambda: process.stdout.readline().startswith("key   other.key"))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(self.names(".key"), ["carillon.key", "other.key"])
        self.assertEqual(read(self.folder, "carillon.key"), key + "\n")
        self.assertNotEqual(read(self.folder, "other.key"), key + "\n")
        self.assertEqual(os.stat(os.path.join(self.folder, "other.key")).st_mode & 0o777, 0o600)
        # A new database under the old name does not take the key of the one before.
        for name in self.names():
            if name.startswith("carillon.db"):
                os.remove(os.path.join(self.folder, name))
        self.assertIn("holds no key of this database", self.refused())
        self.assertEqual(read(self.folder, "carillon.key"), key + "\n")

    def test_a_store_that_is_no_file_respects_the_key_of_another(self):
        with Server(PROGRAM, folder=self.folder) as first:
            key = first.key
        said = self.refused("--db", "memory:")
        self.assertIn("holds no key of this database", said)
        self.assertIn("in another folder", said)
        self.assertEqual(read(self.folder, "carillon.key"), key + "\n")
        os.remove(os.path.join(self.folder, "carillon.key"))
        # Its key is gone with it.
        for _ in range(2):
            with Server(PROGRAM, "--db", "memory:", folder=self.folder) as server:
                self.assertEqual(server.get("/v1/status").status, 200)
            self.assertEqual(self.names(".key"), [])

    def test_a_start_that_fails_leaves_no_key(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.assertIn("cannot listen", self.refused(listen=f"127.0.0.1:{port}"))
        self.assertEqual(self.names(".key"), [])
        self.assertIn("event log", self.refused("--event-log", "no/such/folder/events"))
        self.assertEqual(self.names(".key"), [])
        # And none in the database: the next start makes the first.
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(len(server.get("/v1/keys").json["items"]), 1)

    def test_no_link_is_followed(self):
        write("mine", self.folder, "victim")
        os.symlink("victim", os.path.join(self.folder, "carillon.key"))
        self.assertIn("carillon.key", self.refused())
        os.remove(os.path.join(self.folder, "carillon.key"))
        os.symlink("nowhere", os.path.join(self.folder, "carillon.key"))
        self.assertIn("carillon.key", self.refused())
        os.remove(os.path.join(self.folder, "carillon.key"))
        os.symlink("victim", os.path.join(self.folder, "events"))
        self.assertIn("it is a link", self.refused("--event-log", "events"))
        self.assertEqual(read(self.folder, "victim"), "mine")
        self.assertEqual(self.names(".key"), [])

    def test_a_folder_of_everyone_is_refused(self):
        os.chmod(self.folder, 0o777)
        for flags in ((), ("--db", "memory:"), ("--db", "memory:", "--event-log", "events")):
            self.assertIn("every user of this machine may write to it", self.refused(*flags))
            self.assertEqual(self.names(), [])
        os.chmod(self.folder, 0o1777)
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get("/v1/status").status, 200)
        # Also when there is an admin key in the database.
        os.chmod(self.folder, 0o777)
        self.assertIn("every user of this machine may write to it", self.refused())

    def test_files_that_another_user_has_put_there_are_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        os.chmod(self.folder, 0o1777)
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get("/v1/status").status, 200)
        for name in ("carillon.db", "carillon.db-wal", "carillon.db-shm", "carillon.db-journal", "carillon.db.lock", "events"):
            path = os.path.join(self.folder, name)
            was_there = os.path.exists(path)
            with open(path, "ab"):
                pass
            os.chown(path, 65534, 65534)
            self.assertIn("belongs to another user", self.refused("--event-log", "events"), name)
            os.chown(path, 0, 0)
            if not was_there:
                os.remove(path)
        self.assertEqual(self.names(), ["carillon.db", "carillon.db.lock", "carillon.key"])
        # A link of his, and one of ours to a file of his.
        data, path = os.path.join(self.folder, "data"), os.path.join(self.folder, "carillon.db")
        os.rename(path, data)
        os.symlink("data", path)
        os.lchown(path, 65534, 65534)
        self.assertIn("belongs to another user", self.refused())
        os.lchown(path, 0, 0)
        write("", data + "-wal")
        os.chown(data + "-wal", 65534, 65534)
        self.assertIn("belongs to another user", self.refused())
        os.remove(data + "-wal")
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get("/v1/status").status, 200)

    def test_a_database_that_everyone_may_write_to_is_refused_and_one_of_a_group_is_not(self):
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get("/v1/status").status, 200)
        path = os.path.join(self.folder, "carillon.db")
        os.chmod(path, 0o666)
        self.assertIn("chmod o-w", self.refused())
        done = subprocess.run([PROGRAM, "doctor", "--offline"], cwd=self.folder, capture_output=True, text=True,
                              timeout=SECONDS_MAX, env=ENVIRONMENT)
        self.assertIn("chmod o-w", done.stdout)
        self.assertNotEqual(done.returncode, 0)
        os.chmod(path, 0o660)
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get("/v1/status").status, 200)

    def test_a_database_may_have_the_name_of_a_key_file(self):
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:foo.key"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        try:
            until(lambda: process.stdout.readline().startswith("key   foo.key.key"))
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS_MAX)

    def test_a_lost_key_is_replaced(self):
        """As docs/guides/lost-key.md says."""
        with Server(PROGRAM, folder=self.folder) as first:
            job = first.post(T + "/jobs", {"type": "kept", "delay": "1h"}).json["id"]
            lost = first.key
        os.remove(os.path.join(self.folder, "carillon.key"))
        preset = "recovery." + "0123456789abcdef" * 3
        write(preset + "\n", self.folder, "carillon.key")  # where the test's server looks for it
        with Server(PROGRAM, folder=self.folder, environment={"CARILLON_ADMIN_KEY": preset}) as server:
            self.assertEqual(server.get(f"{T}/jobs/{job}").status, 200)
            made = server.post("/v1/keys", {"name": "admin", "scope": "admin"}).json["key"]
            self.assertEqual(server.call("DELETE", "/v1/keys/" + lost.split(".")[0]).status, 204)
            self.assertEqual(server.call("DELETE", "/v1/keys/recovery", key=made).status, 204)
            self.assertEqual(server.get("/v1/status", key=lost).status, 401)
        write(made + "\n", self.folder, "carillon.key")
        with Server(PROGRAM, folder=self.folder) as server:
            self.assertEqual(server.get(f"{T}/jobs/{job}").status, 200)
            self.assertEqual(server.get("/v1/status", key=preset).status, 401)

    def test_the_same_preset_key_is_no_news(self):
        preset = "ops." + "0123456789abcdef" * 3
        write(preset + "\n", self.folder, "carillon.key")
        for _ in range(3):
            with Server(PROGRAM, folder=self.folder, environment={"CARILLON_ADMIN_KEY": preset}) as server:
                made = [row for row in server.get("/v1/audit").json["items"] if row["action"] == "key.make"]
                self.assertEqual(len(made), 1)


class LoginLink(Folder):
    def test_a_link_is_printed_only_when_asked_for(self):
        with Server(PROGRAM, folder=self.folder) as server:
            done = subprocess.run([PROGRAM, "login", "--server", f"http://127.0.0.1:{server.port}"], cwd=self.folder, text=True,
                                  capture_output=True, timeout=SECONDS_MAX, env=ENVIRONMENT)
            self.assertEqual(done.returncode, 0, done.stderr)
            token = json.loads(done.stdout)["link"].split("#login=")[1]
            headers = {"Origin": f"http://127.0.0.1:{server.port}", "Content-Type": "application/json"}
            signed = server.post("/login", {"token": token}, key="", headers=headers)
            self.assertEqual(signed.status, 200, signed.body)
            self.assertEqual(server.post("/login", {"token": token}, key="", headers=headers).status, 401)
            # A session cannot make the next one.
            cookie = signed.headers["set-cookie"].split(";")[0]
            again = server.post("/v1/login-links", key="", headers={**headers, "Cookie": cookie,
                                                                    "X-CSRF-Token": signed.json["csrf_token"]})
            self.assertEqual(again.status, 403)

    def test_it_signs_in_as_the_key_that_asked(self):
        with Server(PROGRAM, folder=self.folder) as server:
            server.put("/v1/tenants/default")
            reader = server.post("/v1/keys", {"name": "r", "scope": "read", "tenants": ["default"]}).json["key"]
            token = server.post("/v1/login-links", key=reader).json["token"]
            headers = {"Origin": f"http://127.0.0.1:{server.port}", "Content-Type": "application/json"}
            signed = server.post("/login", {"token": token}, key="", headers=headers)
            cookie = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
            self.assertEqual(server.get(T + "/jobs", key="", headers=cookie).status, 200)
            self.assertEqual(server.get("/v1/keys", key="", headers=cookie).status, 403)


class Terminal(Folder):
    def on_terminal(self):
        """The server as a person starts it: its terminal's other end, and its pid."""
        log = os.path.join(self.folder, "log")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            # The log goes on when the terminal is gone.
            with open(log, "w") as file:
                os.dup2(file.fileno(), 2)
            os.execve(PROGRAM, [PROGRAM, "serve", "--listen", "127.0.0.1:0"], ENVIRONMENT)
        said = b""
        while b"key   " not in said:
            said += os.read(terminal, 4096)
        return pid, terminal, said.decode(), log

    def test_on_a_terminal_the_start_prints_a_link_and_a_closed_one_drains(self):
        pid, terminal, said, log = self.on_terminal()
        self.assertRegex(said, r"#login=\S+")
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn("draining", read(log))
        self.assertIn("stopped", read(log))

    def test_on_a_terminal_that_is_open_it_reloads(self):
        pid, terminal, _, log = self.on_terminal()
        os.kill(pid, signal.SIGHUP)
        until(lambda: "was reloaded" in read(log))
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)


class Reload(Folder):
    def run_job(self, server, kind):
        job = server.post(T + "/jobs", {"type": kind, "max_attempts": 1}).json["id"]
        return server.get(f"{T}/jobs/{job}?wait=20s").json

    def test_what_can_be_taken_over_is(self):
        path = os.path.join(self.folder, "carillon.toml")
        events = os.path.join(self.folder, "events")
        write('event_log = "events"\n' + exec_handler("old", "/bin/echo", "1") + exec_handler("kept", "/bin/echo", "1"), path)
        with Logged(PROGRAM, folder=self.folder) as server:
            self.assertEqual(self.run_job(server, "kept")["output"], 1)
            blocked = server.put(T + "/handlers/call", {"kind": "webhook", "url": "http://127.0.0.1:9/"})
            self.assertEqual(blocked.status, 422)
            # Handlers: one goes, one comes, one is another; the guard, the level of the log, a threshold; and what cannot be.
            os.rename(events, events + ".1")
            write('event_log = "events"\ndlq_max = 7\ntick_ms = 500\n[log]\nlevel = "debug"\n[webhooks]\nallow = ["127.0.0.1"]\n'
                  + exec_handler("new", "/bin/echo", "3") + exec_handler("kept", "/bin/echo", "2"), path)
            told = server.reload()
            self.assertEqual((told["msg"], told["changes"]), ("the configuration was reloaded", 7))
            changed = {one["key"] for one in server.lines("a setting has changed") if one["level"] == "info"}
            self.assertEqual(changed, {"dlq_max", "log.level", "webhooks.allow", 'handlers."new"', 'handlers."old"', 'handlers."kept"'})
            self.assertEqual([one["key"] for one in server.lines("a setting has changed that takes a restart")], ["tick_ms"])
            self.assertEqual(self.run_job(server, "kept")["output"], 2)
            self.assertEqual(self.run_job(server, "new")["output"], 3)
            self.assertEqual(server.get(T + "/handlers/old").status, 404)
            left = server.post(T + "/jobs", {"type": "old"}).json["id"]
            allowed = server.put(T + "/handlers/call", {"kind": "webhook", "url": "http://127.0.0.1:9/"})
            self.assertEqual(allowed.status, 200)
            self.assertIn("cannot call", self.run_job(server, "call")["last_error"]["message"])
            own = server.post("/v1/keys", {"name": "t", "scope": "tenant", "tenants": ["default"]}).json["key"]
            of_tenant = {one["name"]: one["threshold"] for one in server.get("/v1/slo", key=own).json["items"]}
            self.assertEqual(of_tenant["dlq"], 7, "what a tenant sees has changed too")
            thresholds = {one["name"]: one["threshold"] for one in server.get("/v1/slo").json["items"]}
            self.assertEqual(thresholds["dlq"], 7)
            until(lambda: server.lines("request"))  # the level is debug now
            # The lines after it are in a new file of the old name.
            self.assertIn("sched.job.stop", until(lambda: os.path.exists(events) and read(events)))
            self.assertNotIn('"old"', read(events))
            # A worker may take what nobody serves any more.
            leased = server.post(T + "/leases", {"worker": "w", "types": ["old"]}).json["items"]
            self.assertEqual([one["id"] for one in leased], [left])
            # What was taken over is not told again, what takes a restart is.
            told = server.reload()
            self.assertEqual(told["changes"], 1)

    def test_a_broken_file_changes_nothing(self):
        path = os.path.join(self.folder, "carillon.toml")
        write(exec_handler("kept", "/bin/echo", "1"), path)
        with Logged(PROGRAM, folder=self.folder) as server:
            for broken in ("[log", "unknown = 1", '[log]\nlevel = "loud"', exec_handler("kept", "/nowhere/echo"),
                           '[log]\nlevel = "debug"\n' + exec_handler("kept", "/bin/echo", "2") + exec_handler("bad", "/etc/passwd")):
                write(broken, path)
                told = server.reload()
                self.assertEqual(told["level"], "error", broken)
                self.assertIn("was not reloaded", told["msg"])
            self.assertEqual(self.run_job(server, "kept")["output"], 1)
            self.assertEqual(server.lines("a setting has changed"), [])
            self.assertEqual(server.lines("request"), [])
            self.assertEqual(server.stop(), 0)


class Programs(Folder):
    # Twice away from its parent, in a session of its own, without any file of ours.
    DAEMON = "setsid sh -c 'exec <&- >&- 2>&-; (setsid sleep 1000 & setsid sh -c \"touch $0; sleep 1000\" &)' {0} & " \
             "while [ ! -e {0} ]; do sleep 0.01; done; "

    def serve(self, kind, script, more="allow_root = true\n"):
        write(exec_handler(kind, "/bin/sh", "-c", script, more=more), self.folder, "carillon.toml")
        return Server(PROGRAM, folder=self.folder)

    def test_nothing_that_a_program_starts_outlives_its_job(self):
        ready = os.path.join(self.folder, "ready")
        with self.serve("run", self.DAEMON.format(ready) + "echo 1") as server:
            job = server.post(T + "/jobs", {"type": "run"}).json["id"]
            self.assertEqual(server.get(f"{T}/jobs/{job}?wait=30s").json["output"], 1)
            self.assertEqual(marked(job), [])

    def test_nothing_outlives_a_server_that_is_killed(self):
        ready = os.path.join(self.folder, "ready")
        server = self.serve("run", self.DAEMON.format(ready) + "sleep 1000")
        with server:
            job = server.post(T + "/jobs", {"type": "run"}).json["id"]
            until(lambda: os.path.exists(ready))
            self.assertGreaterEqual(len(marked(job)), 3)  # the control: they can be seen
            server.stop(signal.SIGKILL)
            until(lambda: not marked(job))

    def test_what_a_success_said_on_standard_error_is_kept(self):
        with self.serve("run", "echo 1; echo careful >&2") as server:
            job = server.post(T + "/jobs", {"type": "run"}).json["id"]
            done = server.get(f"{T}/jobs/{job}?wait=30s").json
            self.assertEqual((done["output"], done["stderr"]), (1, "careful"))
            server.check_answers()

    def told_of(self, text):
        """What the start, `config check` and `doctor` say."""
        said = self.refused()
        for command in (["config", "check"], ["doctor", "--offline"]):
            done = subprocess.run([PROGRAM, *command], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS_MAX,
                                  env=ENVIRONMENT)
            self.assertNotEqual(done.returncode, 0, command)
            self.assertIn(text, done.stdout + done.stderr, command)
        self.assertIn(text, said)

    def test_a_program_that_is_not_there_is_told(self):
        write(exec_handler("run", "/nowhere/report"), self.folder, "carillon.toml")
        self.told_of("/nowhere/report")
        self.assertEqual(self.names(".key"), [])

    def test_roots_rights_have_to_be_given(self):
        if os.geteuid() != 0:
            self.skipTest("only root has them")
        write(exec_handler("run", "/bin/true", more=""), self.folder, "carillon.toml")
        self.told_of("allow_root = true")
        with self.serve("run", "id -u", more='user = "nobody"\n') as server:
            job = server.post(T + "/jobs", {"type": "run"}).json["id"]
            self.assertNotEqual(server.get(f"{T}/jobs/{job}?wait=30s").json["output"], 0)


class Webhooks(Folder):
    def test_secrets_of_a_url_are_masked_for_those_who_may_only_look(self):
        with Server(PROGRAM, folder=self.folder) as server:
            url = "https://example.com/hook?token=s3cret"
            self.assertEqual(server.put(T + "/handlers/call", {"kind": "webhook", "url": url}).status, 200)
            for scope, shown in (("read", "https://example.com/hook?token=***"), ("worker", "https://example.com/hook?token=***"),
                                 ("tenant", url)):
                key = server.post("/v1/keys", {"name": scope, "scope": scope, "tenants": ["default"]}).json["key"]
                answer = server.get(T + "/handlers/call", key=key)
                self.assertEqual(answer.json["url"], shown, scope)
            self.assertEqual(server.get(T + "/handlers/call").json["url"], url)

    def test_an_error_does_not_tell_what_a_name_resolves_to(self):
        with Server(PROGRAM, folder=self.folder) as server:
            server.put(T + "/handlers/call", {"kind": "webhook", "url": "http://localhost:9/hook?token=s3cret"})
            job = server.post(T + "/jobs", {"type": "call"}).json["id"]
            done = server.get(f"{T}/jobs/{job}?wait=30s").json
            self.assertEqual(done["state"], "dlq")
            self.assertIn("may not be reached", done["last_error"]["message"])
            for secret in ("127.0.0.1", "::1", "loopback", "s3cret"):
                self.assertNotIn(secret, json.dumps(done["last_error"]) + json.dumps(done["attempts"]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
