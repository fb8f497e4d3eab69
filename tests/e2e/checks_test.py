#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the checks of the other tests can fail: folders that are made by
hand, one right, the others with one thing wrong."""
import gzip
import json
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import client, profile, run, truth  # noqa: E402
from lib.maker import CPU_NS, SPAN, TRACE, Maker  # noqa: E402

def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def span_entry(**changes):
    entry = {"traceId": TRACE, "spanId": SPAN,
             "parentSpanId": "a3ce929d0e0e4736", "name": "GET", "kind": 2,
             "startTimeUnixNano": "1000", "endTimeUnixNano": "2000",
             "attributes": [attribute("pyroscope.profile.id", SPAN),
                            attribute("spanprof.cpu_ns", 5)]}
    entry.update(changes)
    return entry


class ReaderTest(unittest.TestCase):
    """The reader takes a good folder and refuses each bad one."""

    def write(self, folder, message, spans=()):
        (folder / "a-1.pb.gz").write_bytes(
            gzip.compress(message.SerializeToString()))
        line = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
        (folder / "a-1.spans.jsonl.gz").write_bytes(
            gzip.compress(json.dumps(line).encode() + b"\n"))

    def read(self, message, spans=()):
        with run.temporary_folder() as folder:
            self.write(folder, message, spans)
            return profile.read(folder)

    def test_a_good_folder_is_read_whole(self):
        output = self.read(Maker().message, [span_entry()])
        sample, = output.samples
        self.assertEqual(sample, profile.Sample(
            ("burn_01", "main"), 1, CPU_NS, SPAN, TRACE, None, 5))
        self.assertEqual(output.spans[0].cpu_ns, 5)

    def refuse(self, change):
        maker = Maker()
        change(maker)
        with self.assertRaises(profile.Invalid):
            self.read(maker.message)

    def test_bad_profiles_are_refused(self):
        def first(maker):
            return maker.message.sample[0]
        changes = {
            "no string 0": lambda m: m.message.string_table.__setitem__(0, "x"),
            "a string twice": lambda m: m.message.string_table.append("main"),
            "no period type": lambda m: m.message.ClearField("period_type"),
            "no default": lambda m: m.message.ClearField("default_sample_type"),
            "one value": lambda m: first(m).value.pop(),
            "zeros": lambda m: first(m).value.__setitem__(slice(0, 2), [0, 0]),
            "negative": lambda m: first(m).value.__setitem__(0, -1),
            "no location": lambda m: first(m).ClearField("location_id"),
            "bad location": lambda m: first(m).location_id.append(99),
            "no line": lambda m: m.message.location[0].ClearField("line"),
            "bad id": lambda m: setattr(m.message.function[0], "id", 9),
            "too deep": lambda m: first(m).location_id.extend([1] * 1000),
            "a foreign label": lambda m: m.add_sample(("f",), {"tid": "5"}),
            "a bad id label": lambda m: m.add_sample(
                ("f",), {"trace_id": TRACE, "span_id": "0" * 16}),
            "half a label": lambda m: m.add_sample(("f",), {"span_id": SPAN}),
            "an old window": lambda m: setattr(m.message, "time_nanos", 10**18),
            "a long window": lambda m: setattr(m.message, "duration_nanos",
                                               60 * 10**9),
            "not aggregated": lambda m: m.message.sample.append(first(m)),
        }
        for name, change in changes.items():
            with self.subTest(name):
                self.refuse(change)

    def test_bad_spans_are_refused(self):
        for changes in ({"traceId": TRACE.upper()}, {"spanId": "0" * 16},
                        {"kind": 1}, {"attributes": []},
                        {"endTimeUnixNano": "999"}, {"parentSpanId": "12"}):
            with self.subTest(changes), self.assertRaises(profile.Invalid):
                self.read(Maker().message, [span_entry(**changes)])
        with self.assertRaises(profile.Invalid):
            self.read(Maker().message, [span_entry(), span_entry()])

    def test_damaged_and_foreign_files_are_refused(self):
        with run.temporary_folder() as folder:
            self.write(folder, Maker().message)
            (folder / "a.tmp").write_text("")
            with self.assertRaises(profile.Invalid):
                profile.read(folder)
            (folder / "a.tmp").unlink()
            whole = (folder / "a-1.pb.gz").read_bytes()
            (folder / "a-1.pb.gz").write_bytes(whole[:-9])
            with self.assertRaises(profile.Invalid):
                profile.read(folder)


def make_outcome(count=6):
    """Requests, their spans and their samples, all right."""
    rng = random.Random(1)
    results, spans, samples = [], [], []
    for number in range(count):
        function = f"burn_{number:02d}"
        request = client.Request(f"/burn/{function}/10?x=1", function=function,
                                 traceparent=client.new_traceparent(rng))
        begin = number * 10**9
        results.append(client.Result(request, 200, {}, b"", begin,
                                     begin + 10**8))
        span = profile.Span(
            client.trace_of(request.traceparent), f"{number + 1:016x}",
            client.parent_of(request.traceparent), "GET", begin, begin + 10**8,
            {"spanprof.cpu_ns": CPU_NS, "http.request.method": "GET",
             "url.path": f"/burn/{function}/10", "spanprof.end": "complete",
             "http.response.status_code": 200})
        spans.append(span)
        samples.append(sample_of(span, function))
    return results, profile.Output(samples, spans, [], {})


def sample_of(span, function):
    return profile.Sample((function, "serve", "_start"), 1, CPU_NS,
                          span.span_id, span.trace_id, span.name, 7)


def replace(item, **changes):
    import dataclasses
    return dataclasses.replace(item, **changes)


class JudgeTest(unittest.TestCase):
    """The judge acquits what is right and finds each thing that is wrong."""

    def setUp(self):
        self.results, self.output = make_outcome()

    def span_faults(self):
        return truth.find_span_faults(self.output, self.results)

    def test_nothing_is_wrong_with_the_truth(self):
        self.assertEqual(self.span_faults(), [])
        self.assertEqual(truth.find_unknown_labels(self.output, self.results),
                         [])
        verdict = truth.judge_burns(self.output)
        self.assertEqual((verdict.wrong, verdict.right_share), ([], 1))

    def test_a_label_of_the_neighbour_is_wrong(self):
        neighbour = self.output.spans[1]
        self.output.samples[0] = sample_of(neighbour, "burn_00")
        self.assertEqual(len(truth.judge_burns(self.output).wrong), 1)

    def test_the_right_trace_with_another_span_is_wrong(self):
        self.output.samples[0] = replace(
            self.output.samples[0], span_id=self.output.spans[1].span_id)
        self.assertEqual(len(truth.judge_burns(self.output).wrong), 1)
        self.assertTrue(truth.find_unknown_labels(self.output, self.results))

    def test_a_label_that_is_missing_lowers_the_share(self):
        self.output.samples[0] = replace(self.output.samples[0], span_id=None,
                                         trace_id=None)
        self.assertAlmostEqual(truth.judge_burns(self.output).right_share,
                               5 / 6)

    def test_unknown_spans_are_found(self):
        self.output.samples[0] = replace(self.output.samples[0],
                                         span_id="ab" * 8)
        self.assertTrue(truth.find_unknown_labels(self.output, self.results))

    def test_each_fault_of_a_span_is_found(self):
        good = self.output.spans[0]
        for changes in ({"parent_id": "ab" * 8}, {"trace_id": "ab" * 16},
                        {"end_ns": good.end_ns + 10**9}, {"end_ns": None},
                        {"start_ns": good.start_ns - 10**9},
                        {"attributes": {**good.attributes, "url.path": "/"}},
                        {"attributes": {**good.attributes,
                                        "http.request.method": "PUT"}},
                        {"attributes": {**good.attributes,
                                        "spanprof.end": "next"}}):
            with self.subTest(changes):
                self.output.spans[0] = replace(good, **changes)
                self.assertTrue(self.span_faults())

    def test_missing_and_extra_spans_are_found(self):
        good = self.output.spans.pop()
        self.assertTrue(self.span_faults())
        self.output.spans += [good, replace(good, trace_id="ab" * 16,
                                            span_id="cd" * 8, parent_id=None)]
        self.assertTrue(self.span_faults())

    def test_a_request_without_a_caller_needs_a_root(self):
        request = replace(self.results[0].request, traceparent=None)
        self.results[0] = replace(self.results[0], request=request)
        self.assertTrue(self.span_faults())
        self.output.spans[0] = replace(self.output.spans[0], parent_id=None)
        self.assertEqual(self.span_faults(), [])

    def test_stacks_that_end_early_are_incomplete(self):
        complete = truth.Completeness("/usr/bin/python3")
        share, bad = complete.share(self.output)
        self.assertEqual((share, bad), (1, {}))
        for root in ("[truncated]", "main", "[libc.so.6+0x10]"):
            self.output.samples[0] = replace(self.output.samples[0],
                                             stack=("f", root))
            self.assertLess(complete.share(self.output)[0], 1)


if __name__ == "__main__":
    unittest.main()
