#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What happens when one of us ends: the program goes on, as it would without
us, and the profile comes all the same."""
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings, run  # noqa: E402

# Of the program's CPU time: long enough for a start of an exporter.
LONG_MS = 3000
KILL_MS = 1200
STATUS = 7

# The wrapper's bounds: 5 s for a delivery and as long for an exporter that is
# stuck; and room for a machine that is busy.
STUCK_BOUND_S = 25


def kill_exporter(number, at_ms):
    """An act for run_ending: sends these signals, one to each exporter."""
    def act(program, clock):
        last = None
        for milliseconds in at_ms:
            clock.wait_until_ms(milliseconds)
            last = endings.wait_for_exporter(program, other_than=last)
            os.kill(last, number)
    return act


class ExporterTest(unittest.TestCase):

    def check(self, fault, arguments):
        self.assertEqual(endings.every_time(fault, arguments), [])

    def test_an_exporter_that_is_killed_is_replaced_and_nothing_is_lost(self):
        def fault(shape, number):
            outcome = endings.run_ending(shape, "exit", LONG_MS,
                                         kill_exporter(number, [KILL_MS]))
            if "takes its place" not in outcome.log:
                return f"no second exporter: {outcome.log}"
            return outcome.fault(STATUS)
        self.check(fault, [(shape, number) for shape in endings.SHAPES
                           for number in (signal.SIGKILL, signal.SIGSEGV)])

    def test_a_program_that_dies_with_its_exporter_leaves_its_profile(self):
        def fault(shape):
            def act(program, clock):
                clock.wait_until_ms(KILL_MS)
                os.kill(endings.wait_for_exporter(program), signal.SIGKILL)
                os.kill(program.pid(), signal.SIGKILL)
            outcome = endings.run_ending(shape, "exit", endings.FOR_EVER_MS,
                                         act)
            return outcome.fault(-signal.SIGKILL)
        self.check(fault, [(shape,) for shape in endings.SHAPES])

    def test_an_exporter_that_dies_again_and_again_is_given_up(self):
        """And the program's end is its own all the same."""
        def fault(shape):
            outcome = endings.run_ending(
                shape, "exit", 6000, kill_exporter(signal.SIGKILL, [300] * 6))
            told = outcome.log + outcome.stderr
            if told.count("died 6 times within a minute") != 1:
                return f"not told once: {told}"
            return None if outcome.status == STATUS else outcome.status
        self.assertEqual(endings.in_parallel(
            fault, [(shape,) for shape in endings.SHAPES]), [None, None])

    def test_the_program_outlives_its_supervisor(self):
        def fault(whom):
            def act(program, clock):
                clock.wait_until_ms(300)
                program.pid()
                whom(program.process.pid, signal.SIGKILL)
            outcome = endings.run_ending("run", "exit", 1500, act)
            return outcome.fault(-signal.SIGKILL)
        self.check(fault, [(os.kill,)])

    def test_the_profile_outlives_the_whole_group(self):
        def fault(shape):
            def act(program, clock):
                clock.wait_until_ms(KILL_MS)
                os.killpg(program.process.pid, signal.SIGKILL)
            outcome = endings.run_ending(shape, "exit", endings.FOR_EVER_MS,
                                         act)
            return outcome.fault(-signal.SIGKILL)
        self.check(fault, [(shape,) for shape in endings.SHAPES])

    def test_an_exporter_that_is_stopped_keeps_nobody_for_ever(self):
        def fault(shape):
            took = []

            def act(program, clock):
                clock.wait_until_ms(300)
                stopped = endings.wait_for_exporter(program)
                os.kill(stopped, signal.SIGSTOP)
                os.kill(program.pid(), signal.SIGTERM)
                began = time.monotonic()
                status = program.process.wait(run.PATIENCE_S)
                took.append(time.monotonic() - began)
                if run.is_alive(stopped):
                    os.kill(stopped, signal.SIGCONT)
                if status != -signal.SIGTERM:
                    raise run.Failed(f"status {status}")
            endings.run_ending(shape, "exit", endings.FOR_EVER_MS, act)
            return took[0] if took[0] > STUCK_BOUND_S else None
        self.check(fault, [(shape,) for shape in endings.SHAPES])

    def test_a_daemon_is_profiled_to_its_end(self):
        """The wrapper stays for as long."""
        def fault(shape):
            clock_then = []

            def act(program, clock):
                program.process.wait(run.PATIENCE_S)
                clock_then.append(clock.ns())
            outcome = endings.run_ending(shape, "daemon", 1000, act)
            if shape == "run" and clock_then[0] < 1000 * 10**6:
                return f"the wrapper left at {clock_then[0]} ns"
            return outcome.fault(0)
        self.check(fault, [(shape,) for shape in endings.SHAPES])


if __name__ == "__main__":
    unittest.main()
