#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the demo tells its story: which request was slow, and which code made
it slow."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import profile, run  # noqa: E402

STORY = ("put_block", "compact_level_1", "rewrite_symbols",
         "find_symbol_linear")


class DemoTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([str(run.ROOT / "scripts" / "demo")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)
        cls.status, cls.text, cls.errors = (done.returncode, done.stdout,
                                            done.stderr)

    def test_it_ends_well(self):
        self.assertEqual(self.status, 0, self.errors)

    def test_the_function_table_names_the_culprits(self):
        table = self.text.split("== Why the slowest one was slow")[1]
        for function in STORY:
            self.assertRegex(table, rf"\b{function}\b")

    def test_the_slowest_request_spent_its_time_there(self):
        output = profile.read(run.BUILD / "demo" / "profiles")
        self.assertEqual(len(output.spans), 200)
        slowest, = re.findall(r"\$ \S*spanprof show ([0-9a-f]{16}) ", self.text)
        span = output.span_by_id()[slowest]
        self.assertRegex(span.path, "^/tenants/initech/blocks/")
        own = [s for s in output.samples if s.span_id == slowest]
        guilty_ns = sum(s.cpu_ns for s in own if set(STORY) <= set(s.stack))
        self.assertGreater(guilty_ns, 0.9 * span.cpu_ns)
        usual = sorted(s.cpu_ns for s in output.spans)[len(output.spans) // 2]
        self.assertGreater(span.cpu_ns, 50 * usual)


if __name__ == "__main__":
    unittest.main()
