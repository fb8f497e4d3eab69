#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one file of unittest cases and tells each test's outcome in a line, as
tests/lib/unit.c does in C: ok, FAIL or SKIP and the name, after whatever there
is to say about it.

    tests/lib/tell.py FILE [PATTERN]
"""
import importlib.util
import pathlib
import sys
import unittest


class Tell(unittest.TestResult):
    """Prints outcomes as they come."""

    def __init__(self):
        super().__init__()
        self.bad = False

    def startTest(self, test):
        super().startTest(test)
        self.bad = self.told = False

    def stopTest(self, test):
        super().stopTest(test)
        if self.bad:
            self._tell("FAIL", test)
        elif not self.told:
            self._tell("ok", test)

    def _tell(self, word, test):
        self.told = True
        print(word, test.id().replace(" ", "_"), flush=True)

    def _blame(self, test, text):
        self.bad = True
        print(text.rstrip(), flush=True)
        if not isinstance(test, unittest.TestCase):
            # setUpClass or the like: there is no test to be stopped.
            self._tell("FAIL", test)

    def addError(self, test, err):
        super().addError(test, err)
        self._blame(test, self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._blame(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            print(f"in {subtest}:")
            self._blame(test, self._exc_info_to_string(err, test))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._blame(test, "succeeds, though it is said to fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(reason)
        self._tell("SKIP", test)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main():
    path = pathlib.Path(sys.argv[1]).absolute()
    loader = unittest.TestLoader()
    if len(sys.argv) > 2:
        loader.testNamePatterns = [f"*{sys.argv[2]}*"]
    tests = loader.loadTestsFromModule(load(path))
    result = Tell()
    tests.run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
