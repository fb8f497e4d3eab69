#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program behaves as if the agent were not there, whether the agent works or
not."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import profile, run  # noqa: E402

BURN = """
import time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))
"""


class Ways:
    """How a command is run: plain, by the wrapper, by a bare preload."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.count = 0

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SPANPROF_", "LD_"))}
        env.update(more)
        return env

    def output(self):
        self.count += 1
        return self.folder / f"profiles-{self.count}"

    def plain(self, command, **options):
        return self.finish(command, self.environment(), **options)

    def wrapped(self, command, **options):
        return self.finish([str(run.WRAPPER), "-q", "-o", str(self.output()),
                            "--", *command], self.environment(), **options)

    def preloaded(self, command, library=run.PRELOAD, more=None, **options):
        env = self.environment(LD_PRELOAD=str(library),
                               SPANPROF_OUTPUT=str(self.output()))
        env.update(more or {})
        return self.finish(command, env, **options)

    @staticmethod
    def finish(command, env, **options):
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60, **options)
        return done.returncode, done.stdout, done.stderr


class GuestTest(unittest.TestCase):

    def setUp(self):
        folder = run.temporary_folder()
        self.folder = pathlib.Path(folder.__enter__())
        self.addCleanup(folder.__exit__, None, None, None)
        self.addCleanup(self.await_exporters)
        self.ways = Ways(self.folder)

    def await_exporters(self):
        """They would make the folder again."""
        run.wait_for(lambda: not run.exporters_about(self.folder),
                     "the exporters' end")

    def same_in_all_ways(self, command, **options):
        plain = self.ways.plain(command, **options)
        self.assertEqual(self.ways.wrapped(command, **options), plain)
        self.assertEqual(self.ways.preloaded(command, **options), plain)
        return plain

    def test_every_exit_status_is_the_programs(self):
        for status in (0, 1, 2, 42, 125, 126, 127, 128, 200, 255):
            with self.subTest(status):
                code, _, _ = self.same_in_all_ways(
                    ["/bin/sh", "-c", f"exit {status}"])
                self.assertEqual(code, status)

    def test_death_by_a_signal_is_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV,
                       signal.SIGABRT, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(number):
                code, _, _ = self.same_in_all_ways(
                    ["/bin/sh", "-c", f"ulimit -c 0; kill -{int(number)} $$"])
                self.assertEqual(code, -number)

    def test_output_bytes_are_the_same(self):
        script = BURN + "burn(0.15)\nimport sys\n" \
            "sys.stdout.buffer.write(bytes(range(256)) * 100)\n" \
            "sys.stderr.write('a line\\n')"
        self.same_in_all_ways([run.PYTHON, "-c", script])

    def test_input_is_the_programs(self):
        self.same_in_all_ways(["/bin/cat"], input=b"some bytes\0more" * 1000)

    def test_descriptors_are_the_same(self):
        code, listed, _ = self.same_in_all_ways(
            ["/bin/sh", "-c", "ls /proc/self/fd; exec 3</dev/null; ls "
             "/proc/self/fd"])
        self.assertEqual(code, 0)
        self.assertEqual(listed.split()[:4], [b"0", b"1", b"2", b"3"])

    def test_no_child_appears_that_the_program_did_not_make(self):
        script = "import os\ntry:\n    os.wait()\n" \
            "except ChildProcessError:\n    print('none')"
        _, out, _ = self.same_in_all_ways([run.PYTHON, "-c", script])
        self.assertEqual(out, b"none\n")

    def test_a_program_that_is_not_there_is_127(self):
        code, out, err = self.ways.wrapped(["/no/such/program"])
        self.assertEqual((code, out), (127, b""))
        self.assertIn(b"/no/such/program", err)

    def test_a_program_that_cannot_be_run_is_126(self):
        code, _, err = self.ways.wrapped(["/etc/passwd"])
        self.assertEqual(code, 126)
        self.assertIn(b"/etc/passwd", err)

    def test_the_wrapper_tells_wrong_options(self):
        for options in (["--no-such"], ["--output"], []):
            with self.subTest(options):
                done = subprocess.run([str(run.WRAPPER), *options],
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 125)
                self.assertIn(b"spanprof-run", done.stderr)
                self.assertEqual(done.stdout, b"")

    def copied_library(self, exporter=None):
        home = self.folder / "alone"
        home.mkdir()
        library = home / "libspanprof.so"
        shutil.copy(run.PRELOAD, library)
        if exporter is not None:
            (home / "spanprof-exporter").write_text(exporter)
        return library

    def check_without_exporter(self, library):
        log = self.folder / "log"
        command = [run.PYTHON, "-c", BURN + "burn(0.1); print('done')"]
        result = self.ways.preloaded(command, library,
                                     {"SPANPROF_LOG": str(log)})
        self.assertEqual(result, (0, b"done\n", b""))
        self.assertIn("exporter", log.read_text())

    def test_without_an_exporter_the_program_runs(self):
        self.check_without_exporter(self.copied_library())

    def test_with_an_exporter_that_is_not_executable_the_program_runs(self):
        library = self.copied_library(exporter="")
        (library.parent / "spanprof-exporter").chmod(0o644)
        self.check_without_exporter(library)

    def test_an_unwritable_folder_harms_nothing(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        log = self.folder / "log"
        code, out, err = self.ways.preloaded(
            [run.PYTHON, "-c", BURN + "burn(0.3); print('done')"],
            more={"SPANPROF_OUTPUT": str(blocker / "below"),
                  "SPANPROF_LOG": str(log), "SPANPROF_INTERVAL": "1s"})
        self.assertEqual((code, out, err), (0, b"done\n", b""))
        run.wait_for(lambda: log.exists() and "cannot write" in log.read_text(),
                     "the line in the log")

    def test_each_bad_value_gets_one_line(self):
        log = self.folder / "log"
        bad = {"SPANPROF_RATE": "fast", "SPANPROF_INTERVAL": "1h",
               "SPANPROF_SPANS": "some", "SPANPROF_OUTPUT_MAX": "-1",
               "SPANPROF_LOG_LEVEL": "loud", "SPANPROF_DISABLED": "perhaps"}
        code, _, err = self.ways.preloaded(
            [run.PYTHON, "-c", BURN + "burn(0.2)"],
            more={**bad, "SPANPROF_LOG": str(log)})
        self.assertEqual((code, err), (0, b""))
        run.wait_for(lambda: log.exists() and
                     log.read_text().count("\n") >= len(bad), "the log")
        lines = log.read_text().splitlines()
        for name, value in bad.items():
            about = [line for line in lines if f'{name}="{value}"' in line]
            self.assertEqual(len(about), 1, name)
            self.assertRegex(about[0], r"using \S+")

    def test_when_disabled_nothing_happens(self):
        for more in ({"SPANPROF_DISABLED": "true"},
                     {"SPANPROF_ENABLED": "false"}):
            output = self.folder / "none"
            more["SPANPROF_OUTPUT"] = str(output)
            self.ways.preloaded([run.PYTHON, "-c", BURN + "burn(0.2)"],
                                more=more)
            self.assertFalse(output.exists())

    def test_every_thread_follows_a_change_of_user(self):
        if os.geteuid() != 0:
            run.skip("needs root")
        script = BURN + """
