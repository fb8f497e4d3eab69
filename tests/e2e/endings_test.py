#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever way a program ends, its profile is left and its status is its own."""
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings  # noqa: E402

SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL,
           signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
           signal.SIGKILL, signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE,
           signal.SIGXCPU, signal.SIGTRAP, signal.SIGSYS)


class EndingsTest(unittest.TestCase):

    def check(self, hows, milliseconds=endings.BURN_MS, times=1):
        """These endings in both shapes. `times` of the milliseconds are burnt."""
        statuses = {how: endings.bare_status(how) for how in hows}

        def fault(shape, how):
            outcome = endings.run_ending(shape, how, milliseconds)
            if outcome.clock_ns < times * milliseconds * 10**6:
                return f"ended after {outcome.clock_ns} ns"
            return outcome.fault(statuses[how])
        self.assertEqual(endings.every_time(
            fault, [(shape, how) for how in hows for shape in endings.SHAPES]),
            [])

    def test_ends_that_a_program_chooses(self):
        self.check(("return", "exit", "quick_exit", "_exit", "abort"))

    def test_the_program_becomes_another_one(self):
        self.check(("exec=/bin/true",
                    f"exec={endings.program('ends-static')}"))

    def test_the_main_thread_leaves_and_another_works_on(self):
        self.check(("thread",), times=2)

    def test_a_real_fault(self):
        self.check(("fault",))

    def test_every_signal(self):
        self.check([f"raise={int(number)}" for number in SIGNALS])


if __name__ == "__main__":
    unittest.main()
