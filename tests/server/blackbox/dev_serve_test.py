"""`./dev serve` on a fresh clone: builds, starts, prints the page's address and the key's place.

The clone is made of this folder's commit; what was compiled before comes from the compiler's cache. CARILLON_FULL=1 alone: it builds
the program as a user gets it.

  dev_serve_test.py SOURCE
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

source = os.path.abspath(sys.argv[1])
if os.environ.get("CARILLON_FULL") != "1":
    print("skipped: CARILLON_FULL=1 builds a clone")
    sys.exit(77)

with tempfile.TemporaryDirectory(prefix="carillon-clone-") as folder:
    clone = os.path.join(folder, "carillon")
    subprocess.run(["git", "-c", f"safe.directory={source}", "-c", f"safe.directory={source}/.git", "clone", "-q", source, clone], check=True)
    began = time.monotonic()
    process = subprocess.Popen(["./dev", "serve", "--listen", "127.0.0.1:0"], cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    page, key, said = None, None, ""
    for line in process.stdout:
        said += line
        page = page or re.search(r"^page +(http://127\.0\.0\.1:\d+)/", line)
        key = re.search(r"^key +(\S+)", line)
        if page and key:
            break
    if not page or not key:
        sys.exit("no address or no key was printed:\n" + said[-4000:])
    took = time.monotonic() - began
    path = os.path.join(clone, key.group(1))
    with open(path, encoding="utf-8") as file:
        secret = file.read().strip()
    assert os.stat(path).st_mode & 0o777 == 0o600, "the key can be read by others"
    with urllib.request.urlopen(page.group(1) + "/", timeout=30) as answer:
        assert b"<html" in answer.read().lower()
    request = urllib.request.Request(page.group(1) + "/v1/status", headers={"Authorization": "Bearer " + secret})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGTERM)
    process.stdout.close()
    code = process.wait(timeout=120)
    assert code == 0, f"it ended with {code}"
    print(f"REPORT ./dev serve on a clone: built and serving after {took:.0f} s")
