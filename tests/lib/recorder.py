# SPDX-License-Identifier: Apache-2.0
"""A recorder of pushes: a Pyroscope as far as pushing goes. It refuses what a
real one refuses with its default limits, with the same status, keeps what it
takes, and can be told to answer anything else.

    with Recorder() as server:
        server.script = [Answer(503), Answer(429, {"Retry-After": "1"})]
        ... push to server.url ...
        server.span(span_id)        # the samples of one span

The answers of `script` are used up one a push; then each push is judged.
"""
import collections
import contextlib
import dataclasses
import gzip
import http.server
import json
import re
import socket
import struct
import threading
import time

from lib import profile

PUSH = "/push.v1.PusherService/Push"
BUILD_INFO = "/api/v1/status/buildinfo"

MOST_BODY_BYTES = 256 << 20
MOST_LABELS = 30
LONGEST_NAME = 1024
LONGEST_VALUE = 2048
BURST_BYTES = 2 << 20

INVALID, UNAUTHENTICATED = "invalid_argument", "unauthenticated"


@dataclasses.dataclass
class Answer:
    """What to do with a push instead of judging it. `fault` is "reset",
    "close" (without an answer), "slow" (a byte a second) or "never"."""
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0
    fault: str = ""


@dataclasses.dataclass
class Push:
    """A push that was taken."""
    labels: dict        # of the series
    samples: list       # profile.Sample
    comments: list
    headers: dict
    path: str
    profile: bytes      # the pprof, not gzip'ed


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


def require(condition, message, status=400, code=INVALID):
    if not condition:
        raise Refused(status, code, message)


def _plain(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def check_labels(pairs):
    """The labels of a series as a dict."""
    labels = {pair.name: pair.value for pair in pairs}
    require(len(labels) == len(pairs), "duplicate label names")
    require(len(pairs) <= MOST_LABELS, "too many labels")
    for name, value in labels.items():
        require(0 < len(name.encode()) <= LONGEST_NAME, "label name length")
        require(len(value.encode()) <= LONGEST_VALUE, "label value length")
    require(re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*",
                         labels.get("__name__", "")), "invalid metric name")
    require(labels.get("service_name", "x"), "empty service_name")
    return labels


def check_profile(gzipped):
    """The samples and comments of a pprof, and its bytes."""
    from google.protobuf.message import DecodeError
    try:
        raw = _plain(gzipped)
        message = profile.messages().Profile.FromString(raw)
    except (OSError, EOFError, DecodeError, UnicodeDecodeError) as error:
        raise Refused(500, "unknown", f"no profile: {error}") from error
    require(len(raw) <= BURST_BYTES, "rate limit exceeded", 429,
            "resource_exhausted")
    try:
        samples, comments = profile.check_pushed(message)
    except profile.Invalid as error:
        raise Refused(400, INVALID, str(error)) from error
    return samples, comments, raw


def judge(headers, body, path):
    """The pushes in a request. Raises Refused."""
    from google.protobuf.message import DecodeError
    require(headers.get("Content-Type") == "application/proto",
            "unsupported media type", 415, "")
    require(len(body) <= MOST_BODY_BYTES, "body too large", 413, "")
    try:
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = profile.messages("push").PushRequest.FromString(body)
    except (OSError, EOFError, DecodeError) as error:
        raise Refused(400, INVALID, f"no PushRequest: {error}") from error
    require(request.series, "no profiles received")
    pushes = []
    for series in request.series:
        labels = check_labels(series.labels)
        require(series.samples, "no profiles received")
        for sample in series.samples:
            pushes.append(Push(labels, *check_profile(sample.raw_profile)[:2],
                               dict(headers), path,
                               _plain(sample.raw_profile)))
    return pushes


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.recorder.take_get(self)

    def do_POST(self):
        self.server.recorder.take_post(self)

    def answer(self, status, body=b"", headers=None):
        self.send_response(status)
        fields = {"Content-Type": "application/json",
                  "Content-Length": str(len(body)), **(headers or {})}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, code, message):
        self.answer(status, json.dumps({"code": code,
                                        "message": message}).encode())


