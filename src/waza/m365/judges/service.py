"""Chat completion services as judges: their addresses, keys and models, as environment variables say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from waza.m365.judges.judge_model import JudgeError

PROJECT = "AZURE_AI_PROJECT_ENDPOINT"
AZURE_ENDPOINTS = (
    "AZURE_AI_OPENAI_ENDPOINT",
    "AZURE_OPENAI_ENDPOINT",
    PROJECT,
)  # the first that is set counts
AZURE_KEYS = {
    "AZURE_AI_OPENAI_ENDPOINT": "AZURE_AI_API_KEY",
    "AZURE_OPENAI_ENDPOINT": "AZURE_OPENAI_API_KEY",
}
"""Which key is for which endpoint; a key never goes to another one. A project takes none."""

AZURE_VERSION = "2024-12-01-preview"
DEFAULT_MODEL, DEFAULT_OF_PROJECT = "gpt-4o-mini", "gpt-5-mini"
AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
NO_IDENTITY = """\
{what}, and signing in to Azure without a key needs the package azure-identity.
Install it: pip install azure-identity{otherwise}"""
_OF_PROJECT = "/api/projects/"  # follows the address of the resource

Headers = Callable[[], Awaitable[Mapping[str, str]]]


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A chat completion service: the address of the call, the model, and `config` for custom evaluators.

    `provider` is its name in the conventions of OpenTelemetry.
    `models` is the address of the list of models, and `lists_all` tells whether every model that can be asked is in
    it. `address_variable` and `key_variable` are what to check if it cannot be reached, or denies access.
    """

    url: str
    models: str
    provider: str
    model: str
    headers: Headers
    config: Mapping[str, str]
    address_variable: str
    key_variable: str
    lists_all: bool = False

    def __repr__(self) -> str:
        """Show no key."""
        return f"Service({urlsplit(self.url).hostname}, {self.model})"


def azure_service(env: Mapping[str, str]) -> Service:
    """Return what the AZURE_* variables describe. Raises JudgeError if something is missing or not valid.

    The endpoint of a project is replaced by its resource, which has the same interface as Azure OpenAI.
    """
    variable = next((name for name in AZURE_ENDPOINTS if name in env), "")
    if not variable:
        raise JudgeError(f"the judge azure needs an endpoint; set {AZURE_ENDPOINTS[0]} or {PROJECT}")
    is_project = variable == PROJECT
    example = (
        f"https://name.services.ai.azure.com{_OF_PROJECT}name"
        if is_project
        else "https://name.openai.azure.com"
    )
    endpoint = _read_address(env, variable, example)
    if is_project:
        endpoint = endpoint.partition(_OF_PROJECT)[0]
    key_variable = AZURE_KEYS.get(variable, "")
    key = _read_key(env, key_variable) if key_variable else ""
    otherwise = DEFAULT_OF_PROJECT if is_project else DEFAULT_MODEL
    model = _first_value(env, "AZURE_AI_MODEL_NAME", "AZURE_OPENAI_DEPLOYMENT") or otherwise
    version = _first_value(env, "AZURE_AI_API_VERSION", "OPENAI_API_VERSION") or AZURE_VERSION
    config = {"azure_endpoint": endpoint, "azure_deployment": model, "api_version": version}
    return Service(
        url=azure_address(endpoint, model, "chat/completions", version),
        models=f"{endpoint}/openai/models?api-version={quote(version, safe='')}",
        provider="azure.ai.openai",
        model=model,
        headers=_fixed_headers({"api-key": key}) if key else _sign_in_headers(variable, key_variable),
        config=config | ({"api_key": key} if key else {}),
        address_variable=variable,
        key_variable=key_variable or "the role of who is signed in to Azure",
    )


def openai_service(env: Mapping[str, str]) -> Service:
    """Return what the OPENAI_* variables describe. Raises JudgeError if something is missing or not valid."""
    if not _first_value(env, "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        raise JudgeError(
            "the judge openai needs a key, or a server of your own; set OPENAI_API_KEY or OPENAI_BASE_URL"
        )
    key = _read_key(env, "OPENAI_API_KEY")
    env = {"OPENAI_BASE_URL": "https://api.openai.com/v1", **env}
    url = _read_address(env, "OPENAI_BASE_URL", "http://127.0.0.1:8080/v1")
    model = env.get("OPENAI_MODEL", DEFAULT_MODEL)
    return Service(
        url=f"{url}/chat/completions",
        models=f"{url}/models",
        provider="openai",
        model=model,
        headers=_fixed_headers({"authorization": f"Bearer {key}"} if key else {}),
        config={"base_url": url, "model": model, "api_key": key},
        address_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        lists_all=True,
    )


def azure_address(endpoint: str, deployment: str, operation: str, version: str) -> str:
    """Return the address of an operation, such as `chat/completions`, of a deployment of Azure OpenAI."""
    path = f"openai/deployments/{quote(deployment, safe='')}/{operation}"
    return f"{endpoint}/{path}?api-version={quote(version, safe='')}"


def azure_credential() -> Any:
    """Return what signs in to Azure without a key. Raises ImportError where azure-identity is not installed."""
    return import_module("azure.identity").DefaultAzureCredential()


def _fixed_headers(headers: Mapping[str, str]) -> Headers:
    async def get() -> Mapping[str, str]:
        return headers

    return get


def _sign_in_headers(endpoint: str, key: str) -> Headers:
    """Return headers of a user who is signed in to Azure. Raises JudgeError if azure-identity is missing."""
    try:
        credential = azure_credential()
    except ModuleNotFoundError as error:
        what = f"{key} is not set" if key else f"{endpoint} takes no key"
        words = {"what": what, "otherwise": f", or set {key}" if key else ""}
        raise JudgeError(NO_IDENTITY.format(**words)) from error

    async def get() -> Mapping[str, str]:
        try:
            token = await asyncio.to_thread(
                credential.get_token, AZURE_SCOPE
            )  # it keeps tokens while they are valid
        except Exception as error:  # its exceptions are its own, and it cannot be imported here
            raise JudgeError(f"signing in to Azure failed: {' '.join(str(error).split())[:300]}") from error
        return {"authorization": f"Bearer {token.token}"}

    return get


def _read_address(env: Mapping[str, str], variable: str, example: str) -> str:
    """Return the address of a server; the message of a bad one does not repeat it, since it may hold a key."""
    url = env[variable]
    if not _is_address(url):
        raise JudgeError(f"{variable} is not an address of a server; write one such as {example}")
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # ValueError: it is not a number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)


def _read_key(env: Mapping[str, str], variable: str) -> str:
    key = env.get(variable, "")
    if not (key.isascii() and key.isprintable()):
        raise JudgeError(f"{variable} contains characters that are not allowed in keys; set it again")
    return key


def _first_value(env: Mapping[str, str], *names: str) -> str:
    return next((env[name] for name in names if name in env), "")
