"""OpenAI Chat Completions (`POST /v1/chat/completions`), which many servers speak.

Its chunks: https://platform.openai.com/docs/api-reference/chat-streaming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from waza.wire.api import Family, event_stream
from waza.wire.json_value import count, flat_text, items, mapping, text
from waza.wire.reply import ModelReply, PartialCall, ReplyTokens

_MOST_CALLS = 1000  # of one answer; an index beyond is no call of a model


class ChatCompletions:
    """See `waza.wire.api.WireApi`."""

    name: ClassVar[str] = "chat-completions"
    family: ClassVar[Family] = "openai"

    def read(self, events: Iterable[Mapping[str, Any]]) -> ModelReply:
        """Return what the chunks of a stream, or one whole completion, say. Of several choices the first counts."""
        answer = _Answer()
        for event in events:
            answer.add(event)
        return answer.finish()

    def results(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the results of tools in a request."""
        return {
            text(message.get("tool_call_id")): flat_text(message.get("content"))
            for message in map(mapping, items(request.get("messages")))
            if message.get("role") == "tool"
        }

    def texts(self, request: Mapping[str, Any]) -> list[str]:
        """Return the texts of system, developer and user messages."""
        return [
            flat_text(message.get("content"))
            for message in map(mapping, items(request.get("messages")))
            if message.get("role") in ("system", "developer", "user")
        ]

    def tools(self, request: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools."""
        tools = map(mapping, items(request.get("tools")))
        return [text(mapping(tool.get("function")).get("name")) or text(tool.get("type")) for tool in tools]

    def write(self, text: str, request: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return a completion of one message that ends the turn."""
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        head = {"id": "chatcmpl-waza", "created": 0, "model": request.get("model") or ""}
        message = {"role": "assistant", "content": text}
        if not request.get("stream"):
            choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
            return "application/json", msgspec.json.encode(
                {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            )
        chunk = {**head, "object": "chat.completion.chunk"}
        events: list[dict[str, Any]] = [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        if mapping(request.get("stream_options")).get("include_usage"):
            events.append({**chunk, "choices": [], "usage": usage})
        return "text/event-stream", event_stream(events, done=True)


class _Answer:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, PartialCall] = {}
        self._usage: ReplyTokens | None = None
        self._model = self._stop = self._error = ""

    def add(self, event: Mapping[str, Any]) -> None:
        self._model = text(event.get("model")) or self._model
        for choice in map(mapping, items(event.get("choices"))):
            if not count(choice.get("index")):
                self._add_choice(choice)
        usage = mapping(event.get("usage"))
        tokens = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
        if tokens != (None, None):
            details = mapping(usage.get("prompt_tokens_details"))
            self._usage = ReplyTokens(
                input=tokens[0] or 0,
                output=tokens[1] or 0,
                cache_read=count(details.get("cached_tokens")) or 0,
            )
        if error := event.get("error"):
            self._error = text(mapping(error).get("message")) or text(error) or "an error without a message"

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        said = mapping(choice.get("delta")) or mapping(choice.get("message"))
        self._text.append(flat_text(said.get("content")))
        self._refusal.append(text(said.get("refusal")))
        self._stop = text(choice.get("finish_reason")) or self._stop
        for place, part in enumerate(map(mapping, items(said.get("tool_calls")))):
            given = count(part.get("index"))
            index, function = place if given is None else given, mapping(part.get("function"))
            if index >= _MOST_CALLS:
                continue
            call = self._calls.setdefault(index, PartialCall())
            call.id = text(part.get("id")) or call.id
            call.name += text(function.get("name"))
            call.raw.append(text(function.get("arguments")))

    def finish(self) -> ModelReply:
        return ModelReply(
            text="".join(self._text),
            calls=tuple(call.finish() for _, call in sorted(self._calls.items())),
            usage=self._usage,
            model=self._model,
            stop=self._stop,
            refusal="".join(self._refusal),
            error=self._error,
        )
