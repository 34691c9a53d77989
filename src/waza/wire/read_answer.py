"""From the bytes of an answer to a `ModelReply`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from waza.wire.api import WireApi
from waza.wire.json_value import mapping, parse
from waza.wire.reply import ModelReply


def read_answer(api: WireApi, body: bytes) -> ModelReply | None:
    """Return what an answer says, whole or cut off; None for what is neither JSON nor a stream of events."""
    events = list(_events(body))
    return api.read(events) if events else None


def _events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a stream, or a whole answer as the only one."""
    start = body[:64].lstrip()
    if start.startswith(b"{"):
        if whole := mapping(parse(body)):
            yield whole
        return
    data = list[bytes]()
    for line in body.splitlines():
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            if event := mapping(parse(b"\n".join(data))):
                yield event
            data = []
    # A last event without the empty line after it: the stream was cut there, perhaps in the middle.
    if data and (event := mapping(parse(b"\n".join(data)))):
        yield event
