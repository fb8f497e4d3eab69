#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the profile of a server whose truth is known says the truth."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, run, truth  # noqa: E402

CONNECTIONS = 8
SEED = 4711

LEAST_RIGHT_SHARE = 0.98
MOST_HOUSEKEEPING_SHARE = 0.02
TOTAL_TOLERANCE = 0.03
CHANCE_TOLERANCE = 0.12


class TruthTest(unittest.TestCase):
    """Each test runs the server once and looks at all that is to be true."""

    def check_identity(self, outcome):
        """Every request has its one span; every label is such a span's."""
        self.assertEqual(outcome.status, 0)
        self.assertEqual(len(outcome.log), len(outcome.results))
        self.assertEqual(truth.find_span_faults(
            outcome.output, outcome.results)[:5], [])
        self.assertEqual(truth.find_unknown_labels(
            outcome.output, outcome.results)[:5], [])

    def check_burns(self, outcome, least_sampled):
        """The CPU in burn_NN bears the span that asked for it; so much of it is
        seen in samples."""
        verdict = truth.judge_burns(outcome.output)
        print(f"\n  burns: {verdict}", file=sys.stderr)
        self.assertEqual(verdict.wrong[:5], [])
        self.assertGreaterEqual(verdict.right_share, LEAST_RIGHT_SHARE)
        self.assertGreaterEqual(verdict.total_ns,
                                least_sampled * outcome.burnt_ns)

    def check_housekeeping(self, outcome):
        share, total_ns = truth.labelled_share(outcome.output, "housekeeping")
        print(f"  housekeeping: {total_ns / 1e6:.0f} ms, {share:.2%} labelled",
              file=sys.stderr)
        self.assertGreater(total_ns, 0)
        self.assertLessEqual(share, MOST_HOUSEKEEPING_SHARE)

    def check_total(self, outcome, tolerance):
        """Sampled plus unsampled is what the kernel says was used."""
        pids = {sample.pid for sample in outcome.output.samples}
        self.assertEqual(pids, {outcome.pid})
        ratio = outcome.output.cpu_ns / outcome.process_cpu_ns
        unsampled = sum(s.cpu_ns for s in outcome.output.samples if s.unsampled)
        print(f"  total: {ratio:.2%} of getrusage, "
              f"{unsampled / outcome.output.cpu_ns:.2%} of it unsampled",
              file=sys.stderr)
        self.assertAlmostEqual(ratio, 1, delta=tolerance)

    def check_span_times(self, outcome):
        """The spans' own CPU time is exact: the burn and little else, for each
        of them."""
        spans = outcome.output.spans_by_trace()
        for entry in outcome.log:
            span, = spans[client.trace_of(entry["traceparent"])]
            self.assertGreaterEqual(span.cpu_ns, entry["cpu_ns"])
        total_ns = truth.span_cpu(outcome.output, outcome.results)
        print(f"  spans: {total_ns / outcome.burnt_ns:.2%} of the burns",
              file=sys.stderr)
        self.assertLess(total_ns, 1.1 * outcome.burnt_ns)

    def check_labelled_total(self, outcome):
        """Sampled or not, the requests' time bears their labels."""
        labelled_ns = truth.labelled_cpu(outcome.output, outcome.results)
        print(f"  labels: {labelled_ns / outcome.burnt_ns:.2%} of the burns",
              file=sys.stderr)
        self.assertGreater(labelled_ns, 0.9 * outcome.burnt_ns)
        self.assertLess(labelled_ns, 1.15 * outcome.burnt_ns)

    def check_all(self, outcome, least_sampled, tolerance=TOTAL_TOLERANCE):
        self.check_identity(outcome)
        self.check_burns(outcome, least_sampled)
        self.check_total(outcome, tolerance)
        self.check_span_times(outcome)
        self.check_labelled_total(outcome)

    def keep_alive(self, options, how, env=None):
        plans = burn.plans(SEED, CONNECTIONS, 30, lambda rng: burn.request(
            rng, rng.randint(4000, 40000),
            query=f"housekeeping={rng.randint(2000, 12000)}"))
        cuts = client.head_cutter(SEED)
        with run.temporary_folder() as folder:
            outcome = burn.profiled(
                folder, options, how=how, env=env,
                load=lambda port: client.run(port, plans, cuts))
            self.check_all(outcome, 0.8)
            self.check_housekeeping(outcome)

    def thread_per_connection(self, options, how="run"):
        plans = burn.plans(SEED, CONNECTIONS, 100,
                           lambda rng: burn.request(rng, 2000))
        cuts = client.head_cutter(SEED, most=2)
        with run.temporary_folder() as folder:
            outcome = burn.profiled(
                folder, ["--thread-per-connection", *options], how=how,
                load=lambda port: client.run(port, plans, cuts))
            # The kernel looks at CPU timers at its tick, every 4 ms on many
            # hosts: of threads that live 2 ms few are seen, the others' time
            # is unsampled. Where chance made more samples than there was
            # time, nothing unsampled is left to pay for them.
            self.check_all(outcome, 0.05, CHANCE_TOLERANCE)

    def test_a_pool_of_keep_alive_threads_is_told_right(self):
        self.keep_alive([f"--threads={CONNECTIONS}"], "run")

    def test_a_bare_preload_tells_the_same(self):
        self.keep_alive([f"--threads={CONNECTIONS}"], "preload")

    def test_many_windows_add_up_to_the_same(self):
        self.keep_alive([f"--threads={CONNECTIONS}"], "run",
                        {"SPANPROF_INTERVAL": "1s"})

    def test_threads_of_two_milliseconds_are_told_right(self):
        self.thread_per_connection([])

    def test_detached_threads_of_two_milliseconds_are_told_right(self):
        self.thread_per_connection(["--detached"])


if __name__ == "__main__":
    unittest.main()
