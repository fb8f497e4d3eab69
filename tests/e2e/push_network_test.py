#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which way a push takes, and whom it trusts: names, addresses, TLS, proxies.
What an answer causes is in push_cases_test.py."""
import base64
import concurrent.futures
import contextlib
import pathlib
import ssl
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import certificates, own_network, pushing, run  # noqa: E402
from lib.proxy import Proxy  # noqa: E402
from lib.recorder import Recorder  # noqa: E402

# A name that only proxies know.
NAME = "pyroscope.test"
# What a pusher may take in all when nobody answers, with slack.
END_S = 10
AT_ONCE = 8


def at_once(function, rows):
    """The results, in order; most of the time goes by waiting."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda row: function(*row), rows))


class PushTest(unittest.TestCase):

    def check_arrived(self, done, server):
        self.assertEqual((done.sent, done.lost, done.retried), (1, 0, 0),
                         done.log)
        self.assertEqual(pushing.times_kept(server, 1), [1])
        self.assertEqual(server.refusals, [])
        self.assertNotIn(" warn: ", done.log)

    def check_told(self, done, words):
        """It is told once, with the way out."""
        self.assertEqual(done.sent, 0)
        self.assertEqual(done.lost, 1)
        self.assertEqual(done.log.count(" warn: "), 1, done.log)
        for word in words.split("|"):
            self.assertIn(word, done.log)


class TlsTest(PushTest):

    @classmethod
    def setUpClass(cls):
        run.need("openssl")
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.folder = cls.stack.enter_context(run.temporary_folder())
        cls.good = cls.make("good", "IP:127.0.0.1", certificates.NEVER)

    @classmethod
    def make(cls, name, host, until):
        folder = cls.folder / name
        folder.mkdir()
        return certificates.make(folder, host, until)

    def push(self, certificate, variables=("SSL_CERT_FILE",), context=None,
             scheme="https", plain=False, **env):
        """Returns what became of it and the recorder."""
        served, path = certificate
        hashed = path.parent / "authorities"
        if not hashed.exists():
            hashed.mkdir()
            (hashed / "ca.pem").write_bytes(path.read_bytes())
            certificates.openssl("rehash", hashed)
        values = {"SSL_CERT_FILE": str(path), "SSL_CERT_DIR": str(hashed)}
        env.update({name: values[name] for name in variables})
        with Recorder(tls=None if plain else context or served) as server:
            url = f"{scheme}://127.0.0.1:{server.port}"
            return pushing.push(url, env=env, wait_s=0), server

    def test_a_private_authority_is_trusted_when_it_is_named(self):
        for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            with self.subTest(variable):
                self.check_arrived(*self.push(self.good, [variable]))

    def refuse(self, words, *arguments, **more):
        done, server = self.push(*arguments, **more)
        self.check_told(done, words)
        self.assertEqual(done.retried, 0)
        self.assertEqual(done.refused, 1)
        self.assertEqual(server.requests, [])

    def test_what_cannot_be_verified_gets_nothing(self):
        self.refuse("certificate|SSL_CERT_FILE", self.good, [])
        self.refuse("127.0.0.1", self.make("other", "DNS:elsewhere.example",
                                           certificates.NEVER))
        self.refuse("expired", self.make("old", "IP:127.0.0.1",
                                         "20200102000000Z"))
        self.refuse("SSL_CERT_FILE", self.good, [],
                    SSL_CERT_FILE=str(self.folder / "none"))
        self.refuse("SSL_CERT_FILE", self.good, [],
                    SSL_CERT_DIR=str(self.folder / "none"))

    def wait_in_vain(self, *arguments, **more):
        """It may pass, so that it is tried again until the end."""
        done, server = self.push(self.good, *arguments, **more)
        self.check_told(done, "check SPANPROF_SERVER")
        self.assertEqual(done.end, 1)
        self.assertEqual(server.requests, [])

    def test_a_server_that_speaks_another_language_is_told_of(self):
        self.wait_in_vain(plain=True)
        self.wait_in_vain(scheme="http")

    def test_old_tls_is_refused(self):
        _, path = self.good
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path, path.parent / "key.pem")
        context.set_ciphers("ALL:@SECLEVEL=0")
        with self.assertWarns(DeprecationWarning):
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        self.wait_in_vain(context=context)


