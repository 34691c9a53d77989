"""What a scripted model is asked and what it answers, apart from wire formats."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# The runtime puts this before what a user says, and not before its own notes in the user's role:
# the text of a skill, the end of a background command, the wish to go on.
_STAMP = re.compile(r"\A<current_datetime>.*?</current_datetime>\s*", re.DOTALL)
# What Claude Code says in the role of a user.
_NOTES = ("<system-reminder>", "Base directory for this skill:")
# What the items of the responses format are in a conversation.
_ROLES = {
    "developer": "system",
    "reasoning": "assistant",
    "function_call": "assistant",
    "custom_tool_call": "assistant",
    "function_call_output": "tool",
    "custom_tool_call_output": "tool",
}


@dataclass(frozen=True)
class Call:
    """A tool call of the model."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """Tokens that a reply says it cost; `cached` are part of `input`, `reasoning` part of `output`."""

    input: int = 1000
    output: int = 20
    cached: int = 100
    reasoning: int = 5


@dataclass(frozen=True)
class Reply:
    """What the model answers, and how the server behaves meanwhile.

    * `delay`: seconds before the first byte; `chunk_delay`: seconds after each chunk of a stream.
    * `status`, `body`, `headers`: of the HTTP response; a `body` stands in for the model's answer.
    * `finish`: a finish reason as chat completions have it: "length", "content_filter".
    * `drop`: the connection breaks half-way through the reply.
    * `hang`: nothing is sent until the server closes; `ModelServer.hanging` is set when that begins.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    delay: float = 0
    chunk_delay: float = 0
    status: int = 200
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = Usage()
    finish: str | None = None
    drop: bool = False
    hang: bool = False


@dataclass(frozen=True)
class Turn:
    """What a request asks of the model, the same for all wire formats.

    `user` is the newest message of a user, without its date. `step` counts the model's answers after it, and
    `tool_results` are the texts of the tools after it. `system` is the system message, `tools` are the names
    of the tools on offer.
    """

    body: Json
    headers: Mapping[str, str]
    user: str
    step: int
    tool_results: list[str]
    system: str
    tools: list[str]


Step = Reply | Callable[[Turn], Reply]
Scripts = Mapping[str, Sequence[Step]]


def read_turn(body: Json, headers: Mapping[str, str]) -> Turn:
    """Read the body of a request of any format: chat and Anthropic have `messages`, responses have `input`."""
    said = [_said(item) for item in _items(body)]
    users = [index for index, (role, _) in enumerate(said) if role == "user"]
    stamped = [index for index in users if _STAMP.match(said[index][1])]
    newest = max(stamped or users, default=None)
    after = [] if newest is None else said[newest + 1 :]
    return Turn(
        body=body,
        headers=headers,
        user="" if newest is None else _STAMP.sub("", said[newest][1]),
        # The responses format tells one answer by several items in a row.
        step=sum(role == "assistant" for role, _ in itertools.groupby(role for role, _ in after)),
        tool_results=[text for role, text in after if role == "tool"],
        system="".join(text for role, text in said if role == "system"),
        tools=[_tool_name(tool) for tool in body.get("tools") or []],
    )


def _items(body: Json) -> list[Json]:
    if "system" in body or "max_tokens" in body:
        return [{"role": "system", "content": body.get("system")}, *_parts(body.get("messages") or [])]
    items = body.get("messages") or body.get("input") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    return [{"role": "system", "content": body.get("instructions")}, *items]


def _parts(messages: list[Json]) -> Iterator[Json]:
    """Return the messages of Anthropic apart: results of tools, and texts that no user said, have roles of their own."""
    for message in messages:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] != "user":
            yield message
            continue
        has_result = any(part["type"] == "tool_result" for part in parts)
        for part in parts:
            if part["type"] == "tool_result":
                yield {"role": "tool", "content": part.get("content")}
            elif part["type"] == "text":
                is_note = has_result or part["text"].startswith(_NOTES)
                yield {"role": "system" if is_note else "user", "content": part["text"]}


def _said(item: Json) -> tuple[str, str]:
    role: str = item.get("role") or item["type"]
    return _ROLES.get(role, role), _text(item.get("content", item.get("output")))


def _text(content: str | list[Json] | None) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content or [])


def _tool_name(tool: Json) -> str:
    """Responses name a tool at the top; chat does so below its type, which need not be "function"."""
    return str(tool.get("name") or tool[tool["type"]]["name"])
