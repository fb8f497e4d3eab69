# SPDX-License-Identifier: Apache-2.0
"""Holds what a profile says against what the client knows.

The client knows which ids it sent with which request, and when; the test knows
which function a request makes the server run. From these follows for each
sample whether its label is right, wrong or missing.
"""
import collections
import dataclasses
import re
import struct

from lib import client, profile

# A span's times come from another process than the client's, and that process
# may be waiting for a core. Anything beyond is a span with wrong ends.
LATITUDE_NS = 250 * 10**6

BURN = re.compile(r"burn_\d\d")
SPAN_PATH_BYTES = 111


@dataclasses.dataclass
class Verdict:
    """CPU time of the samples that were judged, in ns, and those that bear the
    label of another request, in words."""
    right_ns: int = 0
    unlabelled_ns: int = 0
    wrong: list = dataclasses.field(default_factory=list)

    @property
    def total_ns(self):
        return self.right_ns + self.unlabelled_ns

    @property
    def right_share(self):
        return self.right_ns / self.total_ns if self.total_ns else 0.0

    def __str__(self):
        return (f"{self.total_ns / 1e6:.0f} ms, {self.right_share:.2%} "
                f"labelled right, {len(self.wrong)} wrong")


def path_of(request):
    """What a span of the request has as its url.path."""
    return request.path.split("?")[0].encode()[:SPAN_PATH_BYTES].decode()


def find_span_faults(output, results):
    """Compares the spans of a folder with the requests that were sent: one span
    each, with its ids, method, path and status, at its time, and no other.
    Returns the faults as texts."""
    by_trace = output.spans_by_trace()
    faults = []
    for result in results:
        if result.traceparent:
            spans = by_trace.pop(client.trace_of(result.traceparent), [])
            faults += _compare(result, spans)
    unasked = [result for result in results if not result.traceparent]
    faults += _compare_roots(unasked, sum(by_trace.values(), []))
    return faults


def _compare(result, spans):
    request = result.request
    if len(spans) != 1:
        return [f"{len(spans)} spans for {request.method} {request.path}"]
    span, = spans
    faults = []
    for name, wanted, got in (
            ("parent", client.parent_of(request.traceparent), span.parent_id),
            ("method", request.method, span.method),
            ("path", path_of(request), span.path),
            ("status", result.status or None, span.status or None)):
        if wanted != got:
            faults.append(f"{name} {got!r}, not {wanted!r}: {request.path}")
    if span.end_ns is None or span.end not in ("complete", "closed"):
        faults.append(f"its end is {span.end}: {request.path}")
    elif not _inside(span, result):
        faults.append(f"{span.start_ns - result.begin_ns} ns after the "
                      f"request's begin to {span.end_ns - result.end_ns} ns "
                      f"after its end: {request.path}")
    return faults


def _inside(span, result):
    return (span.start_ns >= result.begin_ns - LATITUDE_NS
            and span.end_ns <= result.end_ns + LATITUDE_NS)


def _compare_roots(results, spans):
    """Requests without a caller: as many spans, each the root of a trace of its
    own."""
    def identity(method, path):
        return f"{method} {path}"

    wanted = collections.Counter(identity(r.request.method, path_of(r.request))
                                 for r in results)
    got = collections.Counter(identity(s.method, s.path) for s in spans)
    faults = [f"{count} spans that nobody asked for: {what}"
              for what, count in (got - wanted).items()]
    faults += [f"{count} spans too few: {what}"
               for what, count in (wanted - got).items()]
    faults += [f"a parent out of nowhere: {span}" for span in spans
               if span.parent_id]
    return faults


def find_unknown_labels(output, results):
    """Samples whose label isn't the one span of a request that was sent: its
    trace id with its span's id. Returns the faults as texts."""
    spans = output.span_by_id()
    sent = {client.trace_of(r.traceparent) for r in results if r.traceparent}
    faults = set()
    for sample in output.samples:
        if not sample.span_id:
            continue
        span = spans.get(sample.span_id)
        if not span:
            faults.add(f"no span {sample.span_id}")
        elif span.trace_id != sample.trace_id:
            faults.add(f"span {sample.span_id} under two traces")
        elif span.parent_id and span.trace_id not in sent:
            faults.add(f"a trace that was never sent: {span.trace_id}")
    return sorted(faults)


