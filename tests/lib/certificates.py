# SPDX-License-Identifier: Apache-2.0
"""Certificates for servers of tests, by openssl."""
import ssl
import subprocess

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


def make(folder, name, until):
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
