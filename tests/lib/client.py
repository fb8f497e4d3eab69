# SPDX-License-Identifier: Apache-2.0
"""A load client for HTTP/1.1 servers on 127.0.0.1 that says what it sent.

Requests are written byte by byte as a test wants them: heads cut into several
segments, 32 KiB of other headers in front, several requests in one segment.
For each request it keeps what the client knows and a profile must agree with:
the ids that were sent, when, and what came back.
"""
import dataclasses
import random
import socket
import threading
import time

TIMEOUT_S = 60
PAUSE_BETWEEN_PIECES_S = 0.0004


def new_traceparent(rng, flags="01"):
    """A valid W3C traceparent of version 00 with random ids."""
    trace = rng.getrandbits(128) or 1
    parent = rng.getrandbits(64) or 1
    return f"00-{trace:032x}-{parent:016x}-{flags}"


def trace_of(traceparent):
    """The trace id of a traceparent, None of None."""
    return traceparent.split("-")[1] if traceparent else None


def parent_of(traceparent):
    """The id of the caller's span in a traceparent, None of None."""
    return traceparent.split("-")[2] if traceparent else None


def padding(count_bytes, rng):
    """Headers of about count_bytes in total, none of which matters. Some look
    like the one that does."""
    lines, total = [], 0
    while total < count_bytes:
        name = rng.choice(("X-Pad", "X-Traceparent", "Traceparents", "Cookie"))
        length = rng.randint(20, 500)
        value = "".join(rng.choices("abcdef0123456789-", k=length))
        lines.append((name, value))
        total += len(name) + len(value) + 4
    return lines


