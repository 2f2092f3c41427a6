"""The first hour: README, getting started and every guide, in the order of docs/README.md, one after the other on one server, each command
as it is printed.

  guide_test.py PROGRAM SOURCE_FOLDER [PAGE...]      all pages, or those up to and with the ones that are named

- What stands behind `# →` is found in what the command prints; `…` is anything. A number there is the status of a call that is refused;
  any other refusal fails the page.
- Each page has a shell of its own, which knows no variables but those of the page and, if it says so, of getting started.
- A `toml` block goes into the file that the sentence before it names, when its turn comes; the page itself has it read.
- A `console` block shows what its commands print.

What a page says does not depend on the time of day at which it is read."""
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from server import Server, far_off

PROGRAM, SOURCE, *NAMED = (os.path.abspath(path) for path in sys.argv[1:])
PAGE_SECONDS_MAX = 180
BEGINNING = re.compile(r"are\s+those\s+of\s+\[getting started\]")
ARROW = "# → "


# ---- The pages ----
def pages():
    with open(os.path.join(SOURCE, "docs/README.md"), encoding="utf-8") as file:
        guides = re.findall(r"\]\((guides/[\w-]+\.md)\)", file.read())
    there = {f"guides/{name}" for name in os.listdir(os.path.join(SOURCE, "docs/guides"))}
    assert there == set(guides) and len(guides) == len(set(guides)), f"docs/README.md lists other guides than there are: {there ^ set(guides)}"
    return [os.path.join(SOURCE, name) for name in ("README.md", "docs/getting-started.md")] + [os.path.join(SOURCE, "docs", name) for name in guides]


class Block:
    def __init__(self, kind, text, before):
        self.kind = kind
        self.lines = text.splitlines()
        self.before = before  # the paragraph that introduces it


def blocks_of(text):
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M):
        before = re.sub(r"^```\w*\n.*?^```$", "", text[:match.start()], flags=re.S | re.M).rstrip().rsplit("\n\n", 1)[-1]
        found.append(Block(match.group(1), match.group(2), before))
    return found


def commands_of(lines):
    """Lines that belong together: a document that follows, and what a backslash goes on with."""
    commands, ends = [], None
    for line in lines:
        if ends is not None or (commands and commands[-1].endswith("\\")):
            commands[-1] += "\n" + line
            ends = None if line == ends else ends
            continue
        if line.strip() and not line.startswith("#"):
            commands.append(line)
            document = re.search(r"<<'(\w+)'", line)
            ends = document.group(1) if document else None
    return commands


class Step:
    def __init__(self, command, prints=()):
        # A call that fails and says nothing is no help to whoever reads it.
        assert not re.search(r"\bcurl (?:-\w*f|.* -f\b|.*--fail)", command), f"this hides a refusal: {command}"
        self.command = command
        last = command.splitlines()[0]
        self.wanted = last.split(ARROW, 1)[1] if ARROW in last else None
        self.refused = None
        status = re.match(r"([45]\d\d)\b ?(.*)", self.wanted or "")
        if status:
            self.refused, self.wanted = status.groups()
        self.prints = list(prints)  # its lines, as the page shows them

    def judge(self, code, printed, statuses):
        """What is wrong with what came of it; '' if nothing is."""
        # Until somebody answers, nobody does.
        waits = self.command.startswith("until ")
        refused = [] if waits else [one for one in statuses if one >= 400]
        if self.refused and refused != [int(self.refused)]:
            return f"it is not refused with {self.refused}, but answered {statuses}"
        if not self.refused and refused:
            return f"it is refused with {refused}"
        if code != 0:
            return f"it ends with {code}"
        if self.wanted and not like(self.wanted, printed):
            return f"{self.wanted!r} is not in what it prints"
        if self.prints and not like("\n".join(self.prints), printed):
            return "it does not print what the page shows"
        return ""


def like(wanted, printed):
    return re.search(".*".join(re.escape(part.strip()) for part in wanted.split("…")), printed, re.S) is not None


def steps_of(block):
    if block.kind == "sh":
        return [Step(command) for command in commands_of(block.lines)]
    steps = []
    for line in block.lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:]))
        else:
            steps[-1].prints.append(line)
    return steps


# ---- Names ----
def names_in(text):
    """What a page puts or sends under a name of its own."""
    code = "\n".join("\n".join(block.lines) for block in blocks_of(text) if block.kind in ("sh", "toml", "console"))
    for kind in ("schedules", "limits", "hooks", "handlers"):
        for name in re.findall(rf"-X PUT \"[^\"]*/{kind}/([\w.-]+)\"", code):
            yield ("types" if kind == "handlers" else kind), name
    for name in re.findall(r'"type\\?": \\?"([\w.-]+)|carillon enqueue ([\w.-]+)|\[handlers\."([\w.-]+)"\]', code):
        yield "types", "".join(name)
    for name in re.findall(r'"idempotency_key": "([\w.-]+)"', code):
        yield "idempotency keys", name


