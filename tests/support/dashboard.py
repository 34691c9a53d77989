"""A real `waza serve` in a process of its own, and requests to it as they go over the wire."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.program import LIMIT, command, environment


@dataclass(frozen=True)
class Reply:
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def total(self) -> int:
        """The length of the whole list."""
        return int(self.headers["x-total-count"])


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def request(self, target: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request with the target as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.putrequest(method, target, skip_host=True)
            for name, value in {"Host": f"localhost:{self.port}", **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Reply(
                answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def get(self, *segments: str, **query: str | int) -> Reply:
        """Ask for a path of the API, each segment percent-encoded."""
        path = "/api/" + "/".join(quote(one, safe="") for one in segments)
        return self.request(path + (f"?{urlencode(query)}" if query else ""))

    def data(self, *segments: str, **query: str | int) -> Any:
        """Ask for a path of the API, which must be there, and return its JSON."""
        reply = self.get(*segments, **query)
        assert reply.status == 200, reply.body
        return reply.json

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal; return its exit code and what it wrote to stderr."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, err


@contextmanager
def serving(root: Path, *options: str) -> Iterator[Served]:
    """Start `waza serve` on a directory and a free port; end it afterwards."""
    process = subprocess.Popen(
        command("serve", "--port", "0", "--no-browser", *options),
        cwd=root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("waza dashboard: http://localhost:"), (line, process.poll())
        yield Served(process, int(line.rpartition(":")[2]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
