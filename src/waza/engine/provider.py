"""The model server of a real agent: from environment variables, else from `.waza.yaml`, else that of the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from waza.errors import RunError
from waza.model.agent import Provider
from waza.model.loaded import ProviderKeys

# For each value the short name, which wins, and its alias.
VARIABLES = {
    "base_url": ("COPILOT_BASE_URL", "COPILOT_PROVIDER_BASE_URL"),
    "type": ("COPILOT_PROVIDER", "COPILOT_PROVIDER_TYPE"),
    "wire_api": ("COPILOT_WIRE_API", "COPILOT_PROVIDER_WIRE_API"),
    "api_key": ("COPILOT_API_KEY", "COPILOT_PROVIDER_API_KEY"),
    "bearer_token": ("COPILOT_BEARER_TOKEN", "COPILOT_PROVIDER_BEARER_TOKEN"),
}
DEFAULT_TYPE = "openai"
OPENAI_KEY, OPENAI_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
ANTHROPIC_KEYS, ANTHROPIC_URL = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "ANTHROPIC_BASE_URL"
ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com/v1"


def find_provider(environ: Mapping[str, str], keys: ProviderKeys | None) -> Provider | None:
    """Return the model server to use, or None for the runtime's own. Raises RunError for a bad address.

    Without a base URL in the environment its other variables are ignored. The message of a bad address does
    not repeat it, since it may hold credentials.
    """
    given = {
        name: next((environ[variable] for variable in variables if environ.get(variable)), "")
        for name, variables in VARIABLES.items()
    }
    if given["base_url"]:
        _check(given["base_url"], next(name for name in VARIABLES["base_url"] if environ.get(name)))
        return Provider(
            base_url=given["base_url"],
            type=given["type"] or DEFAULT_TYPE,
            wire_api=given["wire_api"],
            api_key=given["api_key"],
            bearer_token=given["bearer_token"],
        )
    if keys is None:
        return None
    _check(keys.base_url, "provider.base_url in .waza.yaml")
    if keys.api_key_env and not environ.get(keys.api_key_env):
        raise RunError(f"the variable {keys.api_key_env} that provider.api_key_env names is not set; set it")
    return Provider(
        base_url=keys.base_url,
        type=keys.type or DEFAULT_TYPE,
        wire_api=keys.wire_api,
        api_key=environ.get(keys.api_key_env, "") if keys.api_key_env else "",
        headers=keys.headers,
    )


def openai_provider(environ: Mapping[str, str]) -> Provider | None:
    """Return the model server of the variables that clients of OpenAI use; None where neither is set. Raises RunError for a bad address."""
    url, key = environ.get(OPENAI_URL, ""), environ.get(OPENAI_KEY, "")
    if not (url or key):
        return None
    if url:
        _check(url, OPENAI_URL)
    return Provider(base_url=url or OPENAI, api_key=key)


def anthropic_provider(environ: Mapping[str, str]) -> Provider | None:
    """Return the model server of the variables that clients of Anthropic use; None where none is set. Raises RunError for a bad address."""
    url = environ.get(ANTHROPIC_URL, "")
    key, token = (environ.get(name, "") for name in ANTHROPIC_KEYS)
    if not (url or key or token):
        return None
    if url:
        _check(url, ANTHROPIC_URL)
    return Provider(
        base_url=url or ANTHROPIC, type="anthropic", api_key=key, bearer_token="" if key else token
    )


def secret_variables(keys: ProviderKeys | None) -> set[str]:
    """Return the names of variables that hold keys, which no agent may see."""
    names = {*VARIABLES["api_key"], *VARIABLES["bearer_token"]}
    return names | ({keys.api_key_env} if keys and keys.api_key_env else set())


def _check(url: str, where: str) -> None:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        raise RunError(f"{where} is not the address of a server; use one like http://127.0.0.1:8080/v1")
