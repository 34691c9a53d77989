"""Replies of a scripted model in the three wire formats: chat completions, responses and Anthropic messages, whole or as a stream."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.model_script import Json, Reply

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def error(message: str) -> Json:
    """The body of an error response."""
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def chunks(path: str, body: Json, reply: Reply) -> tuple[str, list[str]]:
    """Write the reply to a request to `CHAT`, `RESPONSES` or `MESSAGES`: the content type, and the text in pieces."""
    if reply.body is not None or reply.status != 200:
        content = error("scripted error") if reply.body is None else reply.body
        return "application/json", [content if isinstance(content, str) else json.dumps(content)]
    whole, stream = {
        CHAT: (_chat, _chat_stream),
        RESPONSES: (_response, _response_stream),
        MESSAGES: (_message, _message_stream),
    }[path]
    answer = whole(reply, str(body.get("model")))
    if body.get("stream"):
        return "text/event-stream", list(stream(answer))
    return "application/json", [json.dumps(answer)]


def _new_id(kind: str) -> str:
    """An id that no other conversation has: a session shows the calls of its sub-agents beside its own."""
    return f"{kind}_{uuid.uuid4().hex[:16]}"


def _pieces(text: str | None) -> list[str]:
    return re.findall(r"\s*\S+\s*|\s+", text or "")


def _chat(reply: Reply, model: str) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": _new_id("call"),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args)},
            }
            for call in reply.calls
        ]
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    return {
        "id": _new_id("chatcmpl"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": reply.usage.input,
            "completion_tokens": reply.usage.output,
            "total_tokens": reply.usage.input + reply.usage.output,
            "prompt_tokens_details": {"cached_tokens": reply.usage.cached},
            "completion_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
        },
    }


def _chat_stream(answer: Json) -> Iterator[str]:
    whole = answer["choices"][0]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in _deltas(whole["message"])]
    choices.append({"index": 0, "delta": {}, "finish_reason": whole["finish_reason"]})
    head = {**answer, "object": "chat.completion.chunk"}
    del head["usage"]
    for choice in choices:
        yield f"data: {json.dumps(head | {'choices': [choice]})}\n\n"
    yield f"data: {json.dumps(head | {'choices': [], 'usage': answer['usage']})}\n\n"
    yield "data: [DONE]\n\n"


def _deltas(message: Json) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for key in ("reasoning_content", "content"):
        for piece in _pieces(message.get(key)):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _response(reply: Reply, model: str) -> Json:
    why = {"length": "max_output_tokens"}.get(reply.finish or "", reply.finish)
    return {
        "id": _new_id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "incomplete" if why else "completed",
        "model": model,
        "output": list(_output(reply)),
        "usage": {
            "input_tokens": reply.usage.input,
            "input_tokens_details": {"cached_tokens": reply.usage.cached},
            "output_tokens": reply.usage.output,
            "output_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
            "total_tokens": reply.usage.input + reply.usage.output,
        },
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _output(reply: Reply) -> Iterator[Json]:
    if reply.reasoning:
        part = {"type": "summary_text", "text": reply.reasoning}
        yield {"type": "reasoning", "id": _new_id("rs"), "summary": [part]}
    done = {"status": "completed"}
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        yield {"type": "message", "id": _new_id("msg"), "role": "assistant", "content": content, **done}
    for call in reply.calls:
        arguments = {"name": call.name, "arguments": json.dumps(call.args)}
        yield {"type": "function_call", "id": _new_id("fc"), "call_id": _new_id("call"), **arguments, **done}


class _Parts(NamedTuple):
    """Where an item of a response keeps its text, and what the events about it are called."""

    key: str
    position: str
    part: str
    text: str


_PARTS = {
    "message": _Parts("content", "content_index", "content_part", "output_text"),
    "reasoning": _Parts("summary", "summary_index", "reasoning_summary_part", "reasoning_summary_text"),
}


def _response_stream(answer: Json) -> Iterator[str]:
    for number, (kind, data) in enumerate(_events(answer)):
        event = {"type": f"response.{kind}", "sequence_number": number, **data}
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _events(answer: Json) -> Iterator[tuple[str, Json]]:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield "created", {"response": begun}
    yield "in_progress", {"response": begun}
    for index, item in enumerate(answer["output"]):
        is_call = item["type"] == "function_call"
        empty: Json = {"arguments": ""} if is_call else {_PARTS[item["type"]].key: []}
        yield "output_item.added", {"output_index": index, "item": {**item, "status": "in_progress", **empty}}
        place = {"output_index": index, "item_id": item["id"]}
        yield from _call_events(item, place) if is_call else _text_events(item, place)
        yield "output_item.done", {"output_index": index, "item": item}
    yield answer["status"], {"response": answer}


def _call_events(item: Json, place: Json) -> Iterator[tuple[str, Json]]:
    for piece in _pieces(item["arguments"]):
        yield "function_call_arguments.delta", {**place, "delta": piece}
    yield "function_call_arguments.done", {**place, "arguments": item["arguments"]}


def _text_events(item: Json, place: Json) -> Iterator[tuple[str, Json]]:
    key, position, part_event, text_event = _PARTS[item["type"]]
    place = {**place, position: 0}
    part = item[key][0]
    yield f"{part_event}.added", {**place, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield f"{text_event}.delta", {**place, "delta": piece}
    yield f"{text_event}.done", {**place, "text": part["text"]}
    yield f"{part_event}.done", {**place, "part": part}


def _message(reply: Reply, model: str) -> Json:
    content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": _new_id("toolu"), "name": call.name, "input": dict(call.args)}
        for call in reply.calls
    ]
    stop = {"length": "max_tokens", "content_filter": "refusal"}.get(reply.finish or "", reply.finish)
    return {
        "id": _new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop or ("tool_use" if reply.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.input - reply.usage.cached,
            "cache_read_input_tokens": reply.usage.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": reply.usage.output,
        },
    }


def _message_stream(answer: Json) -> Iterator[str]:
    for kind, data in _message_events(answer):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


def _message_events(answer: Json) -> Iterator[tuple[str, Json]]:
    begun = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    yield "message_start", {"message": begun}
    for index, block in enumerate(answer["content"]):
        is_call = block["type"] == "tool_use"
        empty: Json = {"input": {}} if is_call else {"text": ""}
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        for piece in _pieces(json.dumps(block["input"]) if is_call else block["text"]):
            delta = (
                {"type": "input_json_delta", "partial_json": piece}
                if is_call
                else {"type": "text_delta", "text": piece}
            )
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": {"output_tokens": answer["usage"]["output_tokens"]}}
    yield "message_stop", {}