import os, glob
burn(0.2)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
burn(0.2)
for task in sorted(glob.glob('/proc/self/task/*/status')):
    for line in open(task):
        if line.startswith(('Uid', 'Gid', 'CapEff', 'Groups')):
            print(line.strip().replace('\\t', ' '))
"""
        output = self.folder / "profiles"
        output.mkdir(mode=0o777)
        code, out, _ = self.ways.preloaded(
            [run.PYTHON, "-c", script], more={"SPANPROF_OUTPUT": str(output)})
        self.assertEqual(code, 0)
        lines = out.decode().splitlines()
        self.assertGreaterEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"Uid: (65534 ?){4}|Gid: (65534 ?){4}|"
                             r"CapEff: 0+$|Groups:\s*$")

    def test_forked_workers_are_told_apart_and_counted_once(self):
        script = BURN + """
import os
for _ in range(3):
    if os.fork() == 0:
        burn(0.4)
        os._exit(0)
for _ in range(3):
    os.wait()
burn(0.2)
"""
        output = self.folder / "profiles"
        with run.Program([run.PYTHON, "-c", script], output=output) as program:
            self.assertEqual(program.wait(), 0)
        cpu_ns = {}
        for sample in profile.read(output).samples:
            cpu_ns[sample.pid] = cpu_ns.get(sample.pid, 0) + sample.cpu_ns
        self.assertEqual(len(cpu_ns), 4)
        self.assertAlmostEqual(sum(cpu_ns.values()) / 1.42e9, 1, delta=0.1)

    def test_commands_of_a_script_join_one_exporter(self):
        script = f"for i in 1 2 3; do {run.PYTHON} -c '{BURN}burn(0.2)'; done"
        output = self.folder / "profiles"
        with run.Program(["/bin/sh", "-c", script], output=output) as program:
            self.assertEqual(program.wait(), 0)
        samples = profile.read(output).samples
        self.assertGreaterEqual(len({s.pid for s in samples}), 3)
        self.assertEqual(len(list(output.glob("*.pb.gz"))), 1)

    def test_every_real_time_signal_is_the_programs(self):
        script = BURN + """
