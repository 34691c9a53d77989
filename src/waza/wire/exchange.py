"""One request of an agent to its model, with the answer: what the wire keeps of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.wire.reply import ModelReply

Ending = Literal["whole", "cut", "silent", "gone", "too long", "refused", "fault", "unreachable", "differs"]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request of an attempt and what was answered. Texts and results are those that no earlier request of its thread had."""

    number: int
    """Its number in the attempt, from 1."""
    api: str
    """The interface, such as `anthropic-messages`."""
    thread: str
    """Requests of one conversation share it: an agent and its helpers each hold their own."""
    model: str
    """The model that was asked for."""
    tools: tuple[str, ...] = ()
    """The names of the tools that were offered."""
    texts: tuple[str, ...] = ()
    """What instructed the model, in order: system and developer texts, and those of users."""
    results: dict[str, str] = {}
    """The results of tools, by the ids of their calls."""
    status: int = 0
    """The HTTP status; 0: there was no answer."""
    ending: Ending = "whole"
    """How it ended. `cut`, `silent` and `unreachable`: by the server; `gone`: by the agent; `too long`, `refused` and `fault`:
    by the wire; `differs`: it is not in the cassette that is replayed."""
    reply: ModelReply | None = None
    """The answer, as far as it came; None: there was none that could be read."""
    note: str = ""
    """What the wire did, or why there is no answer."""
    at_ms: float = 0
    """When it was asked, in milliseconds since the Unix epoch."""
    duration_ms: float = 0
    """Milliseconds until the end of the answer."""

    @property
    def answered(self) -> bool:
        """Whether the model came to the end of its answer."""
        reply = self.reply
        return (
            self.status < 400 and reply is not None and bool(reply.stop) and not reply.error
        )  # HTTP errors begin at 400
