#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the spanprof command does with files that are damaged, hostile, missing
or plain odd; and whether google/pprof reads the same from them."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.report_case import (  # noqa: E402
    MS,
    PERIOD,
    SLOW,
    FEW,
    Profile,
    ReportCase,
    span_line,
)


class FilesTest(ReportCase):
    def test_files_can_be_named_themselves(self):
        self.shop()
        profile = self.path("blocks-20260712T101112Z-1.pb.gz")
        self.assertEqual(
            self.read_json("show", SLOW, profile)["duration_ns"], 430 * MS
        )
        # Naming a file twice doesn't count it twice.
        top = self.read_json("top", profile, profile, self.folder)
        self.assertEqual(top["samples"], 47)

    def test_several_files_add_up(self):
        self.shop()
        shutil.copy(
            self.path("blocks-20260712T101112Z-1.pb.gz"),
            self.path("blocks-20260712T101122Z-2.pb.gz"),
        )
        self.assertEqual(
            self.read_json("show", SLOW, self.folder)["samples"], 78
        )
        self.assertEqual(
            self.read_json("top", self.folder)["statistics"]["lost_no_block"],
            6,
        )

    def test_files_being_written_are_ignored(self):
        self.shop()
        self.write(".blocks-20260712T101122Z-2.pb.gz", b"half")
        self.write("blocks-20260712T101122Z-2.pb.gz.tmp", b"half")
        self.write("README", b"other")
        self.assertEqual(self.read_json("top", self.folder)["samples"], 47)

    def test_the_usual_folder_is_the_default(self):
        self.shop()
        parent = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, parent)
        shutil.copytree(self.folder, os.path.join(parent, "spanprof.out"))
        self.assertEqual(len(self.read_json("spans", cwd=parent)), 4)
        self.assertEqual(
            self.read_json("show", SLOW, cwd=parent)["samples"], 39
        )

    def damaged(self):
        """Ways to damage a profile, and the words that tell of each."""
        good = Profile(self.schema)
        good.sample("main;work", 1, PERIOD, SLOW)
        packed = gzip.compress(good.pack())

        def changed(change):
            profile = Profile(self.schema)
            profile.sample("main;work", 1, PERIOD, SLOW)
            change(profile.message)
            return gzip.compress(profile.pack())

        def set_value(message):
            message.sample[0].value[1] = -5

        return {
            "empty.pb.gz": (b"", "the file is empty"),
            "nogzip.pb.gz": (b"hello", "not gzip data"),
            "short.pb.gz": (packed[:-20], "cut short"),
            "crc.pb.gz": (
                packed[:-8] + b"1234" + packed[-4:],
                "incorrect data check",
            ),
            "tail.pb.gz": (packed + b"more", "damaged gzip"),
            "noise.pb.gz": (
                gzip.compress(b"\xff" * 50),
                "not a pprof message",
            ),
            "types.pb.gz": (
                changed(lambda m: setattr(m.sample_type[1], "type", 1)),
                "samples/count and cpu/nanoseconds are needed",
            ),
            "string.pb.gz": (
                changed(lambda m: setattr(m.function[0], "name", 999)),
                "function 1 has the string index 999, out of range",
            ),
            "location.pb.gz": (
                changed(lambda m: m.sample[0].location_id.append(99)),
                "sample 1 has the unknown location 99",
            ),
            "value.pb.gz": (changed(set_value), "negative value"),
            "values.pb.gz": (
                changed(lambda m: m.sample[0].value.pop()),
                "1 values for 2 sample types",
            ),
            "json.spans.jsonl.gz": (
                gzip.compress(
                    span_line(FEW, "/ok", 0, 1, MS).encode() + b'\n{"a\n'
                ),
                "line 2: bad JSON",
            ),
        }

    def test_damaged_files_are_named_and_the_others_shown(self):
        self.shop()
        damaged = self.damaged()
        for name, (data, _) in damaged.items():
            self.write("z-" + name, data)
        result = self.run_command("top", "--json", self.folder, status=1)
        self.assertEqual(json.loads(result.stdout)["samples"], 47)
        for name, (_, words) in damaged.items():
            lines = [l for l in result.stderr.splitlines() if "z-" + name in l]
            self.assertEqual(len(lines), 1, name)
            self.assertIn(words, lines[0])
        self.assertEqual(len(result.stderr.splitlines()), len(damaged))

    def test_a_damaged_file_alone_is_a_failure(self):
        path = self.write("a.pb.gz", b"hello")
        for arguments in (("spans",), ("top",), ("show", SLOW)):
            for source in (path, self.folder):
                result = self.run_command(*arguments, source, status=1)
                self.assertIn("not gzip data", result.stderr)
                self.assertEqual(result.stdout, "")

    def test_good_lines_around_a_bad_one_are_kept(self):
        self.write_spans(
            "a.spans.jsonl.gz",
            [
                span_line(SLOW, "/a", 0, 1, MS),
                "{",
                span_line(FEW, "/b", 0, 2, MS),
            ],
        )
        result = self.run_command("spans", "--json", self.folder, status=1)
        self.assertEqual(len(json.loads(result.stdout)), 2)
        self.assertIn("line 2", result.stderr)

    def test_many_spans_may_stand_in_one_line(self):
        lines = [
            json.loads(span_line("%016x" % (n + 1), "/items/%d" % n, n, 1, MS))
            for n in range(3000)
        ]
        whole = lines[0]
        whole["resourceSpans"][0]["scopeSpans"][0]["spans"] = [
            line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
            for line in lines
        ]
        self.write_spans("a.spans.jsonl.gz", [json.dumps(whole)])
        spans = self.read_json("spans", "--sort=start", self.folder)
        self.assertEqual(
            [s["path"] for s in spans], ["/items/%d" % n for n in range(3000)]
        )
        self.assertEqual({s["service"] for s in spans}, {"blocks"})

    def test_a_bomb_is_refused(self):
        block = gzip.compress(bytes(16 << 20), 9)
        self.write("bomb.pb.gz", block * 17)
        result = self.run_command("top", self.folder, status=1)
        self.assertIn("more than 256 MiB when unpacked", result.stderr)

    def test_missing_and_empty_folders_say_what_to_do(self):
        result = self.run_command("spans", self.path("nothing"), status=1)
        self.assertIn("no such folder", result.stderr)
        self.assertIn("spanprof-run", result.stderr)
        result = self.run_command("spans", self.folder, status=1)
        self.assertIn("no profiles in it yet", result.stderr)
        self.write("notes.txt", b"x")
        result = self.run_command("spans", self.folder, status=1)
        self.assertIn("none of its 1 files", result.stderr)

    def test_profiles_without_spans_are_no_failure(self):
        profile = Profile(self.schema)
        profile.sample("main;work", 1, PERIOD)
        self.write_profile("a.pb.gz", profile)
        result = self.run_command("spans", "--json", self.folder)
        self.assertEqual(json.loads(result.stdout), [])
        self.assertIn("no spans", result.stderr)

    # hostile texts

    def test_nothing_from_a_file_drives_the_terminal(self):
        evil = "\x1b]0,owned\x07\x1b[31m\u009b31m\u202e\r\nx\x7f"
        profile = Profile(self.schema)
        profile.sample("main;" + evil, 20, 200 * MS, SLOW)
        profile.comment(evil + "lost=5")
        self.write_profile("a\x1b[31m.pb.gz", profile)
        self.write("b\x1b[31m.pb.gz", b"hello")
        self.write_spans(
            "a\x1b[31m.spans.jsonl.gz",
            [span_line(SLOW, "/" + evil, 0, 9, MS, method="G" + evil)],
        )
        runs = [
            ("spans",),
            ("spans", "--json"),
            ("spans", "--wide"),
            ("show", SLOW),
            ("show", SLOW, "--json"),
            ("top",),
            ("top", "--json"),
            ("top", "--operations"),
            ("top", "--operations", "--json"),
            ("show", "abcd"),
            ("top", "--name=\x1b[31m"),
        ]
        for arguments in runs:
            result = self.run_command(*arguments, self.folder, status=1)
            for text in (result.stdout, result.stderr):
                self.assertNotRegex(
                    text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", arguments
                )
        function = self.read_json("top", self.folder, status=1)["functions"][0]
        self.assertEqual(function["function"], evil)

    def test_json_is_valid_when_names_are_not_utf8(self):
        profile = Profile(self.schema)
        profile.sample("main;xQQQQx", 20, 200 * MS, SLOW)
        data = profile.pack().replace(b"QQQQ", b"\xff\xc3\xed\xa0")
        self.write("a.pb.gz", gzip.compress(data))
        function = self.read_json("top", self.folder)["functions"][0]
        self.assertEqual(function["function"], "x\ufffd\ufffd\ufffd\ufffdx")

    def test_sums_stop_at_the_largest_number(self):
        profile = Profile(self.schema)
        for _ in range(4):
            profile.sample("main;work", 2**63 - 1, 2**63 - 1, SLOW)
        self.write_profile("a.pb.gz", profile)
        self.assertEqual(
            self.read_json("top", self.folder)["cpu_ns"], 2**63 - 1
        )
        for arguments in (
            ("spans",),
            ("show", SLOW),
            ("top",),
            ("top", "--operations"),
        ):
            self.output(*arguments, self.folder)


