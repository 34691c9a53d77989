"""Choosing the judge: by name, or by what the environment configures; and the judge that follows a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.kit import yaml
from waza.m365 import jsontext
from waza.m365.case import Judge, Message

AZURE, OPENAI, COPILOT, MOCK = "azure", "openai", "copilot", "mock:"
AZURE_VERSION = "2024-12-01-preview"
DEFAULT_MODEL = "gpt-4o-mini"

_AZURE_FAMILIES = (  # of each: endpoint and key, which belong together
    ("AZURE_AI_OPENAI_ENDPOINT", "AZURE_AI_API_KEY"),
    ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
)
_COPILOT_MODEL = "GITHUB_COPILOT_JUDGE_MODEL"
NO_JUDGE = """\
no judge is configured. Set the variables of one:
  Azure OpenAI: AZURE_AI_OPENAI_ENDPOINT, AZURE_AI_API_KEY, AZURE_AI_MODEL_NAME
                (or AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY, AZURE_OPENAI_DEPLOYMENT)
  OpenAI and servers like it: OPENAI_API_KEY, OPENAI_MODEL; OPENAI_BASE_URL for a server of your own
  GitHub Copilot: GITHUB_COPILOT_JUDGE_MODEL (auto will do)
or use evaluators without a judge only, with "evaluators_mode": "replace\""""
NO_HTTPX = "judges behind HTTP need the package httpx; install it: pip install 'waza[m365]'"


class JudgeError(WazaError):
    """A judge is not configured or could not answer. No text of it holds a key."""


def judge_of(backend: str, env: Mapping[str, str]) -> Judge:
    """Return a judge: `azure`, `openai`, `copilot` (or `github-copilot`), `mock:FILE`; empty: what `env` configures.

    `env` are environment variables; empty ones count as unset. Nothing is asked yet. JudgeError: the judge
    is unknown, or something that it needs is missing.
    """
    env = {name: value.strip() for name, value in env.items() if value.strip()}
    if backend.startswith(MOCK):
        return MockJudge(Path(backend.removeprefix(MOCK)))
    match backend or _configured(env):
        case "azure":
            return _azure(env)
        case "openai":
            return _openai(env)
        case "copilot" | "github-copilot":
            from waza.m365.judge_copilot import CopilotJudge

            return CopilotJudge(env.get(_COPILOT_MODEL, "auto"), env)
    raise JudgeError(f"there is no judge {backend!r}; known: {AZURE}, {OPENAI}, {COPILOT}, {MOCK}FILE")


def _configured(env: Mapping[str, str]) -> str:
    if any(endpoint in env for endpoint, _ in _AZURE_FAMILIES):
        return AZURE
    if "OPENAI_API_KEY" in env or "OPENAI_BASE_URL" in env:
        return OPENAI
    if _COPILOT_MODEL in env:
        return COPILOT
    raise JudgeError(NO_JUDGE)


def _azure(env: Mapping[str, str]) -> Judge:
    family = next((names for names in _AZURE_FAMILIES if names[0] in env), None)
    if family is None:
        raise JudgeError(f"the judge {AZURE} needs an endpoint; set {_AZURE_FAMILIES[0][0]}")
    http = _http()
    return http.azure(
        endpoint=http.address(family[0], env[family[0]]),
        key=http.checked_key(family[1], env.get(family[1], "")),
        deployment=_first(env, "AZURE_AI_MODEL_NAME", "AZURE_OPENAI_DEPLOYMENT") or DEFAULT_MODEL,
        version=_first(env, "AZURE_AI_API_VERSION", "OPENAI_API_VERSION") or AZURE_VERSION,
    )


def _openai(env: Mapping[str, str]) -> Judge:
    url = env.get("OPENAI_BASE_URL", "")
    if not url and "OPENAI_API_KEY" not in env:
        raise JudgeError(
            f"the judge {OPENAI} needs a key or a server of your own; set OPENAI_API_KEY or OPENAI_BASE_URL"
        )
    http = _http()
    return http.openai(
        base_url=http.address("OPENAI_BASE_URL", url or "https://api.openai.com/v1"),
        key=http.checked_key("OPENAI_API_KEY", env.get("OPENAI_API_KEY", "")),
        model=env.get("OPENAI_MODEL", DEFAULT_MODEL),
    )


def _http() -> Any:
    """Return the module of judges behind HTTP, whose package is an extra."""
    try:
        from waza.m365 import judge_http
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise JudgeError(NO_HTTPX) from error
    return judge_http


def _first(env: Mapping[str, str], *names: str) -> str:
    return next((env[name] for name in names if name in env), "")


class Scripted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of a script, for user messages that hold the text `match`."""

    reply: str | dict[str, Any]
    match: str = ""


class MockJudge:
    """Replies as a file says: a list of `{match: text, reply: object or text}` in JSON or YAML.

    The first entry whose `match` is in the user message counts; one without `match` fits all messages.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. JudgeError: it is not there, or not such a list."""
        self.file, self.script = file, _script(file)
        self.model_config: Mapping[str, str] = {}

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the reply. JudgeError: no entry fits."""
        asked = "\n".join(message.content for message in messages if message.role == "user")
        for entry in self.script:
            if entry.match in asked:
                return entry.reply if isinstance(entry.reply, str) else json.dumps(entry.reply)
        raise JudgeError(f"no entry of {self.file} fits this question; add one without 'match'")

    async def aclose(self) -> None:
        """Do nothing; there is nothing to close."""


def _script(file: Path) -> list[Scripted]:
    try:
        data = file.read_bytes()
        node = jsontext.load(data) if file.suffix == ".json" else yaml.load(data)
        return msgspec.convert(yaml.plain(node), list[Scripted])
    except OSError as error:
        raise JudgeError(f"the judge's script {file} cannot be read: {error.strerror or error}") from error
    except (yaml.YamlError, jsontext.JsonError, msgspec.ValidationError) as error:
        hint = "it is a list of entries with 'reply' and perhaps 'match'"
        raise JudgeError(f"the judge's script {file} is not valid: {error}; {hint}") from error
