#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever way a program ends, its profile is left and its status is its own."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings, run  # noqa: E402

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

    def test_cores_are_the_programs(self):
        """One core, of the program; who started it is told of it, but for the
        wrapper's caller, who is told the signal alone."""
        def allow_cores():
            _, most = resource.getrlimit(resource.RLIMIT_CORE)
            resource.setrlimit(resource.RLIMIT_CORE, (most, most))

        def end(folder, prefix, env):
            process = subprocess.Popen(
                [*prefix, endings.program(), str(folder / "clock"), "50",
                 "abort"], cwd=folder, env={**os.environ, **env},
                preexec_fn=allow_cores, stderr=subprocess.DEVNULL)
            _, status = os.waitpid(process.pid, 0)
            process.returncode = 0
            run.wait_for(lambda: not run.exporters_about(folder),
                         "the exporter's end")
            cores = len(list(folder.glob("core*")))
            return os.WTERMSIG(status), os.WCOREDUMP(status), cores

        def ended(prefix, env):
            with run.temporary_folder() as folder:
                return end(folder, prefix, {
                    **env, "SPANPROF_OUTPUT": str(folder / "profiles")})
        plain = ended([], {})
        self.assertEqual(plain[0], signal.SIGABRT)
        self.assertEqual(ended([], {"LD_PRELOAD": str(run.PRELOAD)}), plain)
        number, _, cores = ended([str(run.WRAPPER), "-q"], {})
        self.assertEqual((number, cores), (plain[0], plain[2]))

    def test_every_signal(self):
        self.check([f"raise={int(number)}" for number in SIGNALS])


if __name__ == "__main__":
    unittest.main()
