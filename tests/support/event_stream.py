"""Reading server-sent events from a running `waza serve`."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.dashboard import Served
from tests.support.program import LIMIT


class Stream:
    """An open stream. `id` is that of the last event."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.answer, self.id = answer.status, answer, ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the data of events until the stream ends."""
        data = ""
        while line := self.answer.readline():
            text = line.decode().rstrip("\n")
            if text.startswith("id: "):
                self.id = text[4:]
            elif text.startswith("data: "):
                data = text[6:]
            elif not text and data:
                yield json.loads(data)
                data = ""

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Return the events up to the first one that is wanted; the stream must not end before."""
        seen = []
        for event in self:
            seen.append(event)
            if wanted(event):
                return seen
        raise AssertionError(f"the stream ended: {seen}")


@contextmanager
def events(served: Served, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Stream]:
    """Open a stream of events."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=LIMIT)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{served.port}", **(headers or {})})
        yield Stream(connection.getresponse())
    finally:
        connection.close()
