#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Signals reach the program as often as they would without the wrapper: from
terminals, from timeout(1), sent to one or to all."""
import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings, run  # noqa: E402

MILLISECONDS = 1500


class Wrapped:
    """A wrapped program that counts a signal."""

    def __init__(self, folder, number, prefix=()):
        self.folder = pathlib.Path(folder)
        self.clock = endings.Clock(folder)
        self.number = number
        self.command = [*map(str, prefix), str(run.WRAPPER), "-q", "-o",
                        str(self.folder / "profiles"), endings.program(),
                        str(self.clock.path), str(MILLISECONDS),
                        f"count={int(number)}"]
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("SPANPROF_", "LD_"))}


def counted(text):
    found = re.search(r"counted (\d+)", text)
    return int(found.group(1)) if found else None


class SignalsTest(unittest.TestCase):

    def check(self, fault, arguments=((),)):
        self.assertEqual(endings.every_time(fault, arguments), [])

    def count(self, number, send=None, prefix=()):
        """How many the program got, and the caller's status."""
        with run.temporary_folder() as folder:
            return self.count_of(Wrapped(folder, number, prefix), send)

    @staticmethod
    def count_of(wrapped, send):
        with subprocess.Popen(wrapped.command, env=wrapped.env, text=True,
                              stdout=subprocess.PIPE,
                              start_new_session=True) as process:
            wrapped.clock.wait_until_ms(300)
            if send:
                send(process.pid, wrapped.number)
            out, _ = process.communicate(timeout=run.PATIENCE_S)
        return counted(out), process.returncode

    def test_what_is_sent_to_the_wrapper_comes_once(self):
        def fault(number):
            result = self.count(number, os.kill)
            return None if result == (1, 0) else result
        self.check(fault, [(n,) for n in (
            signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
            signal.SIGUSR2, signal.SIGWINCH)])

    def test_what_is_sent_to_the_group_comes_once(self):
        def fault(number):
            result = self.count(number, os.killpg)
            return None if result == (1, 0) else result
        self.check(fault, [(n,) for n in (signal.SIGTERM, signal.SIGUSR1)])

    def test_one_after_the_other_comes_each_time(self):
        def send(pid, number):
            for kill in (os.kill, os.killpg, os.kill):
                kill(pid, number)
                time.sleep(0.2)

        def fault():
            result = self.count(signal.SIGUSR1, send)
            return None if result == (3, 0) else result
        self.check(fault)

    def test_timeout_ends_the_program_once(self):
        """It signals the wrapper, and then the whole group."""
        def fault():
            result = self.count(signal.SIGTERM, prefix=("timeout", "1"))
            return None if result == (1, 124) else result
        self.check(fault)

    def test_a_program_that_has_left_the_group_gets_them_too(self):
        def fault():
            with run.temporary_folder() as folder:
                wrapped = Wrapped(folder, signal.SIGTERM)
                # setsid(1) needs not fork: the supervisor leads the group.
                at = wrapped.command.index(endings.program())
                wrapped.command.insert(at, "setsid")
                result = self.count_of(wrapped, os.killpg)
            return None if result == (1, 0) else result
        self.check(fault)


class Terminal:
    """A program at a terminal of its own; everything it writes is kept."""

    def __init__(self, command, env):
        self.written = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        os.set_blocking(self.fd, False)
        self.status = None

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            self.written += os.read(self.fd, 65536)
        return self.written.decode(errors="replace")

    def wait_for(self, pattern):
        return run.wait_for(lambda: re.search(pattern, self.read()),
                            f"{pattern} in {self.written}")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        """The raw status; what is written meanwhile is read, or the terminal's
        buffer fills up."""
        def ended():
            self.read()
            pid, self.status = os.waitpid(self.pid, os.WNOHANG)
            return pid
        run.wait_for(ended, "the end")
        self.read()
        return self.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class TerminalTest(unittest.TestCase):

    def check(self, fault):
        self.assertEqual(endings.every_time(fault, [()]), [])

    def test_ctrl_c_comes_once(self):
        def fault():
            with run.temporary_folder() as folder:
                wrapped = Wrapped(folder, signal.SIGINT)
                with Terminal(wrapped.command, wrapped.env) as terminal:
                    wrapped.clock.wait_until_ms(300)
                    terminal.type("\x03")
                    status = terminal.wait()
                    number = counted(terminal.read())
                seen = endings.seen_ns(folder / "profiles")
            right = (status, number) == (0, 1) and seen > 10**9
            return None if right else (status, number, seen)
        self.check(fault)

    def test_ctrl_c_ends_the_wrapper_as_it_ends_the_program(self):
        """After it has delivered."""
        def fault():
            with run.temporary_folder() as folder:
                # Another signal is counted: SIGINT is at its default.
                wrapped = Wrapped(folder, signal.SIGUSR1)
                with Terminal(wrapped.command, wrapped.env) as terminal:
                    wrapped.clock.wait_until_ms(500)
                    terminal.type("\x03")
                    status = terminal.wait()
                clock = wrapped.clock.ns()
                seen = endings.seen_ns(folder / "profiles")
            right = os.WIFSIGNALED(status) and \
                os.WTERMSIG(status) == signal.SIGINT and \
                seen > endings.LEAST_SHARE * (clock - endings.PERIOD_NS)
            return None if right else (status, seen, clock)
        self.check(fault)

    def test_ctrl_z_stops_it_and_fg_lets_it_go_on(self):
        def fault():
            with run.temporary_folder() as folder:
                wrapped = Wrapped(folder, signal.SIGTERM)
                shell = ["bash", "--norc", "--noprofile", "-i"]
                with Terminal(shell, {**wrapped.env, "PS1": "ready> "}) as t:
                    t.wait_for("ready> $")
                    t.type(" ".join(wrapped.command) + "\n")
                    wrapped.clock.wait_until_ms(300)
                    t.type("\x1a")
                    t.wait_for("Stopped")
                    before = wrapped.clock.ns()
                    time.sleep(0.3)
                    stood = wrapped.clock.ns() == before
                    t.type("fg\n")
                    t.wait_for("counted 0")
                    t.type("exit\n")
                    t.wait()
                seen = endings.seen_ns(folder / "profiles")
            right = stood and \
                seen > endings.LEAST_SHARE * MILLISECONDS * 10**6
            return None if right else (stood, seen)
        self.check(fault)


class ParentTest(unittest.TestCase):
    """What a program inherits, it inherits through the wrapper."""

    def outcome(self, prefix, script, preexec):
        done = subprocess.run([*prefix, "sh", "-c", script],
                              preexec_fn=preexec, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              timeout=run.PATIENCE_S)
        return done.returncode, done.stdout

    def test_a_parent_that_ignores_sigchld_changes_nothing(self):
        """The wrapper learns the status, and the program ignores it, too."""
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with run.temporary_folder() as folder:
            wrapper = [str(run.WRAPPER), "-q", "-o", str(folder / "profiles")]
            for preexec in (ignore, None):
                plain, wrapped = (
                    self.outcome(prefix, "exec sh -c 'grep SigIgn "
                                 "/proc/$$/status; exit 7'", preexec)
                    for prefix in ([], wrapper))
                self.assertEqual(wrapped, plain)
                self.assertEqual(plain[0], 7)


if __name__ == "__main__":
    unittest.main()
