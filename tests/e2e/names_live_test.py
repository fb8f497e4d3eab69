#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are sampled while their files are deleted, replaced, in memory,
in another root, of the same name, or generated: true names or placeholders."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import addresses, built, profile, run  # noqa: E402

SECONDS = "2"

WORK = """
#include <stdint.h>
static uint64_t {name}(uint64_t n)
{{
	uint64_t sum = n;
	for (uint64_t i = 0; i < n; i++)
		sum = sum * {factor} + (sum >> 7) * i;
	return sum;
}}
__attribute__((noinline)) uint64_t work(uint64_t n) {{ return {name}(n) + 1; }}
"""

RUN_FROM_MEMORY = """
import os, sys
fd = os.memfd_create("program")
with open(sys.argv[1], "rb") as file:
    os.sendfile(fd, file.fileno(), 0, os.fstat(file.fileno()).st_size)
os.execve(fd, ["program", *sys.argv[2:]], os.environ)
"""

FIBONACCI = """
function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
const begin = process.cpuUsage();
while (process.cpuUsage(begin).user < 2e6) fibonacci(25);
"""

UNKNOWN = "[unknown]"

Location = collections.namedtuple("Location", "mapping address frames cpu_ns")


def needed(path):
    """The files that the loader maps for a program or library."""
    text = subprocess.run(["ldd", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return set(re.findall(r"(/\S+) \(0x", text))


def locations(folder):
    """The places of all profiles, with the CPU time of those that are
    leaves."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*" + profile.PROFILE_SUFFIX)):
        message = profile.decode(path)
        text = message.string_table
        cpu = collections.Counter()
        for sample in message.sample:
            cpu[sample.location_id[0]] += sample.value[1]
        for location in message.location:
            mapping = text[message.mapping[location.mapping_id - 1].filename] \
                if location.mapping_id else ""
            frames = []
            for line in location.line:
                function = message.function[line.function_id - 1]
                frames.append(addresses.Frame(
                    text[function.name], text[function.system_name],
                    text[function.filename], line.line))
            found.append(Location(mapping, location.address, frames,
                                  cpu[location.id]))
    return found


class Live(unittest.TestCase):
    def setUp(self):
        run.need("addr2line", "llvm-symbolizer")
        folder = run.temporary_folder(public=True)
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)
        self.out = self.folder / "out"

    def program(self, *argv, **options):
        """One window: what comes in late is in it all the same."""
        return run.Program(argv, output=self.out,
                           env={"SPANPROF_INTERVAL": "15s"}, **options)

    def check(self, found, truth):
        """The places of a program are those that others find."""
        self.assertGreater(sum(l.cpu_ns for l in found), 10**9)
        # Others have no names for stubs.
        named = {l.address: l.frames for l in found
                 if not l.frames[0].name.endswith("@plt")}
        verdict = addresses.Verdict(named, truth, sorted(named))
        # Frames of the C library's start code have no lines.
        self.assertEqual(verdict.wrong, [])
        self.assertGreaterEqual(verdict.counts["lines"], 0.9 * len(named))

    def of(self, mapping):
        return [l for l in locations(self.out) if l.mapping == str(mapping)]


class FilesThatAreNotThere(Live):
    def run_and(self, do):
        """Starts a program, does something to its file, and lets it end."""
        truth = built.cpp(self.folder, "truth")
        path = shutil.copy(truth, self.folder / "program")
        with self.program(path, SECONDS) as program:
            run.wait_for(lambda: run.executable(program.pid()) == str(path),
                         "the program")
            do(path)
            self.assertEqual(program.wait(), 0)
        return truth, path

    def test_a_program_that_stays_is_named(self):
        truth, path = self.run_and(lambda path: None)
        self.check(self.of(path), truth)

    def test_a_deleted_program_is_named(self):
        truth, path = self.run_and(lambda path: path.unlink())
        self.check(self.of(path), truth)

    def test_a_replaced_program_keeps_its_names(self):
        other = built.cpp(self.folder, "other", "-O1", "-DOTHER")
        truth, path = self.run_and(lambda path: os.rename(other, path))
        self.check(self.of(path), truth)

    def test_a_program_from_memory_is_named(self):
        truth = built.cpp(self.folder, "truth")
        with self.program(run.PYTHON, "-c", RUN_FROM_MEMORY, truth,
                          SECONDS) as program:
            self.assertEqual(program.wait(), 0)
        self.check(self.of("/memfd:program"), truth)
        everything = profile.read(self.out)
        names = {n for s in everything.samples for n in s.stack}
        self.assertEqual([n for n in names if "(deleted)" in n], [])

    def test_a_program_in_another_root_is_named(self):
        """With what it needs there: libraries, ours too, and /proc."""
        truth = built.cpp(self.folder, "truth", "-static-libstdc++",
                          "-static-libgcc")
        root = self.folder / "root"
        for path in needed(truth) | needed(run.PRELOAD) | {str(run.PRELOAD)}:
            there = root / path[1:]
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there)
        shutil.copy(truth, root / "inside")
        (root / "proc").mkdir()
        unshare, chroot = run.need("unshare", "chroot")
        script = f"""mount -t proc proc {root}/proc &&
            exec {run.WRAPPER} -q -o {self.out} -- \
                {chroot} {root} /inside {SECONDS}"""
        with run.Program([unshare, "-m", "/bin/sh", "-c", script],
                         how="plain") as program:
            self.assertEqual(program.wait(), 0, program.stderr)
        self.check(self.of("/inside"), truth)

    def work(self, file, name, factor):
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(WORK.format(name=name, factor=factor))
        return path

    def test_libraries_of_one_name_are_never_mixed_up(self):
        libraries, truth = [], {}
        for name, factor in (("burn_left", 3), ("burn_right", 5)):
            source = self.work(f"{name}/work.c", name, factor)
            libraries.append(built.c(source.parent, "libwork.so", "-shared",
                                     "-fPIC", sources=[source]))
            truth[str(libraries[-1])] = name
        twins = built.c(self.folder, "twins",
                        sources=[built.SOURCES / "twins.c"])
        with self.program(twins, SECONDS, *libraries) as program:
            run.wait_for(lambda: "ready" in program.stdout, "the libraries")
            libraries[1].unlink()
            self.assertEqual(program.wait(), 0)
        for library, name in truth.items():
            found = self.of(library)
            self.assertGreater(sum(l.cpu_ns for l in found), 5 * 10**8)
            for location in found:
                self.assertEqual(location.frames[0].name, name)
                self.assertEqual(location.frames[0].file,
                                 str(self.folder / name / "work.c"))


class GeneratedCode(Live):
    def setUp(self):
        super().setUp()
        self.generated = built.c(self.folder, "generated",
                                 sources=[built.SOURCES / "generated.c"])

    def run_map(self, text, root=None, before=""):
        """CPU time by name of code that is in no file."""
        source = self.folder / "map"
        source.write_text(text)
        script = f'{before}exec "$0" {SECONDS} {root or ""} < "$1"'
        with self.program("/bin/sh", "-c", script, self.generated,
                          source) as program:
            pid = program.pid()
            self.assertEqual(program.wait(), 0)
        pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)
        cpu = collections.Counter()
        for location in locations(self.out):
            if not location.mapping:
                cpu[location.frames[0].name] += location.cpu_ns
        return cpu

    def check_named(self, cpu, first, second):
        self.assertGreater(cpu[first], 5 * 10**8, cpu)
        self.assertGreater(cpu[second], 5 * 10**8, cpu)
        self.assertLess(cpu[UNKNOWN], 10**8, cpu)

    def check_nameless(self, cpu):
        self.assertGreater(cpu[UNKNOWN], 10**9, cpu)
        self.assertEqual([n for n in cpu if n in ("a", "b")], [])

    def test_a_perf_map_names_it(self):
        self.check_named(self.run_map("%A %L LazyCompile:*a b.js:1\n%B %L b\n"),
                         "LazyCompile:*a b.js:1", "b")

    def test_what_was_written_last_holds(self):
        cpu = self.run_map("%A %L a\n%B %L b\n%A %L a again\n")
        self.check_named(cpu, "a again", "b")
        self.assertNotIn("a", cpu)

    def test_half_a_line_is_no_line(self):
        cpu = self.run_map("%A %L a\n%B %L b\n%A %L unfinish")
        self.check_named(cpu, "a", "b")

    def test_lines_that_make_no_sense_are_passed_over(self):
        self.check_named(
            self.run_map("\nx y z\n%A\n%A %L\n0 0 z\n-1 -1 n\n%A %L a\n"
                         "ffffffffffffffff ffffffffffffffff f\n%B %L b\n"),
            "a", "b")

    def test_a_map_in_another_root_names_it(self):
        root = self.folder / "root"
        (root / "tmp").mkdir(parents=True)
        self.check_named(self.run_map("%A %L a\n%B %L b\n", root), "a", "b")

    def test_a_link_is_not_followed(self):
        target = self.folder / "target"
        self.check_nameless(self.run_map(
            "%A %L a\n%B %L b\n", before=f"ln -s {target} /tmp/perf-$$.map; "))
        self.assertTrue(target.exists())

    def test_without_a_map_it_is_unknown(self):
        self.check_nameless(self.run_map(""))

    def test_node_in_a_pid_namespace_of_its_own_is_named(self):
        """Its map bears the number that it has there."""
        node, unshare = run.need("node", "unshare")
        script = self.folder / "fibonacci.js"
        script.write_text(FIBONACCI)
        with run.Program([unshare, "-pfm", "--mount-proc", run.WRAPPER, "-q",
                          "-o", self.out, "--", node, "--perf-basic-prof",
                          script], how="plain", cwd=self.folder) as program:
            self.assertEqual(program.wait(), 0, program.stderr)
        for path in pathlib.Path("/tmp").glob("perf-?.map"):
            if "fibonacci.js" in path.read_text(errors="replace"):
                path.unlink()
        cpu = collections.Counter()
        for location in locations(self.out):
            cpu[location.frames[0].name.split(" ")[0]] += location.cpu_ns
        self.assertGreater(cpu["JS:*fibonacci"], 10**9, cpu)


if __name__ == "__main__":
    unittest.main()
