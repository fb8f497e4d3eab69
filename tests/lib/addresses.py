# SPDX-License-Identifier: Apache-2.0
"""What code addresses of ELF files are called: by us, and by two programs that
are not ours.

binutils' addr2line is the judge. It errs in two ways (2.40): it gives the
innermost of several inlined functions the name of the outermost when that one
has no linkage name, and takes the unit's main file for the file of a function's
first lines. Where it says something else than we do, LLVM's symbolizer must say
the same as we do.
"""
import bisect
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import run  # noqa: E402

TOOL = run.BUILD / "drivers" / "names"

# One level of an address. `symbol` is the mangled name, None if not told.
Frame = collections.namedtuple("Frame", "name symbol file line")

PLACEHOLDER = re.compile(r"\[[^\]]+\+0x[0-9a-f]+\]$")
# A part of a function that the compiler named after the whole.
CLONE = re.compile(r"( \[clone [^\]]*\]|"
                   r"\.(cold|part|isra|constprop|localalias)(\.\d+)*)+$")
LONGEST_NAME = 500


def _run(command, addresses, **options):
    text = "".join(f"{address:x}\n" for address in addresses)
    return subprocess.run(list(map(str, command)), input=text, text=True,
                          check=True, stdout=subprocess.PIPE, **options).stdout


class Symbols:
    """The functions in a file's symbol table, from `nm`."""

    def __init__(self, path):
        text = subprocess.run(["nm", "-S", str(path)], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        found = re.findall(r"^(\w+) (\w+) [tTwWi] (\S+)$", text, re.M)
        self.functions = sorted((int(start, 16), int(size, 16), name)
                                for start, size, name in found
                                if int(size, 16))
        self.starts = [start for start, _, _ in self.functions]

    def choose(self, count, seed):
        """Different addresses inside of functions, everywhere alike."""
        chance = random.Random(seed)
        sizes = [size for _, size, _ in self.functions]
        chosen = set()
        for _ in range(40):
            for start, size, _ in chance.choices(self.functions, sizes,
                                                 k=count):
                chosen.add(start + chance.randrange(size))
        return sorted(chance.sample(sorted(chosen),
                                    min(count, len(chosen))))

    def names_at(self, address):
        """All of them, versions left out."""
        names, i = set(), bisect.bisect_right(self.starts, address)
        while i and address - self.starts[i - 1] < 1 << 20:
            start, size, name = self.functions[i - 1]
            if address < start + size:
                names.add(name.split("@")[0])
            i -= 1
        return names


def ours(path, addresses, mapped_as=None, pid=None, env=None):
    """{address: [Frame, ...]} as a profile has them, and the counts of
    nameless ones."""
    command = [TOOL, path] + ([mapped_as] if mapped_as else []) + \
        ([pid] if pid else [])
    env = dict(os.environ, SPANPROF_EXPORTER_PROGRAM=str(run.EXPORTER),
               **(env or {}))
    named = {}
    for line in _run(command, addresses, env=env,
                     stderr=subprocess.DEVNULL).splitlines():
        address, *fields = line.split("\t")
        named[int(address, 16)] = [
            Frame(fields[i], fields[i + 1], fields[i + 2], int(fields[i + 3]))
            for i in range(0, len(fields), 5)]
    return named


def addr2line(path, addresses):
    lines = _run(["addr2line", "-i", "-f", "-C", "-a", "-e", path],
                 addresses).splitlines()
    named, frames, i = {}, None, 0
    while i < len(lines):
        if re.fullmatch("0x[0-9a-f]{16}", lines[i]):
            frames = named.setdefault(int(lines[i], 16), [])
            i += 1
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", lines[i + 1])
        file, _, line = place.rpartition(":")
        frames.append(Frame(lines[i], None, "" if file == "??" else file,
                            int(line) if line.isdigit() else 0))
        i += 2
    return named


def llvm(path, addresses):
    text = subprocess.run(
        ["llvm-symbolizer", "--no-demangle", "--inlines",
         "--output-style=JSON", f"--obj={path}"],
        input="".join(f"0x{address:x}\n" for address in addresses), text=True,
        check=True, stdout=subprocess.PIPE).stdout
    named = {}
    for line in text.splitlines():
        entry = json.loads(line)
        named[int(entry["Address"], 16)] = [
            Frame(None, frame["FunctionName"], frame["FileName"],
                  frame["Line"]) for frame in entry["Symbol"]]
    return named


def _same_place(mine, other):
    """Where there is no line a file from the symbol table says nothing."""
    if not mine.file:
        return other.line == 0
    return mine.line == other.line and \
        os.path.normpath(mine.file) == os.path.normpath(other.file)


def _same_name(mine, other):
    if other.symbol is None:
        return (CLONE.sub("", mine.name)[:LONGEST_NAME]
                == CLONE.sub("", other.name)[:LONGEST_NAME])
    return CLONE.sub("", mine.symbol) == CLONE.sub("", other.symbol)


def agree(mine, others, aliases=()):
    """Whether two chains are the same; the outermost function may bear any of
    its names."""
    if len(mine) != len(others):
        return False
    for i, (a, b) in enumerate(zip(mine, others)):
        outermost = i + 1 == len(mine)
        if not _same_place(a, b) or not (
                _same_name(a, b) or (outermost and a.symbol in aliases)):
            return False
    return True


def is_placeholder(frames):
    return len(frames) == 1 and PLACEHOLDER.match(frames[0].name) is not None


class Verdict:
    """How ours compare to the judges', for one file."""

    def __init__(self, named, truth_path, addresses):
        symbols = Symbols(truth_path)
        first, second = (judge(truth_path, addresses)
                         for judge in (addr2line, llvm))
        self.counts = collections.Counter()
        self.wrong = []
        for address in addresses:
            mine = named.get(address, [])
            aliases = symbols.names_at(address)
            if agree(mine, first[address], aliases):
                self.counts["first"] += 1
            elif agree(mine, second.get(address, []), aliases):
                self.counts["second"] += 1
            else:
                self.wrong.append((hex(address), mine, first[address],
                                   second.get(address)))
            self.counts["inlined"] += len(mine) > 1
            self.counts["lines"] += all(f.line for f in mine)
