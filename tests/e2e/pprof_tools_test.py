#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether readers that aren't ours find in the files what our own report and
our own reader find: go tool pprof and protoc."""
import collections
import gzip
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, profile, run  # noqa: E402

SEED = 31


class Raw:
    """What `go tool pprof -raw` prints, in parts."""

    def __init__(self, text):
        self.samples = collections.Counter()
        self.names = collections.defaultdict(list)
        self.header, rest = text.split("Samples:\n", 1)
        samples, rest = rest.split("\nLocations\n", 1)
        locations, self.mappings = rest.split("\nMappings\n", 1)
        self._read_locations(locations)
        self._read_samples(samples.splitlines()[1:])

    def _read_locations(self, text):
        """A location's inlined frames follow in lines without a number."""
        number = None
        for line in text.splitlines():
            head = re.match(r" *(\d+): 0x[0-9a-f]+ (M=\d+ )?", line)
            if head:
                number = int(head.group(1))
                line = line[head.end():]
            name = re.sub(r" s=\d+(\(.*\))?$", "", line.strip())
            # File and line stand between, "?:0" or ":0" where unknown.
            name = re.sub(r" \S*:\d+(:\d+)?$", "", name)
            self.names[number].append(name)

    def _read_samples(self, lines):
        sample = labels = None
        for line in lines + [None]:
            match = line and re.match(r" *(\d+) +(\d+): ([\d ]+)$", line)
            if match or line is None:
                if sample:
                    self.samples[sample + (frozenset(labels.items()),)] += 1
                if match:
                    stack = sum((self.names[int(n)]
                                 for n in match.group(3).split()), [])
                    sample = (int(match.group(1)), int(match.group(2)),
                              tuple(stack))
                    labels = {}
            else:
                for key, value in re.findall(r"(\w+):\[([^\]]*)\]", line):
                    labels[key] = value


def as_raw(sample):
    """One of our samples in the form of Raw's."""
    labels = {"pid": str(sample.pid), "span_id": sample.span_id,
              "trace_id": sample.trace_id, "span_name": sample.span_name}
    return (sample.count, sample.cpu_ns, sample.stack, frozenset(
        (key, value) for key, value in labels.items() if value))


class PprofToolsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = run.temporary_folder()
        folder = cls.folder.__enter__()
        cls.addClassCleanup(cls.folder.__exit__, None, None, None)
        plans = burn.plans(SEED, 2, 12, lambda rng: burn.request(
            rng, 60000, "housekeeping=10000"))
        cls.outcome = burn.profiled(folder, ["--threads=2"], lambda port:
                                    client.run(port, plans))
        cls.output = cls.outcome.output
        cls.files = [str(path) for path in cls.output.profiles]
        cls.span = max(cls.output.spans, key=lambda span: span.cpu_ns)
        cls.own = [s for s in cls.output.samples
                   if s.span_id == cls.span.span_id]

    def pprof(self, *arguments):
        go, = run.need("go")
        done = subprocess.run([go, "tool", "pprof", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_raw_shows_every_sample_with_its_labels(self):
        for path in self.files:
            raw = Raw(self.pprof("-raw", path))
            samples, _ = profile.read_profile(pathlib.Path(path))
            self.assertEqual(raw.samples, collections.Counter(
                as_raw(sample) for sample in samples))
            self.assertIn("PeriodType: cpu nanoseconds", raw.header)

    def test_tags_adds_up_to_the_same_for_each_span(self):
        text = self.pprof("-tags", "-unit=ns", *self.files)
        sums = collections.Counter()
        for sample in self.output.samples:
            if sample.span_id:
                sums[sample.span_id] += sample.cpu_ns
        # Go 1.19 shows fractions, later ones do not.
        shown = {identity: int(float(value)) for value, identity in re.findall(
            r"([\d.]+)ns +\( *[\d.]+%\): ([0-9a-f]{16})\n", text)}
        self.assertEqual(shown, dict(sums))

    def test_top_of_one_span_agrees_with_its_samples(self):
        text = self.pprof("-top", "-unit=ns", "-nodefraction=0", "-nodecount=0",
                          f"-tagfocus=span_id={self.span.span_id}",
                          *self.files)
        flat = collections.Counter()
        for sample in self.own:
            flat[sample.stack[0]] += sample.cpu_ns
        row = (r"^ *(\d+)(?:ns)? +[\d.]+% +[\d.]+% +\d+(?:ns)? +[\d.]+%  "
               r"(.+?)(?: \((?:partial-)?inline\))?$")
        shown = {name: int(value) for value, name in
                 re.findall(row, text, re.MULTILINE)}
        self.assertEqual({n: v for n, v in shown.items() if v}, dict(flat))

    def test_the_report_agrees_with_both(self):
        shown = json.loads(run.report("show", self.span.span_id, "--json",
                                      self.outcome.folder))
        functions = {f["function"]: f["self_cpu_ns"]
                     for f in shown["functions"] if f["self_cpu_ns"]}
        flat = collections.Counter()
        for sample in self.own:
            flat[sample.stack[0]] += sample.cpu_ns
        self.assertEqual(functions, dict(flat))

    def test_the_table_names_the_function_and_the_samples(self):
        text = run.report("show", self.span.span_id, self.outcome.folder)
        function = self.span.path.split("/")[2]
        self.assertIn(function, text)
        count = sum(sample.count for sample in self.own)
        self.assertRegex(text, rf"\b{count} samples\b")

    def test_the_report_lists_the_spans_of_the_folder(self):
        shown = json.loads(run.report("spans", "--json", self.outcome.folder))
        listed = shown["spans"] if isinstance(shown, dict) else shown
        self.assertEqual(
            {(s["trace_id"], s["span_id"], s["parent_span_id"], s["cpu_ns"])
             for s in listed},
            {(s.trace_id, s.span_id, s.parent_id, s.cpu_ns)
             for s in self.output.spans})

    def test_protoc_decodes_the_files(self):
        for path in self.files:
            raw = gzip.decompress(pathlib.Path(path).read_bytes())
            done = subprocess.run(
                ["protoc", "--decode=perftools.profiles.Profile",
                 f"--proto_path={run.ROOT / 'exporter'}", "profile.proto"],
                input=raw, stdout=subprocess.PIPE, check=True)
            text = done.stdout.decode()
            samples, _ = profile.read_profile(pathlib.Path(path))
            self.assertEqual(text.count("\nsample {"), len(samples))
            # A field that isn't in the format would be shown by its number.
            self.assertNotRegex(text, re.compile(r"^\s*\d+[: ]", re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
