# SPDX-License-Identifier: Apache-2.0
"""Reads an output folder of spanprof: its profiles and its spans.

Everything that a Grafana Pyroscope or google/pprof would refuse, or would take
and then misread, raises Invalid here: a test that reads a folder is a test of
its form, too.

The decoder is Debian's python3-protobuf with code that protoc makes of
exporter/profile.proto on first use.
"""
import collections
import dataclasses
import functools
import gzip
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROFILE_SUFFIX = ".pb.gz"
SPANS_SUFFIX = ".spans.jsonl.gz"

# What a Pyroscope takes of one profile with its default limits.
MOST_SAMPLES = 16000
MOST_BYTES = (19 << 20) // 10     # 1.9 MiB
MOST_FRAMES = 1000
MOST_STRING_BYTES = 65535
MOST_SPAN_NAMES = 101       # 100 and "other"
LONGEST_WINDOW_NS = 16 * 10**9
OLDEST_NS = 3600 * 10**9
NEWEST_NS = 600 * 10**9

UNSAMPLED = "[unsampled]"
SERVER_KIND = 2
MODULE_FRAME = re.compile(r"\[(.+)\+0x([0-9a-f]+)\]")


class Invalid(Exception):
    """A file that a reader of such files would refuse or misread."""


def require(condition, *what):
    if not condition:
        raise Invalid(" ".join(str(w) for w in what))


@dataclasses.dataclass(frozen=True)
class Sample:
    """One sample of a profile; `stack` has function names, leaf first, with
    inlined functions as frames of their own."""
    stack: tuple
    count: int
    cpu_ns: int
    span_id: str
    trace_id: str
    span_name: str
    pid: int

    @property
    def unsampled(self):
        """Whether it stands for time that no sample shows."""
        return self.stack[0] == UNSAMPLED

    @property
    def root(self):
        """The outermost frame."""
        return self.stack[-1]


@dataclasses.dataclass(frozen=True)
class Span:
    """One request. `end_ns` is None where the span had not ended. Ids are None
    where there is none."""
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict = dataclasses.field(hash=False)

    @property
    def cpu_ns(self):
        return self.attributes["spanprof.cpu_ns"]

    @property
    def method(self):
        """As it was sent; OTel keeps unusual ones apart."""
        return (self.attributes.get("http.request.method_original")
                or self.attributes.get("http.request.method"))

    @property
    def end(self):
        """How it ended: complete, closed, next, lost, unfinished."""
        return self.attributes.get("spanprof.end")

    @property
    def path(self):
        return self.attributes.get("url.path")

    @property
    def status(self):
        return self.attributes.get("http.response.status_code")


@dataclasses.dataclass
class Output:
    """A whole folder."""
    samples: list
    spans: list
    profiles: list      # the paths, oldest first
    comments: dict      # of all profiles together; numbers are added up

    @property
    def cpu_ns(self):
        return sum(s.cpu_ns for s in self.samples)

    def span_by_id(self):
        return {span.span_id: span for span in self.spans}

    def spans_by_trace(self):
        by_trace = collections.defaultdict(list)
        for span in self.spans:
            by_trace[span.trace_id].append(span)
        return by_trace


@functools.lru_cache(maxsize=None)
def messages(name="profile"):
    """The module that protoc makes of profile.proto, or of another of the
    exporter's."""
    with tempfile.TemporaryDirectory(prefix="spanprof-proto-") as folder:
        subprocess.run(["protoc", f"--proto_path={ROOT / 'exporter'}",
                        f"--python_out={folder}", f"{name}.proto"], check=True)
        path = pathlib.Path(folder) / f"{name}_pb2.py"
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module


def decode(path):
    """The message in a profile file."""
    from google.protobuf.message import DecodeError
    try:
        raw = gzip.decompress(path.read_bytes())
        message = messages().Profile.FromString(raw)
    except (OSError, EOFError, DecodeError) as error:
        raise Invalid(f"{path}: {error}") from error
    require(len(raw) <= MOST_BYTES, path, "is larger than a server takes:",
            len(raw))
    return message