import os, signal
numbers = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
hits = []
for number in numbers:
    assert signal.getsignal(number) == signal.SIG_DFL, number
    signal.signal(number, lambda number, frame: hits.append(number))
burn(0.3)
print('unsent', hits)
for number in numbers:
    os.kill(os.getpid(), number)
burn(0.01)
print('sent', sorted(hits) == list(numbers))
for number in numbers:
    signal.signal(number, signal.SIG_DFL)
burn(0.3)
for number in numbers:
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), number)
        os._exit(0)
    print(number, os.waitpid(child, 0)[1])
"""
        code, out, _ = self.same_in_all_ways([run.PYTHON, "-c", script])
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith(b"unsent []\nsent True\n"))

    def test_handlers_are_read_back_as_they_were_set(self):
        """Also of the signals of which we learn that they came."""
        script = """
import ctypes, signal
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.sigaction.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p]
hits = []
first, second = (ctypes.CFUNCTYPE(None, ctypes.c_int)(hits.append)
                 for _ in range(2))
one, two = (ctypes.cast(f, ctypes.c_void_p).value for f in (first, second))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1):
    was = libc.signal(number, one)
    print(libc.signal(number, two) == one, libc.signal(number, 1) == two,
          libc.signal(number, one) == 1)
    old = ctypes.create_string_buffer(256)
    libc.sigaction(number, None, old)
    print(int.from_bytes(old.raw[:8], 'little') == one)
    libc.sigaction(number, old.raw, old)
    print(int.from_bytes(old.raw[:8], 'little') == one)
    signal.raise_signal(number)
    libc.signal(number, was)
print(hits)
"""
        code, out, _ = self.same_in_all_ways([run.PYTHON, "-c", script])
        self.assertEqual(code, 0)
        self.assertNotIn(b"False", out)

    def test_no_way_of_setting_a_signal_ends_the_program(self):
        """A default disposition under a live timer would."""
        script = BURN + """
import ctypes, signal
libc = ctypes.CDLL(None)
for name in ('signal', 'bsd_signal', 'ssignal', 'sysv_signal', 'sigset',
             '__sysv_signal', 'sigignore'):
    for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
        getattr(libc, name)(number, ctypes.c_void_p(0))
    burn(0.1)
print('alive')
"""
        _, out, _ = self.same_in_all_ways([run.PYTHON, "-c", script])
        self.assertEqual(out, b"alive\n")

    def test_time_before_exec_is_counted_once(self):
        script = BURN + """
import os, sys
burn(0.5)
left = int(sys.argv[1])
if left:
    os.execv(sys.executable, [sys.executable, '-c', sys.argv[2],
                              str(left - 1), sys.argv[2]])
""".replace("burn(0.5)", "t = time.process_time(); burn(0.5)")
        output = self.folder / "profiles"
        with run.Program([run.PYTHON, "-c", script, "3", script],
                         output=output) as program:
            self.assertEqual(program.wait(), 0)
        told = sum(s.cpu_ns for s in profile.read(output).samples)
        # Four times 0.5 s, and the starts of four interpreters.
        self.assertGreater(told, 1.9e9)
        self.assertLess(told, 2.45e9)

    def test_who_waits_for_a_connection_has_done_with_the_last(self):
        """A response that ends with its connection, which stays open."""
        script = """
import socket, time, zlib
listener = socket.create_server(('127.0.0.1', 0))
def connect():
    client = socket.create_connection(listener.getsockname())
    return client, listener.accept()[0]
client, server = connect()
client.sendall(b'GET /open HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')
server.recv(1000)
server.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\nan answer without an end')
second = connect()
end = time.process_time() + 0.4
while time.process_time() < end:
    zlib.compress(bytes(range(256)) * 2000, 9)
