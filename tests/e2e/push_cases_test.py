#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of profiles when a server, or what is in front of it, answers
otherwise than it should: one table, in which each case has its outcome. The
profiles are made up (lib/pushing.py); the code that pushes them is the
exporter's."""
import concurrent.futures
import dataclasses
import email.utils
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import pushing  # noqa: E402
from lib.recorder import PUSH, Answer, Recorder  # noqa: E402

PROFILES = 3
AT_ONCE = 6

# Outcomes, for the first of three profiles; the others arrive.
ONCE = "arrives by the first try"
AGAIN = "arrives by a second try"
UNSEEN = "arrives by a second try, which may be libcurl's own"
REFUSED = "is dropped at the first try, counted, told once"
OLD = "is dropped, since the server wants it too late"
KEPT = "has arrived although the answer says nothing of it: no second try"
# Of all three.
ALL_REFUSED = "all are dropped, each after one try, told once"
ALL_END = "all are lost at the end, within its bound"
ALL_TIRED = "all are given up after three tries"


def raw(status, *lines, body=b""):
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""])
    return Answer(raw=head.encode() + body)


def kept(answer):
    answer.keep = True
    return answer


def in_s(seconds):
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


CONNECT_ERROR = b'{"code": "unavailable", "message": "ring is empty"}'
HTML = b"<html><body>log in</body></html>"


@dataclasses.dataclass
class Case:
    name: str
    answer: Answer
    outcome: str
    words: str = ""     # in the log
    big: bool = False   # profiles of some MB


STATUSES = (
    [Case(str(status), Answer(status), AGAIN, str(status))
     for status in (408, 429, 500, 502, 503, 504)] +
    [Case(str(status), Answer(status), REFUSED, str(status))
     for status in (201, 202, 204, 206, 300, 304, 400, 401, 402, 403, 407, 409,
                    410, 411, 413, 414, 415, 418, 421, 422, 425, 426, 431, 451,
                    505, 507, 508, 511)])

WAITS = [
    Case("429, Retry-After in seconds",
         Answer(429, {"Retry-After": "1"}), AGAIN),
    Case("503, Retry-After as a date",
         Answer(503, {"Retry-After": in_s(2)}), AGAIN),
    Case("503, Retry-After over", Answer(503, {"Retry-After": in_s(-60)}),
         AGAIN),
    Case("429, Retry-After negative", Answer(429, {"Retry-After": "-5"}),
         AGAIN),
    Case("429, Retry-After without sense",
         Answer(429, {"Retry-After": "soon"}), AGAIN),
    Case("429, Retry-After of an age",
         Answer(429, {"Retry-After": "9" * 40}), OLD),
    Case("503, Retry-After in the year 9999",
         Answer(503, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}), OLD),
    Case("200 with Retry-After", kept(Answer(200, {"Retry-After": "99"})),
         ONCE),
]

BODIES = [
    Case("200, garbage", kept(Answer(200, body=b"\0\xff" * 5000)), ONCE),
    Case("200, much", kept(Answer(200, body=b"x" * (8 << 20))), ONCE),
    Case("200, a web page", Answer(200, {"Content-Type": "text/html"}, HTML),
         REFUSED, "a web page"),
    Case("503 as Connect says it", Answer(503, body=CONNECT_ERROR), AGAIN,
         "unavailable: ring is empty"),
    Case("400 of a code that nobody knows",
         Answer(400, body=b'{"code": "x\\u0000\\u001b[31m", "message": 5}'),
         REFUSED),
    Case("400, deep JSON", Answer(400, body=b"[" * 4000), REFUSED),
    Case("400, much", Answer(400, body=b"x" * (8 << 20)), REFUSED),
    Case("500, no UTF-8", Answer(500, body=b"\xc3\x28\xff"), AGAIN),
    Case("503, a web page", Answer(503, {"Content-Type": "text/html"}, HTML),
         AGAIN),
]

