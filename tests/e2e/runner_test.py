#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether tests/run counts what there is to count: programs and files made for
it, good and bad."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CASES = """
import time
import unittest

class Case(unittest.TestCase):
    def test_good(self):
        print("a word of its own")

    def test_bad(self):
        self.assertEqual(1, 2, "the reason")

    def test_bad_twice(self):
        for number in range(2):
            with self.subTest(number=number):
                self.fail("again")

    @unittest.skip("no device")
    def test_skipped(self):
        pass

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("nothing there")

    def test_never(self):
        pass
"""


class RunnerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="spanprof-runner-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, text, name="mine_test"):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def run_tests(self, *arguments, no_skip=""):
        """The exit status and the lines."""
        done = subprocess.run(
            [ROOT / "tests" / "run", *arguments], stdout=subprocess.PIPE,
            text=True, env={**os.environ, "SPANPROF_NO_SKIP": no_skip})
        return done.returncode, done.stdout.splitlines()

    def expect(self, status, last, *arguments, **more):
        got, lines = self.run_tests(*arguments, **more)
        self.assertEqual((got, lines[-1]), (status, last), lines)
        return "\n".join(lines)

    def unit(self, status, last, text, **more):
        return self.expect(status, last, "--unit", self.script(text), **more)

    def test_unit_tests_are_counted(self):
        self.unit(0, "2 passed, 0 failed", "echo ok one; echo ok two")

    def test_a_failure_is_told_with_what_was_said_of_it(self):
        text = self.unit(1, "1 passed, 1 failed", "echo ok one; echo reason;"
                         "echo FAIL two; exit 1")
        self.assertIn("FAIL mine_test: two\n    reason", text)

    def test_skips_are_failures_where_they_are_forbidden(self):
        text = "echo ok one; echo SKIP two"
        self.unit(0, "1 passed, 0 failed, 1 skipped", text)
        self.unit(1, "1 passed, 1 failed", text, no_skip="1")

    def test_a_crash_is_one_failure_with_the_last_words(self):
        text = self.unit(1, "1 passed, 1 failed",
                         "echo ok one; echo about to die; kill -SEGV $$")
        self.assertIn("died of SIGSEGV\n    about to die", text)

    def test_an_end_that_contradicts_the_lines_is_a_failure(self):
        self.unit(1, "1 passed, 1 failed", "echo ok one; exit 3")
        self.unit(1, "1 passed, 2 failed", "echo ok one; echo FAIL two")

    def test_a_program_without_tests_is_a_failure(self):
        self.unit(1, "0 passed, 1 failed", "true")

    def test_no_test_at_all_is_no_success(self):
        self.expect(1, "0 passed, 0 failed")

    def test_a_replay_without_a_corpus_is_a_failure(self):
        program = self.script("true", "no_such_fuzzer_replay")
        self.expect(1, "0 passed, 1 failed", "--replay", program)

    def test_each_file_of_a_corpus_is_a_test(self):
        corpus = ROOT / "tests" / "fuzz" / "corpus" / "http1"
        count = len(list(corpus.iterdir()))
        program = self.script("true", "http1_replay")
        self.expect(0, f"{count} passed, 0 failed", "--replay", program)
        one = next(corpus.iterdir()).name
        program = self.script(f'[ "$(basename "$1")" != {one} ]',
                              "http1_replay")
        self.expect(1, f"{count - 1} passed, 1 failed", "--replay", program)

    def test_cases_are_counted(self):
        path = self.folder / "cases_test.py"
        path.write_text(CASES)
        text = self.expect(1, "1 passed, 3 failed, 1 skipped", "--e2e", path)
        for word in ("the reason", "again", "nothing there"):
            self.assertIn(word, text)
        self.assertNotIn("a word of its own", text)

    def test_a_file_of_cases_that_cannot_be_read_is_a_failure(self):
        path = self.folder / "cases_test.py"
        path.write_text("import no_such_module\n")
        text = self.expect(1, "0 passed, 1 failed", "--e2e", path)
        self.assertIn("no_such_module", text)

    def test_a_pattern_chooses(self):
        path = self.folder / "cases_test.py"
        path.write_text(CASES)
        self.expect(0, "1 passed, 0 failed", "-k", "good", "--e2e", path,
                    "--unit", self.script("echo ok one; echo ok two"))


if __name__ == "__main__":
    unittest.main()
