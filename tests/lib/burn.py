# SPDX-License-Identifier: Apache-2.0
"""Runs the truth server under the agent and collects both sides of the truth:
its log and the folder that the agent left."""
import dataclasses
import json
import pathlib
import random

from lib import client, profile, run

FUNCTIONS = [f"burn_{number:02d}" for number in range(64)]


@dataclasses.dataclass
class Outcome:
    results: list
    log: list               # of requests, as the server wrote it
    process_cpu_ns: int     # of the whole process, by getrusage
    output: profile.Output
    folder: pathlib.Path
    pid: int
    status: int

    @property
    def burnt_ns(self):
        return sum(entry["cpu_ns"] for entry in self.log)


def request(rng, usec, query="", **more):
    """A traced request that burns so many us in a function chosen at random."""
    function = rng.choice(FUNCTIONS)
    more.setdefault("traceparent", client.new_traceparent(rng))
    path = f"/burn/{function}/{usec}" + (f"?{query}" if query else "")
    return client.Request(path, function=function, **more)


def plans(seed, connections, requests, make):
    """For each connection a list of requests that make(rng) makes."""
    rng = random.Random(seed)
    return [[make(rng) for _ in range(requests)] for _ in range(connections)]


def profiled(folder, options, load, how="run", env=None):
    """Starts the truth server, runs load(port), which returns results, stops
    the server, and reads what is left."""
    log = pathlib.Path(folder) / "log"
    output = pathlib.Path(folder) / "profiles"
    argv = [run.server("burn"), f"--log={log}", *options]
    with run.Program(argv, output=output, how=how, env=env) as program:
        pid = program.pid()
        results = load(program.port())
        status = program.stop()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Outcome(results, lines[:-1], lines[-1]["process_cpu_ns"],
                   profile.read(output), output, pid, status)