REDIRECTS = [
    Case(f"{status} to {where}", Answer(status, {"Location": url}), REFUSED,
         "redirects are not followed")
    for status in (301, 302, 303, 307, 308)
    for where, url in (("itself", "/else"),
                       ("another host", "http://127.0.0.2:1/"))
]

FAULTS = [
    Case("reset in the answer's place", Answer(fault="reset"), UNSEEN),
    Case("closed without an answer", Answer(fault="close"), UNSEEN),
    Case("reset before the body is read",
         Answer(fault="reset", early=True), UNSEEN, big=True),
    Case("closed before the body is read",
         Answer(fault="close", early=True), UNSEEN, big=True),
    Case("503 before the body is read", Answer(503, early=True), AGAIN),
    Case("413 before the body is read", Answer(413, early=True), REFUSED),
    Case("half a status line", Answer(raw=b"HTTP/1.1 2"), UNSEEN),
    Case("half a head", kept(Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Le")),
         KEPT),
    Case("half a body", kept(raw("200 OK", "Content-Length: 99", body=b"x")),
         KEPT),
    Case("half a chunk", kept(raw("200 OK", "Transfer-Encoding: chunked",
                                  body=b"ff\r\nx")), KEPT),
    Case("a chunk of no size", kept(raw(
        "200 OK", "Transfer-Encoding: chunked", body=b"zz\r\n")), KEPT),
    Case("half a body of a 503", raw("503 No", "Content-Length: 99"), AGAIN),
    Case("chunks", kept(raw("200 OK", "Transfer-Encoding: chunked",
                            body=b"2\r\n{}\r\n0\r\n\r\n")), ONCE),
    Case("no length", kept(raw("200 OK", body=b"{}")), ONCE),
    Case("100 before", kept(Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\n"
                                   b"HTTP/1.1 200 OK\r\n\r\n")), ONCE),
    Case("100 before 503", Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\n"
                                  b"HTTP/1.1 503 No\r\n\r\n"), AGAIN),
    Case("100 and no more", Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\n"),
         AGAIN),
    Case("HTTP/1.0", kept(Answer(raw=b"HTTP/1.0 200 OK\r\n\r\n")), ONCE),
    Case("no HTTP", Answer(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), AGAIN),
    Case("TLS", Answer(raw=b"\x15\x03\x01\0\x02\x02\x46"), AGAIN),
    Case("a header of 400 kB", Answer(
        raw=b"HTTP/1.1 503 No\r\nX: " + b"x" * 400000 + b"\r\n\r\n"), AGAIN),
    Case("late by a second", kept(Answer(200, delay_s=1)), ONCE),
]

CASES = STATUSES + WAITS + BODIES + REDIRECTS + FAULTS

ALWAYS = [
    Case("always 503", Answer(503), ALL_END),
    Case("always 500", Answer(500), ALL_END),
    Case("always reset", Answer(fault="reset"), ALL_END),
    Case("never an answer", Answer(fault="never"), ALL_END),
    Case("a byte a second", Answer(fault="slow"), ALL_END),
    Case("always 401", Answer(401), ALL_REFUSED, "PYROSCOPE_AUTH_TOKEN"),
    Case("always 413", Answer(413), ALL_REFUSED, "too large"),
    Case("always 422", Answer(422), ALL_REFUSED),
    Case("always 302", Answer(302, {"Location": "/"}), ALL_REFUSED),
]