"""
        output = self.folder / "profiles"
        with run.Program([run.PYTHON, "-c", script], output=output) as program:
            self.assertEqual(program.wait(), 0)
        later = [s for s in profile.read(output).samples
                 if any("deflate" in name for name in s.stack)]
        self.assertGreater(sum(s.cpu_ns for s in later), 0.1e9)
        self.assertEqual([s for s in later if s.span_id], [])

    def test_a_thread_that_blocks_all_signals_is_sampled(self):
        script = BURN + """
import signal
everything = signal.valid_signals()
before = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
burn(0.5)
now = signal.pthread_sigmask(signal.SIG_SETMASK, before)
print(sorted(before), sorted(now), sorted(signal.sigpending()))
"""
        self.same_in_all_ways([run.PYTHON, "-c", script])
        output = self.folder / "profiles"
        with run.Program([run.PYTHON, "-c", script], output=output) as program:
            self.assertEqual(program.wait(), 0)
        seen = sum(s.cpu_ns for s in profile.read(output).samples
                   if not s.unsampled)
        self.assertGreater(seen, 0.4e9)

    def test_a_signal_sent_to_the_wrapper_reaches_the_program(self):
        script = "import signal, sys, time\n" \
            "signal.signal(signal.SIGTERM, lambda *a: sys.exit(33))\n" \
            "print('ready', flush=True)\ntime.sleep(30)"
        process = subprocess.Popen(
            [str(run.WRAPPER), "-q", "-o", str(self.ways.output()),
             run.PYTHON, "-c", script], env=self.ways.environment(),
            stdout=subprocess.PIPE)
        with process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.terminate()
            self.assertEqual(process.wait(20), 33)

    def test_valgrind_runs_a_preloaded_program(self):
        valgrind, = run.need("valgrind")
        code, out, _ = self.ways.preloaded([valgrind, "-q", "/bin/echo", "hi"])
        self.assertEqual((code, out), (0, b"hi\n"))

    def test_the_sampler_thread_holds_no_descriptor_open(self):
        """The other end of a pipe sees the end when the program closes it."""
        script = BURN + """
import os
burn(0.3)
os.close(1)
time.sleep(3)
"""
        env = self.ways.environment(LD_PRELOAD=str(run.PRELOAD),
                                    SPANPROF_OUTPUT=str(self.ways.output()))
        process = subprocess.Popen([run.PYTHON, "-c", script], env=env,
                                   stdout=subprocess.PIPE)
        with process:
            process.stdout.read()
            still_there = process.poll() is None
        self.assertTrue(still_there)


class InstallTest(unittest.TestCase):

    def test_installed_by_its_bare_name_from_any_folder(self):
        with run.temporary_folder() as folder:
            prefix = pathlib.Path(folder) / "prefix"
            subprocess.run(
                ["make", "-s", "-C", str(run.ROOT), "install",
                 f"PREFIX={prefix}", "DESTDIR=/", f"B={run.BUILD}"],
                check=True, stdout=subprocess.DEVNULL)
            env = Ways(folder).environment(
                LD_LIBRARY_PATH=str(prefix / "lib"),
                LD_PRELOAD="libspanprof.so")
            work = pathlib.Path(folder) / "work"
            work.mkdir()
            done = subprocess.run([run.PYTHON, "-c", BURN + "burn(0.3)"],
                                  env=env, cwd=work, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.check_result(prefix, work / "spanprof.out")
            self.check_wrapper(prefix, work)

    def check_result(self, prefix, output):
        run.wait_for(lambda: list(output.glob("*.pb.gz")), "the profile")
        shown = subprocess.run([str(prefix / "bin" / "spanprof"), "top",
                                str(output)], stdout=subprocess.PIPE,
                               check=True)
        self.assertRegex(shown.stdout.decode(), r"\d+ samples")

    def check_wrapper(self, prefix, work):
        done = subprocess.run([str(prefix / "bin" / "spanprof-run"), "-o",
                               "wrapped", run.PYTHON, "-c", BURN + "burn(0.3)"],
                              cwd=work, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(re.search(rb"\d+ samples", done.stderr))
        self.assertTrue(list((work / "wrapped").glob("*.pb.gz")))


if __name__ == "__main__":
    unittest.main()
