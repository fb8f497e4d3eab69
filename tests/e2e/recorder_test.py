#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the recorder of pushes refuses what a Pyroscope refuses: requests
that are made by hand, one right, the others with one thing wrong."""
import gzip
import http.client
import pathlib
import sys
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import profile, recorder  # noqa: E402
from lib.maker import CPU_NS, SPAN, TRACE, Maker  # noqa: E402

TYPE = {"Content-Type": "application/proto"}
LABELS = {"__name__": "process_cpu", "service_name": "shop"}
HOUR_NS = 3600 * 10**9


def body(message=None, labels=None, pprof=None):
    """A PushRequest of a good profile, or of the given one."""
    if pprof is None:
        message = message or Maker().message
        pprof = gzip.compress(message.SerializeToString())
    request = profile.messages("push").PushRequest()
    series = request.series.add()
    for name, value in (labels or LABELS).items():
        series.labels.add(name=name, value=value)
    series.samples.add(raw_profile=pprof)
    return request.SerializeToString()


class RecorderTest(unittest.TestCase):

    def setUp(self):
        self.server = recorder.Recorder()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)

    def post(self, data, headers=TYPE, path=recorder.PUSH, method="POST"):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port,
                                                timeout=10)
        try:
            connection.request(method, path, data, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def refuse(self, data, status=400, **more):
        self.assertEqual(self.post(data, **more), status)
        self.assertEqual(self.server.pushes, [])

    def test_a_good_push_is_taken_and_found_by_its_span(self):
        self.assertEqual(self.post(body()), 200)
        sample, = self.server.span(SPAN)
        self.assertEqual((sample.cpu_ns, sample.trace_id), (CPU_NS, TRACE))
        self.assertEqual(self.server.span("00f067aa0ba902b8"), [])
        self.assertEqual(self.server.pushes[0].labels, LABELS)

    def test_a_gzipped_request_and_a_plain_profile_are_taken(self):
        plain = body(pprof=Maker().message.SerializeToString())
        self.assertEqual(self.post(gzip.compress(plain),
                                   {**TYPE, "Content-Encoding": "gzip"}), 200)

    def test_requests_of_another_form_are_refused(self):
        self.refuse(body(), 415, headers={"Content-Type": "text/plain"})
        self.refuse(body(), 415, headers={
            "Content-Type": "application/x-protobuf"})
        self.refuse(body(), 404, path="/else")
        self.refuse(None, 405, method="GET")
        self.refuse(b"\xff\xff\xff")
        self.refuse(b"")
        self.refuse(body()[:-5])

    def form(self, pprof=None, field="profile", file="profile", name="shop{}",
             query=""):
        """The status of an /ingest of one file."""
        if pprof is None:
            pprof = gzip.compress(Maker().message.SerializeToString())
        file = f'; filename="{file}"' if file else ""
        data = (f'--x\r\nContent-Disposition: form-data; name="{field}"{file}'
                "\r\n\r\n").encode() + pprof + b"\r\n--x--\r\n"
        name = urllib.parse.quote(name)
        return self.post(data, {
            "Content-Type": "multipart/form-data; boundary=x"},
            f"{recorder.INGEST}?name={name}{query}")

    def test_a_form_is_taken_with_the_labels_of_its_name(self):
        self.assertEqual(self.form(name="shop{a.b=c d, e=f}"), 200)
        self.assertEqual(len(self.server.span(SPAN)), 1)
        labels = self.server.pushes[0].labels
        self.assertEqual((labels["__name__"], labels["service_name"],
                          labels["a.b"], labels["e"]),
                         ("process_cpu", "shop", "c d", "f"))

    def test_bad_forms_are_refused_or_lost(self):
        zipped = gzip.compress(b"no")
        for status, more in ((400, {"name": ""}), (400, {"name": "a b{}"}),
                             (400, {"name": "a{b-c=d}"}),
                             (422, {"query": "&format=pprof"}),
                             (422, {"field": "prev_profile"}),
                             (422, {"pprof": zipped}), (200, {"pprof": b""}),
                             (200, {"file": ""})):
            with self.subTest(more):
                self.assertEqual(self.form(**more), status)
                self.assertEqual(self.server.pushes, [])
        self.refuse(body(), 422, path=f"{recorder.INGEST}?name=shop")
        self.server.old = 405
        self.refuse(body(), 405)

    def test_bodies_that_hold_no_profile_are_refused(self):
        self.refuse(body(pprof=b"\x1f\x8bno"), 500)
        self.refuse(body(pprof=b"\xff\xff"), 500)
        self.refuse(body(pprof=b""), 500)

    def test_bad_labels_are_refused(self):
        for labels in ({"service_name": "a"},
                       {"__name__": "a-b", "service_name": "a"},
                       {**LABELS, "service_name": ""},
                       {**LABELS, "": "x"}, {**LABELS, "n" * 1025: "x"},
                       {**LABELS, "n": "x" * 2049},
                       {**LABELS, **{f"n{i}": "x" for i in range(29)}}):
            with self.subTest(labels=list(labels)):
                self.refuse(body(labels=labels))
        request = profile.messages("push").PushRequest.FromString(body())
        request.series[0].labels.add(name="service_name", value="b")
        self.refuse(request.SerializeToString())

    def test_bad_profiles_are_refused(self):
        def first(maker):
            return maker.message.sample[0]
        changes = {
            "no types": lambda m: m.message.ClearField("sample_type"),
            "no period type": lambda m: m.message.ClearField("period_type"),
            "values": lambda m: first(m).value.append(1),
            "negative": lambda m: first(m).value.__setitem__(0, -1),
            "nothing": lambda m: first(m).value.__setitem__(
                slice(None), [0, 0]),
            "no stack": lambda m: first(m).ClearField("location_id"),
            "depth": lambda m: first(m).location_id.extend([1] * 1000),
            "location 0": lambda m: first(m).location_id.append(0),
            "location beyond": lambda m: first(m).location_id.append(99),
            "function 0": lambda m: setattr(
                m.message.location[0].line[0], "function_id", 0),
            "no line": lambda m: m.message.location[0].ClearField("line"),
            "string 0": lambda m: m.message.string_table.__setitem__(0, "x"),
            "string beyond": lambda m: setattr(
                m.message.function[0], "name", 999),
            "label beyond": lambda m: setattr(
                first(m).label[0], "str", 999),
            "string twice": lambda m: m.message.string_table.append("main"),
            "long string": lambda m: m.message.string_table.append(
                "x" * 65536),
            "dash": lambda m: m.message.string_table.__setitem__(
                m.text("cpu"), "c-pu"),
            "old": lambda m: setattr(m.message, "time_nanos",
                                     time.time_ns() - HOUR_NS),
            "early": lambda m: setattr(m.message, "time_nanos",
                                       time.time_ns() + HOUR_NS),
            "other label": lambda m: first(m).label.add(
                key=m.text("route"), str=m.text("/x")),
            "upper case": lambda m: m.message.string_table.__setitem__(
                m.text(SPAN), SPAN.upper()),
            "id of zeros": lambda m: m.message.string_table.__setitem__(
                m.text(SPAN), "0" * 16),
            "trace id short": lambda m: m.message.string_table.__setitem__(
                m.text(TRACE), TRACE[1:]),
            "samples": lambda m: m.message.sample.extend(
                [first(m)] * 16000),
        }
        for name, change in changes.items():
            with self.subTest(name):
                maker = Maker()
                change(maker)
                self.refuse(body(maker.message))

    def test_bytes_that_are_no_utf8_are_refused(self):
        raw = Maker().message.SerializeToString().replace(b"burn_01",
                                                          b"burn_\xff1")
        self.refuse(body(pprof=raw))

    def test_what_is_larger_than_the_burst_is_refused(self):
        maker = Maker()
        for i in range(40):
            maker.message.string_table.append(f"{i:02d}" + "x" * 60000)
        self.refuse(body(maker.message), 429)

    def test_credentials_and_tenants_are_looked_at(self):
        self.server.authorization = "Bearer a"
        self.refuse(body(), 401)
        self.assertEqual(self.post(body(), {**TYPE, "Authorization":
                                            "Bearer a"}), 200)
        self.server.pushes.clear()
        self.server.authorization, self.server.tenant = None, "blue"
        self.refuse(body(), 401)

    def test_a_script_comes_before_judgement(self):
        self.server.script = [recorder.Answer(503), recorder.Answer(
            fault="close"), recorder.Answer(fault="reset")]
        self.assertEqual(self.post(body()), 503)
        for _ in range(2):
            with self.assertRaises((http.client.HTTPException, OSError)):
                self.post(body())
        self.assertEqual(self.post(body()), 200)
        self.assertEqual(len(self.server.pushes), 1)

    def test_a_trace_id_makes_series_before_2_1(self):
        self.assertEqual(self.post(body()), 200)
        other = Maker()
        strings = other.message.string_table
        strings[list(strings).index(TRACE)] = TRACE[::-1]
        self.assertEqual(self.post(body(other.message)), 200)
        self.assertEqual(len(self.server.series()), 1)
        self.server.version = "2.0.9"
        self.assertEqual(len(self.server.series()), 2)


if __name__ == "__main__":
    unittest.main()
