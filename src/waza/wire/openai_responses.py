"""OpenAI Responses (`POST /v1/responses`).

The events of its streams: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from waza.wire.api import Family, event_stream
from waza.wire.json_value import count, flat_text, items, mapping, text
from waza.wire.reply import ModelReply, ReplyCall, ReplyTokens, read_arguments

_CALLS = ("function_call", "custom_tool_call")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class OpenAIResponses:
    """See `waza.wire.api.WireApi`."""

    name: ClassVar[str] = "openai-responses"
    family: ClassVar[Family] = "openai"

    def read(self, events: Iterable[Mapping[str, Any]]) -> ModelReply:
        """Return what the events of a stream, or one whole response, say."""
        answer = _Answer()
        for event in events:
            answer.add(event)
        return answer.finish()

    def results(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the results of tools in a request."""
        return {
            text(item.get("call_id")): flat_text(item.get("output"))
            for item in map(mapping, items(request.get("input")))
            if text(item.get("type")).endswith("_output") and item.get("call_id")
        }

    def texts(self, request: Mapping[str, Any]) -> list[str]:
        """Return the instructions, then the texts of developers and users."""
        given = request.get("input")
        said = [given] if isinstance(given, str) else []
        said += [
            flat_text(item.get("content"))
            for item in map(mapping, items(given))
            if item.get("type", "message") == "message" and item.get("role") != "assistant"
        ]
        return [*filter(None, [text(request.get("instructions"))]), *said]

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools; those of a namespace with its name."""
        names = list[str]()
        for tool in map(mapping, items(request.get("tools"))):
            name = text(tool.get("name")) or text(tool.get("type"))
            inner = [text(mapping(one).get("name")) for one in items(tool.get("tools"))]
            names += [f"{name}.{one}" for one in inner] or [name]
        return names

    def write(self, text: str, request: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return a response of one message that ends the turn."""
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {
            "id": "msg_waza",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        response = {
            "id": "resp_waza",
            "object": "response",
            "created_at": 0,
            "model": request.get("model") or "",
            "status": "completed",
            "output": [item],
            "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details},
        }
        if not request.get("stream"):
            return "application/json", msgspec.json.encode(response)
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        place = {"item_id": "msg_waza", "output_index": 0, "content_index": 0}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**item, "status": "in_progress", "content": []},
            },
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **place, "delta": text},
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        numbered = ({**event, "sequence_number": number} for number, event in enumerate(events))
        return "text/event-stream", event_stream(numbered)


class _Answer:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[str, ReplyCall] = {}
        self._usage: ReplyTokens | None = None
        self._model = self._stop = self._error = ""

    def add(self, event: Mapping[str, Any]) -> None:
        kind = text(event.get("type"))
        response = mapping(event.get("response"))
        self._model = text(response.get("model")) or self._model
        if kind == "response.output_item.done":
            self._add_item(mapping(event.get("item")))
        elif kind in _ENDS:
            self._end(response)
        elif kind == "error":
            self._error = text(event.get("message")) or "an error without a message"
        elif event.get("object") == "response":
            self._model = text(event.get("model"))
            for item in items(event.get("output")):
                self._add_item(mapping(item))
            self._end(event)

    def _add_item(self, item: Mapping[str, Any]) -> None:
        if item.get("type") in _CALLS:
            call_id, space = text(item.get("call_id")), text(item.get("namespace"))
            name = text(item.get("name"))
            self._calls[call_id] = ReplyCall(
                id=call_id,
                name=f"{space}.{name}" if space else name,
                args=read_arguments(text(item.get("arguments")) or text(item.get("input"))),
            )
        elif item.get("type") == "message":
            for part in map(mapping, items(item.get("content"))):
                self._text.append(text(part.get("text")))
                self._refusal.append(text(part.get("refusal")))

    def _end(self, response: Mapping[str, Any]) -> None:
        usage = mapping(response.get("usage"))
        tokens = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        if tokens != (None, None):
            details = mapping(usage.get("input_tokens_details"))
            self._usage = ReplyTokens(
                input=tokens[0] or 0,
                output=tokens[1] or 0,
                cache_read=count(details.get("cached_tokens")) or 0,
            )
        incomplete = mapping(response.get("incomplete_details"))
        self._stop = text(incomplete.get("reason")) or text(response.get("status"))
        if error := mapping(response.get("error")):
            self._error = (
                text(error.get("message")) or text(error.get("code")) or "an error without a message"
            )

    def finish(self) -> ModelReply:
        return ModelReply(
            text="".join(self._text),
            calls=tuple(self._calls.values()),
            usage=self._usage,
            model=self._model,
            stop=self._stop,
            refusal="".join(self._refusal),
            error=self._error,
        )
