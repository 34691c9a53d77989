"""A server on 127.0.0.1 that does what a test tells it, and may behave badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server:
    """A server whose behaviour a test sets, and the requests that it got."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        self.get: Callable[[BaseHTTPRequestHandler], None]
        self.post: Callable[[BaseHTTPRequestHandler], None]
        self.head: Callable[[BaseHTTPRequestHandler], None]

    @property
    def secrets(self) -> list[str]:
        """What came of credentials."""
        return [value for _, _, headers, _ in self.requests for value in headers.values() if "hush" in value]


def send(request: BaseHTTPRequestHandler, body: Any, status: int = 200, **headers: str) -> None:
    """Answer with bytes, or with a value as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request.send_response(status)
    given = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
    for name, value in given.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(data)


def endless(
    request: BaseHTTPRequestHandler, kind: str, head: bytes = b"", piece: bytes = b" " * 65536
) -> None:
    """Write until the other side has enough."""
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.end_headers()
    try:
        request.wfile.write(head)
        while True:
            request.wfile.write(piece)
    except OSError:
        request.close_connection = True


@contextmanager
def serving() -> Iterator[Server]:
    """Serve in a thread."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def note(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            server.requests.append((self.command, self.path, dict(self.headers.items()), body))

        def do_GET(self) -> None:
            self.note()
            server.get(self)

        def do_HEAD(self) -> None:
            self.note()
            server.head(self)

        def do_POST(self) -> None:
            self.note()
            server.post(self)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
