#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a busy program's profiles arrive, each once, and whether a flood of
spans stays within bounds, for as long as one likes: `make load` runs it for a
minute, LOAD_SECONDS=N for as long as that."""
import collections
import json
import os
import pathlib
import random
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, profile, run  # noqa: E402
from lib.recorder import Recorder  # noqa: E402

SECONDS = int(os.environ.get("LOAD_SECONDS", "15"))
THREADS = 8
SPANS = 5000
# Two processors also have a client, a server and an exporter to run.
BURN_US = SECONDS * 1_600_000 // SPANS
# Enough for a sample of most spans, whatever the kernel's tick is; where others
# want the processors, too, ticks meet them as well.
RATE_HZ = 250
SPANS_SEEN = 0.2
LOOK_S = 0.2
# Growth of the exporter's memory from the first third on.
MOST_GROWTH = 0.15
SLACK_BYTES = 4 << 20


class Watch(threading.Thread):
    """Looks at a process's own resident memory: the ring is shared, and of one
    size."""

    def __init__(self, pid):
        super().__init__()
        self.path = f"/proc/{pid}/statm"
        self.ending = threading.Event()
        self.bytes = []

    def run(self):
        while not self.ending.wait(LOOK_S):
            fields = run._read(self.path).split()
            if fields:
                pages = int(fields[1]) - int(fields[2])
                self.bytes.append(pages * os.sysconf("SC_PAGESIZE"))

    def end(self):
        self.ending.set()
        self.join()

    def growth(self):
        """(before, after): the most in the third sixth and in the last one. A
        window, over which memory grows and falls, is shorter."""
        sixth = len(self.bytes) // 6
        return max(self.bytes[2 * sixth:3 * sixth]), max(self.bytes[-sixth:])


def by_function(samples):
    """{function or None: (count, cpu_ns)}"""
    sums = collections.defaultdict(lambda: [0, 0])
    for sample in samples:
        inner = [f for f in sample.stack if f in burn.FUNCTIONS]
        total = sums[inner[0] if inner else sample.stack[0]]
        total[0] += sample.count
        total[1] += sample.cpu_ns
    return dict(sums)


class WatchedTest(unittest.TestCase):

    def watch(self, program):
        """A watch of the program's exporter, which runs."""
        exporter, = [pid for pid in program.survivors() if
                     run.executable(pid).endswith("/spanprof-exporter")]
        watch = Watch(exporter)
        watch.start()
        self.addCleanup(watch.end)
        return watch

    def check_memory(self, watch):
        before, after = watch.growth()
        print(f"the exporter's memory: {before / 2**20:.1f} -> "
              f"{after / 2**20:.1f} MiB")
        self.assertLess(after, before * (1 + MOST_GROWTH) + SLACK_BYTES)


class LoadTest(WatchedTest):

    def load(self, server, folder):
        """Returns the exporter's memory and what was sent."""
        output = folder / "profiles"
        rng = random.Random(5)
        plans = [[burn.request(rng, BURN_US) for _ in range(SPANS // THREADS)]
                 for _ in range(THREADS)]
        env = {"SPANPROF_SERVER": server.url, "SPANPROF_SERVICE": "load",
               "SPANPROF_INTERVAL": "1s", "SPANPROF_RATE": str(RATE_HZ),
               "SPANPROF_LOG": str(folder / "agent.log"),
               "SPANPROF_LOG_LEVEL": "info"}
        argv = [run.server("burn"), f"--threads={THREADS}",
                f"--log={folder / 'log'}"]
        with run.Program(argv, output=output, env=env, cwd=folder) as program:
            port = program.port()
            watch = self.watch(program)
            client.run(port, plans)
            watch.end()
            self.assertEqual(program.stop(), 0)
        return watch, plans

    def test_all_arrives_once_and_memory_stays(self):
        with run.temporary_folder() as folder, Recorder() as server:
            watch, plans = self.load(server, folder)
            output = profile.read(folder / "profiles")
            log = (folder / "agent.log").read_text()
            lines = (folder / "log").read_text().splitlines()
        self.check_pushes(server, output, log)
        self.check_spans(server, plans)
        self.check_sums(server, json.loads(lines[-1])["process_cpu_ns"])
        self.check_memory(watch)

    def check_pushes(self, server, output, log):
        """The recorder has refused whatever is beyond a server's limits."""
        self.assertEqual(server.refusals, [])
        self.assertIn("0 tries more; lost: 0 refused, 0 after", log)
        self.assertGreaterEqual(len(server.pushes), 2)
        for push in server.pushes:
            self.assertLessEqual(len(push.samples), profile.MOST_SAMPLES)
        self.assertEqual(
            {tuple(sorted(push.labels.items())) for push in server.pushes},
            {tuple(sorted(server.pushes[0].labels.items()))})
        # The method is the only label that makes a series.
        self.assertLessEqual(len(server.series()), 2)
        self.assertEqual(by_function(server.samples),
                         by_function(output.samples))

    def check_spans(self, server, plans):
        functions = {client.parent_of(r.traceparent): r.function
                     for plan in plans for r in plan}
        self.assertEqual(len(functions), SPANS // THREADS * THREADS)
        found = set()
        for sample in server.samples:
            if not sample.span_id:
                continue
            found.add(sample.span_id)
            burning = set(sample.stack) & set(burn.FUNCTIONS)
            self.assertLessEqual(burning, {functions[sample.span_id]})
        self.assertGreater(len(found), SPANS_SEEN * len(functions))

    def check_sums(self, server, process_cpu_ns):
        self.assertAlmostEqual(server.cpu_ns / process_cpu_ns, 1, delta=0.03)


class FloodTest(WatchedTest):
    """5,000 requests a second, each with a span, and a method, of its own."""
    PER_SECOND = 5000
    MOST_BYTES = 100 << 20

    def test_a_flood_of_spans_stays_within_bounds(self):
        with run.temporary_folder() as folder, Recorder() as server:
            output = folder / "profiles"
            argv = [run.server("flood"), str(THREADS), str(self.PER_SECOND),
                    str(SECONDS)]
            env = {"SPANPROF_SERVER": server.url, "SPANPROF_INTERVAL": "1s"}
            with run.Program(argv, output=output, env=env,
                             cwd=folder) as program:
                program.pid()
                watch = self.watch(program)
                self.assertEqual(program.wait(SECONDS * 10), 0)
                watch.end()
                made = int(program.stdout.split()[0])
            # Which also finds more names of spans than there may be.
            read = profile.read(output)
        # Where the exporter doesn't come to it in time, the ring gets full:
        # what is lost then is counted.
        lost = (read.comments.get("lost_ring_full", 0) +
                read.comments.get("spans_beyond_table", 0))
        self.assertLessEqual(made - len(read.spans), lost)
        self.assertGreater(len(read.spans), 0.99 * made)
        self.assertEqual(server.refusals, [])
        self.assertEqual(server.cpu_ns, read.cpu_ns)
        names = {sample.span_name for sample in server.samples}
        if len(names) > profile.MOST_SPAN_NAMES:
            self.assertIn("other", names)
        # One a name, and one for what has none.
        self.assertLessEqual(len(server.series()),
                             profile.MOST_SPAN_NAMES + 1)
        self.assertLess(max(watch.bytes), self.MOST_BYTES)
        self.check_memory(watch)


if __name__ == "__main__":
    unittest.main()
