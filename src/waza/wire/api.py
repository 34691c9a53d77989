"""The interfaces of model servers: one class each, chosen by the path of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Protocol

from waza.wire.reply import ModelReply

Family = Literal["anthropic", "openai"]


class WireApi(Protocol):
    """An interface of model servers: reads requests and answers, and writes answers of its own."""

    name: ClassVar[str]
    """Its name, as records have it."""
    family: ClassVar[Family]
    """Whose servers speak it: says which address and key requests go to."""

    def read(self, events: Iterable[Mapping[str, Any]]) -> ModelReply:
        """Return what the events of a stream say; a whole answer is one event. What does not fit is left out."""
        ...

    def results(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the results of tools that a request carries, by the ids of their calls."""
        ...

    def texts(self, request: Mapping[str, Any]) -> list[str]:
        """Return the texts that instruct the model: system and developer texts and those of users, in order."""
        ...

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools that a request offers."""
        ...

    def write(self, text: str, request: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return an answer that ends the turn with a text: its content type and body, streamed where the request wants that."""
        ...


def event_stream(events: Iterable[Mapping[str, Any]], *, done: bool = False) -> bytes:
    """Return events as a stream of server-sent events. `done`: it ends with the line of Chat Completions."""
    import msgspec

    lines = []
    for event in events:
        kind = event.get("type")
        head = f"event: {kind}\n" if kind else ""
        lines.append(f"{head}data: {msgspec.json.encode(event).decode()}\n\n")
    return "".join([*lines, *(["data: [DONE]\n\n"] if done else [])]).encode()
