#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses of code bear the function, file and line, and the whole chain of
inlined calls, that other tools find; or a placeholder; never a wrong name."""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import addresses, built, run  # noqa: E402

SEED = 20
ADDRESSES = 1200


class Case(unittest.TestCase):
    def setUp(self):
        run.need("addr2line", "llvm-symbolizer")
        folder = run.temporary_folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)

    def chosen(self, truth):
        chosen = addresses.Symbols(truth).choose(ADDRESSES, SEED)
        self.assertGreaterEqual(len(chosen), 1000)
        return chosen

    def check(self, path, truth=None, env=None, inlined=0.2, first=0.75):
        """All names of `path` are those of `truth`, the same program with its
        debug information."""
        truth = truth or path
        chosen = self.chosen(truth)
        named = addresses.ours(path, chosen, env=env)
        verdict = addresses.Verdict(named, truth, chosen)
        self.assertEqual(verdict.wrong, [])
        counts, every = verdict.counts, len(chosen)
        self.assertGreaterEqual(counts["first"], first * every, counts)
        self.assertGreaterEqual(counts["inlined"], inlined * every, counts)

    def check_nameless(self, path, truth, env=None):
        """Hidden functions have no names, and no lines."""
        chosen = self.chosen(truth)
        for address, frames in addresses.ours(path, chosen, env=env).items():
            self.assertTrue(addresses.is_placeholder(frames),
                            (hex(address), frames))
            self.assertEqual((frames[0].file, frames[0].line), ("", 0))

    def stripped(self, path, *more):
        """A stripped copy, and the file with what was taken away."""
        copy, debug = self.folder / "stripped", self.folder / "program.debug"
        built.objcopy("--only-keep-debug", path, debug)
        built.objcopy("--strip-all", *more, path, copy)
        return copy, debug


class InTheFileItself(Case):
    def test_c_is_named_to_the_line(self):
        self.check(built.c(self.folder, "program"))

    def test_dwarf_4_is_read(self):
        self.check(built.c(self.folder, "program", "-gdwarf-4", "-O3"))

    def test_a_non_pie_program_is_named_to_the_line(self):
        self.check(built.c(self.folder, "program", "-no-pie"))

    def test_compressed_sections_are_read(self):
        self.check(built.c(self.folder, "program", "-gz=zlib"))

    def test_link_time_optimisation_is_read(self):
        self.check(built.c(self.folder, "program", "-flto"))

    def test_cpp_is_named_to_the_line(self):
        self.check(built.cpp(self.folder, "program"), inlined=0.5)

    def test_cpp_of_clang_is_named_to_the_line(self):
        run.need("clang++")
        self.check(built.cpp(self.folder, "program", compiler="clang++"),
                   inlined=0.5, first=0.6)

    def test_rust_is_named_to_the_line(self):
        self.check(built.rust(self.folder, "program"), inlined=0.4)

    def test_common_parts_of_dwz_are_read(self):
        run.need("dwz")
        first = built.cpp(self.folder, "program", "-gdwarf-4")
        second = built.cpp(self.folder, "other", "-gdwarf-4", "-O1")
        truth = shutil.copy(first, self.folder / "truth")
        subprocess.run(["dwz", "-m", self.folder / "common", first, second],
                       check=True)
        sections = subprocess.run(["readelf", "-SW", first], check=True,
                                  text=True, stdout=subprocess.PIPE).stdout
        self.assertIn(".gnu_debugaltlink", sections)
        self.check(first, truth, inlined=0.5)

    def test_split_dwarf_gives_functions_and_lines_of_the_main_file(self):
        """Inlined calls stand in the .dwo file, which isn't looked for."""
        path = built.c(self.folder, "program", "-gsplit-dwarf",
                         "-dumpdir", f"{self.folder}/")
        chosen = self.chosen(path)
        truth = addresses.llvm(path, chosen)
        symbols = addresses.Symbols(path)
        for address, frames in addresses.ours(path, chosen).items():
            self.assertEqual(len(frames), 1)
            self.assertIn(frames[0].symbol, symbols.names_at(address))
            self.assertEqual(frames[0].line, truth[address][0].line)

    def test_symbols_alone_give_functions(self):
        path = built.c(self.folder, "program")
        built.objcopy("--strip-debug", path)
        chosen = self.chosen(path)
        symbols = addresses.Symbols(path)
        for address, frames in addresses.ours(path, chosen).items():
            self.assertEqual(len(frames), 1)
            self.assertIn(frames[0].symbol, symbols.names_at(address))


