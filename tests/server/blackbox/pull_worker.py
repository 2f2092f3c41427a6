"""A worker as a process: leases one job, tells it in a line, and when it is told to go on writes all that a worker can.

  pull_worker.py PORT KEY LEASE
"""
import http.client
import json
import sys

port, key, lease = int(sys.argv[1]), sys.argv[2], sys.argv[3]
T = "/v1/tenants/default"


def call(method, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, json.dumps(body), {"Authorization": "Bearer " + key})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


_, answer = call("POST", "/v1/leases", {"worker": "first", "lease": lease, "wait": "30s"})
item = answer["items"][0]
print(json.dumps(item), flush=True)
if not sys.stdin.readline():
    sys.exit(0)

said = {}
mine = {"token": item["token"]}
job = f"{T}/jobs/{item['id']}"
effect = {"job": item["id"], **mine}
for name, method, path, body in (
        ("heartbeat", "POST", job + "/heartbeat", {**mine, "progress": {"by": "first"}}),
        ("complete", "POST", job + "/complete", {**mine, "output": {"by": "first"}, "then": [{"type": "work"}]}),
        ("fail", "POST", job + "/fail", {**mine, "error": "first"}),
        ("defer", "POST", job + "/defer", {**mine, "until": "1h"}),
        ("release", "POST", job + "/release", mine),
        ("effect", "PUT", T + "/effects/e", effect),
        ("effect.done", "POST", T + "/effects/e/done", effect),
        ("effect.undo", "POST", T + "/effects/e/undo", effect)):
    status, answer = call(method, path, body)
    said[name] = [status, answer.get("error", {}).get("code")]
for name, path, item_body in (("settle", "/v1/leases/settle", {"id": item["id"], **mine, "complete": {}}),
                              ("extend", "/v1/leases/extend", {"id": item["id"], **mine})):
    _, answer = call("POST", path, {"items": [item_body]})
    said[name] = [409 if "error" in answer["items"][0] else 200, answer["items"][0].get("error", {}).get("code")]
print(json.dumps(said), flush=True)
