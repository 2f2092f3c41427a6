"""The numbers of the page are what is, of the tenants of the key that signed in.

  page_test.py PROGRAM NODE PAGE.mjs
"""
import json
import os
import subprocess
import sys
import unittest

from server import Server, far_off

PROGRAM, NODE, SCRIPT = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Server.share(cls, PROGRAM)
        cls.keys = {"all": cls.server.key}
        for tenant, jobs in (("default", 20), ("mine", 5)):
            cls.accepted(cls.server.put("/v1/tenants/" + tenant))
            made = cls.accepted(cls.server.post("/v1/keys", {"name": tenant, "scope": "read", "tenants": [tenant]}))
            cls.keys[tenant] = made["key"]
            cls.fill("/v1/tenants/" + tenant, jobs)
            name = "of-" + tenant
            cls.accepted(cls.server.put(f"/v1/tenants/{tenant}/schedules/{name}",
                                        {"trigger": {"kind": "daily", "at": far_off()}, "job": {"type": "x"}}))

    accepted = staticmethod(Server.accepted)

    @classmethod
    def fill(cls, base, count):
        """So many are due; besides them two are later, one waits for another, two are parked, one runs and one is done."""
        cls.accepted(cls.server.post(base + "/jobs/batch", {"jobs": [{"type": "due"}] * count + [{"type": "later", "delay": "2h"}] * 2}))
        cls.accepted(cls.server.post(base + "/jobs/batch", {"jobs": [{"type": "late", "delay": "1h"}, {"type": "after", "depends_on": ["#0"]}]}))
        cls.accepted(cls.server.post(base + "/jobs/batch", {"jobs": [{"type": "work"}] * 4}))
        leased = cls.accepted(cls.server.post(base + "/leases", {"worker": "w-" + base[-4:], "types": ["work"], "limit": 4}))["items"]
        words = [{"fail": {"error": "no", "permanent": True}}, {"fail": {"error": "no", "permanent": True}}, {"complete": {}}]
        cls.accepted(cls.server.post(base + "/leases/settle", {"items": [
            {"id": job["id"], "token": job["token"], **word} for job, word in zip(leased, words)]}))

    def shown(self, who):
        ran = subprocess.run([NODE, SCRIPT, self.server.origin, self.keys[who]], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def test_a_key_of_one_tenant_sees_that_tenant(self):
        page = self.shown("mine")
        self.assertEqual(page["numbers"], {"Due now": "5", "Later": "3", "Waiting for others": "1", "Running": "1", "Parked": "2", "Workers": "1"})
        self.assertEqual((page["schedules"], page["tenants"]), (["of-mine"], []))

    def test_a_key_of_all_sees_the_whole_and_chooses_whose_schedules(self):
        page = self.shown("all")
        self.assertEqual(page["numbers"], {"Due now": "25", "Later": "6", "Waiting for others": "2", "Running": "2", "Parked": "4", "Workers": "2"})
        self.assertEqual((page["schedules"], sorted(page["tenants"])), (["of-default"], ["default", "mine"]))

    def test_a_restart_changes_nothing_of_what_is(self):
        before = self.shown("mine")["numbers"]
        self.server.stop()
        self.server.start()
        after = self.shown("mine")["numbers"]
        # Nobody works here any more, and what the worker had is still its own until the lease ends.
        self.assertEqual({**after, "Workers": "1"}, before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
