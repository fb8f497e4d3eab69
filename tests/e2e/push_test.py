#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether what is pushed arrives: right, and once, whatever the server
answers."""
import os
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, run  # noqa: E402
from lib.recorder import Answer, Recorder  # noqa: E402
from lib.served import Served, requests  # noqa: E402

# What the exporter may take beyond a program's end with a server that is dead
# or silent; the supervisor gives up after 5 s.
END_S = 5


class PushTest(unittest.TestCase):

    def check_span(self, server, request):
        """A query by the caller's span finds the function of the request and
        no other."""
        span_id = client.parent_of(request.traceparent)
        samples = [s for s in server.span(span_id) if not s.unsampled]
        self.assertTrue(samples, f"none for {span_id}")
        for sample in samples:
            burning = [f for f in sample.stack if f in burn.FUNCTIONS]
            self.assertLessEqual(set(burning), {request.function})
        return samples

    def test_a_span_is_found_by_the_id_that_its_caller_sent(self):
        plan = requests(1)
        with Recorder() as server:
            served = Served(server, requests=plan)
            self.assertEqual(server.refusals, [])
            for request in plan:
                samples = self.check_span(server, request)
                self.assertEqual({s.trace_id for s in samples},
                                 {client.trace_of(request.traceparent)})
            self.assertEqual(server.span("00f067aa0ba902b7"), [])
            self.assertNotIn("spanprof.out", served.files)
            push = server.pushes[0]
        self.assertEqual(push.labels["__name__"], "process_cpu")
        self.assertEqual(push.labels["service_name"], "shop")
        self.assertEqual(push.labels["otel.scope.name"], "spanprof")
        self.assertIn("spanprof/", push.headers["User-Agent"])
        self.assertNotIn("Expect", push.headers)

    def test_a_request_without_a_caller_has_its_own_span(self):
        with Recorder() as server:
            served = Served(server, files=True,
                            requests=requests(2, traceparent=None))
            own = {span.span_id for span in served.output.spans}
            self.assertTrue(own & {s.span_id for s in server.samples})

    def test_files_have_our_spans_and_a_server_the_callers(self):
        plan = requests(3)
        with Recorder() as server:
            served = Served(server, files=True, requests=plan)
            self.assertEqual(server.cpu_ns, served.output.cpu_ns)
            for request in plan:
                self.check_span(server, request)
        callers = {client.parent_of(r.traceparent) for r in plan}
        local = {s.span_id for s in served.output.samples}
        self.assertFalse(callers & local)
        self.assertTrue(callers <= {s.parent_id for s in served.output.spans})

    def test_unsampled_spans_lose_their_ids_in_what_is_pushed(self):
        rng = random.Random(4)
        plan = [burn.request(rng, 80000, traceparent=client.new_traceparent(
            rng, "00")) for _ in range(3)]
        with Recorder() as server:
            served = Served(server, files=True, requests=plan)
            self.assertEqual({s.span_id for s in server.samples}, {None})
            self.assertEqual({s.trace_id for s in server.samples}, {None})
            self.assertEqual(server.refusals, [])
            raw = b"".join(push.profile for push in server.pushes)
        ids = {s.span_id for s in served.output.samples} - {None}
        self.assertTrue(ids)
        for request in plan:
            ids |= {client.parent_of(request.traceparent),
                    client.trace_of(request.traceparent)}
        for one in ids:
            self.assertNotIn(one.encode(), raw)

    def test_trace_ids_go_where_they_do_no_harm(self):
        for version, wish, expected in (("2.1.0", "", True),
                                        ("2.0.3", "", False),
                                        ("main-ab12", "", False),
                                        (None, "", False),
                                        ("1.9.0", "true", True),
                                        ("2.2.0", "false", False)):
            with self.subTest(version=version, wish=wish), \
                    Recorder(version=version) as server:
                Served(server, {"SPANPROF_TRACE_ID": wish},
                       requests=requests(5, 1))
                found = any(s.trace_id for s in server.samples)
                self.assertEqual(found, expected)
                if not wish:
                    self.assertLessEqual(len(server.series()), 2)

    def test_labels_tenant_and_base_path_are_sent(self):
        with Recorder(base="/a/b", tenant="blue") as server:
            served = Served(server, {
                "SPANPROF_SERVER": server.url + "/",
                "SPANPROF_TENANT_ID": "blue",
                "SPANPROF_LABELS": "region=eu, span_id=1,region=us,x",
                "OTEL_RESOURCE_ATTRIBUTES": "service.namespace=n%20s"},
                requests=requests(6, 1))
            self.assertTrue(server.pushes)
            labels = server.pushes[0].labels
        self.assertEqual(labels["region"], "eu")
        self.assertEqual(labels["service_namespace"], "n s")
        self.assertNotIn("span_id", labels)
        for fault in ("region=us", "span_id=1", '"x"'):
            self.assertIn(fault, served.log)

    def test_the_wrapper_has_options_for_it(self):
        with Recorder() as server:
            Served(server, {"SPANPROF_SERVER": "http://127.0.0.1:1"},
                   arguments=("--server", server.url, "--label", "a=1",
                              "--label=b=2"), requests=requests(7, 1))
            self.assertTrue(server.pushes)
            self.assertEqual(server.pushes[0].labels["a"], "1")
            self.assertEqual(server.pushes[0].labels["b"], "2")

    def test_a_plain_preload_pushes_too(self):
        with Recorder() as server:
            Served(server, requests=requests(8, 2), how="preload")
            self.assertTrue(any(s.span_id for s in server.samples))
            self.assertEqual(server.refusals, [])


class TroubleTest(unittest.TestCase):
    """A server that answers once as told, then as it should. The whole table of
    answers, without a program, is push_cases_test.py."""

    def served(self, server, count=3):
        """Requests over some three windows."""
        return Served(server, requests=requests(10, count, 300000),
                      files=True)

    def check_recovered(self, answer, pushes_more):
        """All arrives, that push with one more try."""
        with Recorder() as server:
            server.script = [answer]
            served = self.served(server)
            self.assertEqual(server.refusals, [])
            self.assertEqual(server.cpu_ns, served.output.cpu_ns)
            self.assertEqual(len(server.times),
                             len(server.pushes) + pushes_more)
            return served

    def test_what_passes_is_tried_again(self):
        for answer in (Answer(500), Answer(fault="reset"),
                       Answer(429, {"Retry-After": "1"})):
            with self.subTest(answer=answer):
                served = self.check_recovered(answer, 1)
                # libcurl itself tries again when a connection that was kept
                # is found dead.
                self.assertEqual(served.log.count("will be tried again"),
                                 0 if answer.fault else 1)

    def test_retry_after_is_obeyed(self):
        with Recorder() as server:
            server.script = [Answer(503, {"Retry-After": "2"})]
            self.served(server, 10)
            self.assertGreaterEqual(server.times[1] - server.times[0], 2)

    def test_what_does_not_pass_is_dropped_and_told_once(self):
        for status in (401, 422, 307):
            with self.subTest(status=status), Recorder() as server, \
                    Recorder() as other:
                server.always = Answer(status,
                                       {"Location": other.url})
                served = self.served(server)
                self.assertLessEqual(len(server.times),
                                     len(served.output.profiles))
                self.assertEqual(served.log.count("is dropped"), 1)
                self.assertIn(str(status), served.log)
                self.assertEqual(other.requests, [])

    def test_one_refusal_does_not_block_what_follows(self):
        with Recorder() as server:
            server.script = [Answer(413)]
            served = self.served(server, 8)
            self.assertTrue(server.pushes)
            self.assertEqual(len(server.times), len(server.pushes) + 1)
            self.assertEqual(served.output.comments.get(
                "pushes_lost_refused"), 1)

    def test_garbage_after_200_is_delivered_and_a_web_page_is_not(self):
        with Recorder() as server:
            server.always = Answer(200, body=os.urandom(100000))
            served = self.served(server, 1)
            self.assertNotIn("dropped", served.log)
        with Recorder() as server:
            server.always = Answer(200, {"Content-Type": "text/html"},
                                   b"<html>log in</html>")
            self.assertIn("a web page", self.served(server, 1).log)

    def test_the_end_is_bounded(self):
        for answer in (Answer(fault="never"), Answer(fault="slow"),
                       Answer(503), Answer(429, {"Retry-After": "3000"})):
            with self.subTest(answer=answer), Recorder() as server:
                server.always = answer
                served = self.served(server, 1)
                self.assertLess(served.end_s, END_S)
                self.assertNotIn("did not finish", served.stderr)
                self.assertTrue(served.output.profiles)

    def test_no_server_at_all(self):
        class Nobody:
            url = f"http://127.0.0.1:{run.free_port()}"
        served = self.served(Nobody, 1)
        self.assertLess(served.end_s, END_S)
        self.assertIn("check SPANPROF_SERVER", served.log)
        self.assertEqual(served.log.count("check SPANPROF_SERVER"), 1)


if __name__ == "__main__":
    unittest.main()
