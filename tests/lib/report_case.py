# SPDX-License-Identifier: Apache-2.0
"""Folders of profiles and spans made by hand, and runs of the spanprof command
over them. A folder lasts as long as its test."""

import gzip
import importlib
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SPANPROF_BUILD", "build")
SPANPROF = str(BUILD / "spanprof")

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
    subprocess.run(
        [
            "protoc",
            "-I",
            str(ROOT),
            "--python_out",
            folder,
            str(ROOT / "exporter/profile.proto"),
        ],
        check=True,
    )
    sys.path.insert(0, folder)
    return importlib.import_module("exporter.profile_pb2")


class Profile:
    """Builds a pprof message the way the exporter writes it."""

    def __init__(self, schema):
        self.message = schema.Profile(
            time_nanos=START, duration_nanos=10 * 10**9, period=PERIOD
        )
        self.texts = {"": 0}
        self.locations = {}
        for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
            self.message.sample_type.add(
                type=self.text(kind), unit=self.text(unit)
            )
        self.message.period_type.type = self.text("cpu")
        self.message.period_type.unit = self.text("nanoseconds")

    def text(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def location(self, name):
        if name not in self.locations:
            number = len(self.locations) + 1
            self.locations[name] = number
            self.message.function.add(id=number, name=self.text(name))
            self.message.location.add(
                id=number, address=0x1000 + number
            ).line.add(function_id=number)
        return self.locations[name]

    def sample(
        self,
        stack,
        count,
        cpu_ns,
        span=None,
        trace=TRACE,
        name="GET",
        key="span_id",
    ):
        """`stack` is root first, separated by semicolons."""
        sample = self.message.sample.add(value=[count, cpu_ns])
        sample.location_id.extend(
            self.location(f) for f in reversed(stack.split(";"))
        )
        labels = (
            {key: span, "trace_id": trace, "span_name": name} if span else {}
        )
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


def span_line(
    span,
    path,
    start_ms,
    duration_ms,
    cpu_ns,
    trace=TRACE,
    method="GET",
    status=200,
    end="complete",
    parent=None,
):
    record = {
        "traceId": trace,
        "spanId": span,
        "name": method,
        "kind": 2,
        "startTimeUnixNano": str(START + start_ms * MS),
        "endTimeUnixNano": str(START + (start_ms + duration_ms) * MS),
        "attributes": [
            attribute("http.request.method", method),
            attribute("url.path", path),
            attribute("http.response.status_code", status),
            attribute("pyroscope.profile.id", span),
            attribute("spanprof.cpu_ns", cpu_ns),
            attribute("spanprof.end", end),
            attribute("process.pid", 77),
            attribute("thread.id", 78),
        ],
    }
    if parent:
        record["parentSpanId"] = parent
    if status >= 500:
        record["status"] = {"code": 2}
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [attribute("service.name", "blocks")]
                    },
                    "scopeSpans": [
                        {
                            "scope": {"name": "spanprof", "version": "0"},
                            "spans": [record],
                        }
                    ],
                }
            ]
        }
    )


class ReportCase(unittest.TestCase):
    """What a test of the command has: a folder, and ways to use it."""

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
        return self.write(
            name, gzip.compress("".join(l + "\n" for l in lines).encode())
        )

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
        self.write_spans(
            "blocks-20260712T101112Z-1.spans.jsonl.gz",
            [
                span_line(
                    SLOW,
                    "/tenants/42/compact",
                    0,
                    430,
                    402 * MS,
                    method="POST",
                    parent="b7ad6b7169203331",
                ),
                span_line(FEW, "/blocks/7", 500, 40, 31 * MS, status=500),
                span_line(
                    NONE, "/blocks/8", 600, 2, 2100000, trace=OTHER_TRACE
                ),
                span_line(
                    CLOSED,
                    "/health",
                    700,
                    1,
                    100000,
                    trace=OTHER_TRACE,
                    status=200,
                    end="closed",
                ),
            ],
        )
        return self.folder

    def run_command(self, *arguments, status=0, **more):
        """The outcome of a run; fails on another exit status."""
        environment = dict(os.environ, LC_ALL="C")
        environment.pop("NO_COLOR", None)
        result = subprocess.run(
            [SPANPROF, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            timeout=60,
            check=False,
            **more
        )
        self.assertEqual(
            result.returncode,
            status,
            "%s\n%s%s" % (arguments, result.stdout, result.stderr),
        )
        for line in result.stderr.splitlines():
            if status != 2:
                self.assertTrue(line.startswith("spanprof: "), line)
        return result

    def output(self, *arguments, **more):
        return self.run_command(*arguments, **more).stdout

    def read_json(self, *arguments, **more):
        return json.loads(self.output(*arguments, "--json", **more))

    def run_on_terminal(self, columns, *arguments, **variables):
        """stdout of a run whose stdout is a terminal."""
        parent, child = pty.openpty()
        subprocess.run(
            ["stty", "cols", str(columns), "-onlcr"], stdin=child, check=True
        )
        environment = dict(os.environ, TERM="xterm")
        environment.pop("NO_COLOR", None)
        environment.update(variables)
        process = subprocess.Popen(
            [SPANPROF, *arguments],
            stdout=child,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
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
