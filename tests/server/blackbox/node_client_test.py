"""The API through a client in Node, against a server of its own.

  node_client_test.py PROGRAM NODE CLIENT.mjs
"""
import os
import subprocess
import sys

from server import Server

program, node, client = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
with Server(program) as server:
    ran = subprocess.run([node, client, f"http://127.0.0.1:{server.port}", server.key], timeout=120, check=False)
sys.exit(ran.returncode)
