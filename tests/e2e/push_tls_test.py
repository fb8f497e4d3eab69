#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a push is verified: a private authority, a wrong host name, an
expired certificate, none that is known."""
import pathlib
import random
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import burn, client, run  # noqa: E402
from lib.recorder import Recorder  # noqa: E402


NEVER = "99991231235959Z"


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


CONFIGURATION = """
[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
basicConstraints = CA:TRUE
subjectAltName = {name}
"""


def make_certificate(folder, name, until):
    """An authority of its own that has signed itself for `name`."""
    key, request = folder / "key.pem", folder / "request.pem"
    certificate, configuration = folder / "cert.pem", folder / "ca.cnf"
    (folder / "index").touch()
    configuration.write_text(CONFIGURATION.format(folder=folder, name=name))
    openssl("req", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
            request, "-subj", "/CN=spanprof test")
    openssl("ca", "-batch", "-selfsign", "-config", configuration, "-notext",
            "-keyfile", key, "-in", request, "-out", certificate,
            "-startdate", "20200101000000Z", "-enddate", until)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


class TlsTest(unittest.TestCase):

    def setUp(self):
        run.need("openssl")

    def push(self, name, env, until=NEVER):
        """Returns the pushes that came and the agent's log."""
        with run.temporary_folder() as folder:
            context, certificate = make_certificate(folder, name,
                                                    until)
            hashed = folder / "authorities"
            hashed.mkdir()
            (hashed / "ca.pem").write_bytes(certificate.read_bytes())
            openssl("rehash", hashed)
            values = {"SSL_CERT_FILE": str(certificate),
                      "SSL_CERT_DIR": str(hashed)}
            with Recorder(tls=context) as server:
                environment = {"SPANPROF_SERVER": server.url,
                               "SPANPROF_LOG": str(folder / "log"),
                               **{key: values[key] for key in env}}
                rng = random.Random(1)
                argv = [run.server("burn"), "--threads=1",
                        f"--log={folder / 'burn.log'}"]
                with run.Program(argv, env=environment,
                                 cwd=folder) as program:
                    client.run(program.port(), [[burn.request(rng, 60000)]])
                    program.stop()
                return server.pushes, (folder / "log").read_text() \
                    if (folder / "log").exists() else ""

    def refuse(self, words, *arguments, **more):
        pushes, log = self.push(*arguments, **more)
        self.assertEqual(pushes, [])
        lines = log.splitlines()
        self.assertEqual(len(lines), 1, log)
        self.assertIn(words, lines[0])

    def test_a_private_authority_is_trusted_when_it_is_named(self):
        for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            with self.subTest(variable):
                pushes, log = self.push("IP:127.0.0.1", [variable])
                self.assertTrue(pushes)
                self.assertEqual(log, "")

    def test_an_unknown_authority_is_refused_once_and_clearly(self):
        self.refuse("SSL_CERT_FILE", "IP:127.0.0.1", [])

    def test_a_certificate_for_another_host_is_refused(self):
        self.refuse("127.0.0.1", "DNS:elsewhere.example", ["SSL_CERT_FILE"])

    def test_an_expired_certificate_is_refused(self):
        self.refuse("expired", "IP:127.0.0.1", ["SSL_CERT_FILE"],
                    until="20200102000000Z")


if __name__ == "__main__":
    unittest.main()