class PprofTest(ReportCase):
    """google/pprof must come to the same totals."""

    @staticmethod
    def pprof():
        """The command, or None."""
        go = shutil.which("go")
        if go and subprocess.run(
            [go, "tool", "pprof", "-h"], check=False, capture_output=True
        ).returncode in (0, 1, 2):
            return [go, "tool", "pprof"]
        return None

    def test_pprof_agrees(self):
        command = self.pprof()
        if not command:
            self.skipTest("go tool pprof is not installed")
        self.shop()
        path = self.path("blocks-20260712T101112Z-1.pb.gz")
        raw = subprocess.run(
            command + ["-raw", path],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for span in (SLOW, FEW):
            ours = self.read_json("show", span, self.folder)
            samples = re.findall(
                r"^ +(\d+) +(\d+): [^\n]*\n +span_id:\[%s\]" % span, raw, re.M
            )
            self.assertEqual(sum(int(s[0]) for s in samples), ours["samples"])
            cpu_ns = ours["sampled_cpu_ns"] + ours["unsampled_cpu_ns"]
            self.assertEqual(sum(int(s[1]) for s in samples), cpu_ns)
            top = subprocess.run(
                command
                + [
                    "-top",
                    "-unit=ns",
                    "-nodefraction=0",
                    "-sample_index=cpu",
                    "-tagfocus=span_id=" + span,
                    path,
                ],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            self.assertIn("nodes accounting for %dns" % cpu_ns, top)
            theirs = {
                m[2]: (int(m[0]), int(m[1]))
                for m in re.findall(
                    r"^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +"
                    r"(\d+)(?:ns)? +[\d.]+% +(.*)$",
                    top,
                    re.M,
                )
            }
            for function in ours["functions"]:
                self.assertEqual(
                    theirs[function["function"]],
                    (function["self_cpu_ns"], function["total_cpu_ns"]),
                )


if __name__ == "__main__":
    unittest.main()
