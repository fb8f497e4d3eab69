# SPDX-License-Identifier: Apache-2.0
"""An HTTP server that serves in a thread as long as a `with` block runs."""
import http.server
import socket
import threading


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        pass


class _Server6(_Server):
    address_family = socket.AF_INET6


class BackgroundServer:
    """Its handlers find it as `self.server.owner`. It speaks TLS with `tls`, an
    ssl.SSLContext."""

    def __init__(self, handler, *, address="127.0.0.1", tls=None):
        is_ipv6 = ":" in address
        self.http = (_Server6 if is_ipv6 else _Server)((address, 0), handler)
        self.http.owner = self
        if tls:
            self.http.socket = tls.wrap_socket(self.http.socket,
                                               server_side=True)
        self.port = self.http.server_address[1]
        host = f"[{address}]" if is_ipv6 else address
        self.url = f"{'https' if tls else 'http'}://{host}:{self.port}"
        self.thread = threading.Thread(target=self.http.serve_forever,
                                       kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
