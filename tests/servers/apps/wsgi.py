# SPDX-License-Identifier: Apache-2.0
"""A WSGI application whose paths name what it computes: /deflate/N, /bzip2/N
and /sha512/N spend about N ms in zlib, bzip2 and OpenSSL. The response says how
much CPU time the thread used, in ns, in X-Cpu-Ns."""
import bz2
import hashlib
import time
import zlib

DATA = bytes(range(256)) * 256 + b"".join(
    b"%d " % (number * number % 7919) for number in range(20000))


def work(name):
    if name == "deflate":
        zlib.compress(DATA, 6)
    elif name == "bzip2":
        bz2.compress(DATA[:30000], 9)
    else:
        hashlib.sha512(DATA * 4).digest()


def application(environ, start_response):
    begin = time.thread_time_ns()
    _, name, milliseconds = environ["PATH_INFO"].split("/")
    while time.thread_time_ns() - begin < int(milliseconds) * 1000000:
        work(name)
    used = time.thread_time_ns() - begin
    body = name.encode() + b"\n"
    start_response("200 OK", [("Content-Type", "text/plain"),
                              ("Content-Length", str(len(body))),
                              ("X-Cpu-Ns", str(used))])
    return [body]