def judge(output, owner_of):
    """Judges samples by what is in their stacks. `owner_of(stack)` returns None
    for a stack that tells nothing, else a function that says whether a span may
    own it."""
    spans = output.span_by_id()
    verdict = Verdict()
    for sample in output.samples:
        may_own = None if sample.unsampled else owner_of(sample.stack)
        if may_own is None:
            continue
        span = spans.get(sample.span_id)
        if sample.span_id is None:
            verdict.unlabelled_ns += sample.cpu_ns
        elif span and span.trace_id == sample.trace_id and may_own(span):
            verdict.right_ns += sample.cpu_ns
        else:
            verdict.wrong.append(f"{sample.stack[:6]} bears "
                                 f"{span.path if span else sample.span_id}")
    return verdict


def judge_burns(output):
    """Judges samples in the truth server's burn_NN: only a span whose path
    names the same function may own them."""
    def owner_of(stack):
        names = {name for name in stack if BURN.fullmatch(name)}
        if not names:
            return None
        return lambda span: {span.path.split("/")[2]} == names
    return judge(output, owner_of)


def labelled_share(output, function):
    """Of the CPU time in a function, the share that bears any label, and that
    time in ns."""
    labelled = total = 0
    for sample in output.samples:
        if function in sample.stack:
            total += sample.cpu_ns
            labelled += sample.cpu_ns if sample.span_id else 0
    return (labelled / total if total else 0.0), total


def labelled_cpu(output, results):
    """CPU time, sampled or not, that bears the traces of these requests."""
    traces = {client.trace_of(r.traceparent) for r in results}
    return sum(s.cpu_ns for s in output.samples if s.trace_id in traces)


def span_cpu(output, results):
    """CPU time that the spans of these requests say they took."""
    traces = {client.trace_of(r.traceparent) for r in results}
    return sum(s.cpu_ns for s in output.spans if s.trace_id in traces)


# Where stacks begin.

START_NAMES = {"_start", "clone", "__clone", "clone3", "__clone3"}


def _elf_segments(data):
    """(p_type, p_flags, offset, vaddr, filesz) of a little-endian ELF64."""
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], \
        *struct.unpack_from("<HH", data, 54)
    for number in range(count):
        kind, flags, at, vaddr, _, filesz = struct.unpack_from(
            "<IIQQQQ", data, offset + number * size)
        yield kind, flags, at, vaddr, filesz


def entry_point(executable):
    """e_entry, where the main thread of a program begins."""
    with open(executable, "rb") as file:
        return struct.unpack_from("<Q", file.read(64), 24)[0]


def thread_starts(libc):
    """Addresses in libc to which a thread's first function returns. They bear
    no symbol: found as the indirect call that follows the system call clone3
    (435) or clone (56) within 64 bytes."""
    with open(libc, "rb") as file:
        data = file.read()
    found = set()
    for kind, flags, at, vaddr, filesz in _elf_segments(data):
        if kind != 1 or not flags & 1:
            continue
        text = data[at:at + filesz]
        for number, call in ((435, b"\xff\xd2"), (56, b"\xff\xd0")):
            pattern = b"\xb8" + struct.pack("<I", number) + b"\x0f\x05"
            for match in re.finditer(re.escape(pattern), text):
                where = text.find(call, match.end(), match.end() + 64)
                if where >= 0:
                    found.add(vaddr + where + 2)
    return found


class Completeness:
    """Tells whether stacks reach the place where their thread began."""

    def __init__(self, executable, libc="/lib/x86_64-linux-gnu/libc.so.6"):
        self.entry = entry_point(executable)
        self.starts = thread_starts(libc)

    def reaches_start(self, sample):
        """The root is the program's entry or the start of a thread: by name, or
        by the place in its file where there is no name, which may be told as
        the return address or as the begin of the code around it."""
        if sample.root in START_NAMES:
            return True
        match = profile.MODULE_FRAME.fullmatch(sample.root)
        if not match:
            return False
        offset = int(match.group(2), 16)
        if match.group(1).startswith("libc.so"):
            return any(start - 16 <= offset <= start for start in self.starts)
        return self.entry <= offset < self.entry + 64

    def share(self, output):
        """Of all samples, and the roots that made the others incomplete."""
        total, good, bad = 0, 0, collections.Counter()
        for sample in output.samples:
            if sample.unsampled:
                continue
            total += sample.count
            if self.reaches_start(sample):
                good += sample.count
            else:
                bad[sample.root] += sample.count
        return (good / total if total else 0.0), bad
