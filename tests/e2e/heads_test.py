#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether request heads are found, and responses followed to their last byte,
in whatever pieces and by whatever system calls they come and go."""
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, run, truth  # noqa: E402

SEED = 99
BURN_US = 30000
HOUSEKEEPING_US = 20000
ROUNDS = 6

LEAST_RIGHT_SHARE = 0.97
MOST_HOUSEKEEPING_SHARE = 0.02

# Each way to answer; the span has to end with its last byte, so that nothing
# of the housekeeping after it is labelled.
ANSWERS = ("", "chunked=1", "close=1", "sendfile=1", "writev=1", "status=204",
           "status=304", "stream=1", "stream=1&chunked=1",
           "sendfile=1&size=300000", "chunked=1&sendfile=1&size=200000")


def fake_head(rng):
    """The text of a whole request, for where no request can be."""
    return (f"GET /burn/burn_00/1 HTTP/1.1\r\nHost: x\r\n"
            f"traceparent: {client.new_traceparent(rng)}\r\n\r\n").encode()


class HeadsTest(unittest.TestCase):

    def setUp(self):
        self.rng = random.Random(SEED)

    def request(self, query="", **more):
        query = f"housekeeping={HOUSEKEEPING_US}&{query}"
        return burn.request(self.rng, BURN_US, query, **more)

    def profiled(self, load, options=("--threads=4",)):
        """Runs load(connection) against the truth server and checks all that
        holds whatever the requests look like."""
        def with_connection(port):
            with client.Connection(port) as connection:
                return list(load(connection))

        with run.temporary_folder() as folder:
            outcome = burn.profiled(folder, list(options), with_connection)
        self.assertEqual(outcome.status, 0)
        self.assertEqual(truth.find_span_faults(
            outcome.output, outcome.results)[:5], [])
        self.assertEqual(truth.find_unknown_labels(
            outcome.output, outcome.results)[:5], [])
        verdict = truth.judge_burns(outcome.output)
        print(f"\n  burns: {verdict}", file=sys.stderr)
        self.assertEqual(verdict.wrong[:5], [])
        self.assertGreater(verdict.right_share, LEAST_RIGHT_SHARE)
        return outcome

    def check_housekeeping(self, outcome):
        share, total_ns = truth.labelled_share(outcome.output, "housekeeping")
        self.assertGreater(total_ns, 0)
        self.assertLessEqual(share, MOST_HOUSEKEEPING_SHARE)

    def exchange_all(self, requests, cuts=None):
        """A load that sends each request after the other's response."""
        def load(connection):
            for request in requests:
                places = cuts(request) if cuts else ()
                yield connection.exchange(request, places)
        return load

    def calls(self, read, write):
        """All answers, through one pair of system calls, heads in pieces."""
        requests = [self.request(query) for query in ANSWERS]
        requests += [self.request("", method="HEAD") for _ in range(2)]
        outcome = self.profiled(
            self.exchange_all(requests, client.head_cutter(SEED)),
            ["--threads=2", f"--read={read}", f"--write={write}"])
        self.check_housekeeping(outcome)

    def test_read_and_write(self):
        self.calls("read", "write")

    def test_recv_and_send(self):
        self.calls("recv", "send")

    def test_recvfrom_and_sendto(self):
        self.calls("recvfrom", "sendto")

    def test_recvmsg_and_sendmsg(self):
        self.calls("recvmsg", "sendmsg")

    def test_readv_and_writev(self):
        self.calls("readv", "writev")

    def test_the_checked_read_of_fortified_programs(self):
        self.calls("read_chk", "write")

    def test_the_checked_recv_of_fortified_programs(self):
        self.calls("recv_chk", "send")

    def test_the_checked_recvfrom_of_fortified_programs(self):
        self.calls("recvfrom_chk", "sendto")

    def test_bytes_that_were_peeked_at_count_once(self):
        self.calls("peek", "write")

    def test_a_head_may_be_cut_at_each_of_its_offsets(self):
        function = self.rng.choice(burn.FUNCTIONS)

        def make():
            return client.Request(f"/burn/{function}/0", function=function,
                                  traceparent=client.new_traceparent(self.rng))
        length = len(make().head())

        def load(connection):
            for offset in range(1, length):
                yield connection.exchange(make(), [offset])
            yield connection.exchange(make(), range(1, length))
            yield connection.exchange(self.request())
        self.profiled(load)

    def test_thirty_two_kib_of_other_headers_may_come_first(self):
        requests = []
        for _ in range(ROUNDS):
            requests.append(self.request(
                headers=client.padding(32 << 10, self.rng)))
            requests.append(self.request(
                headers=client.padding(32 << 10, self.rng),
                traceparent_first=True))
        self.profiled(self.exchange_all(
            requests, client.head_cutter(SEED, most=12)))

    def test_each_of_pipelined_requests_has_its_own_span(self):
        # No housekeeping: when the next request has been read already, nobody
        # can tell from outside that the thread doesn't work for it yet.
        def load(connection):
            for cut in ((), (1,), (70, 300)):
                requests = [burn.request(self.rng, BURN_US, query) for query in
                            ("", "chunked=1", "status=204", "writev=1")]
                requests[1].traceparent = None
                yield from connection.pipeline(requests, cut)
        self.profiled(load)

    def test_fifty_pipelined_requests_in_one_segment(self):
        requests = [burn.request(self.rng, 5000) for _ in range(50)]
        for request in requests[::2]:
            request.traceparent = None
        self.profiled(lambda connection: connection.pipeline(requests))

    def test_text_in_a_body_is_no_request(self):
        requests = []
        for method in ("POST", "PUT", "PROPFIND", "GET"):
            fake = fake_head(self.rng)
            requests += [
                self.request(method=method, body=fake * 3),
                self.request(method=method, body=b"x" * 70000 + fake),
                self.request(method=method, chunks=[fake, b"abc", fake * 9],
                             trailers=[("traceparent",
                                        client.new_traceparent(self.rng))]),
            ]
        outcome = self.profiled(self.exchange_all(
            requests, client.head_cutter(SEED)))
        self.check_housekeeping(outcome)

    def test_a_request_without_a_caller_gets_a_trace_of_its_own(self):
        requests = []
        for _ in range(ROUNDS):
            requests += [self.request(), self.request(traceparent=None)]
        outcome = self.profiled(self.exchange_all(requests))
        roots = [s for s in outcome.output.spans if s.parent_id is None]
        self.assertEqual(len({s.trace_id for s in roots}), ROUNDS)

    def test_an_invalid_caller_is_no_caller(self):
        bad = ["00-" + "0" * 32 + "-00f067aa0ba902b7-01",
               "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
               "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"]
        requests = [self.request(traceparent=None,
                                 headers=[("traceparent", value)])
                    for value in bad]
        twice = client.new_traceparent(self.rng)
        requests.append(self.request(traceparent=None, headers=[
            ("traceparent", twice), ("TraceParent", twice)]))
        outcome = self.profiled(self.exchange_all(requests))
        self.assertEqual({s.parent_id for s in outcome.output.spans}, {None})

    def test_names_methods_and_targets_of_any_form(self):
        requests = [
            self.request(header_name="Traceparent"),
            self.request(header_name="TRACEPARENT"),
            self.request(absolute=True),
            self.request(method="OPTIONS"),
            self.request(method="M-SEARCH"),
            self.request(method="POST", body=b"{}", expect=True),
            self.request(headers=[("traceparents", "x"), ("racepar", "y")]),
        ]
        self.profiled(self.exchange_all(requests, client.head_cutter(SEED)))

    def test_a_connection_that_closes_without_an_answer_ends_its_span(self):
        outcome = self.profiled(lambda connection: [
            connection.abandon(self.request("abort=1")) for _ in range(ROUNDS)])
        self.check_housekeeping(outcome)

    def test_a_span_ends_with_its_response_not_with_the_next_request(self):
        def load(connection):
            for query in ANSWERS:
                yield connection.exchange(self.request(query))
                time.sleep(0.4)
        outcome = self.profiled(load)
        spans = outcome.output.spans_by_trace()
        begins = [result.begin_ns for result in outcome.results[1:]]
        for result, next_begin_ns in zip(outcome.results, begins):
            span, = spans[client.trace_of(result.traceparent)]
            self.assertLess(span.end_ns, next_begin_ns, result.request.path)


if __name__ == "__main__":
    unittest.main()
