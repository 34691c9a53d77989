"""Anthropic Messages (`POST /v1/messages`).

The events of its streams: https://docs.anthropic.com/en/api/messages-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from waza.wire.api import Family, event_stream
from waza.wire.json_value import count, flat_text, items, mapping, text
from waza.wire.reply import ModelReply, PartialCall, ReplyTokens


class AnthropicMessages:
    """See `waza.wire.api.WireApi`."""

    name: ClassVar[str] = "anthropic-messages"
    family: ClassVar[Family] = "anthropic"

    def read(self, events: Iterable[Mapping[str, Any]]) -> ModelReply:
        """Return what the events of a stream, or one whole message, say."""
        answer = _Answer()
        for event in events:
            answer.add(event)
        return answer.finish()

    def results(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the results of tools in a request."""
        parts = (
            part
            for message in items(request.get("messages"))
            for part in items(mapping(message).get("content"))
        )
        return {
            text(part.get("tool_use_id")): flat_text(part.get("content"))
            for part in map(mapping, parts)
            if part.get("type") == "tool_result"
        }

    def texts(self, request: Mapping[str, Any]) -> list[str]:
        """Return the system texts, then those of users."""
        system = request.get("system")
        found = [system] if isinstance(system, str) else [flat_text([part]) for part in items(system)]
        messages = map(mapping, items(request.get("messages")))
        return [
            *found,
            *(flat_text(one.get("content")) for one in messages if one.get("role") != "assistant"),
        ]

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools."""
        return [text(mapping(tool).get("name")) for tool in items(request.get("tools"))]

    def write(self, text: str, request: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return a message of one text that ends the turn."""
        usage = {"input_tokens": 0, "output_tokens": 0}
        message = {
            "id": "msg_waza",
            "type": "message",
            "role": "assistant",
            "model": request.get("model") or "",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        if not request.get("stream"):
            return "application/json", msgspec.json.encode(message)
        block = {"type": "text", "text": ""}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": usage,
            },
            {"type": "message_stop"},
        ]
        return "text/event-stream", event_stream(events)


class _Answer:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, PartialCall] = {}
        self._model = self._stop = self._error = ""
        self._tokens: dict[str, int] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        kind, index = event.get("type"), count(event.get("index")) or 0
        if kind in ("message_start", "message"):
            message = mapping(event.get("message")) or event
            self._model = text(message.get("model"))
            for place, block in enumerate(items(message.get("content"))):
                self._add_block(place, mapping(block))
            self._end(message, message)
        elif kind == "content_block_start":
            self._add_block(index, mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            delta = mapping(event.get("delta"))
            self._text.append(text(delta.get("text")))
            if index in self._calls:
                self._calls[index].raw.append(text(delta.get("partial_json")))
        elif kind == "message_delta":
            self._end(mapping(event.get("delta")), event)
        elif kind == "error":
            error = mapping(event.get("error"))
            self._error = (
                text(error.get("message")) or text(error.get("type")) or "an error without a message"
            )

    def _add_block(self, index: int, block: Mapping[str, Any]) -> None:
        self._text.append(text(block.get("text")))
        if block.get("type") == "tool_use":
            call = self._calls[index] = PartialCall(text(block.get("id")), text(block.get("name")))
            if given := block.get("input"):
                call.raw.append(msgspec.json.encode(given).decode())

    def _end(self, reason: Mapping[str, Any], holder: Mapping[str, Any]) -> None:
        self._stop = text(reason.get("stop_reason")) or self._stop
        for key, value in mapping(holder.get("usage")).items():
            if (number := count(value)) is not None:
                self._tokens[key] = number

    def finish(self) -> ModelReply:
        tokens, usage = self._tokens, None
        if "input_tokens" in tokens or "output_tokens" in tokens:
            # Here `input_tokens` leaves out what the cache gave or took.
            read, written = (
                tokens.get("cache_read_input_tokens", 0),
                tokens.get("cache_creation_input_tokens", 0),
            )
            usage = ReplyTokens(
                input=tokens.get("input_tokens", 0) + read + written,
                output=tokens.get("output_tokens", 0),
                cache_read=read,
                cache_write=written,
            )
        return ModelReply(
            text="".join(self._text),
            calls=tuple(call.finish() for _, call in sorted(self._calls.items())),
            usage=usage,
            model=self._model,
            stop=self._stop,
            refusal="".join(self._text) if self._stop == "refusal" else "",
            error=self._error,
        )
