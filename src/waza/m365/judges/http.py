"""Judges behind HTTP: Azure OpenAI, OpenAI, and servers that speak like it. Needs httpx.

One judgement is one chat completion. What may pass by itself (no connection, 429, 5xx) is tried again, and a
parameter that the model refuses is left out from then on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from waza.kit import http
from waza.kit.text import replace_surrogates
from waza.m365.judges.judge_model import LIMIT, JudgeError, Message
from waza.m365.judges.refusals import MAX_REASONING_TOKENS, Refusals, is_reasoning
from waza.m365.judges.service import Service, azure_service, openai_service
from waza.report.words import duration
from waza.version import __version__

MAX_TOKENS = 800
_NO_SUCH_JSON = (ValueError, LookupError, TypeError, RecursionError)
_BAD_REQUEST = 400
CHECK_LIMIT = 15.0  # seconds in which a judge must answer that is asked whether it is there
_SHOWN = 300  # characters of an answer that a message repeats
_log = logging.getLogger(__name__)


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a judgement may take. Waits and limits in seconds.

    The wait before a further try is `first_wait`, twice as much each time, and no less than the server asks
    for. Who is asked to wait longer than `longest_wait` gives up. `time_limit` is for all tries together.
    """

    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    time_limit: float = LIMIT


def azure_judge(env: Mapping[str, str], patience: Patience | None = None) -> HttpJudge:
    """Return the judge that the AZURE_* variables describe. JudgeError: something is missing or no good."""
    return HttpJudge(azure_service(env), patience or Patience())


def openai_judge(env: Mapping[str, str], patience: Patience | None = None) -> HttpJudge:
    """Return the judge that the OPENAI_* variables describe. JudgeError: something is missing or no good."""
    return HttpJudge(openai_service(env), patience or Patience())


class _Trouble(msgspec.Struct, frozen=True):
    """Why a try failed, in few words and in full, and what to do about it.

    `final` tells whether other tries will fail too, `wait` how many seconds the server asks to wait.
    """

    brief: str
    text: str
    advice: str = ""
    final: bool = False
    wait: float = 0.0