class Recorder:
    """The server. `version` is what it says it is, None: it does not say;
    `authorization` and `tenant` are required when they are set; `base` is the
    path in front of all paths."""

    def __init__(self, *, version="2.1.0", authorization=None, tenant=None,
                 base="", tls=None):
        self.version = version
        self.authorization = authorization
        self.tenant = tenant
        self.base = base
        self.script = []
        self.always = None      # an Answer to each push
        self.pushes = []        # that were taken
        self.refusals = []      # (status, message) of those that were not
        self.requests = []      # (method, path, headers), of all
        self.times = []         # of all pushes, monotonic
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                    _Handler)
        self.http.daemon_threads = True
        self.http.block_on_close = False
        self.http.recorder = self
        self.http.handle_error = lambda *_: None
        if tls:
            self.http.socket = tls.wrap_socket(self.http.socket,
                                               server_side=True)
        self.port = self.http.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}" \
            f"{base}"
        self.thread = threading.Thread(target=self.http.serve_forever,
                                       kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def note(self, handler):
        with self.lock:
            self.requests.append((handler.command, handler.path,
                                  dict(handler.headers)))

    def may_enter(self, handler):
        if self.authorization and \
                handler.headers.get("Authorization") != self.authorization:
            handler.error(401, UNAUTHENTICATED, "bad credentials")
        elif self.tenant and \
                handler.headers.get("X-Scope-OrgID") != self.tenant:
            handler.error(401, UNAUTHENTICATED, "no org id")
        else:
            return True
        return False

    def take_get(self, handler):
        self.note(handler)
        if not self.may_enter(handler):
            return
        if handler.path == self.base + PUSH:
            handler.error(405, "", "method not allowed")
        elif handler.path != self.base + BUILD_INFO or not self.version:
            handler.error(404, "", "not found")
        else:
            handler.answer(200, json.dumps(
                {"status": "success",
                 "data": {"version": self.version}}).encode())

    def take_post(self, handler):
        length = int(handler.headers.get("Content-Length", 0))
        body = handler.rfile.read(length)
        self.note(handler)
        if handler.path != self.base + PUSH:
            handler.error(404, "", "not found")
            return
        with self.lock:
            self.times.append(time.monotonic())
            answer = self.script.pop(0) if self.script else self.always
        if answer:
            self.play(handler, answer)
        elif self.may_enter(handler):
            self.take_push(handler, body)

    def take_push(self, handler, body):
        try:
            pushes = judge(dict(handler.headers), body, handler.path)
        except Refused as refused:
            with self.lock:
                self.refusals.append((refused.status, str(refused)))
            handler.error(refused.status, refused.code, str(refused))
            return
        with self.lock:
            self.pushes += pushes
        handler.answer(200, b"", {"Content-Type": "application/proto"})

    def play(self, handler, answer):
        self.ending.wait(answer.delay_s)
        if answer.fault:
            handler.close_connection = True
        if answer.fault == "reset":
            handler.connection.setsockopt(socket.SOL_SOCKET,
                                          socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
            handler.connection.close()
        elif answer.fault == "never":
            self.ending.wait()
        elif answer.fault == "slow":
            with contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":
                    handler.wfile.write(bytes([byte]))
                    if self.ending.wait(1):
                        return
        elif answer.fault != "close":
            handler.answer(answer.status, answer.body, answer.headers)

    @property
    def samples(self):
        return [sample for push in self.pushes for sample in push.samples]

    @property
    def cpu_ns(self):
        return sum(sample.cpu_ns for sample in self.samples)

    def span(self, span_id):
        """The samples of a span, as SelectMergeSpanProfile finds them."""
        return [s for s in self.samples if s.span_id == span_id]

    def series(self):
        """The series that these pushes make: each string label of a sample
        other than its ids becomes one of its series, and before 2.1 the trace
        id, too. {labels: samples}"""
        found = collections.Counter()
        with_trace = not re.match(r"v?(2\.[1-9]|[3-9])", self.version or "")
        for push in self.pushes:
            for sample in push.samples:
                found[(frozenset(push.labels.items()), sample.span_name,
                       sample.trace_id if with_trace else None)] += 1
        return found
