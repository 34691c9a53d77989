"""One question to a model, over the HTTP interface of OpenAI or of Azure OpenAI.

What `model.configuration` of a prompty says: `type: openai` with `base_url`, `api_key`, `model` and
`organization`; `type: azure_openai` with `azure_endpoint`, `azure_deployment`, `api_key`, `api_version`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from waza.m365.judges.refusals import Refusals

if TYPE_CHECKING:
    import httpx

RETRY_WAITS = (3.0, 4.0, 6.0, 10.0, 18.0, 34.0)
"""Seconds before the second, third ... try of a question that a busy or broken server did not answer."""

_LONGEST_WAIT = 60.0  # seconds that a server may ask us to wait
_BAD, _UNPROCESSABLE, _UNPROCESSABLE_RETRIES = 400, 422, 2
_TIMEOUT = 600.0  # seconds for one try, where the caller has no limit
_OPENAI = "https://api.openai.com/v1"
_AZURE_VERSION = "2024-02-01"
_AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"


class ModelError(Exception):
    """The model gave no answer: what is wrong with the configuration, the question or the server."""


class _Endpoint(NamedTuple):
    url: str
    headers: dict[str, str]
    model: str


def ask(
    configuration: Mapping[str, Any],
    operation: str,
    question: Mapping[str, Any],
    *,
    timeout: float | None = None,
    waits: Sequence[float] = RETRY_WAITS,
) -> Any:
    """Send a question (`operation`: "chat/completions" or "completions") and return the decoded answer.

    `timeout`, in seconds, limits each try. A lost connection, 429 and every 5xx are tried again after each
    of the `waits` or what the server asks for, 422 at most twice. A parameter that the model refuses is left out
    from then on. Raises ModelError.
    """
    endpoint = _endpoint(configuration, operation)
    refusals, number = _refusals(endpoint.url, endpoint.model), 0
    while True:
        body = refusals.fitted({"model": endpoint.model, **question})
        response, fault = _try(endpoint, body, timeout or _TIMEOUT)
        if response is not None and response.is_success:
            return _decoded(response)
        if response is not None and response.status_code == _BAD and refusals.learn(body, response.content):
            continue
        wait = _wait(response, number, waits)
        if wait is None:
            break
        time.sleep(wait)
        number += 1
    tries = f" (tried {number + 1} times)" if number else ""
    raise ModelError(f"the model at {endpoint.url} {fault}{tries}{_asked_too_long(response)}")


@cache
def _refusals(url: str, model: str) -> Refusals:
    """Return what a model refused, for the rest of this process."""
    del url, model
    return Refusals()


def _try(endpoint: _Endpoint, body: dict[str, Any], timeout: float) -> tuple[httpx.Response | None, str]:
    """Return the response, if there is one, and what is wrong with it."""
    import httpx

    from waza.kit import http

    try:
        response = _client().post(endpoint.url, headers=endpoint.headers, json=body, timeout=timeout)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError) as error:
        raise ModelError(f"the question cannot be sent to {endpoint.url}: {error}") from None
    except http.RefusedError as error:
        raise ModelError(str(error)) from None
    except httpx.TransportError as error:
        return None, f"cannot be reached: {str(error) or type(error).__name__}"
    return response, f"answered {response.status_code}: {_complaint(response)}"


@cache
def _client() -> httpx.Client:
    import httpx

    from waza.kit import http

    return httpx.Client(headers=http.UNCOMPRESSED, event_hooks={"response": [http.limit_body]})


def _wait(response: httpx.Response | None, number: int, waits: Sequence[float]) -> float | None:
    """Return the seconds before the next try, None when there shall be none."""
    from waza.kit import http

    retries = len(waits)
    if response is not None and response.status_code == _UNPROCESSABLE:
        retries = min(retries, _UNPROCESSABLE_RETRIES)
    elif response is not None and not http.is_transient(response.status_code):
        return None
    if number >= retries:
        return None
    asked = http.parse_retry_after(response) if response is not None else None
    if asked is None:
        return waits[number]
    return asked if asked <= _LONGEST_WAIT else None


def _asked_too_long(response: httpx.Response | None) -> str:
    from waza.kit import http

    asked = http.parse_retry_after(response) if response is not None else None
    if asked is None or asked <= _LONGEST_WAIT:
        return ""
    return (
        f"; it asks to wait {asked:.0f} s, and no more than {_LONGEST_WAIT:g} s are waited: run again later"
    )


def _complaint(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return response.text.strip()[:300] or response.reason_phrase


def _decoded(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise ModelError(f"the model's server answered no JSON but {response.text[:100]!r}") from None


def _endpoint(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    kind = configuration.get("type")
    if kind == "openai":
        return _openai(configuration, operation)
    if kind == "azure_openai":
        return _azure(configuration, operation)
    raise ModelError(  # this wording is what people look for
        f"Not Support connection type {kind} for embedding api. "
        "Connection type should be in [AzureOpenAI, OpenAI]."
    )


def _openai(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    base = configuration.get("base_url") or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    if base == _OPENAI:
        _required(configuration, "api_key")  # a server of one's own may want none
    key, organization = _header(configuration, "api_key"), _header(configuration, "organization")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if organization:
        headers["OpenAI-Organization"] = organization
    return _Endpoint(f"{str(base).rstrip('/')}/{operation}", headers, _required(configuration, "model"))


def _azure(configuration: Mapping[str, Any], operation: str) -> _Endpoint:
    base = _required(configuration, "azure_endpoint").rstrip("/")
    deployment = _required(configuration, "azure_deployment")
    version = configuration.get("api_version") or _AZURE_VERSION
    key = _header(configuration, "api_key")
    headers = {"api-key": key} if key else {"Authorization": f"Bearer {_azure_token()}"}
    url = f"{base}/openai/deployments/{deployment}/{operation}?api-version={version}"
    return _Endpoint(url, headers, deployment)


def _required(configuration: Mapping[str, Any], name: str) -> str:
    value = configuration.get(name)
    if not value:
        raise ModelError(f"the model's configuration has no {name!r}")
    return str(value)


def _header(configuration: Mapping[str, Any], name: str) -> str:
    """Return a value that goes into a header, "" for none; no message shows it."""
    value = str(configuration.get(name) or "").strip()
    if not (value.isascii() and value.isprintable()):
        raise ModelError(f"{name!r} of the model's configuration has characters that no HTTP header can hold")
    return value


def _azure_token() -> str:
    try:
        credential = _credential()
    except ImportError:
        raise ModelError(
            "the model's configuration has no 'api_key'; set one, or install azure-identity to sign in with Entra"
        ) from None
    return str(credential.get_token(_AZURE_SCOPE).token)


@cache
def _credential() -> Any:
    from azure.identity import (  # type: ignore[import-not-found]  # people who need it install it
        DefaultAzureCredential,
    )

    return DefaultAzureCredential()
