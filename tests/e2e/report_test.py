#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What spanprof spans, show and top tell of a folder made by hand."""

import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.report_case import (  # noqa: E402
    SPANPROF,
    MS,
    PERIOD,
    START,
    TRACE,
    SLOW,
    FEW,
    NONE,
    CLOSED,
    Profile,
    ReportCase,
    span_line,
)


class ReportTest(ReportCase):
    # spans

    def test_spans_are_sorted_by_duration_and_fit_80_columns(self):
        lines = self.output("spans", self.shop()).splitlines()
        self.assertEqual(lines[0].split()[:3], ["TRACE", "SPAN", "PARENT"])
        self.assertEqual(
            [line.split()[1] for line in lines[1:]],
            ["9f86d081", "00f067aa", "11223344", "9f86ffff"],
        )
        self.assertIn("430 ms", lines[1])
        self.assertIn("402 ms", lines[1])
        self.assertEqual(lines[1].split()[2], "b7ad6b")
        self.assertTrue(lines[1].endswith("/compact"), lines[1])
        self.assertIn("…", lines[1])
        for line in lines:
            self.assertLessEqual(len(line), 80)

    def test_spans_orders(self):
        folder = self.shop()

        def order(key):
            return [
                s["span_id"]
                for s in self.read_json("spans", "--sort=" + key, folder)
            ]

        self.assertEqual(order("start"), [SLOW, FEW, NONE, CLOSED])
        self.assertEqual(order("cpu"), [SLOW, FEW, NONE, CLOSED])
        self.assertEqual(order("samples")[:2], [SLOW, FEW])
        self.assertEqual(order("duration"), [SLOW, FEW, NONE, CLOSED])

    def test_spans_json_has_exact_values(self):
        span = self.read_json("spans", "--limit=1", self.shop())
        self.assertEqual(len(span), 1)
        expected = {
            "trace_id": TRACE,
            "span_id": SLOW,
            "parent_span_id": "b7ad6b7169203331",
            "name": "POST",
            "method": "POST",
            "path": "/tenants/42/compact",
            "operation": "POST /tenants/{id}/compact",
            "service": "blocks",
            "start_unix_ns": START,
            "start": "2026-07-12T10:11:12.345000000Z",
            "duration_ns": 430 * MS,
            "cpu_ns": 402 * MS,
            "samples": 39,
            "sampled_cpu_ns": 394 * MS,
            "unsampled_cpu_ns": 8 * MS,
            "period_ns": PERIOD,
            "status": 200,
            "pid": 77,
            "tid": 78,
            "error": False,
            "end": "complete",
        }
        self.assertEqual(span[0], expected)

    def test_spans_wide_shows_whole_ids_and_names(self):
        line = self.output("spans", "--wide", self.shop()).splitlines()[1]
        self.assertEqual(line.split()[:3], [TRACE, SLOW, "b7ad6b7169203331"])
        self.assertTrue(line.endswith("POST /tenants/42/compact"))

    def test_spans_of_a_name(self):
        folder = self.shop()
        spans = self.read_json("spans", "--name=GET /blocks/{id}", folder)
        self.assertEqual([s["span_id"] for s in spans], [FEW, NONE])
        result = self.run_command("spans", "--name=nope", folder, status=1)
        self.assertIn("no span is named 'nope'", result.stderr)

    def test_spans_without_a_record_are_shown_with_an_estimate(self):
        profile = Profile(self.schema)
        profile.sample("main;work", 2, 20 * MS, SLOW)
        self.write_profile("a.pb.gz", profile)
        line = self.output("spans", self.folder).splitlines()[1]
        self.assertIn("~20.0 ms", line)
        span = self.read_json("show", SLOW, self.folder)
        self.assertIsNone(span["duration_ns"])
        self.assertIsNone(span["cpu_ns"])
        self.assertEqual(span["trace_id"], TRACE)
        self.assertIn(
            "no spans file has it", self.output("show", SLOW, self.folder)
        )

    # show

    def test_show_tells_everything_of_a_span(self):
        text = self.output("show", SLOW, self.shop())
        for part in (
            SLOW,
            TRACE,
            "b7ad6b7169203331",
            "POST /tenants/42/compact",
            "200, answered completely",
            "2026-07-12 10:11:12.345 UTC",
            "duration  430 ms",
            "CPU       402 ms (exact)",
            "samples   39\n",
            "39 samples = 394 ms ± 62.4 ms",
        ):
            self.assertIn(part, text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_show_counts_self_total_and_recursion(self):
        span = self.read_json("show", SLOW, self.shop())
        functions = {f["function"]: f for f in span["functions"]}
        self.assertEqual(functions["hash"]["self_cpu_ns"], 200 * MS)
        self.assertEqual(functions["compact"]["self_cpu_ns"], 0)
        self.assertEqual(functions["compact"]["total_cpu_ns"], 394 * MS)
        self.assertEqual(functions["merge"]["total_cpu_ns"], 110 * MS)
        self.assertEqual(functions["merge"]["total_samples"], 11)
        self.assertEqual(functions["[unsampled]"]["total_cpu_ns"], 8 * MS)
        self.assertEqual(functions["[unsampled]"]["total_samples"], 0)
        self.assertEqual(
            sum(f["self_cpu_ns"] for f in span["functions"]), 402 * MS
        )

    def test_show_json_tree_adds_up(self):
        tree = self.read_json("show", SLOW, self.shop())["tree"]
        for place, node in enumerate(tree):
            children = [n for n in tree if n["parent"] == place]
            self.assertEqual(
                node["total_cpu_ns"],
                node["self_cpu_ns"] + sum(n["total_cpu_ns"] for n in children),
            )
        roots = [n for n in tree if n["parent"] is None]
        self.assertEqual(
            [n["function"] for n in roots], ["_start", "[unsampled]"]
        )

    def test_show_cuts_the_tree_below_one_percent(self):
        folder = self.shop()
        text = self.output("show", SLOW, folder)
        tree = text[text.index("CALL TREE") :]
        self.assertNotIn("tiny0", tree)
        full = self.output("show", "--full", SLOW, folder)
        self.assertIn("tiny0", full[full.index("CALL TREE") :])
        self.assertRegex(tree, r"(?s)├─hash.*├─merge.*copy")

    def test_show_says_when_samples_are_too_few(self):
        text = self.output("show", FEW, self.shop())
        self.assertIn(
            "too few samples to judge (3 samples = about 30.0 ms ± 17.3 ms)",
            text,
        )
        self.assertIn("spanprof top --name='GET /blocks/{id}' ", text)
        self.assertIn("500 (error)", text)
        command = re.search(r"spanprof (top --name=.*)", text).group(1)
        result = subprocess.run(
            "%s %s" % (SPANPROF, command),
            shell=True,
            check=True,
            capture_output=True,
            text=True,
        )
        self.assertIn("read", result.stdout)

    def test_show_explains_that_there_are_no_samples(self):
        text = self.output("show", NONE, self.shop())
        self.assertIn(
            "no samples: the span used 2.10 ms CPU; at 10.0 ms a sample that "
            "is expected",
            text,
        )
        self.assertNotIn("CALL TREE", text)
        span = self.read_json("show", NONE, self.folder)
        self.assertEqual((span["functions"], span["tree"]), ([], []))
        self.assertFalse(span["enough_samples"])

    def test_show_understands_ids_as_people_have_them(self):
        folder = self.shop()
        for typed in (
            "span_id=" + SLOW,
            "profile_id=" + SLOW,
            SLOW.upper(),
            "9f86d",
            "span_id=9F86D0",
        ):
            self.assertEqual(
                self.read_json("show", typed, folder)["span_id"], SLOW
            )

    def test_show_understands_the_old_label(self):
        profile = Profile(self.schema)
        profile.sample(
            "main;work", 20, 200 * MS, SLOW.upper(), key="profile_id"
        )
        self.write_profile("a.pb.gz", profile)
        self.assertEqual(
            self.read_json("show", SLOW, self.folder)["samples"], 20
        )

    def test_show_lists_spans_that_begin_alike(self):
        result = self.run_command("show", "9f86", self.shop(), status=1)
        self.assertIn("2 spans begin like that", result.stderr)
        self.assertIn(SLOW, result.stderr)
        self.assertIn(CLOSED, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_show_takes_a_trace(self):
        trace = self.read_json("show", TRACE, self.shop())
        self.assertEqual(trace["trace_id"], TRACE)
        self.assertEqual([s["span_id"] for s in trace["spans"]], [SLOW, FEW])
        text = self.output("show", TRACE.upper(), self.folder)
        self.assertIn("2 spans of this trace", text)
        self.assertIn(SLOW, text)
        self.assertIn(FEW, text)

    def test_show_refuses_unknown_and_malformed_ids(self):
        folder = self.shop()
        result = self.run_command("show", "abcdabcd", folder, status=1)
        self.assertIn("no such span", result.stderr)
        self.assertIn("spanprof spans " + folder, result.stderr)
        for typed in ("9f8", "xyzw", SLOW + TRACE, ""):
            self.assertIn(
                "is no id",
                self.run_command("show", typed, folder, status=2).stderr,
            )

    # top

    def test_top_adds_everything_up_and_tells_losses(self):
        text = self.output("top", self.shop())
        self.assertIn("482 ms CPU, 47 samples", text)
        self.assertIn("with a span 89.6 %, [unsampled] 1.7 %", text)
        self.assertIn("stacks cut ([truncated]): 10.4 %", text)
        self.assertIn("losses: lost_no_block 3", text)
        self.assertIn(
            "1 profile from 2026-07-12 10:11:12 to 2026-07-12 10:11:22 UTC",
            text,
        )
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)
        top = self.read_json("top", self.folder)
        self.assertEqual(
            top["statistics"], {"lost_no_block": 3, "samples": 47}
        )
        self.assertEqual(top["cpu_ns"], 482 * MS)
        self.assertEqual(top["with_span_cpu_ns"], 432 * MS)
        self.assertEqual(top["unsampled_cpu_ns"], 8 * MS)
        self.assertEqual(top["samples"], 47)
        self.assertEqual(top["functions"][0]["function"], "hash")

    def test_top_of_a_name(self):
        folder = self.shop()
        for name in (
            "GET /blocks/{id}",
            "/blocks/",
            "GET /blocks/7",
            "GET /blocks/999",
        ):
            top = self.read_json("top", "--name=" + name, folder)
            self.assertEqual(top["cpu_ns"], 30 * MS, name)
        self.assertEqual(
            self.read_json("top", "--name=POST", folder)["cpu_ns"], 402 * MS
        )
        self.run_command("top", "--name=nope", folder, status=1)

    def test_top_limits_rows(self):
        text = self.output("top", "--limit=2", self.shop())
        self.assertIn("more functions; --limit=0 shows all", text)
        self.assertEqual(
            len(self.read_json("top", "--limit=2", self.folder)["functions"]),
            2,
        )
        self.assertNotIn(
            "more functions", self.output("top", "--limit=0", self.folder)
        )

    def test_operations(self):
        lines = [
            span_line(
                "%016x" % (n + 1), "/items/%d" % n, n, n + 1, (n + 1) * MS
            )
            for n in range(100)
        ]
        self.write_spans("a.spans.jsonl.gz", lines)
        operation = self.read_json("top", "--operations", self.folder)
        self.assertEqual(
            operation,
            [
                {
                    "operation": "GET /items/{id}",
                    "count": 100,
                    "p50_ns": 50 * MS,
                    "p95_ns": 95 * MS,
                    "max_ns": 100 * MS,
                    "cpu_ns": 5050 * MS,
                    "cpu_per_request_ns": 50500000,
                    "samples": 0,
                    "errors": 0,
                }
            ],
        )
        text = self.output("top", "--operations", self.folder)
        self.assertRegex(
            text,
            r"GET /items/\{id\} +100 50\.0 ms 95\.0 ms 100 ms 5\.05 s 50\.5 ms",
        )


if __name__ == "__main__":
    unittest.main()