class InAnotherFile(Case):
    def setUp(self):
        super().setUp()
        self.truth = built.cpp(self.folder, "truth")

    def link(self, stripped, debug):
        built.objcopy(f"--add-gnu-debuglink={debug}", stripped)

    def test_a_link_leads_to_a_file_beside(self):
        stripped, debug = self.stripped(self.truth)
        self.link(stripped, debug)
        self.check(stripped, self.truth, inlined=0.5)

    def test_a_link_leads_into_the_folder_debug(self):
        stripped, debug = self.stripped(self.truth)
        self.link(stripped, debug)
        (self.folder / ".debug").mkdir()
        debug.rename(self.folder / ".debug" / debug.name)
        self.check(stripped, self.truth, inlined=0.5)

    def test_a_link_leads_into_the_folder_of_debug_files(self):
        stripped, debug = self.stripped(self.truth)
        self.link(stripped, debug)
        other = self.folder / "other"
        (other / str(self.folder)[1:]).mkdir(parents=True)
        debug.rename(other / str(self.folder)[1:] / debug.name)
        self.check(stripped, self.truth, inlined=0.5,
                   env={"SPANPROF_DEBUG_DIR": f"/nonexistent:{other}"})

    def test_a_build_id_leads_to_its_file(self):
        stripped, debug = self.stripped(self.truth)
        number = built.build_id(stripped)
        place = self.folder / "dir" / ".build-id" / number[:2]
        place.mkdir(parents=True)
        debug.rename(place / f"{number[2:]}.debug")
        self.check(stripped, self.truth, inlined=0.5,
                   env={"SPANPROF_DEBUG_DIR": str(self.folder / "dir")})

    def test_a_file_with_another_build_id_is_never_used(self):
        stripped, debug = self.stripped(self.truth)
        self.link(stripped, debug)
        other = built.cpp(self.folder, "another", "-DANOTHER", "-O1")
        self.assertNotEqual(built.build_id(other), built.build_id(stripped))
        built.objcopy("--only-keep-debug", other, debug)
        number = built.build_id(stripped)
        place = self.folder / "dir" / ".build-id" / number[:2]
        place.mkdir(parents=True)
        shutil.copy(debug, place / f"{number[2:]}.debug")
        self.check_nameless(stripped, self.truth,
                            env={"SPANPROF_DEBUG_DIR":
                                 str(self.folder / "dir")})

    def test_without_build_ids_the_checksum_decides(self):
        truth = built.cpp(self.folder, "without", "-Wl,--build-id=none")
        stripped, debug = self.stripped(truth)
        self.link(stripped, debug)
        self.check(stripped, truth, inlined=0.5)
        with open(debug, "ab") as file:
            file.write(b"\0")
        self.check_nameless(stripped, truth)

    def test_packed_symbols_give_functions(self):
        """MiniDebugInfo, as Fedora's files bear it."""
        run.need("xz")
        stripped, _ = self.stripped(self.truth)
        mini = self.folder / "mini"
        built.objcopy("--strip-debug", self.truth, mini)
        subprocess.run(["xz", "-k", mini], check=True)
        built.objcopy("--add-section", f".gnu_debugdata={mini}.xz", stripped)
        symbols = addresses.Symbols(self.truth)
        for address, frames in addresses.ours(
                stripped, self.chosen(self.truth)).items():
            self.assertEqual(len(frames), 1)
            self.assertIn(frames[0].symbol, symbols.names_at(address))


