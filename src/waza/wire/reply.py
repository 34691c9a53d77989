"""What a model answered, in one form for all interfaces."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.wire.json_value import parse


class ReplyCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model called."""

    id: str
    """The id of the call, by which its result comes back."""
    name: str
    """The name of the tool; one in a namespace is written `namespace.name`."""
    args: Any
    """The arguments; their text where that is no JSON."""


class ReplyTokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request, counted alike for all interfaces."""

    input: int
    """Tokens that the model read, those from the cache and those written to it included."""
    output: int
    """Tokens that it wrote."""
    cache_read: int = 0
    """Tokens that were read from the provider's cache."""
    cache_write: int = 0
    """Tokens that were written to the provider's cache."""


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model to one request."""

    text: str = ""
    """What it wrote for the user."""
    calls: tuple[ReplyCall, ...] = ()
    """The tools that it called, in order."""
    usage: ReplyTokens | None = None
    """What the request cost; None: the answer does not say."""
    model: str = ""
    """The model that answered, in the words of its server."""
    stop: str = ""
    """Why the answer ends, in the words of the interface; empty: it was cut off."""
    refusal: str = ""
    """The words with which the model refused."""
    error: str = ""
    """The error that the server reported in its answer."""


def read_arguments(raw: str) -> Any:
    """Return the arguments of a call; the text itself where it is no JSON, as of a tool that takes any text."""
    if not raw.strip():
        return {}
    value = parse(raw)
    return raw if value is None and raw.strip() != "null" else value


class PartialCall:
    """A call while its parts arrive."""

    __slots__ = ("id", "name", "raw")

    def __init__(self, call_id: str = "", name: str = "") -> None:
        self.id, self.name = call_id, name
        self.raw: list[str] = []

    def finish(self) -> ReplyCall:
        """Return the call."""
        return ReplyCall(id=self.id, name=self.name, args=read_arguments("".join(self.raw)))
