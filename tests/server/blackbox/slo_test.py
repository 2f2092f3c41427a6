"""Objectives of a real server: breached on purpose, told in the log, the event log, the stream, /v1/slo and the metric."""
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server import Server

PROGRAM = os.path.abspath(sys.argv.pop(1))
T = "/v1/tenants/default"
WAIT_SECONDS = 120
EVALUATIONS = 5  # so many more, and nothing is told again
TICK_MS = 50
SLOW = f"""
slo_eval_ms = 200
slo_window_minutes = 1
tick_ms = {TICK_MS}
breach_consecutive = 2
job_p95_max_ms = 100
sat_ratio = 0.3
depth_avg_max = 2
max_concurrency = 2
event_log = "events.ndjson"
[handlers.slow]
kind = "exec"
argv = ["/bin/sleep", "0.3"]
allow_root = true
[handlers.broken]
kind = "exec"
argv = ["/bin/false"]
allow_root = true
"""
MISSED = """
slo_eval_ms = 200
slo_window_minutes = 10
breach_consecutive = 2
cutoff_rate_max = 0.2
stalled_max = 0
tick_budget_ms = 1
depth_avg_max = 1000000
event_log = "events.ndjson"
"""


class Slo(unittest.TestCase):
    def serve(self, config, *flags, folder=None):
        server = Server(PROGRAM, *flags, folder=folder)
        with open(os.path.join(server.folder, "carillon.toml"), "w", encoding="utf-8") as file:
            file.write(config)
        self.log = []
        server.start()
        reader = threading.Thread(target=lambda: self.log.extend(server.process.stderr))
        reader.start()
        self.addCleanup(self.end, server, reader)
        return server

    def end(self, server, reader):
        server.process.terminate()
        self.assertEqual(server.process.wait(timeout=60), 0)
        reader.join()
        server.process.stdout.close()
        server.process.stderr.close()
        server.__exit__()

    def state(self, server):
        answer = server.get("/v1/slo")
        self.assertEqual(answer.status, 200, answer.body)
        return {item["name"]: item for item in answer.json["items"]}

    def metric(self, server):
        lines = server.get("/metrics").body.decode().splitlines()
        return {line.split('"')[1]: int(line.split()[-1]) for line in lines if line.startswith("carillon_slo_breached{")}

    def until(self, condition):
        """A state is waited for, however slow the machine is; it is not hoped for after a while."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.1)
        self.fail("it has not come to that")

    def breached(self, server):
        return {name for name, item in self.state(server).items() if item["state"] == "breached"}

    def assert_measured(self, server, breached):
        """The metric says so too, once the evaluation that found it has ended."""
        self.until(lambda: {name for name, value in self.metric(server).items() if value == 1} == breached)

    def looked_at_again(self, server, names):
        """What is breached has been found so a few more times."""
        before = self.state(server)
        self.until(lambda: all(self.state(server)[name]["breaches_in_a_row"] >= before[name]["breaches_in_a_row"] + EVALUATIONS for name in names))

    def logged(self, start):
        return [line for line in map(json.loads, self.log) if line["msg"].startswith(start)]

    def told(self, server, name=None):
        """Also while it is written: its last line may be half there."""
        with open(os.path.join(server.folder, "events.ndjson"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        return [event for event in events if name in (None, event["event"])]

    def test_slow_and_failing_handlers_breach_what_they_should_and_are_told_once(self):
        server = self.serve(SLOW)
        stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        stream.request("GET", "/v1/events", headers={"Authorization": "Bearer " + server.key})
        events = stream.getresponse()
        self.assertEqual(set(self.metric(server).values()), {0})
        self.assertEqual({item["state"] for item in self.state(server).values()}, {"ok"})

        server.post(T + "/jobs", {"type": "broken", "max_attempts": 1})
        # Work for a minute at least: enough to outweigh the time before it, in which nothing ran.
        server.post(T + "/jobs/batch", {"jobs": [{"type": "slow"}] * 400})
        wanted = {"job_latency", "saturation", "queue_pressure", "dlq"}
        self.until(lambda: self.breached(server) >= wanted)
        state = self.state(server)
        self.assertEqual({name for name, item in state.items() if item["state"] == "ok"},
                         {"tick_budget", "cutoff_miss_rate", "stalled"})
        latency = state["job_latency"]
        self.assertGreater(latency["value"], 250)
        self.assertEqual((latency["threshold"], latency["unit"], latency["window"]), (100, "ms", "1m"))
        self.assertGreaterEqual(latency["breaches_in_a_row"], 2)
        self.assert_measured(server, wanted)

        # Once each, however long it stays so.
        self.until(lambda: len(self.logged("SLO breached")) >= len(wanted) and len(self.told(server, "slo.breach")) >= len(wanted))
        self.looked_at_again(server, wanted)
        warned = self.logged("SLO breached")
        self.assertEqual(sorted(line["slo"] for line in warned), sorted(wanted))
        for line in warned:
            self.assertEqual(line["level"], "warn")
            self.assertGreater(line["value"], line["threshold"])
            self.assertEqual((line["window"], line["breaches_in_a_row"]), ("1m", 2))
        breaches = self.told(server, "slo.breach")
        self.assertEqual(sorted(event["metadata"]["slo"] for event in breaches), sorted(wanted))
        for event in breaches:
            self.assertGreater(event["measurements"]["value"], event["measurements"]["threshold"])
        seen = b""
        while seen.count(b"event: slo.breach") < len(wanted):
            seen += events.readline()
        stream.close()

        # A reader may look; who has no key may not; and all of it is as the reference says.
        reader = server.post("/v1/keys", {"name": "r", "scope": "read", "tenants": "all"}).json["key"]
        self.assertEqual(server.get("/v1/slo", key=reader).status, 200)
        self.assertEqual(server.get("/v1/slo", key="").status, 401)
        self.assertEqual(server.get("/v1/slo?x=1").status, 400)
        self.assertGreater(server.check_answers(), 5)

        piped = subprocess.run([PROGRAM, "slo", "--server", f"http://127.0.0.1:{server.port}"], cwd=server.folder,
                               capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"]})
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual([item["name"] for item in json.loads(piped.stdout)["items"]], list(state))

    def test_missed_cutoffs_parked_jobs_lost_leases_and_long_ticks_are_told(self):
        """The other objectives, on a clock that is told; and one of them recovers and is breached again."""
        server = self.serve(MISSED, "--clock", "2026-03-28T07:30:00Z@0")
        wanted = {"cutoff_miss_rate", "dlq", "stalled", "tick_budget"}
        digest = T + "/schedules/digest"
        server.put(digest, {"trigger": {"kind": "delivery", "due": "08:00"}, "job": {"type": "digest"}})
        server.put(digest + "/subjects/ada", {})
        server.put(T + "/schedules/many", {"trigger": {"kind": "daily", "at": "08:00"}, "fan_out": True, "job": {"type": "nobody"}})
        # Rounds that plan a thousand of them take longer than the budget on any machine, and are more than one in twenty.
        server.call("POST", T + "/schedules/many/subjects/import", raw="".join(f'{{"subject": "u{i}"}}\n' for i in range(10_000)))
        server.post(T + "/jobs", {"type": "parked"})
        server.post(T + "/jobs", {"type": "lost"})
        job, = server.post(T + "/leases", {"worker": "w", "types": ["parked"]}).json["items"]
        server.post(f"{T}/jobs/{job['id']}/fail", {"token": job["token"], "error": "no", "permanent": True})
        server.post(T + "/leases", {"worker": "w", "types": ["lost"], "lease": "1s"})
        server.post("/v1/clock", {"to": "2026-03-28T08:00:01Z"})

        self.until(lambda: self.breached(server) == wanted)
        state = self.state(server)
        self.assertEqual({name for name, item in state.items() if item["state"] == "ok"}, {"saturation", "queue_pressure", "job_latency"})
        missed = state["cutoff_miss_rate"]
        self.assertEqual((missed["value"], missed["threshold"], missed["unit"], missed["window"], missed["samples"], missed["due_bucket"]),
                         (1, 0.2, "ratio", "10m", 1, 480))
        self.assertEqual((state["dlq"]["value"], state["dlq"]["threshold"], state["stalled"]["value"]), (1, 0, 1))
        self.assert_measured(server, wanted)
        line, = self.until(lambda: [line for line in self.logged("SLO breached") if line["slo"] == "cutoff_miss_rate"])
        self.assertEqual({key: line[key] for key in ("level", "value", "threshold", "unit", "window", "samples", "breaches_in_a_row", "due_bucket")},
                         {"level": "warn", "value": 1, "threshold": 0.2, "unit": "ratio", "window": "10m", "samples": 1, "breaches_in_a_row": 2, "due_bucket": 480})
        event, = self.until(lambda: [e for e in self.told(server, "slo.breach") if e["metadata"]["slo"] == "cutoff_miss_rate"])
        self.assertEqual((event["measurements"], event["metadata"]["due_bucket"], event["metadata"]["window"]), ({"value": 1, "threshold": 0.2}, 480, "10m"))

        # Enough deliveries that succeed: it recovers, and only it.
        server.call("POST", digest + "/subjects/import", raw="".join(f'{{"subject": "user-{i}", "due": "09:00"}}\n' for i in range(30)))
        server.post("/v1/clock", {"to": "2026-03-28T08:30:00Z"})
        jobs = server.post(T + "/leases", {"worker": "w", "types": ["digest"], "limit": 100}).json["items"]
        self.assertEqual(len(jobs), 30)
        server.post(T + "/leases/settle", {"items": [{"id": job["id"], "token": job["token"], "complete": {}} for job in jobs]})
        self.until(lambda: self.breached(server) == wanted - {"cutoff_miss_rate"})
        self.assert_measured(server, wanted - {"cutoff_miss_rate"})
        recovered, = self.until(lambda: self.logged("SLO recovered"))
        self.assertEqual((recovered["level"], recovered["slo"]), ("info", "cutoff_miss_rate"))
        # And too many that do not: a second warning, about another minute of the day.
        server.call("POST", digest + "/subjects/import", raw="".join(f'{{"subject": "late-{i}", "due": "10:00"}}\n' for i in range(30)))
        server.post("/v1/clock", {"to": "2026-03-28T10:00:01Z"})
        self.until(lambda: self.breached(server) == wanted)
        self.assertEqual(self.state(server)["cutoff_miss_rate"]["due_bucket"], 600)
        warnings = sorted([*wanted, "cutoff_miss_rate"])
        self.until(lambda: len(self.logged("SLO breached")) >= len(warnings) and len(self.told(server, "slo.breach")) >= len(warnings))
        self.looked_at_again(server, wanted)
        self.assertEqual(sorted(line["slo"] for line in self.logged("SLO breached")), warnings)
        self.assertEqual(sorted(e["metadata"]["slo"] for e in self.told(server, "slo.breach")), warnings)
        self.assertEqual(len(self.logged("SLO recovered")), 1)
        self.assertGreater(server.check_answers(), 10)

    def test_the_dlq_is_an_alert_until_it_is_empty(self):
        """S4: DLQ > 0. However long ago the job was parked, also before a restart, and not a moment longer."""
        with tempfile.TemporaryDirectory(prefix="carillon-slo-") as folder:
            with Server(PROGRAM, folder=folder) as before:
                for tenant in ("default", "acme"):
                    before.post(f"/v1/tenants/{tenant}/jobs", {"type": "t"})
                    job, = before.post(f"/v1/tenants/{tenant}/leases", {"worker": "w"}).json["items"]
                    before.post(f"/v1/tenants/{tenant}/jobs/{job['id']}/fail", {"token": job["token"], "error": "no", "permanent": True})
            server = self.serve(MISSED, folder=folder)
            self.until(lambda: self.state(server)["dlq"]["state"] == "breached")
            dlq = self.state(server)["dlq"]
            self.assertEqual((dlq["value"], dlq["threshold"], dlq["unit"], dlq["due_bucket"]), (2, 0, "jobs", None))
            self.assert_measured(server, {"dlq"})
            server.post("/v1/tenants/default/jobs/bulk", {"action": "discard", "all": True})
            self.until(lambda: self.state(server)["dlq"]["value"] == 1)
            self.looked_at_again(server, ["dlq"])
            self.assertEqual(self.state(server)["dlq"]["state"], "breached", "one is still there")
            job, = server.get("/v1/tenants/acme/jobs?state=dlq").json["items"]
            server.post(f"/v1/tenants/acme/jobs/{job['id']}/retry")
            self.until(lambda: self.state(server)["dlq"]["state"] == "ok")
            self.assertEqual(self.state(server)["dlq"]["value"], 0)
            self.assert_measured(server, set())
            self.assertEqual([line["slo"] for line in self.until(lambda: self.logged("SLO recovered"))], ["dlq"])
            self.assertEqual([line["slo"] for line in self.logged("SLO breached")], ["dlq"])
            server.check_answers()
            self.doCleanups()

    def test_saturation_is_seen_under_the_cap_for_all(self):
        server = self.serve(SLOW.replace("max_concurrency = 2", "max_concurrency = 8\nmax_concurrent_jobs = 1"))
        server.post(T + "/jobs/batch", {"jobs": [{"type": "slow"}] * 200})
        self.until(lambda: self.state(server)["saturation"]["state"] == "breached")
        levels = self.told(server, "sched.executor.in_flight")
        self.assertEqual({event["metadata"]["max_concurrency"] for event in levels}, {1})

    def test_every_metric_has_its_name(self):
        server = self.serve(SLOW)
        server.put(T + "/schedules/s", {"trigger": {"kind": "every", "every": "1s"}, "job": {"type": "slow"}})
        self.until(lambda: 'carillon_finalized_total{status="success"}' in server.get("/metrics").body.decode())
        names = set(line.split()[2] for line in server.get("/metrics").body.decode().splitlines() if line.startswith("# TYPE "))
        wanted = {f"carillon_jobs_{word}_total" for word in ("picked", "succeeded", "failed", "deferred", "dlq", "stalled")}
        wanted |= {f"carillon_{word}" for word in ("handler_duration_ms", "lease_wait_ms", "tick_duration_ms", "queue_depth", "in_flight",
                                                   "start_lateness_ms", "finalized_total", "slo_breached",
                                                   "subjects_swept_total", "subjects_repaired_total")}
        self.assertLessEqual(wanted, names)

    def test_telemetry_of_a_run(self):
        """E1 to E5: each with the fields of the seed; levels whenever something has happened."""
        server = self.serve(SLOW)
        server.put(T + "/schedules/s", {"trigger": {"kind": "every", "every": "1s"}, "job": {"type": "slow"}})
        # Due in half an hour: in its window now, whatever the time.
        due = time.strftime("%H:%M", time.gmtime(time.time() + 1800))
        server.put(T + "/schedules/d", {"trigger": {"kind": "delivery", "due": due}, "job": {"type": "slow"}})
        server.put(T + "/schedules/d/subjects/ada", {})
        server.post(T + "/jobs", {"type": "broken", "max_attempts": 1})

        def results():
            return {(e["metadata"]["type"], e["metadata"]["result"]) for e in self.told(server, "sched.job.stop")}
        self.until(lambda: len(results()) >= 2)
        finalized = self.until(lambda: self.told(server, "sched.finalize"))
        self.until(lambda: self.told(server, "sched.outcome"))
        told = self.told(server)
        fields = {}
        for event in told:
            fields.setdefault(event["event"], (set(event["measurements"]), set(event["metadata"])))
        for name, measurements, metadata in (
                ("sched.tick.stop", {"duration_ms"}, {"users_scanned", "eligible_in_window", "enqueued", "cutoff_finalized"}),
                ("sched.queue.depth", {"depth"}, {"today"}), ("sched.executor.in_flight", {"in_flight"}, {"max_concurrency"}),
                ("sched.job.stop", {"duration_ms"}, {"result", "error_class"}),
                ("sched.finalize", set(), {"status", "due_bucket", "today"}),
                ("sched.outcome", set(), {"schedule", "subject", "slot", "outcome"})):
            self.assertEqual(fields[name][0], measurements, name)
            self.assertLessEqual(metadata, fields[name][1], name)
        self.assertEqual(results(), {("slow", "ok"), ("broken", "error")})
        self.assertEqual(finalized[0]["metadata"]["status"], "success")
        self.assertEqual(finalized[0]["metadata"]["due_bucket"], int(due[:2]) * 60 + int(due[3:]))
        self.assertEqual({e["metadata"]["schedule"] for e in self.told(server, "sched.finalize")}, {"d"})
        self.assertEqual({e["metadata"]["schedule"] for e in self.told(server, "sched.outcome")}, {"s"})
        durations = [e["measurements"]["duration_ms"] for e in self.told(server, "sched.tick.stop")]
        self.assertTrue(any(value != int(value) for value in durations), durations)
        # Ticks as often as was said: not every second, as by default, on a slow machine either.
        begun, before = time.monotonic(), self.ticks(server)
        self.until(lambda: self.ticks(server) >= before + 40)
        self.assertLess(time.monotonic() - begun, 40 * 10 * TICK_MS / 1000)
        # Whatever has happened is followed by one of each.
        names = [e["event"] for e in self.told(server)]
        first = names.index("sched.job.stop")
        self.assertLessEqual({"sched.tick.stop", "sched.queue.depth", "sched.executor.in_flight"}, set(names[first:]))
        # Nothing of an attempt above debug.
        self.assertEqual([line for line in map(json.loads, self.log) if line["msg"].startswith("attempt")], [])

    def ticks(self, server):
        line = re.search(r"^carillon_tick_duration_ms_count(?:\{\})? (\d+)", server.get("/metrics").body.decode(), re.M)
        return int(line.group(1))

    def test_a_server_that_does_nothing_writes_no_events_and_is_measured_all_the_same(self):
        server = self.serve(SLOW)
        path = os.path.join(server.folder, "events.ndjson")
        self.until(lambda: self.told(server, "sched.tick.stop"))
        self.until(lambda: self.ticks(server) >= 3)
        size, samples = os.path.getsize(path), self.state(server)["saturation"]["samples"]
        ticks = self.ticks(server)
        self.until(lambda: self.ticks(server) >= ticks + 100)
        self.until(lambda: self.state(server)["saturation"]["samples"] >= samples + 50)
        self.assertEqual(os.path.getsize(path), size, self.told(server))
        # And goes on where something happens: the job, what becomes of it, and how many wait.
        server.post(T + "/jobs", {"type": "nobody.runs.it"})
        self.until(lambda: any(e["measurements"]["depth"] == 1 for e in self.told(server, "sched.queue.depth")))
        self.assertGreater(os.path.getsize(path), size)

    def test_the_window_of_a_rehearsal_is_real_time(self):
        """A day of the rehearsed clock passes at once; what was measured a moment ago is still in the window."""
        server = self.serve(SLOW, "--clock", "2026-03-28T12:00:00Z@0")
        server.post(T + "/jobs", {"type": "slow"})
        self.until(lambda: self.state(server)["job_latency"]["state"] == "breached")
        server.post("/v1/clock", {"advance": "1d"})
        self.looked_at_again(server, ["job_latency"])
        latency = self.state(server)["job_latency"]
        self.assertEqual((latency["state"], latency["samples"]), ("breached", 1))
        self.assertTrue(latency["since"].startswith("2026-03-28T12:00:00"), latency)
        self.assertEqual(self.logged("SLO recovered"), [])


if __name__ == "__main__":
    unittest.main()
