"""Judges behind HTTP: Azure OpenAI, OpenAI, and compatible servers. Needs httpx.

One judgement is one chat completion; `waza.m365.judges.chat` says what is tried again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from waza.kit import http
from waza.kit.text import replace_surrogates
from waza.m365.judges.chat import ChatModel, ChatRequest, RetryPolicy
from waza.m365.judges.judge_model import LIMIT, JudgeReply, Message
from waza.m365.judges.refusals import MAX_REASONING_TOKENS, is_reasoning
from waza.m365.judges.service import Service
from waza.model.observation import Usage
from waza.version import __version__

MAX_TOKENS = 800
_NO_SUCH_JSON = (ValueError, LookupError, TypeError, RecursionError)
CHECK_LIMIT = 15.0  # seconds in which a judge must answer that is asked whether it is there
_log = logging.getLogger(__name__)


RETRIES = RetryPolicy(waits=(1.0, 2.0, 4.0, 8.0), jitter=0.2)


class HttpJudge:
    """Asks a chat completion service. `limit`, in seconds, is for all tries of one judgement together."""

    def __init__(self, service: Service, limit: float = LIMIT, retries: RetryPolicy = RETRIES) -> None:
        self.service, self.limit = service, limit
        self.name = f"{service.model} at {urlsplit(service.url).hostname}"
        self.provider, self.model = service.provider, service.model
        self.model_config = service.config
        self._client: httpx.AsyncClient | None = None
        self._model = ChatModel(
            f"the judge {self.name}",
            retries,
            check_address=service.address_variable,
            check_key=service.key_variable,
        )

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the text of the reply, and its tokens. Raises JudgeError with the reason that it has no text."""
        try:
            async with asyncio.timeout(self.limit):
                response = await self._answer(ChatRequest(self._model, _body(self.service.model, messages)))
        except TimeoutError:
            raise self._model.error(f"gave no answer within {self.limit:g} s") from None
        return JudgeReply(self._text(response), _usage(response))

    async def check(self) -> None:
        """Ask for the list of models, which costs nothing. Raises JudgeError if there is no answer or no access.

        A server that has no such list passes the check.
        """
        try:
            async with asyncio.timeout(CHECK_LIMIT):
                response = await self._request("GET", self.service.models)
        except TimeoutError:
            advice = f"; check whether the server runs, and {self.service.address_variable}"
            raise self._model.error(f"gave no answer within {CHECK_LIMIT:g} s", advice) from None
        except httpx.HTTPError as error:
            raise self._model.failure(error) from None
        if response.status_code in http.DENIED:
            raise self._model.failure(response)
        listed = _model_names(response)
        if self.service.lists_all and listed and self.service.model not in listed:
            known = ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")
            _log.warning("%s: its server does not list this model; it lists %s", self._model.name, known)

    async def aclose(self) -> None:
        """End all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _answer(self, request: ChatRequest) -> httpx.Response:
        """Return a successful response. Raises JudgeError after the last try."""
        while True:
            outcome: httpx.Response | httpx.HTTPError
            try:
                outcome = await self._request("POST", self.service.url, json=request.body)
            except httpx.HTTPError as error:
                outcome = error
            wait = request.next_wait(outcome)
            if wait is None and isinstance(outcome, httpx.Response):
                return outcome
            await asyncio.sleep(wait or 0)

    async def _request(self, method: str, url: str, **content: Any) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self.limit,
                headers=http.UNCOMPRESSED,
                event_hooks={"response": [http.limit_body_async]},
            )
        headers = await self.service.headers()
        self._model.hide(headers)
        named = {"user-agent": f"waza/{__version__}", **headers}
        return await self._client.request(method, url, headers=named, **content)

    def _text(self, response: httpx.Response) -> str:
        try:
            choice = response.json()["choices"][0]
            message, why = choice["message"], choice.get("finish_reason")
            text, refusal = message.get("content"), message.get("refusal")
        except (*_NO_SUCH_JSON, AttributeError):
            text, refusal, why = None, None, None
        if isinstance(text, str) and text.strip() and not (why == "length" and _is_cut(text)):
            return text
        if refusal:
            ending = f"declined to judge: {' '.join(str(refusal).split())}"
        elif why == "length":
            start = f": {' '.join(text.split())}" if isinstance(text, str) and text.strip() else ""
            ending = f"used up its limit of tokens ('length'), and its reply was cut off{start}"
        elif why == "content_filter":
            ending = "gave no reply: the content filter of its service stopped it ('content_filter')"
        else:
            detail = f"; it ended by {why!r}" if why else f": {' '.join(response.text.split())}"
            ending = f"answered without a text{detail}"
        raise self._model.error(ending)


def _body(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    limits: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}
    if is_reasoning(model):  # such models refuse parameters of sampling
        limits = {"max_completion_tokens": MAX_REASONING_TOKENS}
    return {
        "model": model,
        "messages": [
            {"role": message.role, "content": replace_surrogates(message.content)} for message in messages
        ],
        "response_format": {"type": "json_object"},
        **limits,
    }


def _usage(response: httpx.Response) -> Usage | None:
    """Return the tokens that a response states; None: it states none."""
    try:
        stated = response.json()["usage"]
        read, written = stated["prompt_tokens"], stated["completion_tokens"]
        cached = (stated.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    except (*_NO_SUCH_JSON, AttributeError):
        return None
    if not all(type(count) is int and count >= 0 for count in (read, written, cached)):
        return None
    return Usage(
        turns=1,
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=cached,
        cache_write_tokens=0,
        premium_requests=0,
    )


def _is_cut(text: str) -> bool:
    """Tell whether a reply that used up its tokens is incomplete."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _model_names(response: httpx.Response) -> list[str]:
    """Return the names of the models in a list; empty if the response is not such a list."""
    try:
        return [str(one["id"]) for one in response.json()["data"]] if response.is_success else []
    except _NO_SUCH_JSON:
        return []