class Damaged(Case):
    """Whatever becomes of the process that reads it, symbols are left."""

    def sections(self, path):
        """(offset, size) of each with debug information."""
        text = subprocess.run(["readelf", "-SW", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        found = re.findall(r"\] \.debug_\w+ +\w+ +\w+ (\w+) (\w+)", text)
        return [(int(offset, 16), int(size, 16)) for offset, size in found]

    def test_damaged_debug_information_takes_no_names_away(self):
        path = built.cpp(self.folder, "truth")
        good, chance = path.read_bytes(), random.Random(SEED)
        symbols, sections = addresses.Symbols(path), self.sections(path)
        chosen = symbols.choose(200, SEED)
        self.assertGreaterEqual(len(sections), 5)
        for _ in range(40):
            bad = bytearray(good)
            for _ in range(chance.choice((1, 10, 1000))):
                offset, size = chance.choice(sections)
                bad[offset + chance.randrange(size)] = chance.randrange(256)
            path.write_bytes(bad)
            for address, frames in addresses.ours(path, chosen).items():
                self.assertIn(frames[-1].symbol, symbols.names_at(address))


class WithoutTheTruth(Case):
    def test_a_stripped_program_has_placeholders(self):
        truth = built.cpp(self.folder, "truth", "-static-libstdc++")
        stripped, _ = self.stripped(truth)
        self.check_nameless(stripped, truth)

    def test_an_exported_function_lends_its_name_to_nobody(self):
        """Neither one with a size nor one without."""
        source = self.folder / "library.c"
        functions = "".join(
            f"int hidden_{i}(int a) {{ int s = a; for (int i = 0; i < a; i++)"
            f" s = s * {i + 3} + (s >> {i % 7}) * i; return s; }}\n"
            for i in range(60))
        source.write_text(
            "__attribute__((visibility(\"default\"))) int exported(int a)"
            "{ return a + 1; }\n"
            "__asm__(\".globl unsized\\n.type unsized, @function\\n"
            "unsized: ret\\n\");\n" + functions)
        truth = built.c(self.folder, "truth", "-shared", "-fPIC",
                          "-fvisibility=hidden", sources=[source])
        stripped, _ = self.stripped(truth)
        symbols = addresses.Symbols(truth)
        hidden = [a for a in self.chosen(truth)
                  if any(n.startswith("hidden") for n in symbols.names_at(a))]
        self.assertGreaterEqual(len(hidden), 1000)
        for address, frames in addresses.ours(stripped, hidden).items():
            self.assertTrue(addresses.is_placeholder(frames), frames)

    def test_a_replaced_file_lends_its_names_to_nobody(self):
        truth = built.cpp(self.folder, "truth")
        shifted = built.cpp(self.folder, "program", "-O1")
        chosen = self.chosen(truth)
        for frames in addresses.ours(truth, chosen,
                                     mapped_as=shifted).values():
            self.assertTrue(addresses.is_placeholder(frames), frames)

    def test_stubs_bear_the_name_of_what_they_call(self):
        for flags in ([], ["-fcf-protection", "-Wl,-z,ibtplt"],
                      ["-Wl,-z,now"], ["-no-pie"]):
            path = built.c(self.folder, "program", *flags)
            built.objcopy("--strip-all", path)
            named, expected = {}, stubs(path)
            self.assertGreater(len(expected), 20)
            named = addresses.ours(path, sorted(expected))
            for address, name in expected.items():
                self.assertEqual(named[address][0].name, name, flags)


def stubs(path):
    """{address: name} of stubs, as objdump tells them."""
    text = subprocess.run(["objdump", "-d", "-j", ".plt", "-j", ".plt.sec",
                           "-j", ".plt.got", path], text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    found = {}
    for line in text.splitlines():
        address, _, name = line.partition(" ")
        name = name.strip("<>:").split("@plt")[0].split("@")[0]
        if line.endswith("@plt>:"):
            found[int(address, 16)] = f"{name}@plt"
    return found


if __name__ == "__main__":
    unittest.main()
