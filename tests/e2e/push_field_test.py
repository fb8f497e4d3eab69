#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose server is slow, dead or wrong: they do what they do without
us, end when they end without us, and what was sampled arrives."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import own_network, run  # noqa: E402
from lib.recorder import Answer, Recorder  # noqa: E402

AT_ONCE = 4
# What a program may end later by us: under a bare preload it waits for
# nothing, the wrapper for the last delivery (3 s, 5 s in all). With slack.
PRELOAD_S, WRAPPER_S = 3, 9

BURN = """
import ctypes, os, signal, sys, time
while time.process_time() < {seconds}:
    sum(range(500))
print(time.process_time(), flush=True)
"""


def at_once(function, rows):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda row: function(*row), rows))


class ForkTest(unittest.TestCase):
    THREADS, CHILDREN = 8, 500

    def test_children_of_a_program_whose_server_is_slow_do_not_hang(self):
        """The server has a name, which is to be looked up, and takes two
        seconds for each push."""
        for how in ("run", "preload"):
            with self.subTest(how), Recorder() as server:
                server.always = Answer(200, delay_s=2, keep=True)
                env = {"SPANPROF_SERVER": server.url.replace("127.0.0.1",
                                                             "localhost"),
                       "SPANPROF_INTERVAL": "1s"}
                argv = [run.server("forks"), str(self.THREADS),
                        str(self.CHILDREN)]
                with run.Program(argv, how=how, env=env) as program:
                    self.assertEqual(program.wait(120), 0)
                    self.assertEqual(
                        program.stdout,
                        f"{self.THREADS * self.CHILDREN} children\n")


