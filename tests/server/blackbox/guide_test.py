"""The guides, line by line: every `sh` block of each, in one shell and against a server of its own, must succeed.

A `toml` block is the configuration of that server. If the guide says which clock it has, it has that one. KEY, API and SERVER are
those of the guides. What a guide says does not depend on the time of day at which it is read."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from server import Server, far_off

program, *guides = (os.path.abspath(path) for path in sys.argv[1:])
GUIDE_SECONDS_MAX = 120


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def wait_for_whole_half_hour():
    """A guide may name this hour, or the minute in half an hour, once and again: they must not have passed in between."""
    left = 1800 - time.time() % 1800
    if left < GUIDE_SECONDS_MAX:
        time.sleep(left)


def run(guide):
    with open(guide) as file:
        text = file.read()
    # Ports that the guides are free to name, and a test is not.
    for port in ("9000", "2525"):
        text = text.replace(port, free_port())
    # So with times at which somebody else's window would be open while Ada's is.
    times = {"08:00": far_off(), "07:30": far_off(minutes=-30)}
    text = re.sub("|".join(times), lambda named: times[named.group()], text)
    if "date -u" in text:
        wait_for_whole_half_hour()
    # Only root can run a program as somebody else.
    if os.geteuid() != 0:
        text = re.sub(r'^user = .*\n', "", text, flags=re.M)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert lines, f"{guide} has no lines to run"
    clock = re.search(r"^\$ carillon serve .*--clock (\S+)", text, re.M)
    server = Server(program, *(("--clock", clock.group(1)) if clock else ()))
    with open(os.path.join(server.folder, "carillon.toml"), "w") as file:
        file.write("\n".join(re.findall(r"```toml\n(.*?)```", text, re.S)))
    with server:
        base = f"http://127.0.0.1:{server.port}"
        script = "set -e -o pipefail\n" + "\n".join(lines).replace("http://127.0.0.1:7440", base)
        environment = {**os.environ, "PATH": os.path.dirname(program) + ":" + os.environ["PATH"], "CARILLON_SERVER": base,
                       "KEY": server.key, "API": base + "/v1/tenants/default", "SERVER": base}
        # What a guide starts in the background ends with it.
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(["bash", "-x", "-c", script], cwd=server.folder, env=environment, stdout=said,
                                       stderr=said, start_new_session=True)
            try:
                code = process.wait(timeout=GUIDE_SECONDS_MAX)
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            said.seek(0)
            if code != 0:
                sys.exit(f"{guide} failed:\n{said.read().decode(errors='replace')}")
    print(f"{os.path.basename(guide)}: {len(lines)} lines passed, 0 failed", flush=True)


for one in guides:
    run(one)
