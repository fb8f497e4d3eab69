# SPDX-License-Identifier: Apache-2.0
"""Follows the signal handler through the linked library: what its tree of
calls reaches, and how much stack the deepest path takes. Frames are taken from
the call frame information that the compiler wrote: the largest distance between
the canonical frame address and the stack pointer, return address included. Below
the last frame lies the red zone, which functions that call nothing use unasked.
"""
import bisect
import re
import subprocess

from checks import library

ROOT = "handle_sig"
MOST_STACK_BYTES = 1024
RED_ZONE_BYTES = 128  # System V psABI for x86-64, 3.2.2

# Calls through a pointer that are known, by function: the first one of another
# thread, on that one's stack; and that of the program's own handler, which is
# also found where the compiler inlines it.
POINTER_CALLS = {"arch_clone_raw": 1, "pass_on_sig": 2, "handle_sig": 2}

LABEL = re.compile(r"^([0-9a-f]{16}) <(.+)>:$")
BRANCH = re.compile(r"^ *[0-9a-f]+:\t(?:\w+ )?(call|j\w+) +([0-9a-f]+) <")
INDIRECT = re.compile(r"^ *[0-9a-f]+:\t(?:\w+ )*(?:call|jmp) +\*")
RANGE = re.compile(r" FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)$")
FRAME = re.compile(r"^[0-9a-f]{16} (\S+)")


class Routine:
    """A function of the linked library."""

    def __init__(self, address, name):
        self.address = address
        self.name = name
        self.targets = set()
        self.pointer_calls = 0
        self.uses_fs = False
        self.frame_bytes = None

    @property
    def is_foreign(self):
        return "@plt" in self.name


class Tree:
    """The library's functions and their calls, by address."""

    def __init__(self, path):
        self.routines = []
        self._read_code(path)
        self._starts = [r.address for r in self.routines]
        self._read_frames(path)

    def _read_code(self, path):
        done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path],
                              stdout=subprocess.PIPE, check=True, text=True)
        for line in done.stdout.splitlines():
            if match := LABEL.match(line):
                self.routines.append(Routine(int(match.group(1), 16),
                                             match.group(2)))
            elif match := BRANCH.match(line):
                self.routines[-1].targets.add((match.group(1) == "call",
                                               int(match.group(2), 16)))
            elif INDIRECT.match(line):
                self.routines[-1].pointer_calls += 1
            if "%fs" in line:
                self.routines[-1].uses_fs = True

    def routine_at(self, address):
        return self.routines[bisect.bisect(self._starts, address) - 1]

    def _read_frames(self, path):
        routine = None
        for line in library.read("--debug-dump=frames-interp", path):
            if match := RANGE.search(line):
                routine = self.routine_at(int(match.group(1), 16))
                # Without rows of its own it has that of its CIE.
                self._grow(routine, "rsp+8")
            elif " CIE " in line:
                routine = None
            elif routine and (match := FRAME.match(line)):
                self._grow(routine, match.group(1))

    @staticmethod
    def _grow(routine, rule):
        """A frame address that isn't told by the stack pointer makes the
        frame's size unknown: infinite."""
        known = re.fullmatch(r"rsp\+(\d+)", rule)
        size = int(known.group(1)) if known else float("inf")
        routine.frame_bytes = max(routine.frame_bytes or 0, size)

    def callees(self, routine):
        """Where it goes: all its calls, and jumps to elsewhere. What lies
        behind the linkage table is not ours."""
        if routine.is_foreign:
            return set()
        return {callee for is_call, target in routine.targets
                if (callee := self.routine_at(target)) is not routine
                or is_call}

    def root(self):
        return next((r for r in self.routines if r.name == ROOT), None)

    def reached(self):
        """All that the handler's calls reach, itself included."""
        found, waiting = set(), [self.root()]
        while waiting:
            routine = waiting.pop()
            if routine not in found:
                found.add(routine)
                waiting += self.callees(routine)
        return found

    def deepest(self, routine, above=()):
        """The bytes and the names of the path that needs most stack. A path
        that meets itself has no end."""
        if routine in above:
            return float("inf"), [routine.name]
        best = (0, [])
        for callee in self.callees(routine):
            best = max(best, self.deepest(callee, (*above, routine)))
        if routine.is_foreign:
            return 0, [routine.name]
        if routine.frame_bytes is None:
            return float("inf"), [routine.name]
        return routine.frame_bytes + best[0], [routine.name, *best[1]]


def _stray_violations(tree):
    found = []
    for routine in sorted(tree.reached(), key=lambda r: r.name):
        if routine.is_foreign:
            found.append(f"reaches libc: {routine.name}")
        elif routine.pointer_calls > POINTER_CALLS.get(routine.name, 0):
            found.append(f"{routine.name} calls through a pointer")
        if routine.uses_fs:
            found.append(f"{routine.name} reads %fs")
    return found


def _stack_violations(tree):
    size, names = tree.deepest(tree.root())
    size += RED_ZONE_BYTES
    if size <= MOST_STACK_BYTES:
        return []
    return [f"{size} bytes of stack, more than {MOST_STACK_BYTES}: "
            + " > ".join(names)]


def check(path):
    """Pairs (statement, violations)."""
    tree = Tree(path)
    if not tree.root():
        return [("handler_is_found", [f"no function {ROOT} in {path}"])]
    return [("handler_reaches_neither_libc_nor_fs_nor_pointers",
             _stray_violations(tree)),
            ("handler_takes_one_kib_of_stack_at_most",
             _stack_violations(tree))]