class AddressTest(PushTest):

    def test_loopback_is_reached_without_a_proxy(self):
        for host in ("127.0.0.1", "::1", "localhost"):
            address = host.replace("localhost", "127.0.0.1")
            with self.subTest(host), Recorder(address=address) as server, \
                    Proxy(server.port) as proxy:
                done = pushing.push(server.url.replace(address, host), env={
                    "http_proxy": proxy.url, "ALL_PROXY": proxy.url})
                self.check_arrived(done, server)
                self.assertEqual(proxy.requests, [])

    def test_what_nobody_answers_ends_in_time(self):
        def name():
            return pushing.push(f"http://{NAME}", wait_s=0), 0

        def silent_resolver():
            with own_network.silent_name_server():
                began = time.monotonic()
                done = pushing.push(f"http://{NAME}", wait_s=0)
                return done, time.monotonic() - began

        def hole():
            with own_network.black_hole() as port:
                began = time.monotonic()
                done = pushing.push(f"http://127.0.0.1:{port}", wait_s=0)
                return done, time.monotonic() - began

        for case in (name, silent_resolver, hole):
            with self.subTest(case.__name__):
                done, took_s = own_network.call(case)
                self.assertEqual((done.sent, done.end), (0, 1), done.log)
                self.assertLess(took_s, END_S)
                if case is name:
                    self.check_told(done, f"{NAME}|check SPANPROF_SERVER")


# (scheme, variables in which {} is the proxy's address, whether it is used)
HTTP, TLS = "http", "https"
WAYS = (
    (HTTP, {"http_proxy": "http://{}"}, True),
    (HTTP, {"http_proxy": "{}"}, True),
    (HTTP, {"HTTP_PROXY": "http://{}"}, True),
    (HTTP, {"HTTP_PROXY": "http://{}", "REQUEST_METHOD": "GET"}, False),
    (HTTP, {"http_proxy": "http://{}", "HTTP_PROXY": "http://127.0.0.1:1"},
     True),
    (HTTP, {"all_proxy": "http://{}"}, True),
    (HTTP, {"ALL_PROXY": "http://{}"}, True),
    (HTTP, {"https_proxy": "http://{}", "HTTPS_PROXY": "http://{}"}, False),
    (TLS, {"https_proxy": "http://{}"}, True),
    (TLS, {"HTTPS_PROXY": "http://{}"}, True),
    (TLS, {"ALL_PROXY": "http://{}"}, True),
    (TLS, {"http_proxy": "http://{}", "HTTP_PROXY": "http://{}"}, False),
    (HTTP, {"http_proxy": "http://{}", "no_proxy": NAME}, False),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": ".test"}, False),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": "test"}, False),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": "a.b, .test"}, False),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": "*"}, False),
    (HTTP, {"HTTP_PROXY": "http://{}", "NO_PROXY": "*"}, False),
    (TLS, {"https_proxy": "http://{}", "NO_PROXY": ".test"}, False),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": ".other,est"}, True),
    (HTTP, {"http_proxy": "http://{}", "NO_PROXY": ""}, True),
)
# (NO_PROXY, whether the proxy is used for FAR)
FAR = "192.0.2.7"
RANGES = (("10.0.0.0/8", True), ("192.0.2.0/24", False), (FAR, False),
          ("localhost,.corp,192.0.0.0/16", False), ("192.0.2.0/30", True))


