# SPDX-License-Identifier: Apache-2.0
"""A recorder of pushes: a Pyroscope as far as pushing goes. It refuses what a
real one refuses with its default limits, with the same status, keeps what it
takes (lib/judging.py), and can be told to answer anything else.

    with Recorder() as server:
        server.script = [Answer(503), Answer(429, {"Retry-After": "1"})]
        ... push to server.url ...
        server.span(span_id)        # the samples of one span

The answers of `script` are used up one a push; then each push is judged.
"""
import collections
import contextlib
import dataclasses
import http.server
import json
import re
import socket
import struct
import threading
import time

from lib.background_server import BackgroundServer
from lib.judging import UNAUTHENTICATED, Refused, judge, judge_ingest

PUSH = "/push.v1.PusherService/Push"
INGEST = "/ingest"
BUILD_INFO = "/api/v1/status/buildinfo"


@dataclasses.dataclass
class Answer:
    """What to do with a push instead of judging it. `raw` is sent as it is and
    the connection closed. `fault` is "reset", "close" (without an answer),
    "slow" (a byte a second) or "never"; `early` comes before the body is read.
    With `keep` the push is judged and kept all the same."""
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    raw: bytes = None
    delay_s: float = 0
    fault: str = ""
    early: bool = False
    keep: bool = False


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.owner.take_get(self)

    def do_POST(self):
        self.server.owner.take_post(self)

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


class Recorder(BackgroundServer):
    """The server. `version` is what it says it is, None: it does not say;
    `authorization` and `tenant` are required when they are set; `base` is the
    path in front of all paths; an `old` server answers a push with that status
    and takes only /ingest."""

    def __init__(self, *, version="2.1.0", authorization=None, tenant=None,
                 base="", tls=None, address="127.0.0.1", old=None):
        super().__init__(_Handler, address=address, tls=tls)
        self.url += base
        self.version = version
        self.old = old
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

    def __exit__(self, *exception):
        self.ending.set()
        super().__exit__(*exception)

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
        self.note(handler)
        path = handler.path.partition("?")[0].removeprefix(self.base)
        answer = self.next_answer(path)
        if answer and answer.early:
            self.play(handler, answer)
            return
        length = int(handler.headers.get("Content-Length", 0))
        body = handler.rfile.read(length)
        if path not in (PUSH, INGEST):
            handler.error(404, "", "not found")
        elif answer and not answer.keep:
            self.play(handler, answer)
        elif self.may_enter(handler):
            self.take_push(handler, judge if path == PUSH else judge_ingest,
                           body, answer)

    def next_answer(self, path):
        """What to answer instead of judging, None: nothing."""
        if path == PUSH and self.old:
            return Answer(self.old)
        if path not in (PUSH, INGEST):
            return None
        with self.lock:
            self.times.append(time.monotonic())
            return self.script.pop(0) if self.script else self.always

    def take_push(self, handler, judgement, body, answer):
        try:
            pushes = judgement(dict(handler.headers), body, handler.path)
        except Refused as refused:
            with self.lock:
                self.refusals.append((refused.status, str(refused)))
            handler.error(refused.status, refused.code, str(refused))
            return
        with self.lock:
            self.pushes += pushes
        if answer:
            self.play(handler, answer)
        else:
            handler.answer(200, b"", {"Content-Type": "application/proto"})

    def play(self, handler, answer):
        self.ending.wait(answer.delay_s)
        if answer.fault or answer.early or answer.raw is not None:
            handler.close_connection = True
        if answer.raw is not None:
            with contextlib.suppress(OSError):
                handler.wfile.write(answer.raw)
        elif answer.fault == "reset":
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
