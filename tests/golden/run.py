#!/usr/bin/env python3
"""Runs the commands of transcript files and compares what they print with what the file says.

A transcript is plain text: a line `$ command` is run by bash with the program on PATH, and the lines up to the next one
are what it must print on both streams. `[exit N]` after the output states a code other than 0. A command that begins
with `$ tty ` runs on a terminal. Files that commands read lie beside the transcripts.

  run.py PROGRAM [--update] FILE…      --update rewrites the files with what was printed
"""
import os
import pty
import select
import subprocess
import sys


def run_plain(command, env, folder):
    done = subprocess.run(["bash", "-c", command], env=env, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.stdout.decode(), done.returncode


def run_on_terminal(command, env, folder):
    # We keep the terminal open ourselves: what a program wrote just before its end can else be lost with it.
    terminal, program_end = pty.openpty()
    process = subprocess.Popen(["bash", "-c", command], stdin=program_end, stdout=program_end, stderr=program_end, env=env,
                               cwd=folder, start_new_session=True)
    output = b""
    while True:
        over = process.poll() is not None
        if select.select([terminal], [], [], 0.1 if over else 0.02)[0]:
            output += os.read(terminal, 65536)
        elif over:
            break
    os.close(program_end)
    os.close(terminal)
    text = output.decode().replace("\r\n", "\n").replace("\x1b", "<ESC>")
    return text, process.returncode


def blocks(text):
    """Pairs of a command and the text that is expected after it; comments before the first command are kept apart."""
    head, found = [], []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), []))
        elif found:
            found[-1][1].append(line)
        else:
            head.append(line)
    return "".join(head), [(command, "".join(lines)) for command, lines in found]


def main():
    program, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    update = "--update" in arguments
    env = {"PATH": os.path.dirname(program) + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
           "TERM": "xterm"}
    passed = failed = 0
    for path in [a for a in arguments if a != "--update"]:
        with open(path, encoding="utf-8") as file:
            head, pairs = blocks(file.read())
        rewritten = head
        for command, expected in pairs:
            on_terminal = command.startswith("tty ")
            run = run_on_terminal if on_terminal else run_plain
            output, code = run(command.removeprefix("tty "), env, os.path.dirname(os.path.abspath(path)))
            if output and not output.endswith("\n"):
                output += "\n"
            if code != 0:
                output += f"[exit {code}]\n"
            rewritten += f"$ {command}\n{output}\n"
            if output.strip() == expected.strip():
                passed += 1
            elif not update:
                failed += 1
                print(f"{path}: $ {command}\n--- expected\n{expected.strip()}\n--- printed\n{output.strip()}\n")
        if update:
            with open(path, "w", encoding="utf-8") as file:
                file.write(rewritten.rstrip("\n") + "\n")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 and not update else 0


if __name__ == "__main__":
    sys.exit(main())
