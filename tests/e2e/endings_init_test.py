#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As PID 1 of a container: how it ends, what is delivered before a kill, and
that nobody finds a child that he didn't make."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import endings, run  # noqa: E402

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
if os.geteuid() != 0:
    UNSHARE[1:1] = ["--map-root-user"]

# What docker stop's kill may cost: a window of a second, and its last pass.
KILL_COSTS_NS = 1300 * 10**6
STATUS = 7


class Container:
    """A program in a pid namespace of its own. With spanprof-run the supervisor
    is PID 1, else the program."""

    def __init__(self, folder, shape, argv):
        self.folder = pathlib.Path(folder)
        self.clock = endings.Clock(folder)
        self.output = self.folder / "profiles"
        self.log = self.folder / "log"
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SPANPROF_", "LD_"))}
        env.update(SPANPROF_OUTPUT=str(self.output),
                   SPANPROF_LOG=str(self.log))
        if shape == "run":
            command = [str(run.WRAPPER), "-q", *argv]
        else:
            command = ["env", f"LD_PRELOAD={run.PRELOAD}", *argv]
        self.process = subprocess.Popen(
            [*UNSHARE, *map(str, command)], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def first(self):
        """PID 1, as it is called outside."""
        return run.wait_for(lambda: run.children(self.process.pid),
                            "PID 1")[0]

    def exporters(self):
        return run.exporters_about(self.output)

    def wait(self):
        out, err = self.process.communicate(timeout=run.PATIENCE_S)
        run.wait_for(lambda: not self.exporters(), "the exporter's end")
        return self.process.returncode, out, err


def in_container(shape, how, milliseconds, act=None):
    with run.temporary_folder() as folder:
        clock = endings.Clock(folder)
        argv = [endings.program(), clock.path, milliseconds, how]
        with Container(folder, shape, argv) as container:
            if act:
                act(container)
            status, out, err = container.wait()
        return endings.Outcome(status, clock.ns(),
                               endings.seen_ns(folder / "profiles"), out, err,
                               endings.read_text(folder / "log"))


class InitTest(unittest.TestCase):

    def setUp(self):
        run.need("unshare")

    def check(self, fault, arguments):
        self.assertEqual(endings.every_time(fault, arguments), [])

    def test_a_supervisor_that_is_pid_1_ends_as_a_shell_would_say(self):
        def fault(how, status):
            return in_container("run", how, endings.BURN_MS).fault(status)
        self.check(fault, [("exit", STATUS),
                           (f"raise={int(signal.SIGTERM)}", 128 + 15),
                           ("fault", 128 + 11)])

    def test_it_passes_sigterm_on(self):
        def fault():
            def act(container):
                container.clock.wait_until_ms(300)
                os.kill(container.first(), signal.SIGTERM)
            return in_container("run", f"on={int(signal.SIGTERM)}",
                                endings.FOR_EVER_MS, act).fault(33)
        self.check(fault, [()])

    def test_it_waits_for_no_daemon(self):
        def fault():
            outcome = in_container("run", "daemon", endings.FOR_EVER_MS)
            return None if outcome.status == 0 else outcome
        self.check(fault, [()])

    def test_what_was_burnt_a_second_before_a_kill_is_there(self):
        """docker stop: SIGTERM, and SIGKILL when the program doesn't end."""
        def fault(shape):
            def act(container):
                container.clock.wait_until_ms(1000)
                os.kill(container.first(), signal.SIGTERM)
                container.clock.wait_until_ms(3500)
                os.kill(container.first(), signal.SIGKILL)
            outcome = in_container(shape, f"count={int(signal.SIGTERM)}",
                                   endings.FOR_EVER_MS, act)
            # What unshare makes of the kill is its own affair.
            return outcome.fault(outcome.status, KILL_COSTS_NS)
        self.check(fault, [(shape,) for shape in endings.SHAPES])

    def test_orphans_are_reaped_by_a_supervisor(self):
        script = "for i in 1 2 3 4 5; do (sh -c : & ); done; sleep 0.5; " \
            "cat /proc/[0-9]*/stat | grep -c ' Z ' || :"
        with run.temporary_folder() as folder, \
                Container(folder, "run", ["sh", "-c", script]) as container:
            status, out, err = container.wait()
        self.assertEqual((status, out.strip()), (0, "0"), err)


WAITS = """
import os, signal, sys, time
died = []
signal.signal(signal.SIGCHLD, lambda *_: died.append(1))
def wait_all(wait):
    found = []
    while True:
        try:
            found.append(wait())
        except ChildProcessError:
            return found
def child(status):
    pid = os.fork()
    if pid == 0:
        os._exit(status)
    return pid
deadline = time.monotonic() + float(sys.argv[1])
while time.monotonic() < deadline and not any(
        open(f'/proc/{p}/comm').read().startswith('spanprof-keeper')
        for p in os.listdir('/proc') if p.isdigit()):
    pass
print(os.getpid(), 'nobody', wait_all(os.wait), died)
print('at once', wait_all(lambda: os.waitpid(-1, os.WNOHANG)))
print('by id', wait_all(lambda: os.waitid(os.P_ALL, 0, os.WEXITED)))
pids = [child(3), child(3)]
print('two', sorted(p for p, _ in wait_all(os.wait)) == sorted(pids))
pid = child(4)
print('one', wait_all(lambda: os.wait3(0)[:2]) == [(pid, 4 << 8)])
"""


class ChildrenTest(unittest.TestCase):
    """The keeper of a program that is PID 1 is its child."""

    def setUp(self):
        run.need("unshare")

    def waits(self, seconds, prefix=()):
        with run.temporary_folder() as folder, \
                Container(folder, "preload" if seconds else "plain",
                          [*prefix, run.PYTHON, "-c", WAITS, seconds]) as c:
            status, out, err = c.wait()
        self.assertEqual(status, 0, err)
        return out

    def test_a_program_that_is_pid_1_finds_its_own_children_alone(self):
        """Waits for any child, blocking and not, by pid and by id, also of a
        program that became another one."""
        expected = "1 nobody [] []\nat once []\nby id []\ntwo True\n" \
            "one True\n"
        self.assertEqual(self.waits(10), expected)
        self.assertEqual(self.waits(10, ("sh", "-c", 'exec "$@"', "sh")),
                         expected)


if __name__ == "__main__":
    unittest.main()
