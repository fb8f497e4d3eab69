#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether profiles come while the program runs, not only at its end."""
import pathlib
import random
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, profile, run  # noqa: E402

DEFAULT_PATIENCE_S = 25


def profiles_in(folder):
    return sorted(folder.glob(f"*{profile.PROFILE_SUFFIX}")) \
        if folder.exists() else []


class PeriodicTest(unittest.TestCase):

    def keep_busy_until(self, port, done, patience_s):
        """Sends a request after the other until done() holds."""
        rng = random.Random(5)
        results = []

        def step():
            results.append(connection.exchange(burn.request(rng, 50000)))
            return done()
        with client.Connection(port) as connection:
            run.wait_for(step, "two profiles", patience_s)
        return results

    def started(self, folder, env=None):
        return run.Program([run.server("burn"), "--threads=2",
                            f"--log={folder / 'log'}"],
                           output=folder / "profiles", env=env)

    def test_after_25_seconds_two_profiles_are_there(self):
        with run.temporary_folder() as folder, \
                self.started(folder) as program:
            self.keep_busy_until(
                program.port(),
                lambda: len(profiles_in(folder / "profiles")) >= 2,
                DEFAULT_PATIENCE_S)
            self.assertIsNone(program.process.poll())
            program.stop()

    def test_each_file_is_whole_when_it_appears(self):
        with run.temporary_folder() as folder, \
                self.started(folder, {"SPANPROF_INTERVAL": "1s"}) as program:
            output = folder / "profiles"
            read = set()

            def three_were_read():
                for path in profiles_in(output):
                    profile.read_profile(path)
                    read.add(path)
                return len(read) >= 3
            self.keep_busy_until(program.port(), three_were_read,
                                 run.PATIENCE_S)
            self.assertIsNone(program.process.poll())
            program.stop()

    def test_what_was_sampled_survives_a_kill(self):
        with run.temporary_folder() as folder, \
                self.started(folder) as program:
            rng = random.Random(6)
            port = program.port()
            plan = [burn.request(rng, 40000) for _ in range(25)]
            results = client.run(port, [plan])
            self.assertEqual(program.stop(signal.SIGKILL), -signal.SIGKILL)
            output = profile.read(folder / "profiles")
            self.assertEqual(len(output.spans), len(results))
            self.assertGreater(output.cpu_ns, 0.9 * 25 * 40 * 10**6)


if __name__ == "__main__":
    unittest.main()
