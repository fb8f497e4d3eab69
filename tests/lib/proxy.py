# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy that brings everybody to the same server on 127.0.0.1,
whichever host they ask for, and remembers what they asked."""
import contextlib
import http.client
import http.server
import select
import socket
import urllib.parse

from lib.background_server import BackgroundServer


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def refuses(self):
        """Whether the request ends here."""
        proxy = self.server.owner
        proxy.requests.append((self.command, self.path, dict(self.headers)))
        given = self.headers.get("Proxy-Authorization")
        if proxy.status:
            self.send_response(proxy.status)
        elif proxy.authorization and given != proxy.authorization:
            self.send_response(407)
            self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
        else:
            return False
        self.send_header("Content-Length", "0")
        self.end_headers()
        return True

    def do_CONNECT(self):
        if self.refuses():
            return
        with socket.create_connection(("127.0.0.1",
                                       self.server.owner.port_behind)) as far:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            self.tunnel(far)

    def tunnel(self, far):
        ways = {self.connection: far, far: self.connection}
        with contextlib.suppress(OSError):
            while True:
                for ready in select.select(list(ways), [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    ways[ready].sendall(data)

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.refuses():
            return
        url = urllib.parse.urlsplit(self.path)
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.server.owner.port_behind, timeout=30)
        with contextlib.closing(connection):
            connection.request(self.command, url.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = forward


class Proxy(BackgroundServer):
    """Leads to `port_behind`. With `authorization` it wants that value; with
    `status` it answers so to everybody."""

    def __init__(self, port_behind, *, authorization=None, status=None):
        super().__init__(_Handler)
        self.port_behind = port_behind
        self.authorization = authorization
        self.status = status
        self.requests = []      # (method, target, headers)
        self.address = f"127.0.0.1:{self.port}"
