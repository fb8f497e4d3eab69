# SPDX-License-Identifier: Apache-2.0
"""A network of a test's own: nothing but a loopback interface, which has the
addresses that the test wants, and a resolver that the test chooses. Needs the
right to make one (root)."""
import contextlib
import ctypes
import fcntl
import os
import pickle
import signal
import socket
import struct
import tempfile
import traceback

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
IFF_UP = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _set_address(control, name, request, address):
    packed = struct.pack("16sHH4s8x", name, socket.AF_INET, 0,
                         socket.inet_aton(address))
    fcntl.ioctl(control, request, packed)


def _bring_up(addresses):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = fcntl.ioctl(control, SIOCGIFFLAGS,
                            struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", flags)[1]
        fcntl.ioctl(control, SIOCSIFFLAGS,
                    struct.pack("16sH14x", b"lo", flags | IFF_UP))
        for number, address in enumerate(addresses):
            alias = f"lo:{number}".encode()
            _set_address(control, alias, SIOCSIFADDR, address)
            _set_address(control, alias, SIOCSIFNETMASK, "255.255.255.255")


def _resolve_at(name_server):
    _call(_libc.mount, None, b"/", None, MS_REC | MS_PRIVATE, None)
    with tempfile.NamedTemporaryFile("w", prefix="spanprof-resolv-") as file:
        file.write(f"nameserver {name_server}\n")
        file.flush()
        _call(_libc.mount, file.name.encode(), b"/etc/resolv.conf", None,
              MS_BIND, None)


def _enter(addresses):
    _call(_libc.unshare, CLONE_NEWNET | CLONE_NEWNS)
    _bring_up(addresses)
    _resolve_at("127.0.0.1")


def call(function, *addresses):
    """What function() returns, called in a process within such a network, where
    the name server is 127.0.0.1:53. To be called while there is one thread."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _enter(addresses)
            result = True, function()
        except BaseException:
            result = False, traceback.format_exc()
        with open(writing, "wb") as pipe:
            pipe.write(pickle.dumps(result))
        os._exit(0)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            good, result = pickle.loads(pipe.read())
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if not good:
        raise AssertionError(result)
    return result


@contextlib.contextmanager
def silent_name_server():
    """One that takes questions and never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        yield


@contextlib.contextmanager
def black_hole():
    """The port of a host that answers no SYN: a listener whose queue is
    full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