class StreamsTest(unittest.TestCase):
    """Standard output and error are the program's."""

    COMMANDS = {
        "a shell in a shell":
            ["bash", "-lc", "x=$(printf t | tr t x); echo $x; echo e >&2"],
        "make": ["make", "--no-print-directory", "-j4", "-f", "-", "all"],
        "a clone over a pipe":
            ["git", "clone", "-q", "--no-local", ".", "clone"],
        "frames of a child": [run.PYTHON, "-c", """
import struct, subprocess, sys
child = '''
import struct, sys
for text in (b"a" * 70000, b"", b"b"):
    sys.stdout.buffer.write(struct.pack("<I", len(text)) + text)
'''
data = subprocess.run([sys.executable, "-c", child], stdout=-1).stdout
at = 0
while at < len(data):
    size, = struct.unpack_from("<I", data, at)
    at += 4 + size
    print(size)
"""],
        "no standard error": ["sh", "-c", "exec 2>&-; exec ls -d ."],
        "some work": [run.PYTHON, "-c", BURN.format(seconds=0.3) +
                      "os.close(1)"],
    }
    MAKEFILE = b"all: a b c\na b c:\n\t@echo $@ >> log; cc --version | wc -l\n"

    def troubles(self, folder):
        nobody = f"http://127.0.0.1:{run.free_port()}"
        return {
            "dead server": {"SPANPROF_SERVER": nobody},
            "server that is no URL": {"SPANPROF_SERVER": "pyroscope:4040"},
            "values without sense": {
                "SPANPROF_RATE": "x", "SPANPROF_INTERVAL": "-1",
                "SPANPROF_LABELS": "=,=", "SPANPROF_LOG_LEVEL": "loud",
                "PYROSCOPE_HTTP_HEADERS": "{", "SPANPROF_SERVER": nobody},
            "log that can't be written": {
                "SPANPROF_SERVER": nobody, "SPANPROF_LOG": "/proc/none/x"},
            "log that is a folder": {
                "SPANPROF_SERVER": nobody, "SPANPROF_LOG": str(folder)},
        }

    def run_command(self, command, env, wrapper=()):
        with run.temporary_folder() as folder:
            subprocess.run(["git", "init", "-q", str(folder)], check=True)
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("SPANPROF_", "LD_"))}
            # What is printed of the time is none of the comparison's.
            done = subprocess.run([*wrapper, *command], cwd=folder,
                                  env={**environment, **env},
                                  input=self.MAKEFILE, timeout=60,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            left = sorted(path.name for path in folder.iterdir())
            output = [line for line in done.stdout.split(b"\n")
                      if not line.startswith(b"0.")]
            return done.returncode, output, done.stderr, left

    def test_streams_and_folders_are_those_without_us(self):
        commands = list(self.COMMANDS)
        plain = dict(zip(commands, at_once(
            self.run_command, [(self.COMMANDS[c], {}) for c in commands])))
        with run.temporary_folder() as folder:
            rows = [(command, trouble, env, how)
                    for command in commands
                    for trouble, env in self.troubles(folder).items()
                    for how in ("preload", "run")]

            def try_one(command, trouble, env, how):
                # By which its exporter is found, too.
                run_mark = f"{folder} {command} {trouble}"
                if how == "run":
                    return self.run_command(self.COMMANDS[command], env, (
                        str(run.WRAPPER), "-q", "--"))
                return self.run_command(self.COMMANDS[command], {
                    **env, "LD_PRELOAD": str(run.PRELOAD),
                    "SPANPROF_RUN": run_mark})
            results = at_once(try_one, rows)
            run.wait_for(lambda: not run.exporters_about(folder),
                         "the exporters' end")
            for (command, trouble, _, how), ours in zip(rows, results):
                with self.subTest(command=command, trouble=trouble, how=how):
                    status, output, errors, left = ours
                    if trouble == "server that is no URL":
                        left = [n for n in left if n != "spanprof.out"]
                    self.assertEqual((status, output, errors, left),
                                     plain[command])


class EndTest(unittest.TestCase):

    def end(self, url, how):
        """How long a program that worked takes to end when it is told to."""
        script = BURN.format(seconds=0.3) + "time.sleep(60)"
        with run.Program([run.PYTHON, "-c", script], how=how, env={
                "SPANPROF_SERVER": url}) as program:
            run.wait_for(lambda: program.stdout, "the work")
            pid = program.pid()
            began = time.monotonic()
            os.kill(pid, signal.SIGTERM)
            status = program.process.wait(run.PATIENCE_S)
            took_s = time.monotonic() - began
            program.wait()
            return status, took_s

    def test_no_server_delays_an_end(self):
        def all_of_them():
            with Recorder() as never, Recorder() as slow, \
                    own_network.silent_name_server(), \
                    own_network.black_hole() as hole:
                never.always = Answer(fault="never")
                slow.always = Answer(fault="slow")
                rows = [(url, how) for how in ("preload", "run") for url in (
                    never.url, slow.url, f"http://127.0.0.1:{hole}",
                    "http://pyroscope.test")]
                return rows, at_once(self.end, rows)

        rows, results = own_network.call(all_of_them)
        for (url, how), (status, took_s) in zip(rows, results):
            with self.subTest(url=url, how=how):
                self.assertEqual(status, -signal.SIGTERM)
                self.assertLess(took_s, PRELOAD_S if how == "preload"
                                else WRAPPER_S)


class LastProfileTest(unittest.TestCase):
    """Whichever way a program ends, the server gets what it used."""
    LEAST = 0.9
    WAYS = {
        "return": ("", 0),
        "exit": ("sys.exit(3)", 3),
        "_exit": ("os._exit(4)", 4),
        "quick_exit": ("ctypes.CDLL(None).quick_exit(5)", 5),
        "abort": ("os.abort()", -signal.SIGABRT),
        "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        "SIGTERM, handled": (
            "signal.signal(signal.SIGTERM, lambda *_: os._exit(6));"
            "os.kill(os.getpid(), signal.SIGTERM)", 6),
        "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        "SIGSEGV": ("ctypes.string_at(8)", -signal.SIGSEGV),
        "exec": ("os.execv('/bin/true', ['true'])", 0),
    }

    def end_so(self, way, how):
        code, _ = self.WAYS[way]
        script = BURN.format(seconds=1) + code
        with Recorder() as server, run.temporary_folder() as folder:
            with run.Program([run.PYTHON, "-c", script], how=how, cwd=folder,
                             env={"SPANPROF_SERVER": server.url}) as program:
                status = program.wait()
                used_ns = float(program.stdout.split()[0]) * 1e9
            return status, server.cpu_ns / used_ns, server.refusals

    def test_the_last_profile_arrives(self):
        rows = [(way, how) for way in self.WAYS for how in ("run", "preload")]
        for (way, how), result in zip(rows, at_once(self.end_so, rows)):
            with self.subTest(way=way, how=how):
                status, share, refusals = result
                self.assertEqual(status, self.WAYS[way][1])
                self.assertEqual(refusals, [])
                self.assertGreater(share, self.LEAST)
                # The program's clock was read before its end.
                self.assertLess(share, 1.3)


if __name__ == "__main__":
    unittest.main()