class HttpJudge:
    """Asks a chat completion service."""

    def __init__(self, service: Service, patience: Patience) -> None:
        self.service, self.patience = service, patience
        self.name = f"{service.model} at {urlsplit(service.url).hostname}"
        self.model_config = service.config
        self._client: httpx.AsyncClient | None = None
        self._secrets: set[str] = set()
        self._refusals = Refusals()

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the text of the reply. JudgeError: there is none, and why."""
        limit = self.patience.time_limit
        try:
            async with asyncio.timeout(limit):
                response = await self._accepted(_body(self.service.model, messages))
        except TimeoutError:
            raise JudgeError(f"{self._who} gave no answer within {limit:g} s") from None
        return self._text(response)

    async def check(self) -> None:
        """Ask for the list of models, which costs nothing. JudgeError: nobody is there, or we are refused.

        A server without such a list is there, and that is all that can be known of it.
        """
        try:
            async with asyncio.timeout(CHECK_LIMIT):
                response = await self._request("GET", self.service.models)
        except TimeoutError:
            advice = f"check whether the server runs, and {self.service.address_variable}"
            raise JudgeError(f"{self._who} gave no answer within {CHECK_LIMIT:g} s; {advice}") from None
        except httpx.HTTPError as error:
            trouble = self._unreachable(error)
            raise JudgeError(f"{self._who} {self._safe(trouble.text)}{trouble.advice}") from None
        if response.status_code in http.DENIED:
            trouble = self._answer_of_failure(response)
            raise JudgeError(f"{self._who} {self._safe(trouble.text)}{trouble.advice}")
        listed = _listed(response)
        if self.service.lists_all and listed and self.service.model not in listed:
            known = ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")
            _log.warning("%s: its server does not list this model; it lists %s", self._who, known)

    async def aclose(self) -> None:
        """End all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _who(self) -> str:
        return f"the judge {self.name}"

    async def _accepted(self, body: Mapping[str, Any]) -> httpx.Response:
        """Return a response of success, without the parameters that the model refuses."""
        while True:
            sent = self._refusals.fitted(body)
            response = await self._answered(sent)
            if response.is_success:
                return response
            refused = self._refusals.learn(sent, response.content)
            if not refused:
                trouble = self._answer_of_failure(response)
                raise JudgeError(f"{self._who} {self._safe(trouble.text)}{trouble.advice}")
            _log.info("%s does not take %r; it is asked again without", self._who, refused)

    async def _answered(self, body: Mapping[str, Any]) -> httpx.Response:
        """Return a response of success, or one that says what is wrong with the question.

        JudgeError: there is none after all tries.
        """
        patience, tried, pause = self.patience, 1, self.patience.first_wait
        while True:
            found = await self._try(body)
            if isinstance(found, httpx.Response):
                return found
            if found.final or tried >= patience.tries or found.wait > patience.longest_wait:
                break
            spread = random.uniform(0.8, 1.2)  # noqa: S311  # so that many judgements do not come back at once
            wait, tried = max(found.wait, pause * spread), tried + 1
            again = f"asking again in {wait:.0f} s (try {tried} of {patience.tries})"
            _log.warning("the judge %s; %s", found.brief, again)
            await asyncio.sleep(wait)
            pause = min(2 * pause, patience.longest_wait)
        tries = f" ({tried} tries)" if tried > 1 else ""
        if found.wait > patience.longest_wait:
            asked, most = (duration(1000 * seconds) for seconds in (found.wait, patience.longest_wait))
            tries += f"; it asks to wait {asked}, and no more than {most} are waited: run again later"
        raise JudgeError(f"{self._who} {self._safe(found.text)}{tries}{found.advice}")

    async def _try(self, body: Mapping[str, Any]) -> httpx.Response | _Trouble:
        """Return a response of success, or what went wrong."""
        try:
            response = await self._request("POST", self.service.url, json=body)
        except http.RefusedError as error:
            return _Trouble("gave no usable answer", f"gave no usable answer: {error}", final=True)
        except httpx.HTTPError as error:
            return self._unreachable(error)
        if response.is_success or response.status_code == _BAD_REQUEST:
            return response
        return self._answer_of_failure(response)

    def _unreachable(self, error: httpx.HTTPError) -> _Trouble:
        text = f"cannot be reached: {type(error).__name__}: {error}"
        advice = f"; check whether the server runs, and {self.service.address_variable}"
        return _Trouble("cannot be reached", text, advice)

    def _answer_of_failure(self, response: httpx.Response) -> _Trouble:
        status = response.status_code
        return _Trouble(
            f"answers {status}",
            f"answered with HTTP {status}: {_message(response)}",
            f"; check {self.service.key_variable}" if status in http.DENIED else "",
            final=not http.is_transient(status),
            wait=http.parse_retry_after(response) or 0.0,
        )

    async def _request(self, method: str, url: str, **content: Any) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self.patience.time_limit,
                headers=http.UNCOMPRESSED,
                event_hooks={"response": [http.limit_body_async]},
            )
        headers = await self.service.headers()
        self._secrets |= {value.removeprefix("Bearer ") for value in headers.values()}
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
            said = f"; it ended by {why!r}" if why else f": {' '.join(response.text.split())}"
            ending = f"answered without a text{said}"
        raise JudgeError(f"{self._who} {self._safe(ending)}")

    def _safe(self, text: str) -> str:
        """Return a text without keys, cut to a length that fits a message."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


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


def _is_cut(text: str) -> bool:
    """Tell whether a reply that used up its tokens is not whole."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _listed(response: httpx.Response) -> list[str]:
    """Return the names of the models in a list; none where the response is no such list."""
    try:
        return [str(one["id"]) for one in response.json()["data"]] if response.is_success else []
    except _NO_SUCH_JSON:
        return []


def _message(response: httpx.Response) -> str:
    """Return what a response of failure says, in one line."""
    try:
        text = response.json()["error"]["message"]
    except _NO_SUCH_JSON:
        text = response.text
    return " ".join(str(text).split()) or response.reason_phrase
