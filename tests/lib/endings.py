# SPDX-License-Identifier: Apache-2.0
"""Programs that end, and what is left of their profiles.

The program burns CPU time in one function and leaves its clock in a file, which
survives every death. So what arrived can be held against what was used."""
import concurrent.futures
import dataclasses
import os
import pathlib
import struct

from lib import profile, run

FUNCTION = "burn_until_the_end"
SHAPES = ("run", "preload")
# How often each ending is tried; `make endings` tries more.
TIMES = int(os.environ.get("SPANPROF_ENDINGS", "3"))
# More than there are processors: the end of an exporter is mostly waiting.
AT_A_TIME = 6
LEAST_SHARE = 0.95
MOST_SHARE = 1.05
BURN_MS = int(os.environ.get("SPANPROF_ENDINGS_MS", "500"))
# A period and a tick: what no sample shows yet when a program is killed.
PERIOD_NS = 14 * 10**6
FOR_EVER_MS = 1000000


def program(name="ends"):
    return run.server(name)


class Clock:
    """What the program's CPU clock said last, in ns."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "clock"

    def ns(self):
        try:
            return struct.unpack("Q", self.path.read_bytes())[0]
        except (OSError, struct.error):
            return 0

    def wait_until_ms(self, wanted):
        run.wait_for(lambda: self.ns() >= wanted * 10**6,
                     f"{wanted} ms of CPU time")


@dataclasses.dataclass
class Outcome:
    status: int     # as the caller sees it
    clock_ns: int
    seen_ns: int    # in the function that burns
    stdout: str
    stderr: str
    log: str

    def fault(self, status, lost_ns=0):
        """What is wrong, or None: the profile holds what was burnt, but for
        so much at most."""
        if self.status != status:
            return f"status {self.status}, not {status}: {self.stderr}"
        least = LEAST_SHARE * (self.clock_ns - PERIOD_NS - lost_ns)
        most = MOST_SHARE * self.clock_ns + PERIOD_NS
        if not least < self.seen_ns < most:
            return f"{self.seen_ns} of {self.clock_ns} ns are seen: {self.log}"
        return None


def seen_ns(folder):
    if not pathlib.Path(folder).exists():
        return 0
    return sum(s.cpu_ns for s in profile.read(folder).samples
               if FUNCTION in s.stack)


def read_text(path):
    return path.read_text() if path.exists() else ""


def run_ending(shape, how, milliseconds=BURN_MS, act=None, env=None):
    """Runs the program to its end. act(program, clock) is called meanwhile."""
    with run.temporary_folder() as folder:
        clock = Clock(folder)
        log = folder / "log"
        argv = [program(), clock.path, milliseconds, how]
        with run.Program(argv, output=folder / "profiles", how=shape,
                         env={"SPANPROF_LOG": str(log),
                              **(env or {})}) as started:
            if act:
                act(started, clock)
            status = started.wait()
            return Outcome(status, clock.ns(), seen_ns(folder / "profiles"),
                           started.stdout, started.stderr, read_text(log))


def bare_status(how, milliseconds=1):
    """How the program ends without us."""
    with run.temporary_folder() as folder, \
            run.Program([program(), folder / "clock", milliseconds, how],
                        how="plain") as started:
        return started.wait()


def in_parallel(function, arguments):
    """The results of function(*a) for each a, in their order."""
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(lambda a: function(*a), arguments))


def every_time(function, arguments):
    """Each of them as often as is to be tried; returns the faults that
    function(*a) tells (falsy: none)."""
    tried = [a for _ in range(TIMES) for a in arguments]
    return [(a, fault) for a, fault in zip(tried, in_parallel(function, tried))
            if fault]


def _is_exporter(pid):
    """Not its keeper, whose command line is the same, nor a helper of it."""
    try:
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return name == "spanprof-export" and \
        words[1] in (b"--supervised", b"--detached")


def exporter_of(program_of_ours):
    """The exporter's pid; None while there is none."""
    return next((pid for pid in program_of_ours.survivors()
                 if _is_exporter(pid)), None)


def wait_for_exporter(program_of_ours, other_than=None):
    def find():
        pid = exporter_of(program_of_ours)
        return pid if pid != other_than else None
    return run.wait_for(find, "an exporter")