class CasesTest(unittest.TestCase):

    def run_case(self, case, always=False):
        samples = 15000 if case.big else 1
        with Recorder() as server:
            server.script = [] if always else [case.answer]
            server.always = case.answer if always else None
            env = {"SPANPROF_TRACE_ID": "true"} if case.big else {}
            done = pushing.push(server.url, PROFILES, samples,
                                0 if always else 15, env)
            return (done, pushing.times_kept(server, PROFILES, samples),
                    len(server.times), server.refusals, server.requests)

    def judge(self, case, result):
        done, times, posts, refusals, requests = result
        outcome = case.outcome
        self.assertIn(case.words, done.log)
        self.assertEqual(refusals, [])
        self.assertEqual({path for _, path, _ in requests} - {
            "/push.v1.PusherService/Push", "/api/v1/status/buildinfo"}, set())
        first = 0 if outcome in (REFUSED, OLD) else 1
        self.assertEqual(times, [first, 1, 1])
        self.assertEqual(done.sent, sum(times))
        self.assertEqual((done.refused, done.old),
                         (outcome == REFUSED, outcome == OLD))
        self.assertEqual(done.lost, 1 - first)
        tries = outcome in (AGAIN, UNSEEN)
        self.assertEqual(posts, PROFILES + tries)
        if outcome == UNSEEN:
            self.assertLessEqual(done.retried, 1)
        else:
            self.assertEqual(done.retried, tries)
        told = done.log.count(" warn: ")
        if outcome in (ONCE, KEPT):
            self.assertEqual(told, 0, done.log)
        elif outcome != UNSEEN:
            self.assertEqual(told, 1, done.log)

    def judge_all(self, case, result):
        done, times, posts, _, _ = result
        self.assertIn(case.words, done.log)
        self.assertEqual(times, [0] * PROFILES)
        self.assertEqual((done.sent, done.lost), (0, PROFILES))
        if case.outcome == ALL_REFUSED:
            self.assertEqual((done.refused, done.retried, posts),
                             (PROFILES, 0, PROFILES))
        else:
            self.assertGreaterEqual(done.end, 1)
        self.assertEqual(done.log.count(" warn: "),
                         0 if case.answer.fault in ("never", "slow") else 1,
                         done.log)

    def check(self, cases, judge, **more):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = pool.map(lambda case: self.run_case(case, **more), cases)
            for case, result in zip(cases, results):
                with self.subTest(case.name):
                    judge(case, result)

    def test_each_answer_has_its_outcome(self):
        self.check(CASES, self.judge)

    def check_old(self, status, profiles, pushes, **more):
        """A server that knows only /ingest: all arrives there, after so many
        pushes in vain."""
        with Recorder(old=status, **more) as server:
            done = pushing.push(server.url, profiles)
            self.assertEqual((done.sent, done.retried), (profiles, 0),
                             done.log)
            self.assertEqual(pushing.times_kept(server, profiles),
                             [1] * profiles)
            self.assertEqual(server.refusals, [])
            self.assertEqual(sum(path.endswith(PUSH) for _, path, _ in
                                 server.requests), pushes)
            self.assertEqual(done.log.count("/ingest"), 1)
            self.assertNotIn(" warn: ", done.log)
            return server.pushes

    def test_an_old_server_gets_forms(self):
        for status in (404, 405, 501):
            with self.subTest(status):
                pushes = self.check_old(status, 3, 1, base="/p",
                                        version=None)
        labels = pushes[0].labels
        self.assertEqual(labels["__name__"], "process_cpu")
        self.assertEqual(labels["service_name"], "test")
        self.assertEqual(labels["otel.scope.name"], "spanprof")

    def test_the_push_service_is_looked_for_again_now_and_then(self):
        self.check_old(404, 130, 3)

    def test_an_old_server_s_refusals_are_heard(self):
        with Recorder(old=404) as server:
            server.script = [Answer(422), Answer(503)]
            done = pushing.push(server.url, PROFILES)
            self.assertEqual(pushing.times_kept(server, PROFILES), [0, 1, 1])
            self.assertEqual((done.refused, done.retried), (1, 1))

    def test_without_push_and_ingest_there_is_no_pyroscope(self):
        for status in (404, 405, 501):
            with self.subTest(status), Recorder(old=status) as server:
                server.always = Answer(status)
                done = pushing.push(server.url, PROFILES)
                self.assertEqual((done.sent, done.refused), (0, PROFILES))
                self.assertEqual(done.log.count("neither"), 1)
                self.assertEqual(done.log.count(" warn: "), 1)

    def test_what_never_ends_ends_all_the_same(self):
        self.check(ALWAYS, self.judge_all, always=True)


if __name__ == "__main__":
    unittest.main()
