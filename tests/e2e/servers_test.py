#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether servers from Debian, unchanged, get the right spans.

What each server does can't be named after its requests, as in the truth server.
Three other things tell the truth about it:

* Kinds of requests run functions of libraries that no other kind runs, visible
  in native stacks: a sample in `deflate` belongs to a request for /deflate.
* Requests of one kind alone cost what the kernel's clock of the process says;
  in a mixture each kind must still be booked the same cost. Labels that slip to
  a neighbour move it to the wrong kind.
* The applications say in a header what they used for each single request.
"""
import dataclasses
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import client, foreign, profile, run, truth  # noqa: E402

SEED = 1234
CONNECTIONS = 4

LEAST_COMPLETE_SHARE = 0.99
LEAST_RIGHT_SHARE = 0.97


@dataclasses.dataclass
class Kind:
    """Requests that make a server do the same."""
    path: str
    count: int              # in each phase
    markers: tuple = ()     # functions that only this kind runs
    # How much its cost may change in company. Requests of some microseconds
    # cost what the caches make of them, and threads of Python fight for a lock.
    latitude: float = 0.35

    def request(self, rng):
        return client.Request(self.path, function=self.path,
                              headers=[("Accept-Encoding", "gzip")],
                              traceparent=client.new_traceparent(rng))


@dataclasses.dataclass
class Outcome:
    output: profile.Output
    alone: dict         # by kind: (results, CPU of the whole server in ns)
    mixed: list         # results
    executable: str     # of the first process

    @property
    def results(self):
        alone = [results for results, _ in self.alone.values()]
        return sum(alone, []) + self.mixed


def deal(requests):
    """Spreads requests over the connections."""
    return [requests[n::CONNECTIONS] for n in range(CONNECTIONS)]


class ServersTest(unittest.TestCase):

    def setUp(self):
        self.rng = random.Random(SEED)

    def load(self, pid, port, kinds):
        """Each kind alone, then all at once, over several connections with one
        request at a time each."""
        alone = {}
        for kind in kinds:
            requests = [kind.request(self.rng) for _ in range(kind.count)]
            with foreign.CpuMeter(pid) as meter:
                results = client.run(port, deal(requests))
            alone[kind.path] = results, meter.used_ns
        requests = [k.request(self.rng) for k in kinds for _ in range(k.count)]
        self.rng.shuffle(requests)
        return alone, client.run(port, deal(requests))

    def serve(self, make_argv, kinds):
        """Runs a server under the agent through all phases."""
        with run.temporary_folder(public=True) as folder:
            port = run.free_port()
            argv = make_argv(folder, port)
            output = folder / "profiles"
            with run.Program(argv, output=output, cwd=str(folder)) as program:
                program.wait_for_port(port)
                pid = program.pid()
                executable = run.executable(pid)
                # The first requests pay for what is loaded once.
                warm = client.run(port, [[k.request(self.rng) for k in kinds]])
                alone, mixed = self.load(pid, port, kinds)
                # The client may have the last byte before the thread that
                # wrote it is back from the call; these servers die at once.
                time.sleep(0.3)
                program.stop()
            return Outcome(profile.read(output), alone, warm + mixed,
                           executable)

    def check(self, name, kinds, outcome):
        print(f"\n  {name}", file=sys.stderr)
        self.assertEqual({r.status for r in outcome.results}, {200})
        self.assertEqual(truth.find_span_faults(
            outcome.output, outcome.results)[:5], [])
        self.assertEqual(truth.find_unknown_labels(
            outcome.output, outcome.results)[:5], [])
        for kind in kinds:
            with self.subTest(kind.path):
                self.check_cost(kind, outcome)
                if kind.markers:
                    self.check_markers(kind, outcome)
        self.check_stacks(outcome)

    def check_cost(self, kind, outcome):
        """What requests of this kind are booked: about what the kernel's clock
        says when they are alone, and the same in a mixture."""
        alone, true_ns = outcome.alone[kind.path]
        mixed = [r for r in outcome.mixed if r.function == kind.path]
        labelled = truth.labelled_cpu(outcome.output, alone) / len(alone)
        spans = truth.span_cpu(outcome.output, alone) / len(alone)
        spans_mixed = truth.span_cpu(outcome.output, mixed) / len(mixed)
        labelled_mixed = truth.labelled_cpu(outcome.output, mixed) / len(mixed)
        truly = true_ns / len(alone)
        print(f"  {kind.path}: {truly / 1e6:.3f} ms CPU a request; spans "
              f"{spans / truly:.1%}, labels {labelled / truly:.1%}; mixed: "
              f"spans {spans_mixed / truly:.1%}, labels "
              f"{labelled_mixed / truly:.1%}", file=sys.stderr)
        self.assertLess(spans, 1.10 * truly)
        self.assertLess(labelled, 1.20 * truly)
        self.assertGreater(spans, 0.3 * truly)
        self.assertAlmostEqual(spans_mixed / spans, 1, delta=kind.latitude)
        if truly * len(alone) > 500e6:
            self.assertAlmostEqual(labelled / spans, 1, delta=0.25)
            self.assertAlmostEqual(labelled_mixed / spans_mixed, 1, delta=0.35)

    def check_markers(self, kind, outcome):
        def owner_of(stack):
            if not set(kind.markers) & set(stack):
                return None
            return lambda span: span.path == kind.path

        verdict = truth.judge(outcome.output, owner_of)
        print(f"  {kind.markers[0]}: {verdict}", file=sys.stderr)
        self.assertEqual(verdict.wrong[:5], [])
        self.assertGreater(verdict.total_ns, 200 * 10**6)
        self.assertGreaterEqual(verdict.right_share, LEAST_RIGHT_SHARE)

    def check_stacks(self, outcome):
        complete = truth.Completeness(outcome.executable)
        share, bad = complete.share(outcome.output)
        print(f"  stacks: {share:.2%} complete, others end at "
              f"{bad.most_common(3)}", file=sys.stderr)
        self.assertGreaterEqual(share, LEAST_COMPLETE_SHARE)

    def check_application(self, outcome):
        """Each single span's CPU time against what the application measured
        around its own work."""
        spans = outcome.output.spans_by_trace()
        for result in outcome.results:
            span, = spans[client.trace_of(result.traceparent)]
            said_ns = int(result.headers["x-cpu-ns"])
            self.assertGreater(span.cpu_ns, 0.95 * said_ns, span)
            self.assertLess(span.cpu_ns, 1.1 * said_ns + 3 * 10**6, span)

    def test_python_http_server(self):
        kinds = [Kind("/small.txt", 400, latitude=3.0),
                 Kind("/many/", 150, latitude=3.0)]
        outcome = self.serve(foreign.python_http_server, kinds)
        self.check("python3 -m http.server", kinds, outcome)
        mixed = [[r for r in outcome.mixed if r.function == kind.path]
                 for kind in kinds]
        for total in truth.span_cpu, truth.labelled_cpu:
            small, many = [total(outcome.output, results) / len(results)
                           for results in mixed]
            self.assertGreater(many, 5 * small)

    def test_gunicorn_with_threads(self):
        kinds = [Kind("/deflate/20", 40, ("deflate",)),
                 Kind("/bzip2/30", 40, ("BZ2_bzCompress",)),
                 Kind("/sha512/25", 40, ("SHA512_Update", "EVP_DigestUpdate"))]
        outcome = self.serve(lambda _, port: foreign.gunicorn(port), kinds)
        self.check("gunicorn gthread", kinds, outcome)
        self.check_application(outcome)

    def test_the_server_built_into_php(self):
        kinds = [Kind("/deflate/25", 40, ("deflate",)),
                 Kind("/md5/15", 40, ("PHP_MD5Update",)),
                 Kind("/sort/20", 40, ("zend_sort", "zend_insert_sort"))]
        outcome = self.serve(lambda _, port: foreign.php(port), kinds)
        self.check("php -S", kinds, outcome)
        self.check_application(outcome)

    def test_nginx(self):
        kinds = [Kind("/plain/file.txt", 2000, latitude=3.0),
                 Kind("/deflate/file.txt", 300, ("deflate",))]
        outcome = self.serve(foreign.nginx, kinds)
        self.check("nginx", kinds, outcome)

    def test_apache_with_the_event_mpm(self):
        kinds = [Kind("/plain/file.txt", 2000, latitude=3.0),
                 Kind("/deflate/file.txt", 300, ("deflate",))]
        outcome = self.serve(foreign.apache, kinds)
        self.check("apache2 event", kinds, outcome)


if __name__ == "__main__":
    unittest.main()
