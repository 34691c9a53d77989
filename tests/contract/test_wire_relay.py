"""The wire between agents and models: a real server behind it, a real client before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from waza.model.wire import WireFault
from waza.wire import relay as relay_module
from waza.wire.exchange import Exchange
from waza.wire.relay import Upstream, WireRelay, WireSession
from waza.wire.reply import ModelReply, ReplyCall, ReplyTokens

KEY = "the-real-key"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Wired:
    """A model server, the relay before it, and a client with the token of an attempt."""

    def __init__(self, relay: WireRelay, session: WireSession, client: aiohttp.ClientSession) -> None:
        self.relay, self.session, self.client = relay, session, client
        self.seen: list[web.Request] = []

    @property
    def exchanges(self) -> list[Exchange]:
        return self.session.exchanges

    async def post(
        self, path: str, body: Any, token: str = "", session: WireSession | None = None
    ) -> tuple[int, bytes]:
        address = (session or self.session).address
        headers = {"authorization": f"Bearer {token or address.token}"}
        async with self.client.post(f"{address.root}/{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.read()


@asynccontextmanager
async def wired(handler: Handler, **settings: Any) -> AsyncIterator[Wired]:
    seen: list[web.Request] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        await request.read()
        seen.append(request)
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", serve)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = "http://{}:{}/v1".format(*runner.addresses[0][:2])
    relay = WireRelay(
        {
            "openai": Upstream(url=url, headers={"Authorization": f"Bearer {KEY}"}),
            "anthropic": Upstream(url=url, headers={"x-api-key": KEY}),
        }
    )
    await relay.start()
    try:
        async with aiohttp.ClientSession() as client:
            found = Wired(relay, await relay.open(**settings), client)
            found.seen = seen
            yield found
    finally:
        await relay.aclose()
        await runner.cleanup()


def whole(body: Any) -> Handler:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    return handler


def stream(*events: Any, pause: float = 0, done: bool = False) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(
                f"event: {event.get('type', 'x')}\r\ndata: {json.dumps(event)}\r\n\r\n".encode()
            )
            await asyncio.sleep(pause)
        if done:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    return handler


CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief. Skills: - tidy: cleans up"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "run"}}],
}
CHAT_ANSWER: dict[str, Any] = {
    "object": "chat.completion",
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "c1", "function": {"name": "run", "arguments": '{"command": "ls"}'}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
}
CALLED = ModelReply(
    text="I look.",
    calls=(ReplyCall(id="c1", name="run", args={"command": "ls"}),),
    usage=ReplyTokens(input=10, output=3, cache_read=4),
    model="m-1",
    stop="tool_calls",
)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> Any:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"model": "m-1", "choices": choices, **more}


CHAT_STREAM = stream(
    chunk({"role": "assistant", "content": "I "}),
    chunk({"content": "look."}),
    chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "run", "arguments": '{"comm'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'and": "ls"}'}}]}),
    chunk({}, "tool_calls"),
    chunk(usage=CHAT_ANSWER["usage"]),
    done=True,
)
MESSAGES_ANSWER = {
    "type": "message",
    "role": "assistant",
    "model": "m-1",
    "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "run", "input": {"command": "ls"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 3},
}
MESSAGES_STREAM = stream(
    {
        "type": "message_start",
        "message": {
            "model": "m-1",
            "content": [],
            "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "run", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"comm'},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": 'and": "ls"}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)
OUTPUT = [
    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"command": "ls"}'},
]
RESPONSES_ANSWER = {
    "object": "response",
    "model": "m-1",
    "status": "completed",
    "output": OUTPUT,
    "usage": {"input_tokens": 10, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}},
}
RESPONSES_STREAM = stream(
    {"type": "response.created", "response": {"model": "m-1"}},
    *({"type": "response.output_item.done", "item": item} for item in OUTPUT),
    {"type": "response.completed", "response": RESPONSES_ANSWER},
)


@pytest.mark.parametrize(
    ("path", "handler", "stop", "name"),
    [
        ("v1/chat/completions", whole(CHAT_ANSWER), "tool_calls", "chat-completions"),
        ("v1/chat/completions", CHAT_STREAM, "tool_calls", "chat-completions"),
        ("v1/messages", whole(MESSAGES_ANSWER), "tool_use", "anthropic-messages"),
        ("v1/messages", MESSAGES_STREAM, "tool_use", "anthropic-messages"),
        ("v1/responses", whole(RESPONSES_ANSWER), "completed", "openai-responses"),
        ("v1/responses", RESPONSES_STREAM, "completed", "openai-responses"),
    ],
)
def test_answers_of_all_interfaces_are_passed_on_and_read(path, handler, stop, name):
    async def check() -> None:
        async with wired(handler) as wire:
            status, body = await wire.post(path, CHAT)
            assert (status, b"I " in body) == (200, True)
            [exchange] = wire.exchanges
            reply = exchange.reply
            assert reply is not None
            assert (reply.text, reply.calls, reply.usage) == (CALLED.text, CALLED.calls, CALLED.usage)
            assert (reply.model, reply.stop, exchange.api) == ("m-1", stop, name)
            assert (exchange.model, exchange.ending, exchange.answered) == ("m", "whole", True)
            [request] = wire.seen
            auth = request.headers.get("authorization"), request.headers.get("x-api-key")
            assert auth == ((None, KEY) if path == "v1/messages" else (f"Bearer {KEY}", None))
            assert wire.session.address.token not in repr(wire.session.address)

    asyncio.run(check())


def test_texts_and_results_are_kept_once_a_thread():
    async def check() -> None:
        async with wired(whole(CHAT_ANSWER)) as wire:
            await wire.post("v1/chat/completions", CHAT)
            more = [
                *CHAT["messages"],
                CHAT_ANSWER["choices"][0]["message"],
                {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
                {"role": "user", "content": "and now?"},
            ]
            await wire.post("v1/chat/completions", {**CHAT, "messages": more})
            await wire.post(
                "v1/chat/completions", {"model": "small", "messages": [{"role": "user", "content": "title?"}]}
            )
            first, second, helper = wire.exchanges
            assert first.texts == ("Be brief. Skills: - tidy: cleans up", "hello")
            assert first.tools == ("run",)
            assert (second.texts, second.results) == (("and now?",), {"c1": "a.txt"})
            assert first.thread == second.thread != helper.thread
            assert [one.number for one in wire.exchanges] == [1, 2, 3]

    asyncio.run(check())


def test_only_the_token_of_the_attempt_opens_the_way_to_models():
    async def check() -> None:
        async with wired(whole(CHAT_ANSWER)) as wire:
            assert (await wire.post("v1/chat/completions", CHAT, token="another"))[0] == 401
            other = await wire.relay.open()
            assert (await wire.post("v1/chat/completions", CHAT, token=other.address.token))[0] == 401
            for path in ("v1/files", "v1/models/../files", "v1/chat/completions/x", "admin"):
                assert (await wire.post(path, CHAT))[0] == 404
            assert (wire.exchanges, wire.seen) == ([], [])
            assert wire.session.strays[0] == "POST v1/files"
            await wire.session.aclose()
            with pytest.raises(aiohttp.ClientError):
                await wire.post("v1/chat/completions", CHAT)
            assert (await wire.post("v1/chat/completions", CHAT, session=other))[0] == 200

    asyncio.run(check())


def test_the_list_of_models_is_passed_on_and_no_exchange():
    async def check() -> None:
        async with wired(whole({"data": []})) as wire:
            headers = {"x-api-key": wire.session.address.token, "anthropic-version": "2023-06-01"}
            async with wire.client.get(
                f"{wire.session.address.root}/v1/models?limit=1", headers=headers
            ) as got:
                assert (got.status, await got.json()) == (200, {"data": []})
            [request] = wire.seen
            assert (request.path_qs, request.headers["x-api-key"]) == ("/v1/models?limit=1", KEY)
            assert wire.exchanges == []

    asyncio.run(check())


async def limit_is_met() -> str:
    return "the limit of 10 tokens is reached"


@pytest.mark.parametrize("path", ["v1/chat/completions", "v1/messages", "v1/responses"])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_refused_request_is_an_answer_that_ends_the_turn(path, streamed):
    async def check() -> None:
        async with wired(whole({}), refuse=limit_is_met) as wire:
            status, body = await wire.post(path, {**CHAT, "stream": streamed})
            assert (status, b"[the limit of 10 tokens is reached]" in body) == (200, True)
            assert body.startswith(b"{") is not streamed
            [exchange] = wire.exchanges
            assert (exchange.ending, exchange.reply, exchange.answered) == ("refused", None, False)
            assert wire.seen == []

    asyncio.run(check())


def test_only_attempts_are_held_to_a_number_of_requests(monkeypatch):
    async def check() -> None:
        monkeypatch.setattr(relay_module, "MOST_REQUESTS", 2)
        async with wired(whole(CHAT_ANSWER)) as wire:
            statuses = [(await wire.post("v1/chat/completions", CHAT))[0] for _ in range(4)]
            assert statuses == [200, 200, 400, 400]
            assert wire.session.strays == ["more than 2 requests", "more than 2 requests"]
            judges = await wire.relay.open(keep=False)
            statuses = [(await wire.post("v1/chat/completions", CHAT, session=judges))[0] for _ in range(4)]
            assert (statuses, judges.exchanges) == ([200] * 4, [])

    asyncio.run(check())


def test_injected_errors_come_as_often_as_they_should():
    async def check() -> None:
        fault = WireFault(request=2, status=429, retry_after=3, times=2)
        async with wired(whole(CHAT_ANSWER), faults=[fault]) as wire:
            statuses = [(await wire.post("v1/chat/completions", CHAT))[0] for _ in range(4)]
            assert statuses == [200, 429, 429, 200]
            assert [one.ending for one in wire.exchanges] == ["whole", "fault", "fault", "whole"]
            assert len(wire.seen) == 2

    asyncio.run(check())


def test_an_injected_cut_ends_the_connection_in_the_middle():
    async def check() -> None:
        async with wired(CHAT_STREAM, faults=[WireFault(request=1, truncate=60)]) as wire:
            with pytest.raises(aiohttp.ClientError):
                await wire.post("v1/chat/completions", CHAT)
            [exchange] = wire.exchanges
            assert (exchange.ending, exchange.answered) == ("fault", False)

    asyncio.run(check())


def test_a_silent_model_is_cut_off():
    async def check() -> None:
        async with wired(stream(chunk({"content": "I "}), pause=60), idle=0.2) as wire:
            with pytest.raises(aiohttp.ClientError):
                await wire.post("v1/chat/completions", CHAT)
            [exchange] = wire.exchanges
            assert (exchange.ending, exchange.answered) == ("silent", False)
            assert exchange.reply is not None
            assert exchange.reply.text == "I "

    asyncio.run(check())


def test_a_model_that_does_not_stop_is_cut_off(monkeypatch):
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(b"data: " + b"x" * 65536 + b"\n\n")

    async def check() -> None:
        monkeypatch.setattr(relay_module, "MOST_ANSWER", 1 << 20)
        async with wired(endless) as wire:
            with pytest.raises(aiohttp.ClientError):
                await wire.post("v1/chat/completions", CHAT)
            [exchange] = wire.exchanges
            assert (exchange.ending, exchange.answered) == ("too long", False)

    asyncio.run(check())


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"choices": 1},
        {"choices": [None, {"delta": 3, "message": []}]},
        {"choices": [{"index": 0, "message": {"tool_calls": [{"index": 10**9, "function": 1}]}}]},
        {"usage": {"prompt_tokens": -1, "completion_tokens": True}, "model": 7, "error": []},
    ],
)
@pytest.mark.parametrize("path", ["v1/chat/completions", "v1/messages", "v1/responses"])
def test_answers_that_make_no_sense_are_passed_on_and_are_no_answers(path, body):
    async def check() -> None:
        async with wired(whole(body)) as wire:
            assert await wire.post(path, {"messages": 3, "input": {}, "tools": "x", "system": 5}) == (
                200,
                json.dumps(body).encode(),
            )
            [exchange] = wire.exchanges
            assert not exchange.answered
            assert exchange.reply is None or exchange.reply.usage is None

    asyncio.run(check())


def test_an_agent_that_leaves_ends_the_request():
    async def check() -> None:
        gone = asyncio.Event()

        async def slow(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b'data: {"choices": [{"index": 0, "delta": {"content": "I"}}]}\n\n')
            try:
                await asyncio.sleep(60)
            finally:
                gone.set()
            return response

        ended = asyncio.Event()
        async with wired(slow, ended=lambda _: ended.set()) as wire:
            headers = {"authorization": f"Bearer {wire.session.address.token}"}
            url = f"{wire.session.address.openai}/chat/completions"
            async with wire.client.post(url, json=CHAT, headers=headers) as answer:
                await answer.content.readany()
                answer.close()
            await ended.wait()
            await gone.wait()
            [exchange] = wire.exchanges
            assert (exchange.ending, exchange.answered) == ("gone", False)

    asyncio.run(check())


def test_a_server_that_is_not_there_is_said():
    async def check() -> None:
        async with wired(whole({})) as wire:
            wire.relay.upstreams = {"openai": Upstream(url="http://127.0.0.1:9")}
            status, body = await wire.post("v1/chat/completions", CHAT)
            assert (status, b"cannot be reached" in body) == (502, True)
            [exchange] = wire.exchanges
            assert exchange.ending == "unreachable"
            status, body = await wire.post("v1/messages", CHAT)
            assert (status, b"anthropic is not configured" in body) == (404, True)

    asyncio.run(check())
