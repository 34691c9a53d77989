"""Judges behind HTTP: Azure OpenAI, OpenAI, and servers that speak like it. Needs httpx.

One judgement is one chat completion. What may pass by itself (no connection, 429, 5xx) is tried again.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import msgspec

from waza.kit import http
from waza.kit.text import encodable
from waza.m365.case import Message
from waza.m365.judge import AZURE_ENDPOINTS, JudgeError
from waza.version import __version__

AZURE_KEYS = {
    "AZURE_AI_OPENAI_ENDPOINT": "AZURE_AI_API_KEY",
    "AZURE_OPENAI_ENDPOINT": "AZURE_OPENAI_API_KEY",
}
"""Which key is for which endpoint; a key never goes to the other one."""

AZURE_VERSION = "2024-12-01-preview"
DEFAULT_MODEL = "gpt-4o-mini"
MAX_TOKENS = 800
MAX_REASONING_TOKENS = 8000  # what a model thinks counts, too
SCOPE = "https://cognitiveservices.azure.com/.default"
NO_IDENTITY = """\
{key} is not set, and signing in to Azure without a key needs the package azure-identity.
Set the key, or install it: pip install azure-identity"""

_REASONING = re.compile(r"(?:.*/)?(?:o[134](?:-.*)?|gpt-5.*)", re.IGNORECASE)
_NO_SUCH_JSON = (ValueError, LookupError, TypeError, RecursionError)
_SHOWN = 300  # characters of an answer that a message repeats
_log = logging.getLogger(__name__)

Headers = Callable[[], Awaitable[Mapping[str, str]]]


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a judgement may take. Waits and limits in seconds.

    The wait before a further try is `first_wait`, twice as much each time, and no less than the server asks
    for. Who is asked to wait longer than `longest_wait` gives up. `time_limit` is for all tries together.
    """

    tries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 60.0
    time_limit: float = 180.0


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A chat completion service: the address of the call, the model, and `config` for custom evaluators.

    `address_variable` and `key_variable` are what to check where it is not there or refuses us.
    """

    url: str
    model: str
    headers: Headers
    config: Mapping[str, str]
    address_variable: str
    key_variable: str

    def __repr__(self) -> str:
        """Show no key."""
        return f"Service({urlsplit(self.url).hostname}, {self.model})"


def azure_judge(env: Mapping[str, str], patience: Patience | None = None) -> HttpJudge:
    """Return the judge that the AZURE_* variables describe. JudgeError: something is missing or no good."""
    variable = next((name for name in AZURE_ENDPOINTS if name in env), "")
    if not variable:
        raise JudgeError(f"the judge azure needs an endpoint; set {AZURE_ENDPOINTS[0]}")
    endpoint = _address(env, variable, "https://name.openai.azure.com")
    key = _key(env, AZURE_KEYS[variable])
    model = _first(env, "AZURE_AI_MODEL_NAME", "AZURE_OPENAI_DEPLOYMENT") or DEFAULT_MODEL
    version = _first(env, "AZURE_AI_API_VERSION", "OPENAI_API_VERSION") or AZURE_VERSION
    config = {"azure_endpoint": endpoint, "azure_deployment": model, "api_version": version}
    service = Service(
        url=f"{endpoint}/openai/deployments/{quote(model, safe='')}/chat/completions"
        f"?api-version={quote(version, safe='')}",
        model=model,
        headers=_fixed({"api-key": key}) if key else _signed_in(AZURE_KEYS[variable]),
        config=config | ({"api_key": key} if key else {}),
        address_variable=variable,
        key_variable=AZURE_KEYS[variable],
    )
    return HttpJudge(service, patience or Patience())


def openai_judge(env: Mapping[str, str], patience: Patience | None = None) -> HttpJudge:
    """Return the judge that the OPENAI_* variables describe. JudgeError: something is missing or no good."""
    if not _first(env, "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        raise JudgeError(
            "the judge openai needs a key, or a server of your own; set OPENAI_API_KEY or OPENAI_BASE_URL"
        )
    key = _key(env, "OPENAI_API_KEY")
    env = {"OPENAI_BASE_URL": "https://api.openai.com/v1", **env}
    url = _address(env, "OPENAI_BASE_URL", "http://127.0.0.1:8080/v1")
    model = env.get("OPENAI_MODEL", DEFAULT_MODEL)
    service = Service(
        url=f"{url}/chat/completions",
        model=model,
        headers=_fixed({"authorization": f"Bearer {key}"} if key else {}),
        config={"base_url": url, "model": model, "api_key": key},
        address_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
    )
    return HttpJudge(service, patience or Patience())


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

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the text of the reply. JudgeError: there is none, and why."""
        limit = self.patience.time_limit
        try:
            async with asyncio.timeout(limit):
                response = await self._answered(_body(self.service.model, messages))
        except TimeoutError:
            raise JudgeError(f"{self._who} gave no answer within {limit:g} s") from None
        return self._text(response)

    async def aclose(self) -> None:
        """End all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _who(self) -> str:
        return f"the judge {self.name}"

    async def _answered(self, body: Mapping[str, Any]) -> httpx.Response:
        """Return a response of success. JudgeError: there is none after all tries."""
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
        raise JudgeError(f"{self._who} {self._safe(found.text)}{tries}{found.advice}")

    async def _try(self, body: Mapping[str, Any]) -> httpx.Response | _Trouble:
        """Return a response of success, or what went wrong."""
        try:
            response = await self._post(body)
        except http.Refused as error:
            return _Trouble("gave no usable answer", f"gave no usable answer: {error}", final=True)
        except httpx.HTTPError as error:
            text = f"cannot be reached: {type(error).__name__}: {error}"
            advice = f"; check whether the server runs, and {self.service.address_variable}"
            return _Trouble("cannot be reached", text, advice)
        if response.is_success:
            return response
        status = response.status_code
        return _Trouble(
            f"answers {status}",
            f"answered with HTTP {status}: {_message(response)}",
            f"; check {self.service.key_variable}" if status in (401, 403) else "",
            final=status != 429 and status < 500,
            wait=_asked_wait(response),
        )

    async def _post(self, body: Mapping[str, Any]) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=self.patience.time_limit,
                headers=http.PLAIN,
                event_hooks={"response": [http.bound_async]},
            )
        headers = await self.service.headers()
        self._secrets |= {value.removeprefix("Bearer ") for value in headers.values()}
        named = {"user-agent": f"waza/{__version__}", **headers}
        return await self._client.post(self.service.url, json=body, headers=named)

    def _text(self, response: httpx.Response) -> str:
        try:
            choice = response.json()["choices"][0]
            text = choice["message"]["content"]
        except _NO_SUCH_JSON:
            text, choice = None, {}
        if isinstance(text, str) and text.strip():
            return text
        why = choice.get("finish_reason") if isinstance(choice, dict) else None
        ending = f"; it ended by {why!r}" if why else f": {' '.join(response.text.split())}"
        raise JudgeError(f"{self._who} answered without a text{self._safe(ending)}")

    def _safe(self, text: str) -> str:
        """Return a text without keys, cut to a length that fits a message."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _body(model: str, messages: Sequence[Message]) -> dict[str, Any]:
    limits: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}
    if _REASONING.fullmatch(model):  # such models refuse parameters of sampling
        limits = {"max_completion_tokens": MAX_REASONING_TOKENS}
    return {
        "model": model,
        "messages": [{"role": message.role, "content": encodable(message.content)} for message in messages],
        "response_format": {"type": "json_object"},
        **limits,
    }


