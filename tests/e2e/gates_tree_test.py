#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether scripts/check-includes and scripts/check-text can fail: trees of a
file or two with one thing wrong each."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCE = "SPDX-License-Identifier: Apache-2.0"


class Case(unittest.TestCase):
    gate = ""

    def failing(self, files):
        """The statements that a gate denies about a tree: {name: text}."""
        with tempfile.TemporaryDirectory(prefix="spanprof-gates-") as folder:
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text if isinstance(text, bytes)
                                 else text.encode())
            done = subprocess.run([ROOT / "scripts" / self.gate, "--root",
                                   folder], stdout=subprocess.PIPE, text=True)
        verdicts = [line.split() for line in done.stdout.splitlines()
                    if not line.startswith(" ")]
        self.assertTrue(verdicts)
        failing = [name for word, name in verdicts if word == "FAIL"]
        self.assertEqual(done.returncode != 0, bool(failing))
        return failing

    def accept(self, files):
        self.assertEqual(self.failing(files), [])

    def refuse(self, statement, files):
        self.assertEqual(self.failing(files), [statement])


class IncludesTest(Case):
    gate = "check-includes"

    def refuse_include(self, statement, name, include):
        with self.subTest(name=name, include=include):
            self.refuse(statement, {name: f"#include {include}\n"})

    def test_includes_downwards_are_accepted(self):
        self.accept({
            "hooks/mine.h": '#include "preload/span.h"\n',
            "hooks/mine.c": '#include "hooks/mine.h"\n\n#include <poll.h>\n\n'
                            '#include "sampler/worker.h"\n'
                            '#include "preload/text.h"\n',
            "preload/init.c": '#include "hooks/hook.h"\n',
            "exporter/gzip.c": '#include <zlib.h>\n\n'
                               '#include "sampler/layout.h"\n',
            "tests/unit/mine_test.c": '#include "hooks/mine.h"\n',
        })

    def test_an_empty_tree_is_refused(self):
        self.refuse("sources_are_found", {"README.md": ""})

    def test_includes_upwards_are_found(self):
        for name, include in (("sampler/mine.c", '"hooks/hook.h"'),
                              ("preload/span.c", '"sampler/ring.h"'),
                              ("sampler/arch.h", '"preload/process.h"'),
                              ("hooks/mine.h", '"preload/lifecycle.h"'),
                              ("hooks/mine.c", '"exporter/log.h"')):
            self.refuse_include("includes_go_one_way_in_the_program", name,
                                include)

    def test_a_file_without_a_rank_is_found(self):
        self.refuse_include("includes_go_one_way_in_the_program",
                            "preload/stranger.c", "<errno.h>")

    def test_what_a_process_of_ours_must_not_see_is_found(self):
        for name, include in (("exporter/mine.c", '"preload/process.h"'),
                              ("exporter/mine.c", '"report/model.h"'),
                              ("report/mine.c", '"sampler/layout.h"'),
                              ("supervisor/mine.c", '"exporter/log.h"')):
            self.refuse_include("processes_of_ours_see_shared_headers_alone",
                                name, include)

    def test_libraries_elsewhere_are_found(self):
        for name, include in (("exporter/mine.c", "<libunwind-x86_64.h>"),
                              ("exporter/mine.c", "<zlib.h>"),
                              ("report/mine.c", "<curl/curl.h>"),
                              ("preload/init.c", "<libelf.h>")):
            self.refuse_include("libraries_of_others_stay_in_their_files",
                                name, include)

    def test_the_form_of_includes_is_looked_at(self):
        statement = "includes_have_their_form_and_order"
        self.refuse_include(statement, "hooks/mine.c", '"hook.h"')
        self.refuse(statement, {
            "hooks/mine.h": "",
            "hooks/mine.c": '#include <poll.h>\n#include "hooks/mine.h"\n'})
        self.refuse(statement, {
            "hooks/mine.c": '#include "hooks/a.h"\n#include "hooks/b.h"\n'
                            "#include <poll.h>\n"})

    def test_test_programs_know_nothing_of_us(self):
        self.refuse_include("test_programs_include_nothing_of_ours",
                            "tests/servers/mine.c", '"hooks/hook.h"')


def source(text="", first="/*\n * Does.\n * Runs on: it.\n */\n"):
    return f"/* {LICENCE} */\n{first}int mine;\n{text}"


def function(lines):
    """A function of so many lines."""
    return "int f(void)\n{\n" + "\tmine++;\n" * (lines - 3) + "}\n"


class TextTest(Case):
    gate = "check-text"

    def test_a_good_tree_is_accepted(self):
        self.accept({"hooks/mine.c": source(function(59)),
                     "README.md": "Text.\n", "LICENSE": "anything",
                     "tests/fuzz/corpus/mine/a": b"\xff \n"})

    def test_an_empty_tree_is_refused(self):
        self.refuse("files_are_found", {"LICENSE": ""})

    def test_a_missing_licence_line_is_found(self):
        for name in ("report/mine.h", "scripts/mine", "Makefile"):
            with self.subTest(name):
                self.refuse("files_bear_the_licence_line", {name: "a\n"})

    def test_long_files_are_found(self):
        self.accept({"mine.txt": f"# {LICENCE}\n" + "a\n" * 499})
        self.refuse("files_have_500_lines_at_most",
                    {"mine.txt": f"# {LICENCE}\n" + "a\n" * 500})

    def test_long_functions_are_found(self):
        statement = "functions_stay_under_60_lines"
        self.refuse(statement, {"hooks/mine.c": source(function(60))})
        python = "    pass\n" * 59
        for name in ("scripts/check-mine", "tests/mine.py"):
            with self.subTest(name):
                self.refuse(statement, {
                    name: f"#!/usr/bin/python3\n# {LICENCE}\n"
                          f"def f():\n{python}"})

    def test_unclean_text_is_found(self):
        for text in ("a \n", "a\t\n", "a\r\n", "a\n\n", "a", b"\xff\n"):
            with self.subTest(text=text):
                self.refuse("files_are_clean_text", {"README.md": text})

    def test_leftovers_and_places_of_others_are_found(self):
        for text in ("TO" "DO: more", "FIX" "ME", "see /ho" "me/me/a",
                     '"/ro' 'ot/x"', "(/wo" "rk/main)"):
            with self.subTest(text=text):
                self.refuse(
                    "files_leave_nothing_to_be_done_and_name_no_ones_machine",
                    {"README.md": f"{text}\n"})
        self.accept({"README.md": "the /home/ folder, /opt/work/a, /homes\n"})

    def test_a_source_that_does_not_say_where_it_runs_is_found(self):
        for first in ("", "/*\n * Does.\n */\n/*\n * Runs on: it.\n */\n",
                      "/* Does. Runs on: it. */\n"):
            with self.subTest(first=first):
                self.refuse("sources_say_where_they_run",
                            {"exporter/mine.c": source(first=first)})
        self.accept({"tests/lib/mine.c": source(first="")})


if __name__ == "__main__":
    unittest.main()