class _Checker:
    """The rules for one profile. One that is pushed may lack ids, and samples
    that differed by them need not be added up: a server does that."""

    def __init__(self, path, message, pushed=False):
        self.path = path
        self.pushed = pushed
        self.message = message
        self.strings = message.string_table

    def require(self, condition, *what):
        if not condition:
            raise Invalid(f"{self.path}: " + " ".join(str(w) for w in what))

    def text(self, number):
        self.require(0 <= number < len(self.strings), "no string", number)
        return self.strings[number]

    def check_strings(self):
        self.require(self.strings and self.strings[0] == "", "string 0")
        self.require(len(set(self.strings)) == len(self.strings),
                     "a string twice")
        for string in self.strings:
            self.require(len(string.encode()) <= MOST_STRING_BYTES,
                         "a long string", string[:40])

    def type(self, value_type):
        text = self.text(value_type.type), self.text(value_type.unit)
        self.require("-" not in text[0], "a dash in a type", text)
        return text

    def check_types(self):
        m = self.message
        types = [self.type(t) for t in m.sample_type]
        self.require(types == [("samples", "count"), ("cpu", "nanoseconds")],
                     "sample types", types)
        self.require(m.HasField("period_type"), "no period type")
        self.require(self.type(m.period_type) == ("cpu", "nanoseconds"),
                     "period type")
        self.require(m.period > 0, "period", m.period)
        self.require(self.text(m.default_sample_type) == "cpu", "default type")

    def check_window(self):
        m = self.message
        age_ns = time.time_ns() - m.time_nanos
        self.require(-NEWEST_NS < age_ns < OLDEST_NS, "time", m.time_nanos)
        self.require(0 < m.duration_nanos <= LONGEST_WINDOW_NS, "duration",
                     m.duration_nanos)

    def check_ids(self, table, name):
        ids = [entry.id for entry in table]
        self.require(ids == list(range(1, len(ids) + 1)), "ids of", name)

    def check_tables(self):
        m = self.message
        for name in ("mapping", "location", "function"):
            self.check_ids(getattr(m, name), name)
        for function in m.function:
            self.require(self.text(function.name), "a function has no name")
            self.text(function.system_name)
            self.text(function.filename)
        for mapping in m.mapping:
            self.require(self.text(mapping.filename), "a mapping has no file")
            build_id = self.text(mapping.build_id)
            self.require(re.fullmatch("[0-9a-f]*", build_id), "build id",
                         build_id)
        for location in m.location:
            self.check_location(location)

    def check_location(self, location):
        m = self.message
        self.require(0 <= location.mapping_id <= len(m.mapping), "mapping of",
                     location.id)
        self.require(location.line, "location", location.id, "has no line")
        for line in location.line:
            self.require(1 <= line.function_id <= len(m.function),
                         "function of location", location.id)

    def check_sample(self, sample):
        self.require(len(sample.value) == 2, "values", sample.value)
        self.require(min(sample.value) >= 0 and max(sample.value) > 0,
                     "values", sample.value)
        self.require(1 <= len(sample.location_id) <= MOST_FRAMES, "depth",
                     len(sample.location_id))
        for number in sample.location_id:
            self.require(1 <= number <= len(self.message.location),
                         "no location", number)

    def labels(self, sample):
        """A dict of the labels; one that isn't ours would become a series."""
        labels = {}
        for label in sample.label:
            key = self.text(label.key)
            self.require(key not in labels, "label twice:", key)
            self.require(key in ("span_id", "trace_id", "span_name", "pid"),
                         "label", key)
            self.text(label.num_unit)
            labels[key] = self.text(label.str) or label.num
            self.require(isinstance(labels[key], int) == (key == "pid"),
                         "kind of label", key)
        self.check_labels(labels)
        return labels

    def check_labels(self, labels):
        for key, digits in (("span_id", 16), ("trace_id", 32)):
            self.require(key not in labels or is_id(labels[key], digits),
                         labels)
        self.require("span_id" in labels or "trace_id" not in labels,
                     "a trace without a span", labels)
        if self.pushed:
            return
        self.require(("span_id" in labels) == ("trace_id" in labels),
                     "only one of the ids", labels)
        self.require("span_id" in labels or "span_name" not in labels,
                     "a name without a span", labels)

    def check_all(self):
        self.check_strings()
        self.check_types()
        self.check_window()
        self.check_tables()
        self.require(len(self.message.sample) <= MOST_SAMPLES, "samples",
                     len(self.message.sample))
        for sample in self.message.sample:
            self.check_sample(sample)

    def samples(self):
        frames = [()] + [self.frames(l) for l in self.message.location]
        seen = set()
        for sample in self.message.sample:
            labels = self.labels(sample)
            identity = tuple(sample.location_id), tuple(sorted(labels.items()))
            self.require(identity not in seen or self.pushed,
                         "not aggregated", labels)
            seen.add(identity)
            stack = sum((frames[n] for n in sample.location_id), ())
            yield Sample(stack, sample.value[0], sample.value[1],
                         labels.get("span_id"), labels.get("trace_id"),
                         labels.get("span_name"), labels.get("pid"))

    def frames(self, location):
        functions = self.message.function
        return tuple(self.text(functions[line.function_id - 1].name)
                     for line in location.line)

    def comments(self):
        return [self.text(number) for number in self.message.comment]