class ProxyTest(PushTest):
    WORD, TOKEN = "pr0xy-w0rd", "t0k3n-efgh"

    @contextlib.contextmanager
    def served(self, scheme, **more):
        """A recorder, a proxy before it, and what makes its certificate
        trusted."""
        with contextlib.ExitStack() as stack:
            tls, env = None, {"PYROSCOPE_AUTH_TOKEN": self.TOKEN}
            if scheme == TLS:
                folder = stack.enter_context(run.temporary_folder())
                tls, path = certificates.make(folder, f"DNS:{NAME}",
                                              certificates.NEVER)
                env["SSL_CERT_FILE"] = str(path)
            server = stack.enter_context(Recorder(
                tls=tls, authorization=f"Bearer {self.TOKEN}"))
            proxy = stack.enter_context(Proxy(server.port, **more))
            yield server, proxy, env

    def push_by(self, scheme, variables, host=NAME, **more):
        with self.served(scheme, **more) as (server, proxy, env):
            env.update({name: value.format(proxy.address)
                        for name, value in variables.items()})
            port = "" if host == NAME else f":{server.port}"
            done = pushing.push(f"{scheme}://{host}{port}", env=env, wait_s=0)
            self.assertNotIn(self.WORD, done.log)
            self.assertNotIn(self.TOKEN, done.log)
            return done, server, proxy

    def check_connects(self, proxy):
        """What a proxy learns of a push by TLS."""
        for method, target, headers in proxy.requests:
            self.assertEqual((method, target), ("CONNECT", f"{NAME}:443"))
            self.assertNotIn("Authorization", headers)
            self.assertNotIn("X-Scope-OrgID", headers)

    def test_the_proxy_is_that_of_the_environment(self):
        def push(scheme, variables, used):
            done, server, proxy = self.push_by(scheme, variables)
            if used:
                self.check_arrived(done, server)
            if scheme == TLS:
                self.check_connects(proxy)
            # What of it can leave this process.
            return done, server.requests, proxy.requests

        results = own_network.call(lambda: at_once(push, WAYS))
        for (scheme, variables, used), result in zip(WAYS, results):
            with self.subTest(scheme=scheme, variables=variables):
                done, *requests = result
                self.assertEqual(done.sent, used, done.log)
                self.assertEqual(list(map(bool, requests)), [used, used])

    def test_no_proxy_knows_ranges_of_addresses(self):
        def push(exceptions, used):
            with Recorder(address=FAR) as server, \
                    Proxy(server.port, status=403) as proxy:
                done = pushing.push(server.url, env={
                    "http_proxy": proxy.url, "NO_PROXY": exceptions})
                return done, len(server.pushes), bool(proxy.requests)

        results = own_network.call(lambda: at_once(push, RANGES), FAR)
        for (exceptions, used), (done, pushes, asked) in zip(RANGES, results):
            with self.subTest(exceptions):
                self.assertEqual(asked, used)
                self.assertEqual((done.sent, pushes),
                                 (0, 0) if used else (1, 1))

    def test_a_proxy_gets_its_credentials_and_no_others(self):
        basic = "Basic " + base64.b64encode(
            f"bob:{self.WORD}".encode()).decode()
        for scheme, name in ((HTTP, "http_proxy"), (TLS, "https_proxy")):
            with self.subTest(scheme):
                done, server, proxy = self.push_by(
                    scheme, {name: f"http://bob:pr0xy%2Dw0rd@{{}}"},
                    authorization=basic)
                self.check_arrived(done, server)
                if scheme == TLS:
                    self.check_connects(proxy)
                    for _, _, headers in server.requests:
                        self.assertNotIn("Proxy-Authorization", headers)

    def test_a_proxy_that_wants_others_is_told_of(self):
        for scheme, name in ((HTTP, "http_proxy"), (TLS, "https_proxy")):
            for user in ("", f"bob:{self.WORD}@"):
                with self.subTest(scheme=scheme, user=user):
                    done, server, _ = self.push_by(
                        scheme, {name: f"http://{user}{{}}"},
                        authorization="Basic other")
                    self.check_told(done, "407|proxy's URL")
                    self.assertEqual(done.refused, 1)
                    self.assertEqual(server.requests, [])

    def test_a_proxy_that_is_ill_is_asked_again(self):
        def push(scheme, name, status):
            return self.push_by(scheme, {name: "http://{}"}, status=status)

        rows = [(scheme, f"{scheme}_proxy", status)
                for scheme in (HTTP, TLS) for status in (502, 503)]
        for row, (done, _, _) in zip(rows, at_once(push, rows)):
            with self.subTest(row):
                self.check_told(done, str(row[2]))
                self.assertEqual(done.end, 1)
                self.assertGreaterEqual(done.retried, 1)

    def test_a_dead_proxy_is_told_of(self):
        done, _, proxy = self.push_by(HTTP, {
            "http_proxy": f"http://u:{self.WORD}@127.0.0.1:{run.free_port()}"})
        self.check_told(done, "check SPANPROF_SERVER")
        self.assertEqual(proxy.requests, [])


if __name__ == "__main__":
    unittest.main()
