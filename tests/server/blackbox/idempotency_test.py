"""Doing it once, from outside: keys compare payloads as values, words and effects are said once.

  idempotency_test.py PROGRAM

What is the same value is judged by Python's own reader of JSON.
"""
import json
import os
import random
import sys
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
FULL = os.environ.get("CARILLON_FULL") == "1"
LETTERS = ["a", "b", "Z", "\"", "\\", "/", "\b", "\f", "\n", "\r", "\t", "\x00", "\x1f", "\x7f", " ", "{", "ë", "\u2028", "漢", "\U0001F600"]
NUMBERS = ["0", "-0", "1", "1.0", "1e0", "1E0", "10", "1e400", "0.1", "0.10", "9007199254740993", "9007199254740992"]
SHORT = {"\"": "\\\"", "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def meaning(text):
    """What a text says, with numbers by their text."""
    return json.loads(text, parse_int=lambda digits: ("number", digits), parse_float=lambda digits: ("number", digits))


class Chance(random.Random):
    def word(self):
        return "".join(self.choice(LETTERS) for _ in range(self.randrange(5)))

    def value(self, depth=1):
        kind = self.randrange(4 if depth > 3 else 7)
        if kind == 0:
            return self.choice([None, True, False])
        if kind == 1:
            return ("number", self.choice(NUMBERS))
        if kind in (2, 3):
            return self.word()
        if kind == 4:
            return [self.value(depth + 1) for _ in range(self.randrange(4))]
        return {self.word(): self.value(depth + 1) for _ in range(self.randrange(5))}

    def changed(self, value):
        if isinstance(value, list) and value and self.random() < 0.8:
            at = self.randrange(len(value))
            return value[:at] + [self.changed(value[at])] + value[at + 1:]
        if isinstance(value, dict) and value and self.random() < 0.8:
            name = self.choice(list(value))
            return {**value, name: self.changed(value[name])}
        return self.value(3)

    def space(self):
        return self.choice(["", "", " ", "\n", "\t\r\n "])

    def letter(self, letter):
        if letter in SHORT and self.random() < 0.5:
            return SHORT[letter]
        if ord(letter) >= 0x20 and letter not in "\"\\" and self.random() < 0.6:
            return letter
        units = letter.encode("utf-16-be")
        return "".join(self.choice(["\\u%04x", "\\u%04X"]) % int.from_bytes(units[i:i + 2], "big") for i in range(0, len(units), 2))

    def string(self, says):
        return '"' + "".join(map(self.letter, says)) + '"'

    def written(self, value):
        """One of the ways to write it."""
        if isinstance(value, tuple):
            text = value[1]
        elif isinstance(value, str):
            text = self.string(value)
        elif isinstance(value, list):
            text = "[" + ",".join(map(self.written, value)) + self.space() + "]"
        elif isinstance(value, dict):
            members = list(value.items())
            self.shuffle(members)
            text = "{" + ",".join(self.space() + self.string(name) + self.space() + ":" + self.written(one) for name, one in members) + self.space() + "}"
        else:
            text = json.dumps(value)
        return self.space() + text + self.space()


class Idempotency(unittest.TestCase):
    ok = staticmethod(Server.ok)
    refused = staticmethod(Server.refused)

    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)

    def job(self, **fields):
        return self.ok(self.server.post(T + "/jobs", {"type": "work", "delay": "1h", **fields}), 201)

    def leased(self, kind, lease="10m", **fields):
        self.ok(self.server.post(T + "/jobs", {"type": kind, **fields}), 201)
        return self.lease(kind, lease)

    def lease(self, kind, lease="10m"):
        return self.ok(self.server.post(T + "/leases", {"worker": "w", "types": [kind], "wait": "20s", "lease": lease}))["items"][0]

    def say(self, one, word, **body):
        return self.server.post(f"{T}/jobs/{one['id']}/{word}", {"token": one["token"], **body})

    def settled(self, *items):
        return self.ok(self.server.post(T + "/leases/settle", {"items": list(items)}))["items"]

    # ---- Keys ----
    def test_payloads_are_compared_as_values(self):
        chance = Chance(18)
        seen = {True: 0, False: 0}
        for i in range(400 if FULL else 120):
            value = chance.value()
            other = value if chance.random() < 0.5 else chance.changed(value)
            first, second = chance.written(value), chance.written(other)
            same = meaning(first) == meaning(second)
            self.assertEqual(same, json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True), (first, second))
            raw = '{"type": "value", "delay": "1h", "idempotency_key": "v-%d", "payload": %s}'
            made = self.ok(self.server.call("POST", T + "/jobs", raw=(raw % (i, first)).encode()), 201)
            again = self.server.call("POST", T + "/jobs", raw=(raw % (i, second)).encode())
            seen[same] += 1
            if same:
                self.assertEqual((again.status, again.json["id"], again.json["deduplicated"]), (200, made["id"], True), (first, second))
            else:
                self.refused(again, 409, "idempotency_conflict")
        self.assertGreater(min(seen.values()), 30)
        print(f"REPORT {seen[True]} payloads were the same value in other letters and {seen[False]} another, as Python's json reads them", flush=True)

    def test_a_name_twice_in_a_payload_is_refused(self):
        for payload in ('{"a": 1, "a": 1}', '{"a": 1, "\\u0061": 2}'):
            answer = self.server.call("POST", T + "/jobs", raw=('{"type": "twice", "idempotency_key": "t", "payload": %s}' % payload).encode())
            self.refused(answer, 400, "invalid_request", "given twice")

    def test_an_empty_key_is_refused_wherever_one_is_taken(self):
        empty = {"type": "empty", "idempotency_key": ""}
        one = self.leased("empty.then")
        calls = [self.server.post(T + "/jobs", empty), self.server.post(T + "/jobs/batch", {"jobs": [{"type": "empty"}, empty]}),
                 self.say(one, "complete", then=[empty]),
                 self.server.post(T + "/leases/settle", {"items": [{"id": one["id"], "token": one["token"], "complete": {"then": [empty]}}]})]
        for answer in calls:
            self.assertIn("idempotency_key", self.refused(answer, 400, "invalid_request", "empty")["details"]["field"])
        self.assertEqual(self.ok(self.server.get(T + "/jobs?type=empty"))["items"], [])
        self.ok(self.say(one, "complete"))
        self.ok(self.server.post(T + "/jobs", {"type": "none", "idempotency_key": None}), 201)

    # ---- then ----
    def test_a_known_key_with_another_payload_is_told_and_does_not_refuse_the_completion(self):
        held = self.job(type="next", idempotency_key="n", payload={"a": 1, "b": 2})
        then = [{"type": "next", "delay": "1h"}, {"type": "next", "idempotency_key": "n", "payload": {"a": 2}},
                {"type": "next", "idempotency_key": "n", "payload": {"b": 2, "a": 1}}]
        for by_settle in (False, True):
            one = self.leased("then")
            item = {"id": one["id"], "token": one["token"], "complete": {"then": then}}
            first = self.settled(item)[0] if by_settle else self.ok(self.say(one, "complete", then=then))
            self.assertEqual(first["state"], "done")
            made, conflict, known = first["then"]
            self.assertEqual((made["deduplicated"], self.ok(self.server.get(f"{T}/jobs/{made['id']}"))["parent_id"]), (False, one["id"]))
            self.assertEqual((conflict["error"]["code"], held["id"] in conflict["error"]["message"]), ("idempotency_conflict", True))
            self.assertEqual(known, {"id": held["id"], "deduplicated": True})
            # Said again, over either call, it is the same answer, and nothing more is made.
            self.assertEqual(self.ok(self.say(one, "complete", then=then)), first)
            self.assertEqual(self.settled(item), [first])
            self.assertEqual(self.ok(self.server.get(f"{T}/jobs/{one['id']}"))["state"], "done")
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?type=next"))["items"]), 3)

    # ---- Words ----
    def test_the_same_end_in_other_words_is_a_conflict(self):
        words = [("complete", {}, [{"output": 1}, {"then": [{"type": "other"}]}, {"reason": "x"}, {"subject": {"status": "s"}}]),
                 ("complete", {"output": {"a": 1, "b": [2]}}, [{"output": {"a": 1, "b": [3]}}, {}, {"output": {"a": 1, "b": [2]}, "then": [{"type": "other"}]}]),
                 ("complete", {"skipped": True, "reason": "no"}, [{"skipped": True, "reason": "yes"}, {"skipped": True}, {}]),
                 ("complete", {"then": [{"type": "after", "delay": "1h", "tags": ["a"]}]},
                  [{"then": [{"type": "after", "delay": "2h", "tags": ["a"]}]}, {"then": [{"type": "after", "delay": "1h", "tags": ["b"]}]}, {"then": []}]),
                 ("fail", {"error": "no"}, [{"error": "yes"}, {"error": "no", "permanent": True}, {"error": "no", "retry_after": "1h"}]),
                 ("defer", {"until": "1h"}, [{"until": "2h"}, {"until": "1h", "reason": "x"}])]
        for number, (word, said, others) in enumerate(words):
            one = self.leased(f"words.{number}")
            path, item = f"{T}/jobs/{one['id']}", {"id": one["id"], "token": one["token"]}
            first = self.ok(self.say(one, word, **said))
            kept = self.ok(self.server.get(path))
            for other in others:
                with self.subTest(word=word, said=said, other=other):
                    self.refused(self.say(one, word, **other), 409, "conflict", "in other words")
                    self.assertEqual(self.settled({**item, word: other})[0]["error"]["code"], "conflict")
            self.assertEqual(self.ok(self.say(one, word, **said)), first)
            self.assertEqual(self.settled({**item, word: said}), [first])
            self.assertEqual(self.ok(self.server.get(path)), kept)
        self.assertEqual(self.ok(self.server.get(T + "/jobs?type=other"))["items"], [])
        self.assertEqual(len(self.ok(self.server.get(T + "/jobs?type=after"))["items"]), 1)
        # Another end is stale, as ever.
        one = self.leased("words.end")
        self.ok(self.say(one, "complete"))
        self.refused(self.say(one, "fail", error="no"), 409, "stale_token")

    def test_the_same_words_in_other_letters_are_a_repeat(self):
        one = self.leased("letters")
        first = self.ok(self.say(one, "complete", output={"a": 1, "b": "ë"}))
        raw = '{"output" : {"b":"\\u00eb", "a":1}, "token": %d}' % one["token"]
        self.assertEqual(self.ok(self.server.call("POST", f"{T}/jobs/{one['id']}/complete", raw=raw.encode())), first)

    def test_a_repeat_is_recognised_after_a_restart(self):
        with Server(PROGRAM) as server:
            server.post(T + "/jobs", {"type": "r"})
            one = server.post(T + "/leases", {"worker": "w"}).json["items"][0]
            path, body = f"{T}/jobs/{one['id']}/complete", {"token": one["token"], "output": 1, "then": [{"type": "r.next", "delay": "1h"}]}
            first = self.ok(server.post(path, body))
            server.stop()
            server.start()
            self.assertEqual(self.ok(server.post(path, body)), first)
            self.refused(server.post(path, {**body, "output": 2}), 409, "conflict")
            self.assertEqual(len(self.ok(server.get(T + "/jobs?type=r.next"))["items"]), 1)

    # ---- Effects ----
    def test_an_effect_that_nobody_claimed(self):
        one = self.leased("unclaimed")
        body = {"job": one["id"], "token": one["token"]}
        for call in ("done", "undo"):
            self.refused(self.server.post(f"{T}/effects/nobody/{call}", body), 404, "effect_not_found")
        self.refused(self.server.post(f"{T}/effects/nobody/done", {"job": "zz", "token": 1}), 400, "invalid_request")
        self.assertIn(self.server.put(f"{T}/effects/", body).status, (400, 404))

    def test_only_the_holder_of_a_claim_finishes_or_undoes_it(self):
        ada, bob = ({"job": one["id"], "token": one["token"]} for one in (self.leased("ada"), self.leased("bob")))
        path = T + "/effects/shared"
        self.assertEqual(self.ok(self.server.put(path, ada)), {"claim": "first"})
        for _ in range(2):
            for call in ("done", "undo"):
                self.refused(self.server.post(f"{path}/{call}", bob), 409, "conflict")
            self.assertEqual(self.ok(self.server.put(path, bob)), {"claim": "unknown"})
        self.assertEqual(self.ok(self.server.put(path, ada)), {"claim": "first"})
        self.ok(self.server.post(path + "/done", {**ada, "result": {"a": 1, "b": 2}}))
        self.ok(self.server.post(path + "/done", {**ada, "result": {"b": 2, "a": 1}}))
        self.refused(self.server.post(path + "/done", {**ada, "result": 2}), 409, "conflict")
        self.refused(self.server.post(path + "/done", {**bob, "result": 2}), 409, "conflict")
        self.assertEqual(self.ok(self.server.put(path, bob)), {"claim": "done", "result": {"a": 1, "b": 2}})

    def test_the_next_attempt_has_the_claim_once_it_has_asked(self):
        first = self.leased("gone", retry={"kind": "fixed", "delay": "0s"})
        path, lost = T + "/effects/gone", {"job": first["id"], "token": first["token"]}
        self.assertEqual(self.ok(self.server.put(path, lost)), {"claim": "first"})
        self.ok(self.say(first, "fail", error="no word about the effect"))
        second = self.lease("gone")
        now = {"job": second["id"], "token": second["token"]}
        self.refused(self.server.post(path + "/undo", now), 409, "conflict")
        for _ in range(2):
            self.assertEqual(self.ok(self.server.put(path, now)), {"claim": "unknown"})
        for call in ("done", "undo"):
            self.refused(self.server.post(f"{path}/{call}", lost), 409, "stale_token")
        self.ok(self.server.post(path + "/undo", now))
        self.refused(self.server.post(path + "/undo", now), 404, "effect_not_found")
        self.assertEqual(self.ok(self.server.put(path, now)), {"claim": "first"})

    # ---- Bulk ----
    def test_bulk_work_needs_a_filter_or_all(self):
        for action in ("retry", "cancel", "discard"):
            for body in ({}, {"filter": {}}, {"filter": None}, {"all": False}, {"filter": {"state": []}}):
                self.refused(self.server.post(T + "/jobs/bulk", {"action": action, **body}), 400, "invalid_request", "filter")
            self.refused(self.server.post(T + "/jobs/bulk", {"action": action, "all": True, "filter": {"type": "x"}}), 400, "invalid_request", "all")
            self.refused(self.server.post(T + "/jobs/bulk", {"action": action, "all": "yes"}), 400, "invalid_request")
        for action in ("retry", "discard"):
            self.refused(self.server.post(T + "/jobs/bulk", {"action": action, "filter": {"state": "queued"}}), 400, "invalid_request", "dlq")

    def test_cancelling_many_leaves_parked_jobs_alone(self):
        def cancelled(**body):
            begun = self.ok(self.server.post(tenant + "/jobs/bulk", {"action": "cancel", **body}), 202)
            shown = begun
            while shown["state"] == "running":
                shown = self.ok(self.server.get(f"{tenant}/bulk/{begun['id']}"))
            self.assertEqual((begun["total"], shown["failed"]), (shown["done"], 0))
            return shown["done"]

        tenant = "/v1/tenants/parking"
        one = self.ok(self.server.post(tenant + "/jobs", {"type": "p"}), 201)
        leased = self.ok(self.server.post(tenant + "/leases", {"worker": "w", "wait": "20s"}))["items"][0]
        self.ok(self.server.post(f"{tenant}/jobs/{one['id']}/fail", {"token": leased["token"], "error": "no", "permanent": True}))
        state = lambda: self.ok(self.server.get(f"{tenant}/jobs/{one['id']}"))["state"]
        for body in ({"all": True}, {"filter": {"type": "p"}}, {"filter": {"state": "queued"}}):
            self.ok(self.server.post(tenant + "/jobs", {"type": "p", "delay": "1h"}), 201)
            self.assertEqual((cancelled(**body), state()), (1, "dlq"), body)
        self.assertEqual((cancelled(filter={"state": ["dlq", "queued"], "type": "p"}), state()), (1, "cancelled"))


if __name__ == "__main__":
    unittest.main()
