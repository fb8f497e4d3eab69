#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the spanprof command over folders that are made here.

Runs $SPANPROF_BUILD/spanprof (default: build/spanprof)."""

import gzip
import importlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("SPANPROF_BUILD", "build"))
SPANPROF = os.path.join(BUILD, "spanprof")

MS = 10**6
PERIOD = 10 * MS
START = 1783851072345000000  # 2026-07-12 10:11:12.345 UTC
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER_TRACE = "aaf92f3577b34da6a3ce929d0e0e4736"
SLOW = "9f86d081884c7d65"  # 39 samples
FEW = "00f067aa0ba902b7"  # 3 samples
NONE = "1122334455667788"  # no samples
CLOSED = "9f86ffffffffffff"  # no samples, begins like SLOW


def load_schema(folder):
    """The Python module of exporter/profile.proto."""
    subprocess.run(["protoc", "-I", ROOT, "--python_out", folder,
                    os.path.join(ROOT, "exporter/profile.proto")], check=True)
    sys.path.insert(0, folder)
    return importlib.import_module("exporter.profile_pb2")


class Profile:
    """Builds a pprof message the way the exporter writes it."""

    def __init__(self, schema):
        self.message = schema.Profile(time_nanos=START, duration_nanos=10 * 10**9,
                                      period=PERIOD)
        self.texts = {"": 0}
        self.locations = {}
        for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
            self.message.sample_type.add(type=self.text(kind), unit=self.text(unit))
        self.message.period_type.type = self.text("cpu")
        self.message.period_type.unit = self.text("nanoseconds")

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def location(self, name):
        if name not in self.locations:
            number = len(self.locations) + 1
            self.locations[name] = number
            self.message.function.add(id=number, name=self.text(name))
            self.message.location.add(id=number, address=0x1000 + number).line.add(
                function_id=number)
        return self.locations[name]

    def sample(self, stack, count, cpu_ns, span=None, trace=TRACE, name="GET",
               key="span_id"):
        """`stack` is root first, separated by semicolons."""
        sample = self.message.sample.add(value=[count, cpu_ns])
        sample.location_id.extend(self.location(f) for f in reversed(stack.split(";")))
        labels = {key: span, "trace_id": trace, "span_name": name} if span else {}
        for label, value in labels.items():
            sample.label.add(key=self.text(label), str=self.text(value))
        sample.label.add(key=self.text("pid"), num=77)

    def comment(self, text):
        self.message.comment.append(self.text(text))

    def pack(self):
        del self.message.string_table[:]
        self.message.string_table.extend(self.texts)
        return self.message.SerializeToString()


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def span_line(span, path, start_ms, duration_ms, cpu_ns, trace=TRACE, method="GET",
              status=200, end="complete", parent=None):
    record = {
        "traceId": trace, "spanId": span, "name": method, "kind": 2,
        "startTimeUnixNano": str(START + start_ms * MS),
        "endTimeUnixNano": str(START + (start_ms + duration_ms) * MS),
        "attributes": [
            attribute("http.request.method", method), attribute("url.path", path),
            attribute("http.response.status_code", status),
            attribute("pyroscope.profile.id", span), attribute("spanprof.cpu_ns", cpu_ns),
            attribute("spanprof.end", end), attribute("process.pid", 77),
            attribute("thread.id", 78)]}
    if parent:
        record["parentSpanId"] = parent
    if status >= 500:
        record["status"] = {"code": 2}
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", "blocks")]},
        "scopeSpans": [{"scope": {"name": "spanprof", "version": "0"},
                        "spans": [record]}]}]})


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema_folder = tempfile.mkdtemp()
        cls.schema = load_schema(cls.schema_folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.schema_folder)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def write_profile(self, name, profile):
        return self.write(name, gzip.compress(profile.pack()))

    def write_spans(self, name, lines):
        return self.write(name, gzip.compress("".join(l + "\n" for l in lines).encode()))

    def shop(self):
        """A folder with four requests."""
        base = "_start;main;serve;handle"
        profile = Profile(self.schema)
        profile.sample(base + ";compact;hash", 20, 200 * MS, SLOW)
        profile.sample(base + ";compact;copy", 8, 80 * MS, SLOW)
        profile.sample(base + ";compact;merge;merge", 11, 110 * MS, SLOW)
        for number in range(4):
            profile.sample(base + ";compact;tiny%d" % number, 0, MS, SLOW)
        profile.sample("[unsampled]", 0, 8 * MS, SLOW)
        profile.sample(base + ";read", 3, 30 * MS, FEW)
        profile.sample("[truncated];poll", 5, 50 * MS)
        profile.comment("lost_no_block=3")
        profile.comment("samples=47")
        self.write_profile("blocks-20260712T101112Z-1.pb.gz", profile)
        self.write_spans("blocks-20260712T101112Z-1.spans.jsonl.gz", [
            span_line(SLOW, "/tenants/42/compact", 0, 430, 402 * MS, method="POST",
                      parent="b7ad6b7169203331"),
            span_line(FEW, "/blocks/7", 500, 40, 31 * MS, status=500),
            span_line(NONE, "/blocks/8", 600, 2, 2100000, trace=OTHER_TRACE),
            span_line(CLOSED, "/health", 700, 1, 100000, trace=OTHER_TRACE,
                      status=200, end="closed")])
        return self.folder

    def run_command(self, *arguments, status=0, **more):
        """The outcome of a run; fails on another exit status."""
        environment = dict(os.environ, LC_ALL="C")
        environment.pop("NO_COLOR", None)
        result = subprocess.run([SPANPROF, *arguments], capture_output=True, text=True,
                                encoding="utf-8", env=environment, timeout=60,
                                check=False, **more)
        self.assertEqual(result.returncode, status,
                         "%s\n%s%s" % (arguments, result.stdout, result.stderr))
        for line in result.stderr.splitlines():
            if status != 2:
                self.assertTrue(line.startswith("spanprof: "), line)
        return result

    def output(self, *arguments, **more):
        return self.run_command(*arguments, **more).stdout

    def read_json(self, *arguments, **more):
        return json.loads(self.output(*arguments, "--json", **more))

    # spans

    def test_spans_are_sorted_by_duration_and_fit_80_columns(self):
        lines = self.output("spans", self.shop()).splitlines()
        self.assertEqual(lines[0].split()[:3], ["TRACE", "SPAN", "PARENT"])
        self.assertEqual([line.split()[1] for line in lines[1:]],
                         ["9f86d081", "00f067aa", "11223344", "9f86ffff"])
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
            return [s["span_id"] for s in self.read_json("spans", "--sort=" + key, folder)]

        self.assertEqual(order("start"), [SLOW, FEW, NONE, CLOSED])
        self.assertEqual(order("cpu"), [SLOW, FEW, NONE, CLOSED])
        self.assertEqual(order("samples")[:2], [SLOW, FEW])
        self.assertEqual(order("duration"), [SLOW, FEW, NONE, CLOSED])

    def test_spans_json_has_exact_values(self):
        span = self.read_json("spans", "--limit=1", self.shop())
        self.assertEqual(len(span), 1)
        expected = {"trace_id": TRACE, "span_id": SLOW, "parent_span_id": "b7ad6b7169203331",
                    "name": "POST", "method": "POST", "path": "/tenants/42/compact",
                    "operation": "POST /tenants/{id}/compact", "service": "blocks",
                    "start_unix_ns": START, "start": "2026-07-12T10:11:12.345000000Z",
                    "duration_ns": 430 * MS, "cpu_ns": 402 * MS, "samples": 39,
                    "sampled_cpu_ns": 394 * MS, "unsampled_cpu_ns": 8 * MS,
                    "period_ns": PERIOD, "status": 200, "pid": 77, "tid": 78,
                    "error": False, "end": "complete"}
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
        self.assertIn("no spans file has it", self.output("show", SLOW, self.folder))

    # show

    def test_show_tells_everything_of_a_span(self):
        text = self.output("show", SLOW, self.shop())
        for part in (SLOW, TRACE, "b7ad6b7169203331", "POST /tenants/42/compact",
                     "200, answered completely", "2026-07-12 10:11:12.345 UTC",
                     "duration  430 ms", "CPU       402 ms (exact)", "samples   39\n",
                     "39 samples = 394 ms ± 62.4 ms"):
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
        self.assertEqual(sum(f["self_cpu_ns"] for f in span["functions"]), 402 * MS)

    def test_show_json_tree_adds_up(self):
        tree = self.read_json("show", SLOW, self.shop())["tree"]
        for place, node in enumerate(tree):
            children = [n for n in tree if n["parent"] == place]
            self.assertEqual(node["total_cpu_ns"], node["self_cpu_ns"] +
                             sum(n["total_cpu_ns"] for n in children))
        roots = [n for n in tree if n["parent"] is None]
        self.assertEqual([n["function"] for n in roots], ["_start", "[unsampled]"])

    def test_show_cuts_the_tree_below_one_percent(self):
        folder = self.shop()
        text = self.output("show", SLOW, folder)
        tree = text[text.index("CALL TREE"):]
        self.assertNotIn("tiny0", tree)
        full = self.output("show", "--full", SLOW, folder)
        self.assertIn("tiny0", full[full.index("CALL TREE"):])
        self.assertRegex(tree, r"(?s)├─hash.*├─merge.*copy")

    def test_show_says_when_samples_are_too_few(self):
        text = self.output("show", FEW, self.shop())
        self.assertIn("too few samples to judge (3 samples = about 30.0 ms ± 17.3 ms)", text)
        self.assertIn("spanprof top --name='GET /blocks/{id}' ", text)
        self.assertIn("500 (error)", text)
        command = re.search(r"spanprof (top --name=.*)", text).group(1)
        result = subprocess.run("%s %s" % (SPANPROF, command), shell=True, check=True,
                                capture_output=True, text=True)
        self.assertIn("read", result.stdout)

    def test_show_explains_that_there_are_no_samples(self):
        text = self.output("show", NONE, self.shop())
        self.assertIn("no samples: the span used 2.10 ms CPU; at 10.0 ms a sample that is "
                      "expected", text)
        self.assertNotIn("CALL TREE", text)
        span = self.read_json("show", NONE, self.folder)
        self.assertEqual((span["functions"], span["tree"]), ([], []))
        self.assertFalse(span["enough_samples"])

    def test_show_understands_ids_as_people_have_them(self):
        folder = self.shop()
        for typed in ("span_id=" + SLOW, "profile_id=" + SLOW, SLOW.upper(), "9f86d",
                      "span_id=9F86D0"):
            self.assertEqual(self.read_json("show", typed, folder)["span_id"], SLOW)

    def test_show_understands_the_old_label(self):
        profile = Profile(self.schema)
        profile.sample("main;work", 20, 200 * MS, SLOW.upper(), key="profile_id")
        self.write_profile("a.pb.gz", profile)
        self.assertEqual(self.read_json("show", SLOW, self.folder)["samples"], 20)

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
            self.assertIn("is no id", self.run_command("show", typed, folder,
                                                       status=2).stderr)

    # top

    def test_top_adds_everything_up_and_tells_losses(self):
        text = self.output("top", self.shop())
        self.assertIn("482 ms CPU, 47 samples", text)
        self.assertIn("with a span 89.6 %, [unsampled] 1.7 %", text)
        self.assertIn("stacks cut ([truncated]): 10.4 %", text)
        self.assertIn("losses: lost_no_block 3", text)
        self.assertIn("1 profile from 2026-07-12 10:11:12 to 2026-07-12 10:11:22 UTC", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)
        top = self.read_json("top", self.folder)
        self.assertEqual(top["statistics"], {"lost_no_block": 3, "samples": 47})
        self.assertEqual(top["cpu_ns"], 482 * MS)
        self.assertEqual(top["with_span_cpu_ns"], 432 * MS)
        self.assertEqual(top["unsampled_cpu_ns"], 8 * MS)
        self.assertEqual(top["samples"], 47)
        self.assertEqual(top["functions"][0]["function"], "hash")

    def test_top_of_a_name(self):
        folder = self.shop()
        for name in ("GET /blocks/{id}", "/blocks/", "GET /blocks/7", "GET /blocks/999"):
            top = self.read_json("top", "--name=" + name, folder)
            self.assertEqual(top["cpu_ns"], 30 * MS, name)
        self.assertEqual(self.read_json("top", "--name=POST", folder)["cpu_ns"], 402 * MS)
        self.run_command("top", "--name=nope", folder, status=1)

    def test_top_limits_rows(self):
        text = self.output("top", "--limit=2", self.shop())
        self.assertIn("more functions; --limit=0 shows all", text)
        self.assertEqual(len(self.read_json("top", "--limit=2", self.folder)["functions"]), 2)
        self.assertNotIn("more functions", self.output("top", "--limit=0", self.folder))

    def test_operations(self):
        lines = [span_line("%016x" % (n + 1), "/items/%d" % n, n, n + 1, (n + 1) * MS)
                 for n in range(100)]
        self.write_spans("a.spans.jsonl.gz", lines)
        operation = self.read_json("top", "--operations", self.folder)
        self.assertEqual(operation, [{
            "operation": "GET /items/{id}", "count": 100, "p50_ns": 50 * MS,
            "p95_ns": 95 * MS, "max_ns": 100 * MS, "cpu_ns": 5050 * MS,
            "cpu_per_request_ns": 50500000, "samples": 0, "errors": 0}])
        text = self.output("top", "--operations", self.folder)
        self.assertRegex(text, r"GET /items/\{id\} +100 50\.0 ms 95\.0 ms 100 ms 5\.05 s 50\.5 ms")

    # files

    def test_files_can_be_named_themselves(self):
        self.shop()
        profile = self.path("blocks-20260712T101112Z-1.pb.gz")
        self.assertEqual(self.read_json("show", SLOW, profile)["duration_ns"], 430 * MS)
        # Naming a file twice doesn't count it twice.
        top = self.read_json("top", profile, profile, self.folder)
        self.assertEqual(top["samples"], 47)

    def test_several_files_add_up(self):
        self.shop()
        shutil.copy(self.path("blocks-20260712T101112Z-1.pb.gz"),
                    self.path("blocks-20260712T101122Z-2.pb.gz"))
        self.assertEqual(self.read_json("show", SLOW, self.folder)["samples"], 78)
        self.assertEqual(self.read_json("top", self.folder)["statistics"]["lost_no_block"], 6)

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
        self.assertEqual(self.read_json("show", SLOW, cwd=parent)["samples"], 39)

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
            "crc.pb.gz": (packed[:-8] + b"1234" + packed[-4:], "incorrect data check"),
            "tail.pb.gz": (packed + b"more", "damaged gzip"),
            "noise.pb.gz": (gzip.compress(b"\xff" * 50), "not a pprof message"),
            "types.pb.gz": (changed(lambda m: setattr(m.sample_type[1], "type", 1)),
                            "samples/count and cpu/nanoseconds are needed"),
            "string.pb.gz": (changed(lambda m: setattr(m.function[0], "name", 999)),
                             "function 1 has the string index 999, out of range"),
            "location.pb.gz": (changed(lambda m: m.sample[0].location_id.append(99)),
                               "sample 1 has the unknown location 99"),
            "value.pb.gz": (changed(set_value), "negative value"),
            "values.pb.gz": (changed(lambda m: m.sample[0].value.pop()),
                             "1 values for 2 sample types"),
            "json.spans.jsonl.gz": (
                gzip.compress(span_line(FEW, "/ok", 0, 1, MS).encode() + b"\n{\"a\n"),
                "line 2: bad JSON"),
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
        self.write_spans("a.spans.jsonl.gz", [span_line(SLOW, "/a", 0, 1, MS), "{",
                                              span_line(FEW, "/b", 0, 2, MS)])
        result = self.run_command("spans", "--json", self.folder, status=1)
        self.assertEqual(len(json.loads(result.stdout)), 2)
        self.assertIn("line 2", result.stderr)

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
        self.write_spans("a\x1b[31m.spans.jsonl.gz",
                         [span_line(SLOW, "/" + evil, 0, 9, MS, method="G" + evil)])
        runs = [("spans",), ("spans", "--json"), ("spans", "--wide"), ("show", SLOW),
                ("show", SLOW, "--json"), ("top",), ("top", "--json"),
                ("top", "--operations"), ("top", "--operations", "--json"),
                ("show", "abcd"), ("top", "--name=\x1b[31m")]
        for arguments in runs:
            result = self.run_command(*arguments, self.folder, status=1)
            for text in (result.stdout, result.stderr):
                self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", arguments)
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
        self.assertEqual(self.read_json("top", self.folder)["cpu_ns"], 2**63 - 1)
        for arguments in (("spans",), ("show", SLOW), ("top",), ("top", "--operations")):
            self.output(*arguments, self.folder)

    # the terminal

    def run_on_terminal(self, columns, *arguments, **variables):
        """stdout of a run whose stdout is a terminal."""
        parent, child = pty.openpty()
        subprocess.run(["stty", "cols", str(columns), "-onlcr"], stdin=child, check=True)
        environment = dict(os.environ, TERM="xterm")
        environment.pop("NO_COLOR", None)
        environment.update(variables)
        process = subprocess.Popen([SPANPROF, *arguments], stdout=child,
                                   stderr=subprocess.DEVNULL, env=environment)
        os.close(child)
        data = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
        os.close(parent)
        self.assertEqual(process.wait(), 0)
        return data.decode()

    def test_tables_follow_the_terminal(self):
        folder = self.shop()
        wide = self.run_on_terminal(200, "spans", folder)
        self.assertIn(TRACE, wide)
        narrow = self.run_on_terminal(90, "spans", folder, NO_COLOR="1")
        self.assertNotIn(TRACE, narrow)
        self.assertTrue(all(len(line) <= 90 for line in narrow.splitlines()))

    def test_colour_only_on_terminals_and_only_if_wanted(self):
        folder = self.shop()
        self.assertIn("\x1b[1m", self.run_on_terminal(100, "top", folder))
        self.assertNotIn("\x1b", self.run_on_terminal(100, "top", folder, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.run_on_terminal(100, "top", folder, TERM="dumb"))
        self.assertNotIn("\x1b", self.run_on_terminal(100, "top", "--color=never", folder))
        self.assertNotIn("\x1b", self.output("top", folder))
        self.assertIn("\x1b[1m", self.output("top", "--color=always", folder))

    # the command line

    def test_help_has_examples_first_and_is_short(self):
        for arguments in ((), ("spans",), ("show",), ("top",)):
            text = self.output(*arguments, "--help")
            lines = text.splitlines()
            self.assertEqual(lines[0], "Examples:")
            self.assertLessEqual(len(lines), 60)
            self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(self.output("help", "top"), self.output("top", "-h"))
        self.assertRegex(self.output("--version"), r"^spanprof \d+\.\d+")
        self.assertEqual(self.run_command(status=2).stdout, "")

    def test_slips_get_a_suggestion(self):
        folder = self.shop()
        for arguments, words in (
                (("spnas", folder), "did you mean 'spanprof spans'?"),
                (("spans", "--srot=cpu", folder), "did you mean '--sort'?"),
                (("spans", "--sort=durations", folder), "did you mean 'duration'?"),
                (("top", "--color=alwasy", folder), "did you mean 'always'?"),
                (("top", "--sort=cpu", folder), "unknown option '--sort'"),
                (("top", "--limit=-1", folder), "--limit takes a number"),
                (("top", "--limit"), "needs a value"),
                (("top", "-q", folder), "unknown option '-q'"),
                (("show",), "which span?"),
                (("xyzzy",), "spanprof --help")):
            result = self.run_command(*arguments, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([SPANPROF, "top", self.shop()], stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"writing the output", result.stderr)


class PprofTest(ReportTest):
    """google/pprof must come to the same totals."""

    @staticmethod
    def pprof():
        """The command, or None."""
        go = shutil.which("go")
        if go and subprocess.run([go, "tool", "pprof", "-h"], check=False,
                                 capture_output=True).returncode in (0, 1, 2):
            return [go, "tool", "pprof"]
        return None

    def test_pprof_agrees(self):
        command = self.pprof()
        if not command:
            self.skipTest("go tool pprof is not installed")
        self.shop()
        path = self.path("blocks-20260712T101112Z-1.pb.gz")
        raw = subprocess.run(command + ["-raw", path], check=True, capture_output=True,
                             text=True).stdout
        for span in (SLOW, FEW):
            ours = self.read_json("show", span, self.folder)
            samples = re.findall(r"^ +(\d+) +(\d+): [^\n]*\n +span_id:\[%s\]" % span, raw,
                                 re.M)
            self.assertEqual(sum(int(s[0]) for s in samples), ours["samples"])
            cpu_ns = ours["sampled_cpu_ns"] + ours["unsampled_cpu_ns"]
            self.assertEqual(sum(int(s[1]) for s in samples), cpu_ns)
            top = subprocess.run(
                command + ["-top", "-unit=ns", "-nodefraction=0", "-sample_index=cpu",
                           "-tagfocus=span_id=" + span, path],
                check=True, capture_output=True, text=True).stdout
            self.assertIn("nodes accounting for %dns" % cpu_ns, top)
            theirs = {m[2]: (int(m[0]), int(m[1])) for m in re.findall(
                r"^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +(\d+)(?:ns)? +[\d.]+% +(.*)$", top, re.M)}
            for function in ours["functions"]:
                self.assertEqual(theirs[function["function"]],
                                 (function["self_cpu_ns"], function["total_cpu_ns"]))


# PprofTest borrows the helpers of ReportTest, not its tests.
for name in list(vars(ReportTest)):
    if name.startswith("test_"):
        setattr(PprofTest, name, None)

if __name__ == "__main__":
    unittest.main()
