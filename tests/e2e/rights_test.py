#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program that gives rights away gives all of them away, and none of its
sandboxes is offended by us."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import profile, run  # noqa: E402

WORK = "work_in_the_sandbox"


class RightsTest(unittest.TestCase):

    def setUp(self):
        folder = run.temporary_folder(public=True)
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)

    @staticmethod
    def end_of(argv, **options):
        with run.Program(argv, **options) as program:
            status = program.wait()
            return status, program.stdout, program.stderr

    def run_both(self, way, *arguments):
        """Under the highest rate everything happens as without us. Returns the
        CPU seconds that bear the name of the work, and what else was told."""
        argv = [run.guest("rights"), way, *arguments]
        output = self.folder / way
        output.mkdir()
        output.chmod(0o777)  # for those who change their user
        plain = self.end_of(argv, how="plain")
        ours = self.end_of(argv, how="run", output=output,
                           wrapper_options=["-q"],
                           env={"SPANPROF_RATE": "1000"})
        self.assertEqual(ours, plain)
        self.assertEqual(plain[0], 0)
        told = profile.read(output)
        return sum(sample.cpu_ns for sample in told.samples
                   if WORK in sample.stack) / 1e9, told

    def test_a_narrow_filter_is_not_offended(self):
        for way in ("narrow", "everyone", "strict"):
            with self.subTest(way):
                seconds, told = self.run_both(way)
                self.assertEqual(seconds, 0)
                self.assertEqual(told.comments["processes_sandboxed"], 1)

    def test_under_a_filter_that_has_nothing_against_it_sampling_goes_on(self):
        seconds, told = self.run_both("wide", "0.5")
        self.assertGreater(seconds, 0.6)
        self.assertNotIn("processes_sandboxed", told.comments)

    def test_a_filter_that_is_not_installed_changes_nothing(self):
        for way in ("question", "refused"):
            with self.subTest(way):
                seconds, _ = self.run_both(way)
                self.assertGreater(seconds, 0.2)

    def test_what_is_given_away_is_given_away_by_every_thread(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        for way in ("capabilities", "user-by-number", "no-new-privileges"):
            with self.subTest(way):
                self.run_both(way)

    def test_namespaces_are_left_as_without_us(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        for way in ("user-namespace", "pid-namespace"):
            with self.subTest(way):
                seconds, _ = self.run_both(way)
                self.assertGreater(seconds, 0.4 if "user" in way else 0.2)


if __name__ == "__main__":
    unittest.main()
