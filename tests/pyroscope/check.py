#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make pyroscope SERVER=http://HOST:4040: whether a real Pyroscope finds a span.

Profiles a server of ours for some seconds, pushes it, and asks the Pyroscope
for single spans. SERVER may hold USER:PASSWORD@; TENANT is the tenant's id, if
one is needed. A new service name each time keeps the runs apart; nothing is
deleted afterwards."""
import base64
import json
import os
import pathlib
import random
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, run  # noqa: E402

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
NOBODY = "00f067aa0ba902b7"
FIND_S = 60     # until what was pushed is to be found
ANSWER_S = 30

USAGE = """make pyroscope needs the address of a Pyroscope that may be written to:

    make pyroscope SERVER=http://localhost:4040 [TENANT=name]

It pushes a profile of some seconds of work, as service spanprof-check-..., and
reads it back by span id."""


class Server:
    """A Pyroscope, for queries."""

    def __init__(self, url, tenant):
        parts = urllib.parse.urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        self.base = parts._replace(netloc=host).geturl().rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if parts.username:
            both = ":".join(urllib.parse.unquote(part or "") for part in
                            (parts.username, parts.password))
            self.headers["Authorization"] = \
                "Basic " + base64.b64encode(both.encode()).decode()
        if tenant:
            self.headers["X-Scope-OrgID"] = tenant

    def ask(self, path, body=None):
        request = urllib.request.Request(
            self.base + path, headers=self.headers,
            data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
            return json.loads(answer.read() or b"{}")

    def version(self):
        answer = self.ask("/api/v1/status/buildinfo")
        return answer.get("data", {}).get("version") or "without a number"

    def select(self, method, service, began, **more):
        """(total ns, functions) of the flame graph that is found."""
        found = self.ask(f"/querier.v1.QuerierService/{method}", {
            "profileTypeID": CPU, "labelSelector":
            f'{{service_name="{service}"}}', "start": int(began * 1000),
            "end": int(time.time() * 1000) + 1000, "maxNodes": 2048, **more})
        graph = found.get("flamegraph", {})
        return int(graph.get("total", 0)), set(graph.get("names", []))

    def span(self, service, began, span_id):
        return self.select("SelectMergeSpanProfile", service, began,
                           spanSelector=[span_id])


def push(url, tenant, service, plan):
    """Runs the truth server under spanprof-run until it has pushed. Returns
    what it burnt, by its own clocks."""
    with run.temporary_folder() as folder:
        environment = {"SPANPROF_SERVER": url, "SPANPROF_SERVICE": service,
                       "SPANPROF_INTERVAL": "2s",
                       "SPANPROF_LOG": str(folder / "agent.log"),
                       "SPANPROF_LOG_LEVEL": "info"}
        if tenant:
            environment["SPANPROF_TENANT_ID"] = tenant
        argv = [run.server("burn"), "--threads=2", f"--log={folder / 'log'}"]
        with run.Program(argv, env=environment, cwd=folder) as program:
            client.run(program.port(), [plan])
            program.stop()
        print((folder / "agent.log").read_text(), end="")
        lines = (folder / "log").read_text().splitlines()
        return sum(json.loads(line).get("cpu_ns", 0) for line in lines)


class Judge:
    def __init__(self):
        self.failed = 0

    def tell(self, good, words):
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {words}", flush=True)


def check(server, service, began, plan, burnt_ns):
    judge = Judge()
    ms = 1e6

    def all_found():
        total, _ = server.select("SelectMergeStacktraces", service, began)
        return total >= 0.9 * burnt_ns and total
    total = run.wait_for(all_found, "the profile to be found", FIND_S)
    judge.tell(True, f"without a span: {total / ms:.0f} ms, of which the "
               f"program's clocks saw {burnt_ns / ms:.0f} ms in requests")
    spans = 0
    for request in plan:
        span_id = client.parent_of(request.traceparent)
        found, names = server.span(service, began, span_id)
        spans += found
        others = (names & set(burn.FUNCTIONS)) - {request.function}
        judge.tell(found and request.function in names and not others,
                   f"span {span_id}: {found / ms:.0f} ms in "
                   f"{request.function}" +
                   (f", and others' {sorted(others)}" if others else ""))
    judge.tell(0.9 * burnt_ns <= spans <= total,
               f"the spans together: {spans / ms:.0f} ms")
    if re.match(r"v?(2\.[2-9]|2\.\d\d|[3-9])", server.version()):
        trace_id = client.trace_of(plan[0].traceparent)
        found, names = server.select("SelectMergeStacktraces", service, began,
                                     traceIdSelector=[trace_id])
        judge.tell(found and plan[0].function in names,
                   f"trace {trace_id}: {found / ms:.0f} ms")
    found, names = server.span(service, began, NOBODY)
    judge.tell(not found and not names & set(burn.FUNCTIONS),
               f"another span's answer: {found / ms:.0f} ms")
    return judge.failed


def main():
    url, tenant = os.environ.get("SERVER"), os.environ.get("TENANT")
    if not url:
        print(USAGE, file=sys.stderr)
        return 2
    server = Server(url, tenant)
    service = f"spanprof-check-{uuid.uuid4().hex[:8]}"
    try:
        print(f"Pyroscope {server.version()} at {server.base}, service "
              f"{service}")
        rng = random.Random(service)
        plan = [burn.request(rng, 200000) for _ in range(8)]
        began = time.time() - 1
        burnt_ns = push(url, tenant, service, plan)
        failed = check(server, service, began, plan, burnt_ns)
    except (OSError, ValueError, run.Failed) as error:
        # An HTTPError is an OSError with the server's words in its body.
        words = error.read().decode(errors="replace") \
            if isinstance(error, urllib.error.HTTPError) else ""
        print(f"FAIL {server.base}: {error} {words}")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