def is_id(text, digits):
    """Whether it is an id of the W3C: lower-case hex, not all zeros."""
    return (re.fullmatch(f"[0-9a-f]{{{digits}}}", text) is not None
            and int(text, 16) != 0)


def read_profile(path):
    """All samples of one file, checked, and its comments."""
    checker = _Checker(path, decode(path))
    checker.check_all()
    return list(checker.samples()), checker.comments()


def check_pushed(message):
    """All samples of a profile that was pushed, and its comments."""
    checker = _Checker("push", message, pushed=True)
    checker.check_all()
    return list(checker.samples()), checker.comments()


def _attribute_value(value):
    (kind, content), = value.items()
    return int(content) if kind == "intValue" else content


def _attributes(items):
    attributes = {}
    for item in items:
        require(item["key"] not in attributes, "attribute twice:", item["key"])
        attributes[item["key"]] = _attribute_value(item["value"])
    return attributes


def _span(entry):
    attributes = _attributes(entry.get("attributes", []))
    end = entry.get("endTimeUnixNano")
    span = Span(entry["traceId"], entry["spanId"],
                entry.get("parentSpanId") or None, entry["name"],
                int(entry["startTimeUnixNano"]), int(end) if end else None,
                attributes)
    require(is_id(span.trace_id, 32) and is_id(span.span_id, 16), "ids", entry)
    require(span.parent_id is None or is_id(span.parent_id, 16), "parent",
            entry)
    require(span.parent_id != span.span_id, "its own parent", entry)
    require(entry["kind"] == SERVER_KIND, "kind", entry)
    require(attributes.get("pyroscope.profile.id") == span.span_id,
            "pyroscope.profile.id", entry)
    require(isinstance(span.cpu_ns, int) and span.cpu_ns >= 0, "CPU", entry)
    require(span.end_ns is None or span.end_ns >= span.start_ns, "times",
            entry)
    return span


def read_spans(path):
    """All spans of one file: a TracesData of OTLP a line, in JSON."""
    spans = []
    try:
        text = gzip.decompress(path.read_bytes()).decode()
        for line in text.splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    spans += [_span(entry) for entry in scope["spans"]]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path}: {error!r}") from error
    return spans


def _last_words(spans):
    """One entry a span: one that is open when its window ends is written there
    and once more when it has ended."""
    last = {}
    for span in spans:
        before = last.get(span.span_id)
        require(before is None or before.end == "unfinished",
                "ended before:", span)
        last[span.span_id] = span
    return list(last.values())


def read(folder):
    """The whole folder. Raises Invalid for the first thing that is wrong in
    it, also for a file that doesn't belong there."""
    samples, spans, profiles, comments = [], [], [], {}
    require(pathlib.Path(folder).is_dir(), "there is no folder", folder)
    for path in sorted(pathlib.Path(folder).iterdir()):
        if path.name.endswith(SPANS_SUFFIX):
            spans += read_spans(path)
        elif path.name.endswith(PROFILE_SUFFIX):
            more, texts = read_profile(path)
            samples += more
            profiles.append(path)
            _add_comments(comments, texts)
        else:
            raise Invalid(f"{path} doesn't belong into an output folder")
    spans = _last_words(spans)
    names = {sample.span_name for sample in samples}
    require(len(names) <= MOST_SPAN_NAMES + 1, folder, "has", len(names),
            "span names")
    return Output(samples, spans, profiles, comments)


def _add_comments(comments, texts):
    for text in texts:
        key, _, value = text.partition("=")
        if value.isdigit():
            comments[key] = comments.get(key, 0) + int(value)
        else:
            comments[key] = value