def check_names(paths):
    owner = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for name in set(names_in(file.read())):
                assert owner.setdefault(name, path) == path, f"{name} is used by {owner[name]} and by {path}"
    assert len(owner) > 30, owner


# ---- The machine they are read at ----
def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def wait_for_whole_half_hour():
    """A guide may name this hour, or the minute in half an hour, once and again: they must not have passed in between."""
    left = 1800 - time.time() % 1800
    if left < PAGE_SECONDS_MAX:
        time.sleep(left)


CURL = """#!/bin/sh
# As it is, and the status of each answer beside it.
exec {curl} -w '%{{stderr}}status %{{http_code}}\\n' "$@" 2>> "$STATUSES"
"""
# Only the servers of this folder: others run theirs on this machine.
PIDOF = """#!/usr/bin/env python3
import os, sys
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if os.readlink(f"/proc/{{pid}}/exe") == {program!r} and os.readlink(f"/proc/{{pid}}/cwd") == {folder!r}:
            found.append(pid)
    except OSError:
        pass
print(*found)
sys.exit(not found)
"""


def greeting():
    """What a server says at its first start, on a terminal."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory(prefix="carillon-greeting-") as folder:
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0"], cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL,
                                   env={"PATH": os.environ["PATH"]})
        os.close(theirs)
        said = ""
        try:
            while "made now" not in said:
                said += os.read(ours, 4096).decode()
        except OSError:
            pass  # it has ended
        process.terminate()
        process.wait(timeout=60)
    os.close(ours)
    return said.replace("\r\n", "\n")


class Reader:
    """One who reads page after page, with a server in another terminal."""

    def __init__(self):
        self.server = Server(PROGRAM)
        self.folder = os.path.realpath(self.server.folder)
        self.shims = tempfile.TemporaryDirectory(prefix="carillon-shims-")
        self.write_shim("curl", CURL.format(curl=shutil.which("curl")))
        self.write_shim("pidof", PIDOF.format(program=os.path.realpath(PROGRAM), folder=self.folder))
        # Ports that the pages are free to name, and a test is not.
        self.ports = {port: free_port() for port in ("7441", "9000", "2525")}
        # So with times at which somebody else's window would be open while Ada's is.
        self.times = {"08:00": far_off(), "07:30": far_off(minutes=-30)}
        self.began = []

    def write_shim(self, name, text):
        path = os.path.join(self.shims.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def __enter__(self):
        self.server.start()
        self.ports["7440"] = str(self.server.port)
        return self

    def __exit__(self, *_):
        # What the pages have started in its place ends too.
        left = subprocess.run([os.path.join(self.shims.name, "pidof"), "carillon"], capture_output=True, text=True, check=False).stdout.split()
        for pid in left:
            os.kill(int(pid), signal.SIGTERM)
        end = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{pid}") for pid in left if int(pid) != self.server.process.pid) and time.monotonic() < end:
            time.sleep(0.1)
        self.server.process.wait(timeout=60)
        self.server.__exit__()
        self.shims.cleanup()

    def as_here(self, text):
        text = re.sub(r"(?<![\d.])(?:" + "|".join(self.ports) + r")(?!\d)", lambda port: self.ports[port.group()], text)
        text = re.sub("|".join(self.times), lambda named: self.times[named.group()], text)
        # Only root can run a program as somebody else.
        return text if os.geteuid() == 0 else re.sub(r"^user = .*\n", "", text, flags=re.M)

    def read(self, path):
        page = os.path.relpath(path, SOURCE)
        with open(path, encoding="utf-8") as file:
            text = self.as_here(file.read())
        if "date -u" in text:
            wait_for_whole_half_hour()
        with Shell(self) as shell:
            if page == "docs/getting-started.md":
                self.began = next(steps_of(block) for block in blocks_of(text) if any("export KEY" in line for line in block.lines))
            elif BEGINNING.search(text):
                for step in self.began:
                    shell.run(page, step)
            count = 0
            for block in blocks_of(text):
                if block.kind == "toml":
                    self.configure(page, block)
                for step in steps_of(block) if block.kind in ("sh", "console") else []:
                    count += 1
                    if step.command.startswith("./dev "):
                        self.look_up(page, step)
                    else:
                        shell.run(page, step)
        assert count > 0, f"{page} has nothing to run"
        print(f"{page}: {count} commands", flush=True)

    def configure(self, page, block):
        named = re.search(r"`([\w.-]+\.toml)`", block.before)
        assert named, f"{page}: it does not say into which file this goes:\n" + "\n".join(block.lines)
        with open(os.path.join(self.folder, named.group(1)), "a", encoding="utf-8") as file:
            file.write("\n".join(block.lines) + "\n")

    def look_up(self, page, step):
        """A build within a build would take long, and another test serves so: here it is only known."""
        with open(os.path.join(SOURCE, "dev"), encoding="utf-8") as file:
            assert re.search(rf"^  {step.command.split()[1]}\b", file.read(), re.M), f"{page}: there is no {step.command}"
        if step.prints:
            shown, printed = (re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text) for text in ("\n".join(step.prints), greeting()))
            assert like(shown, printed), f"{page}: {step.command} does not print what the page shows:\n{printed}"


class Shell:
    """The terminal of one page. A command that hangs ends it."""

    def __init__(self, reader):
        self.statuses = os.path.join(reader.shims.name, "statuses")
        self.printed = os.path.join(reader.shims.name, "printed")
        base = f"http://127.0.0.1:{reader.server.port}"
        self.environment = {"PATH": ":".join((reader.shims.name, os.path.dirname(PROGRAM), os.environ["PATH"])), "HOME": reader.folder,
                            "LANG": "C.UTF-8", "CARILLON_SERVER": base, "CARILLON_LISTEN": f"127.0.0.1:{reader.server.port}",
                            "STATUSES": self.statuses}
        self.folder = reader.folder

    def __enter__(self):
        self.process = subprocess.Popen(["bash", "-u", "-o", "pipefail"], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        return self

    def __exit__(self, *_):
        # What a page starts in the background ends with it, but for a server.
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getsid(int(pid)) == self.process.pid and os.readlink(f"/proc/{pid}/exe") != os.path.realpath(PROGRAM):
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        self.process.stdout.close()

    def run(self, page, step):
        for path in (self.statuses, self.printed):
            with open(path, "w", encoding="utf-8"):
                pass
        self.process.stdin.write("{\n" + step.command + "\n} > " + self.printed + " 2>&1 < /dev/null\necho \"ended $?\"\n")
        self.process.stdin.flush()
        timer = time.monotonic()
        timeout = subprocess.Popen(["sh", "-c", f"sleep {PAGE_SECONDS_MAX}; kill -9 {self.process.pid}"], start_new_session=True)
        answer = self.process.stdout.readline()
        os.killpg(timeout.pid, signal.SIGKILL)
        timeout.wait()
        with open(self.printed, encoding="utf-8", errors="replace") as file:
            printed = file.read()
        with open(self.statuses, encoding="utf-8", errors="replace") as file:
            said = file.read()
        ended = re.match(r"ended (\d+)", answer)
        wrong = f"it has not ended after {time.monotonic() - timer:.0f} s, or has ended the shell" if not ended else \
            step.judge(int(ended.group(1)), printed, [int(one) for one in re.findall(r"^status (\d+)", said, re.M)])
        if wrong:
            sys.exit(f"{page}: {wrong}\n$ {step.command}\n{printed[-4000:]}{said}{'' if ended else answer + self.process.stdout.read()}")


# ---- What it would see ----
CONTROLS = {
    "is refused with [401]": "```sh\ncurl -s http://127.0.0.1:7440/nowhere\n```\n",
    "is not refused with 409": "```sh\ncurl -s http://127.0.0.1:7440/healthz  # → 409 conflict\n```\n",
    "NOBODY: unbound variable": "```sh\necho \"$NOBODY\"\n```\n",
    "KEY: unbound variable": "Here nobody says where it comes from.\n\n```sh\necho \"$KEY\"\n```\n",
    "is not in what it prints": "```sh\necho one  # → two\n```\n",
    "it ends with 3": "```sh\ncarillon jobs show 01900000-0000-7000-8000-000000000000\n```\n",
    "does not print what the page shows": "```console\n$ echo one\ntwo\n```\n",
    "into which file": "Somewhere:\n\n```toml\ntick_ms = 5\n```\n",
    "this hides a refusal": "```sh\ncurl -sf http://127.0.0.1:7440/healthz\n```\n",
    "there is no ./dev nothing": "```sh\n./dev nothing\n```\n",
}


def check_itself(reader):
    for complaint, text in CONTROLS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as page:
            page.write(text)
            page.flush()
            try:
                reader.read(page.name)
            except (SystemExit, AssertionError) as error:
                assert complaint in str(error), (complaint, str(error))
            else:
                sys.exit(f"it has not seen: {complaint}\n{text}")


all_pages = pages()
check_names(all_pages)
wanted = all_pages[:1 + max(map(all_pages.index, NAMED))] if NAMED else all_pages
with Reader() as reader:
    check_itself(reader)
    for one in wanted:
        reader.read(one)
print(f"{len(wanted)} pages, one server")
