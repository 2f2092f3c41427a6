"""Clients and pull workers that go on while the server is killed and started again; all they do is in a ledger."""
import http.client
import json
import random
import threading
import time

T = "/v1/tenants/default"


class Gone(Exception):
    """No answer: whether the call was obeyed is not known."""


class Caller:
    """One connection, made again whenever it breaks, to wherever the server is now."""

    def __init__(self, load):
        self.load = load
        self.connection = None

    def call(self, method, path, body):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.load.server.port, timeout=30)
            self.connection.request(method, path, json.dumps(body), {"Authorization": "Bearer " + self.load.server.key})
            response = self.connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            time.sleep(0.01)
            raise Gone() from None

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def insist(self, method, path, body):
        """Asks until there is an answer. For calls that are safe to repeat."""
        while True:
            try:
                return self.call(method, path, body)
            except Gone:
                if self.load.given_up.is_set():
                    raise


class Load:
    def __init__(self, server, ledger, seed):
        self.server = server
        self.ledger = ledger
        self.seed = seed
        self.asking = threading.Event()   # clients go on
        self.asking.set()
        self.given_up = threading.Event()  # workers as well
        self.first_claim = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self.guarded, args=(work, number), daemon=True) for number, work in
                        enumerate((self.post_jobs, self.post_keyed, self.post_batches, self.put_schedules,
                                   self.work_singly, self.work_in_bulk))]
        for thread in self.threads:
            thread.start()

    def guarded(self, work, number):
        caller = Caller(self)
        try:
            work(caller, random.Random(self.seed * 100 + number), number)
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001: told by the test
            self.failures.append(f"{work.__name__}: {error!r}")
        finally:
            caller.close()

    def expect(self, what, status, answer, allowed):
        if status not in allowed:
            raise AssertionError(f"{what} was answered {status} {answer}")

    def stop_asking(self):
        self.asking.clear()
        for thread in self.threads[:4]:
            thread.join(timeout=60)

    def give_up(self):
        self.given_up.set()
        for thread in self.threads:
            thread.join(timeout=60)

    # ---- Clients ----
    def post_jobs(self, caller, _, number):
        count = 0
        while self.asking.is_set():
            count += 1
            ref = f"single-{number}-{count}"
            self.ledger.write("intent", ref=ref, count=1)
            try:
                status, answer = caller.call("POST", T + "/jobs", {"type": "work", "payload": {"ref": ref}})
            except Gone:
                continue
            self.expect("a job", status, answer, {201})
            self.ledger.write("answer", ref=ref, ids=[answer["id"]])

    def post_keyed(self, caller, _, number):
        count = 0
        while self.asking.is_set():
            count += 1
            ref = f"keyed-{number}-{count}"
            self.ledger.write("intent", ref=ref, count=1)
            body = {"type": "work", "payload": {"ref": ref}, "idempotency_key": ref}
            status, answer = caller.insist("POST", T + "/jobs", body)
            self.expect("a job with a key", status, answer, {200, 201})
            self.ledger.write("answer", ref=ref, ids=[answer["id"]])

    def post_batches(self, caller, chance, number):
        count = 0
        while self.asking.is_set():
            count += 1
            ref = f"batch-{number}-{count}"
            size = chance.choice((1, 3, 10, 40))
            keyed = count % 2 == 0
            self.ledger.write("intent", ref=ref, count=size)
            jobs = [{"type": "work", "payload": {"ref": ref}, **({"idempotency_key": f"{ref}-{i}"} if keyed else {})}
                    for i in range(size)]
            try:
                call = caller.insist if keyed else caller.call
                status, answer = call("POST", T + "/jobs/batch", {"jobs": jobs})
            except Gone:
                continue
            self.expect("a batch", status, answer, {201})
            self.ledger.write("answer", ref=ref, ids=[item["id"] for item in answer["items"]])
            time.sleep(0.02)

    def put_schedules(self, caller, chance, _):
        count = 0
        while self.asking.is_set():
            count += 1
            name, mark = f"s{chance.randrange(3)}", str(count)
            self.ledger.write("mark", schedule=name, mark=mark)
            body = {"trigger": {"kind": "every", "every": "1000h"}, "description": mark, "job": {"type": "never"}}
            try:
                status, answer = caller.call("PUT", f"{T}/schedules/{name}", body)
            except Gone:
                continue
            self.expect("a schedule", status, answer, {200, 201})
            self.ledger.write("marked", schedule=name, mark=mark)
            time.sleep(0.01)

    # ---- Workers ----
    def lease(self, caller, number, limit):
        try:
            status, answer = caller.call("POST", "/v1/leases", {"worker": f"w{number}", "limit": limit, "lease": "3s",
                                                                "wait": "200ms"})
        except Gone:
            return []
        self.expect("a lease", status, answer, {200})
        if answer["items"]:
            self.first_claim.set()
        for item in answer["items"]:
            self.ledger.write("start", id=item["id"], ref=item["payload"]["ref"], token=item["token"],
                              attempt=item["attempt"])
        return answer["items"]

    def work_singly(self, caller, chance, number):
        while not self.given_up.is_set():
            for item in self.lease(caller, number, 1):
                key = f"effect-{item['id']}"
                whose = {"job": item["id"], "token": item["token"]}
                status, answer = caller.insist("PUT", f"{T}/effects/{key}", whose)
                self.expect("an effect", status, answer, {200, 409})
                if status == 409:
                    continue
                if answer["claim"] == "first":
                    self.ledger.write("effect", key=key, id=item["id"])
                    caller.insist("POST", f"{T}/effects/{key}/done", whose)
                word, body, state, then = self.word_for(item, chance)
                status, answer = caller.insist("POST", f"{T}/jobs/{item['id']}/{word}", {"token": item["token"], **body})
                self.expect(word, status, answer, {200, 409})
                if status == 200:
                    self.ledger.write("end", id=item["id"], state=state, then=then)

    def work_in_bulk(self, caller, chance, number):
        while not self.given_up.is_set():
            items = self.lease(caller, number, 50)
            if not items:
                continue
            said = [(item, *self.word_for(item, chance)) for item in items]
            body = {"items": [{"id": item["id"], "token": item["token"], word: fields} for item, word, fields, _, _ in said]}
            status, answer = caller.insist("POST", "/v1/leases/settle", body)
            self.expect("settling", status, answer, {200})
            for (item, _, _, state, then), told in zip(said, answer["items"]):
                if "error" in told:
                    self.expect("settling", told["error"]["code"], told, {"stale_token"})
                else:
                    self.ledger.write("end", id=item["id"], state=state, then=then)

    def word_for(self, item, chance):
        """How the attempt ends: the call, its body, the state that it leads to, and the follow-up's ref."""
        what = chance.randrange(10)
        if what == 0:
            return "fail", {"error": "never", "permanent": True}, "dlq", None
        if what == 1 and not item["payload"]["ref"].startswith("then-"):
            ref = f"then-{item['id']}"
            self.ledger.write("intent", ref=ref, count=1)
            return "complete", {"then": [{"type": "work", "payload": {"ref": ref}}]}, "done", ref
        return "complete", {"output": {"by": "load"}}, "done", None
