#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long an end may take, what it costs the program, and what the shortest
programs leave."""
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings, profile, run  # noqa: E402

STATUS = 7
BURN_MS = 300
# README.md: within 2 s when all is well, within 5 s when a server isn't; and
# room for a machine that is busy.
WELL_S = 2
DEAD_S = 5
ROOM_S = 3


@contextlib.contextmanager
def silent_server(answer_bytes_a_second=0):
    """Accepts, and never answers; or answers a byte a second. Yields the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()
        kept = []

        def drip(connection):
            with contextlib.suppress(OSError):
                while not ended.wait(1):
                    connection.send(b"H")

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    kept.append(connection)
                    if answer_bytes_a_second:
                        threading.Thread(target=drip, args=(connection,),
                                         daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for connection in kept:
                connection.close()


class BoundsTest(unittest.TestCase):

    def seconds_after_the_end(self, env):
        """From the program's end to the wrapper's."""
        times = {}

        def act(program, clock):
            pid = program.pid()
            run.wait_for(lambda: not run.is_alive(pid), "the program's end")
            began = time.monotonic()
            program.process.wait(run.PATIENCE_S)
            times["took"] = time.monotonic() - began
        outcome = endings.run_ending("run", "exit", BURN_MS, act, env)
        self.assertEqual(outcome.status, STATUS)
        return times["took"]

    def check(self, bound_s, env):
        self.assertLess(self.seconds_after_the_end(env), bound_s + ROOM_S)

    def test_files_are_there_soon_after_the_end(self):
        self.check(WELL_S, {})

    def test_a_server_that_is_a_black_hole(self):
        self.check(DEAD_S, {"SPANPROF_SERVER": "http://10.255.255.1:4040"})

    def test_a_server_that_never_answers(self):
        with silent_server() as url:
            self.check(DEAD_S, {"SPANPROF_SERVER": url})

    def test_a_server_that_answers_a_byte_a_second(self):
        with silent_server(1) as url:
            self.check(DEAD_S, {"SPANPROF_SERVER": url})

    def test_a_resolver_that_never_answers(self):
        """In a mount namespace with another resolv.conf."""
        if os.geteuid() != 0:
            run.skip("needs root")
        run.need("unshare", "mount")
        with run.temporary_folder() as folder, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
            # Port 53 of an address of ours that nobody else has.
            resolver.bind(("127.0.0.77", 53))
            conf = folder / "resolv.conf"
            conf.write_text("nameserver 127.0.0.77\n")
            script = f"mount --bind {conf} /etc/resolv.conf && exec \"$@\""
            clock = endings.Clock(folder)
            command = ["unshare", "--mount", "sh", "-c", script, "sh",
                       str(run.WRAPPER), "-q", "--server",
                       "http://no.such.host.example:4040", "-o",
                       str(folder / "profiles"), endings.program(),
                       str(clock.path), str(BURN_MS), "exit"]
            process = subprocess.Popen(command)
            clock.wait_until_ms(BURN_MS)
            began = time.monotonic()
            self.assertEqual(process.wait(run.PATIENCE_S), STATUS)
            self.assertLess(time.monotonic() - began, DEAD_S + ROOM_S)
            run.wait_for(lambda: not run.exporters_about(folder),
                         "the exporter's end")


class CostTest(unittest.TestCase):

    def calls_after_the_last_word(self, env):
        """System calls of the program between its last write and its end."""
        with run.temporary_folder() as folder:
            trace = folder / "trace"
            environment = {k: v for k, v in os.environ.items()
                           if not k.startswith(("SPANPROF_", "LD_"))}
            environment.update(env(folder))
            words = [f"--env={k}={v}" for k, v in environment.items()
                     if k.startswith(("SPANPROF_", "LD_"))]
            subprocess.run(["strace", "-o", str(trace), *words, "/bin/sh",
                            "-c", "echo last"], env={
                                k: v for k, v in environment.items()
                                if not k.startswith("LD_")},
                           stdout=subprocess.DEVNULL, check=True)
            run.wait_for(lambda: not run.exporters_about(folder),
                         "the exporter's end")
            lines = trace.read_text().splitlines()
        last = max(i for i, line in enumerate(lines) if '"last\\n"' in line)
        end = next(i for i, line in enumerate(lines) if "exit_group(" in line)
        return [re.sub(r"\(.*", "", line) for line in lines[last + 1:end]]

    def test_the_end_of_a_preloaded_program_waits_for_nobody(self):
        """It reads a few clocks."""
        run.need("strace")
        calls = self.calls_after_the_last_word(
            lambda folder: {"LD_PRELOAD": str(run.PRELOAD),
                            "SPANPROF_OUTPUT": str(folder / "profiles")})
        others = [c for c in calls
                  if c not in ("clock_gettime", "gettid", "getpid")]
        self.assertEqual(others, [])
        self.assertLess(len(calls), 20)


class ShortTest(unittest.TestCase):

    def test_programs_that_end_at_their_first_sample_have_their_stacks(self):
        """They end before they could tell what is mapped."""
        times = 40
        with run.temporary_folder() as folder:
            script = f"for i in $(seq {times}); do rm -f {folder}/clock; " \
                f"{endings.program()} {folder}/clock 11 _exit; done"
            with run.Program(["sh", "-c", script],
                             output=folder / "profiles") as program:
                self.assertEqual(program.wait(), STATUS)
            samples = [s for s in profile.read(folder / "profiles").samples
                       if not s.unsampled]
        seen = sum(s.cpu_ns for s in samples)
        known = sum(s.cpu_ns for s in samples
                    if "[unknown]" not in s.stack)
        self.assertGreater(seen, times * 5 * 10**6)
        self.assertGreater(known / seen, 0.98)


if __name__ == "__main__":
    unittest.main()