@dataclasses.dataclass
class Request:
    """One request. `function` is the test's own note of what it causes."""
    path: str
    method: str = "GET"
    traceparent: str = None
    headers: list = dataclasses.field(default_factory=list)
    body: bytes = b""
    chunks: list = None         # the body in chunked coding, as given
    trailers: list = dataclasses.field(default_factory=list)
    absolute: bool = False      # "GET http://host/path"
    expect: bool = False        # wait for "100 Continue"
    close: bool = False
    header_name: str = "traceparent"
    traceparent_first: bool = False
    function: str = ""

    def head(self):
        """The bytes up to and with the empty line."""
        target = f"http://127.0.0.1{self.path}" if self.absolute else self.path
        fields = [("Host", "127.0.0.1")] + list(self.headers)
        if self.traceparent:
            where = 0 if self.traceparent_first else len(fields)
            fields.insert(where, (self.header_name, self.traceparent))
        if self.chunks is not None:
            fields.append(("Transfer-Encoding", "chunked"))
        elif self.body:
            fields.append(("Content-Length", str(len(self.body))))
        if self.expect:
            fields.append(("Expect", "100-continue"))
        if self.close:
            fields.append(("Connection", "close"))
        lines = [f"{self.method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def payload(self):
        """The bytes after the head."""
        if self.chunks is None:
            return self.body
        coded = b"".join(b"%x;ext=\"a\"\r\n%s\r\n" % (len(chunk), chunk)
                         for chunk in self.chunks if chunk)
        trailers = "".join(f"{n}: {v}\r\n" for n, v in self.trailers)
        return coded + b"0\r\n" + trailers.encode("latin-1") + b"\r\n"


@dataclasses.dataclass
class Result:
    """What became of a request. Times are time.time_ns()."""
    request: Request
    status: int
    headers: dict
    body: bytes
    begin_ns: int
    end_ns: int

    @property
    def traceparent(self):
        return self.request.traceparent

    @property
    def function(self):
        return self.request.function

    @property
    def latency_s(self):
        return (self.end_ns - self.begin_ns) / 1e9


class Disconnected(Exception):
    """The server closed the connection before a whole response."""


class Connection:
    """A connection that is kept for as long as the server keeps it, and made
    again for the next request after that."""

    def __init__(self, port):
        self.port = port
        self.socket = None
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None
        self.buffer = b""

    def _connect(self):
        if self.socket:
            return
        self.socket = socket.create_connection(("127.0.0.1", self.port),
                                               timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data, cuts=()):
        """Sends data in segments that end at the offsets in `cuts`."""
        self._connect()
        places = sorted({c for c in cuts if 0 < c < len(data)})
        begin = 0
        for end in places + [len(data)]:
            self.socket.sendall(data[begin:end])
            begin = end
            if end < len(data):
                time.sleep(PAUSE_BETWEEN_PIECES_S)

    def _fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise Disconnected(f"after {self.buffer[:60]!r}")
        self.buffer += data

    def _line(self):
        while b"\n" not in self.buffer:
            self._fill()
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.rstrip(b"\r").decode("latin-1")

    def _bytes(self, count):
        while len(self.buffer) < count:
            self._fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _head(self):
        version, status = self._line().split(" ")[:2]
        status = int(status)
        headers = {"connection": "close"} if version == "HTTP/1.0" else {}
        while True:
            line = self._line()
            if not line:
                return status, headers
            name, value = line.split(":", 1)
            headers[name.strip().lower()] = value.strip()

    def _body(self, method, status, headers):
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunked_body()
        if "content-length" in headers:
            return self._bytes(int(headers["content-length"]))
        headers["connection"] = "close"
        return self._rest()

    def _chunked_body(self):
        body = b""
        while True:
            size = int(self._line().split(";")[0], 16)
            if size == 0:
                break
            body += self._bytes(size)
            self._line()
        while self._line():
            pass
        return body

    def _rest(self):
        try:
            while True:
                self._fill()
        except Disconnected:
            rest, self.buffer = self.buffer, b""
            return rest

    def receive(self, method):
        """Reads one response: (status, headers, body). Skips 1xx ones."""
        status, headers = self._head()
        while 100 <= status < 200:
            status, headers = self._head()
        body = self._body(method, status, headers)
        return status, headers, body

    def _await_continue(self):
        status, _ = self._head()
        if status != 100:
            raise Disconnected(f"{status} instead of 100 Continue")

    def exchange(self, request, cuts=()):
        """Sends one request, cut at the offsets given, reads its response."""
        self._connect()
        begin_ns = time.time_ns()
        head, payload = request.head(), request.payload()
        if request.expect:
            self.send(head, cuts)
            self._await_continue()
            self.send(payload)
        else:
            self.send(head + payload, cuts)
        status, headers, body = self.receive(request.method)
        end_ns = time.time_ns()
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Result(request, status, headers, body, begin_ns, end_ns)

    def pipeline(self, requests, cuts=()):
        """Sends all requests at once, then reads all responses."""
        self._connect()
        begin_ns = time.time_ns()
        self.send(b"".join(r.head() + r.payload() for r in requests), cuts)
        results = []
        for request in requests:
            status, headers, body = self.receive(request.method)
            results.append(Result(request, status, headers, body, begin_ns,
                                  time.time_ns()))
        return results

    def abandon(self, request):
        """Sends a request and waits for the server to close without one byte
        of response."""
        self._connect()
        begin_ns = time.time_ns()
        self.send(request.head() + request.payload())
        rest = self._rest()
        self.close()
        return Result(request, 0, {}, rest, begin_ns, time.time_ns())


def random_cuts(rng, length, most=4):
    """Up to `most` offsets into a message of that length."""
    return [rng.randrange(1, length) for _ in range(rng.randint(0, most))]


def run(port, plans, cuts=None, progress=None):
    """Sends each list of requests over a connection of its own, all
    connections at once. `cuts(request)` tells where to cut a request's head.
    Returns all results; raises what the first failing connection raised."""
    results, errors, lock = [], [], threading.Lock()

    def worker(requests):
        try:
            with Connection(port) as connection:
                for request in requests:
                    places = cuts(request) if cuts else ()
                    result = connection.exchange(request, places)
                    with lock:
                        results.append(result)
                        if progress:
                            progress(len(results))
        except Exception as error:  # reported by the caller's thread
            with lock:
                errors.append(error)

    threads = [threading.Thread(target=worker, args=(p,)) for p in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def head_cutter(seed, most=4):
    """A `cuts` function for run(): random places in the head, never the same
    twice, made from a seed so that a failure can be repeated."""
    rng, lock = random.Random(seed), threading.Lock()

    def cuts(request):
        with lock:
            return random_cuts(rng, len(request.head()), most)
    return cuts
