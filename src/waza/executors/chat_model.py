"""A model behind Chat Completions (`POST /chat/completions`): what is asked, what it answers, what is tried again.

The interface: https://platform.openai.com/docs/api-reference/chat/create. Needs httpx.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx
import msgspec

from waza.executors.chat_clock import TurnClock
from waza.kit import http
from waza.kit.text import shorten_middle
from waza.model.agent import Provider

WAITS = (1.0, 2.0, 4.0)  # seconds before the second, third and fourth try
LONGEST_WAIT = 30.0  # seconds that a server may ask to wait; where it asks for more, the turn ends
_JITTER = 0.2
_SHOWN = 500  # characters of an error
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Message = dict[str, Any]


class ChatModelError(Exception):
    """The model gave no answer; `outside`: for a cause outside of the agent."""

    def __init__(
        self, text: str, *, outside: bool, throttled: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(text)
        self.outside, self.throttled, self.retry_after = outside, throttled, retry_after


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool that the model calls."""

    id: str
    """The id of the call, by which its result comes back."""
    name: str
    """The name of the tool."""
    arguments: str
    """The arguments as the model wrote them, mostly JSON."""


class ChatTokens(msgspec.Struct, frozen=True):
    """What a request cost."""

    input: int
    """Tokens that the model read, those from the cache included."""
    output: int
    """Tokens that it wrote."""
    cached: int
    """Tokens that were read from the provider's cache."""


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request."""

    text: str
    """What the model wrote."""
    calls: tuple[ToolRequest, ...]
    """The tools that it calls, in order."""
    stop: str
    """Why the answer ends (`finish_reason`)."""
    refusal: str
    """The words with which the model refused."""
    model: str
    """The model that answered, in the words of the server; else the one that was asked."""
    tokens: ChatTokens | None
    """What it cost; None: the server does not say."""
    duration_ms: float
    """Milliseconds from the request to the end of the answer."""


class ServedModel:
    """One model on one server. Close it."""

    def __init__(self, provider: Provider, model: str, effort: str) -> None:
        self.name, self.effort, self.host = model, effort, provider.host
        token = provider.bearer_token or provider.api_key
        address = httpx.URL(provider.base_url)
        self._url = f"{provider.base_url.rstrip('/')}/chat/completions"
        self._client = httpx.AsyncClient(
            timeout=None,  # noqa: S113  # turns have limits of their own
            headers={
                **http.UNCOMPRESSED,
                **({"Authorization": f"Bearer {token}"} if token else {}),
                **provider.headers,
            },
            event_hooks={"response": [http.limit_body_async]},
            trust_env=address.host not in _LOOPBACK,  # this machine is asked without a proxy
        )

    async def ask(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], clock: TurnClock
    ) -> ChatReply:
        """Return the answer to a conversation. Busy and broken servers are asked again.

        Raises ChatModelError, and TurnLimitError when a limit of the turn is met.
        """
        body: dict[str, Any] = {"model": self.name, "messages": messages}
        if tools:
            body["tools"] = tools
        if self.effort:
            body["reasoning_effort"] = self.effort
        content = msgspec.json.encode(body)
        for wait in (*WAITS, None):
            began = clock.milliseconds
            try:
                async with clock.step():
                    response = await self._client.post(
                        self._url, content=content, headers={"Content-Type": "application/json"}
                    )
                clock.note_answer()
                if response.is_success:
                    return self._read(response, clock.milliseconds - began)
                error = _refused(response)
            except http.RefusedError as refused:
                raise ChatModelError(f"the model gave no usable answer: {refused}", outside=False) from None
            except httpx.HTTPError as broken:
                why = " ".join(str(broken).split()) or type(broken).__name__
                error = ChatModelError(f"the model server at {self.host} broke off: {why}", outside=True)
                response = None
            if wait is None or not (response is None or http.is_transient(response.status_code)):
                raise error
            if error.retry_after is not None and error.retry_after > LONGEST_WAIT:
                raise error
            own = wait * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  # not for secrets
            async with clock.step(silent=False):
                await asyncio.sleep(own if error.retry_after is None else error.retry_after)
        raise AssertionError("unreachable: the last try returns or raises")

    def _read(self, response: httpx.Response, duration_ms: float) -> ChatReply:
        try:
            answer = msgspec.json.decode(response.content)
            if message := _error_text(answer):
                raise ChatModelError(f"the model server answered with an error: {message}", outside=True)
            choice = answer["choices"][0]
            message = choice["message"]
            return ChatReply(
                text=_text(message.get("content")),
                calls=tuple(map(_read_call, message.get("tool_calls") or ())),
                stop=_text(choice.get("finish_reason")),
                refusal=_text(message.get("refusal")),
                model=_text(answer.get("model")) or self.name,
                tokens=_tokens(answer.get("usage")),
                duration_ms=duration_ms,
            )
        except (msgspec.DecodeError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ChatModelError(
                f"the model server at {self.host} answered with something other than a chat completion",
                outside=True,
            ) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _refused(response: httpx.Response) -> ChatModelError:
    """Return the error of a response that is no success."""
    try:
        reason = _error_text(msgspec.json.decode(response.content))
    except (msgspec.DecodeError, RecursionError):
        reason = ""
    reason = reason or " ".join(response.text.split()) or response.reason_phrase
    status = response.status_code
    return ChatModelError(
        f"the model server answered with HTTP {status}: {shorten_middle(reason, _SHOWN)}",
        outside=http.is_outside(status),
        throttled=status == http.TOO_MANY_REQUESTS,
        retry_after=http.parse_retry_after(response),
    )


def _error_text(answer: Any) -> str:
    """Return the error that an answer holds, in the form that servers share; empty: none."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict):
        return _text(error.get("message")) or "an error without a message"
    return _text(error)


def _read_call(call: Mapping[str, Any]) -> ToolRequest:
    function = call["function"]
    return ToolRequest(
        id=_text(call.get("id")) or f"call_{uuid4().hex}",
        name=_text(function["name"]),
        arguments=_text(function.get("arguments")),
    )


def _tokens(usage: Any) -> ChatTokens | None:
    if not isinstance(usage, dict):
        return None
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if read is None or written is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    return ChatTokens(read, written, cached or 0)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15
    return int(value) if known else None
