"""One question to a model, over the HTTP interface of OpenAI or of Azure OpenAI. Needs httpx.

What `model.configuration` of a prompty says: `type: openai` with `base_url`, `api_key`, `model` and
`organization`; `type: azure_openai` with `azure_endpoint`, `azure_deployment`, `api_key`, `api_version`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import httpx

from waza.kit import http
from waza.m365.judges.chat import ChatModel, ChatRequest, Outcome, RetryPolicy
from waza.m365.judges.judge_model import JudgeError
from waza.m365.judges.service import AZURE_SCOPE, azure_address, azure_credential

_UNPROCESSABLE_RETRIES = 2
_TIMEOUT = 600.0  # seconds for one try, where the caller has no limit
_OPENAI = "https://api.openai.com/v1"
_AZURE_VERSION = "2024-02-01"


class _Endpoint(NamedTuple):
    url: str
    headers: dict[str, str]
    model: str


def ask(
    configuration: Mapping[str, Any],
    operation: str,
    question: Mapping[str, Any],
    *,
    waits: Sequence[float],
    timeout: float | None = None,
) -> Any:
    """Send a question (`operation`: "chat/completions" or "completions") and return the decoded answer.

    `timeout`, in seconds, limits each try, `waits` are those of `RetryPolicy`. Raises JudgeError.
    """
    endpoint = _endpoint(configuration, operation)
    model = _chat_model(endpoint.url, endpoint.model, tuple(waits))
    model.hide(endpoint.headers)
    request = ChatRequest(model, {"model": endpoint.model, **question})
    while True:
        outcome = _send(endpoint, request.body, timeout or _TIMEOUT)
        wait = request.next_wait(outcome)
        if wait is None and isinstance(outcome, httpx.Response):
            return _decode(model, outcome)
        time.sleep(wait or 0)


@cache
def _chat_model(url: str, model: str, waits: tuple[float, ...]) -> ChatModel:
    """Return a model with what it refused so far in this process."""
    del model
    retries = RetryPolicy(waits=waits, unprocessable_retries=_UNPROCESSABLE_RETRIES)
    return ChatModel(f"the model at {url.partition('?')[0]}", retries)


def _send(endpoint: _Endpoint, body: Mapping[str, Any], timeout: float) -> Outcome:
    try:
        return _client().post(endpoint.url, headers=endpoint.headers, json=body, timeout=timeout)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError) as error:
        raise JudgeError(f"the question cannot be sent to {endpoint.url}: {error}") from None
    except httpx.HTTPError as error:
        return error


@cache
def _client() -> httpx.Client:
    return httpx.Client(headers=http.UNCOMPRESSED, event_hooks={"response": [http.limit_body]})


def _decode(model: ChatModel, response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise model.error(f"answered no JSON but {response.text[:100]!r}") from None


def _endpoint(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    kind = configuration.get("type")
    if kind == "openai":
        return _openai(configuration, operation)
    if kind == "azure_openai":
        return _azure(configuration, operation)
    raise JudgeError(  # this wording is what people look for
        f"Not Support connection type {kind} for embedding api. "
        "Connection type should be in [AzureOpenAI, OpenAI]."
    )


def _openai(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    base = configuration.get("base_url") or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    if base == _OPENAI:
        _require(configuration, "api_key")  # another server may not need one
    key, organization = _header_value(configuration, "api_key"), _header_value(configuration, "organization")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if organization:
        headers["OpenAI-Organization"] = organization
    return _Endpoint(f"{str(base).rstrip('/')}/{operation}", headers, _require(configuration, "model"))


def _azure(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    base = _require(configuration, "azure_endpoint").rstrip("/")
    deployment = _require(configuration, "azure_deployment")
    version = configuration.get("api_version") or _AZURE_VERSION
    key = _header_value(configuration, "api_key")
    headers = {"api-key": key} if key else {"Authorization": f"Bearer {_azure_token()}"}
    url = azure_address(base, deployment, operation, version)
    return _Endpoint(url, headers, deployment)


def _require(configuration: Mapping[str, Any], name: str) -> str:
    value = configuration.get(name)
    if not value:
        raise JudgeError(f"the model's configuration has no {name!r}")
    return str(value)


def _header_value(configuration: Mapping[str, Any], name: str) -> str:
    """Return a value that goes into a header, "" for none; no message shows it."""
    value = str(configuration.get(name) or "").strip()
    if not (value.isascii() and value.isprintable()):
        raise JudgeError(f"{name!r} of the model's configuration has characters that no HTTP header can hold")
    return value


def _azure_token() -> str:
    try:
        credential = _credential()
    except ImportError:
        raise JudgeError(
            "the model's configuration has no 'api_key'; set one, or install azure-identity to sign in with Entra"
        ) from None
    return str(credential.get_token(AZURE_SCOPE).token)


_credential = cache(azure_credential)