def _message(response: httpx.Response) -> str:
    """Return what a response of failure says, in one line."""
    try:
        text = response.json()["error"]["message"]
    except _NO_SUCH_JSON:
        text = response.text
    return " ".join(str(text).split()) or response.reason_phrase


def _asked_wait(response: httpx.Response) -> float:
    """Return how many seconds the server asks to wait, by Retry-After as a number or a date; else 0."""
    text = response.headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _fixed(headers: Mapping[str, str]) -> Headers:
    async def get() -> Mapping[str, str]:
        return headers

    return get


def _signed_in(variable: str) -> Headers:
    """Return what signs in to Azure as whoever is signed in here. JudgeError: azure-identity is missing."""
    try:
        credential = import_module("azure.identity").DefaultAzureCredential()
    except ModuleNotFoundError as error:
        raise JudgeError(NO_IDENTITY.format(key=variable)) from error

    async def get() -> Mapping[str, str]:
        try:
            token = await asyncio.to_thread(
                credential.get_token, SCOPE
            )  # it keeps tokens while they are valid
        except Exception as error:  # its exceptions are its own, and it cannot be imported here
            raise JudgeError(
                f"signing in to Azure failed: {' '.join(str(error).split())[:_SHOWN]}"
            ) from error
        return {"authorization": f"Bearer {token.token}"}

    return get


def _address(env: Mapping[str, str], variable: str, example: str) -> str:
    """Return the address of a server; the message of a bad one does not repeat it, since it may hold a key."""
    url = env[variable]
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in ("http", "https") or not parts.host or parts.query or parts.fragment:
        raise JudgeError(f"{variable} is no address of a server; write {example} or the like")
    return url.rstrip("/")


def _key(env: Mapping[str, str], variable: str) -> str:
    key = env.get(variable, "")
    if not (key.isascii() and key.isprintable()):
        raise JudgeError(f"{variable} holds characters that no key has; set it anew")
    return key


def _first(env: Mapping[str, str], *names: str) -> str:
    return next((env[name] for name in names if name in env), "")
