"""The five-minute guide, line by line: every `sh` block of docs/getting-started.md, in one shell, must succeed."""
import os
import re
import subprocess
import sys

from server import Server

program, guide = (os.path.abspath(path) for path in sys.argv[1:3])
with open(guide) as file:
    blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.S)
lines = [line for block in blocks for line in block.splitlines() if line.strip()]

with Server(program) as server:
    script = "set -e -o pipefail\n" + "\n".join(lines).replace("127.0.0.1:7440", f"127.0.0.1:{server.port}")
    environment = {**os.environ, "PATH": os.path.dirname(program) + ":" + os.environ["PATH"],
                   "CARILLON_SERVER": f"http://127.0.0.1:{server.port}"}
    ran = subprocess.run(["bash", "-x", "-c", script], cwd=server.folder, env=environment, capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        sys.exit(f"the guide failed:\n{ran.stdout}\n{ran.stderr}")
print(f"{len(lines)} lines passed, 0 failed")
