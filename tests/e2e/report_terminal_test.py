#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How the spanprof command behaves on a terminal, and its command line."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.report_case import SPANPROF, TRACE, ReportCase  # noqa: E402


class TerminalTest(ReportCase):
    def test_tables_follow_the_terminal(self):
        folder = self.shop()
        wide = self.run_on_terminal(200, "spans", folder)
        self.assertIn(TRACE, wide)
        narrow = self.run_on_terminal(90, "spans", folder, NO_COLOR="1")
        self.assertNotIn(TRACE, narrow)
        self.assertTrue(all(len(line) <= 90 for line in narrow.splitlines()))

    def test_colour_only_on_terminals_and_only_if_wanted(self):
        folder = self.shop()
        self.assertIn("\x1b[1m", self.run_on_terminal(100, "top", folder))
        self.assertNotIn(
            "\x1b", self.run_on_terminal(100, "top", folder, NO_COLOR="1")
        )
        self.assertNotIn(
            "\x1b", self.run_on_terminal(100, "top", folder, TERM="dumb")
        )
        self.assertNotIn(
            "\x1b", self.run_on_terminal(100, "top", "--color=never", folder)
        )
        self.assertNotIn("\x1b", self.output("top", folder))
        self.assertIn("\x1b[1m", self.output("top", "--color=always", folder))

    # the command line

    def test_help_has_examples_first_and_is_short(self):
        for arguments in ((), ("spans",), ("show",), ("top",)):
            text = self.output(*arguments, "--help")
            lines = text.splitlines()
            self.assertEqual(lines[0], "Examples:")
            self.assertLessEqual(len(lines), 60)
            self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(self.output("help", "top"), self.output("top", "-h"))
        self.assertRegex(self.output("--version"), r"^spanprof \d+\.\d+")
        self.assertEqual(self.run_command(status=2).stdout, "")

    def test_slips_get_a_suggestion(self):
        folder = self.shop()
        for arguments, words in (
            (("spnas", folder), "did you mean 'spanprof spans'?"),
            (("spans", "--srot=cpu", folder), "did you mean '--sort'?"),
            (
                ("spans", "--sort=durations", folder),
                "did you mean 'duration'?",
            ),
            (("top", "--color=alwasy", folder), "did you mean 'always'?"),
            (("top", "--sort=cpu", folder), "unknown option '--sort'"),
            (("top", "--limit=-1", folder), "--limit takes a number"),
            (("top", "--limit"), "needs a value"),
            (("top", "-q", folder), "unknown option '-q'"),
            (("show",), "which span?"),
            (("xyzzy",), "spanprof --help"),
        ):
            result = self.run_command(*arguments, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [SPANPROF, "top", self.shop()],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"writing the output", result.stderr)


if __name__ == "__main__":
    unittest.main()
