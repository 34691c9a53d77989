"""Choosing the judge: by name, or by what the environment configures; and the judge that follows a script."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from waza.errors import WazaError
from waza.kit import json_nodes, yaml
from waza.m365.evaluators.protocols import JudgeModel, Message

if TYPE_CHECKING:
    from waza.m365.judges.endpoint import Endpoint

AZURE, OPENAI, COPILOT, MOCK = "azure", "openai", "copilot", "mock:"
PROJECT = "AZURE_AI_PROJECT_ENDPOINT"
AZURE_ENDPOINTS = (
    "AZURE_AI_OPENAI_ENDPOINT",
    "AZURE_OPENAI_ENDPOINT",
    PROJECT,
)  # the first that is set counts
LIMIT = 180.0  # seconds for one judgement
KEYS = ("AZURE_AI_API_KEY", "AZURE_OPENAI_API_KEY", "OPENAI_API_KEY")  # nobody but the judge is to see them
CHOICES = (  # what decides who judges
    *AZURE_ENDPOINTS,
    *("AZURE_AI_MODEL_NAME", "AZURE_OPENAI_DEPLOYMENT", "OPENAI_BASE_URL", "OPENAI_MODEL"),
    "GITHUB_COPILOT_JUDGE_MODEL",
)
_COPILOT_MODEL = "GITHUB_COPILOT_JUDGE_MODEL"
NO_JUDGE = "no judge is configured"
HOW_TO_JUDGE = """\
set the variables of one:
  Azure OpenAI: AZURE_AI_OPENAI_ENDPOINT, AZURE_AI_API_KEY, AZURE_AI_MODEL_NAME
                (or AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY, AZURE_OPENAI_DEPLOYMENT)
  a project of Azure AI Foundry: AZURE_AI_PROJECT_ENDPOINT, AZURE_AI_MODEL_NAME; signed in, without a key
  OpenAI and servers like it: OPENAI_API_KEY, OPENAI_MODEL; OPENAI_BASE_URL for a server of your own
  GitHub Copilot: GITHUB_COPILOT_JUDGE_MODEL (auto will do)"""
NO_HTTPX = "judges behind HTTP need the package httpx; install it: pip install 'waza[m365]'"


class JudgeError(WazaError):
    """A judge is not configured or could not answer. No text of it holds a key."""


class NoJudge(JudgeError):  # noqa: N818 - a statement of fact reads better than NoJudgeError
    """The environment names no judge."""


def judge_of(backend: str, env: Mapping[str, str], limit: float = LIMIT) -> JudgeModel:
    """Return a judge: `azure`, `openai`, `copilot` (or `github-copilot`), `mock:FILE`; empty: what `env` configures.

    `env` are environment variables; empty ones count as unset. `limit` is for one judgement, in seconds. Nothing is
    asked yet. JudgeError: the judge is unknown, or something that it needs is missing.
    """
    env = {name: value.strip() for name, value in env.items() if value.strip()}
    if backend.startswith(MOCK):
        return ScriptedJudgeModel(Path(backend.removeprefix(MOCK)))
    match backend or _configured(env):
        case "azure" | "openai" as service:
            return _behind_http(service, env, limit)
        case "copilot" | "github-copilot":
            from waza.m365.judges.copilot import CopilotJudgeModel

            return CopilotJudgeModel(env.get(_COPILOT_MODEL, "auto"), env, limit)
    known = f"known: {AZURE}, {OPENAI}, {COPILOT}, {MOCK}FILE"
    hint = f"did you mean {MOCK + backend!r}?" if Path(backend).is_file() else known
    raise JudgeError(f"there is no judge {backend!r}; {hint}")


def judge_for(
    asking: Sequence[str], backend: str, env: Mapping[str, str], limit: float = LIMIT
) -> JudgeModel:
    """Return what `judge_of` returns; where there is none, the JudgeError names the evaluators that ask it."""
    if not backend and not is_configured(env):
        raise NoJudge(
            f"{', '.join(asking)} {'asks' if len(asking) == 1 else 'ask'} a judge, and {NO_JUDGE}; {HOW_TO_JUDGE}\n"
            "or give a script, to try it out: --judge mock:FILE\n"
            'or use evaluators without a judge only, with "evaluators_mode": "replace"'
        )
    return judge_of(backend, env, limit)


def is_configured(env: Mapping[str, str]) -> bool:
    """Tell whether environment variables name a judge."""
    try:
        return bool(_configured({name: value for name, value in env.items() if value.strip()}))
    except NoJudge:
        return False


def judge_named(env: Mapping[str, str]) -> str:
    """Return what environment variables say of the judge, without its keys; empty where there is none."""
    return " ".join(f"{name}={env[name]}" for name in CHOICES if env.get(name, "").strip())


def _configured(env: Mapping[str, str]) -> str:
    if any(endpoint in env for endpoint in AZURE_ENDPOINTS):
        return AZURE
    if "OPENAI_API_KEY" in env or "OPENAI_BASE_URL" in env:
        return OPENAI
    if _COPILOT_MODEL in env:
        return COPILOT
    raise NoJudge(f"{NO_JUDGE}; {HOW_TO_JUDGE}")


def _behind_http(service: str, env: Mapping[str, str], limit: float) -> JudgeModel:
    try:
        from waza.m365.judges import http
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise JudgeError(NO_HTTPX) from error
    patience = http.Patience(time_limit=limit)
    make = http.azure_judge if service == AZURE else http.openai_judge
    return make(env, patience)


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of a script, for user messages that hold the text `match`."""

    reply: str | dict[str, Any]
    match: str = ""


class ScriptedJudgeModel:
    """Replies as a file says: a list of `{match: text, reply: object or text}` in JSON or YAML.

    The first entry whose `match` is in the user message counts; one without `match` fits all messages. Custom judges,
    which have clients of their own, reach it by an address of this machine.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. JudgeError: it is not there, or not such a list."""
        self.file, self.script = file, _script(file)
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        self.name = f"{MOCK}{file.name} ({content[:8]})"
        self.model_config: Mapping[str, str] = {}
        self._endpoint: Endpoint | None = None

    async def check(self) -> None:
        """Become reachable for custom judges; the script was read."""
        from waza.m365.judges.endpoint import Endpoint

        if self._endpoint is None:
            self._endpoint = Endpoint(self)
            self.model_config = await self._endpoint.start()

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the reply. JudgeError: no entry fits."""
        asked = "\n".join(message.content for message in messages if message.role == "user")
        for entry in self.script:
            if entry.match in asked:
                return entry.reply if isinstance(entry.reply, str) else json.dumps(entry.reply)
        raise JudgeError(f"no entry of {self.file} fits this question; add one without 'match'")

    async def aclose(self) -> None:
        """Close the endpoint for custom judges."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.aclose()


def _script(file: Path) -> list[ScriptedReply]:
    try:
        data = file.read_bytes()
        node = json_nodes.load(data) if file.suffix == ".json" else yaml.load(data)
        return msgspec.convert(yaml.plain(node), list[ScriptedReply])
    except OSError as error:
        raise JudgeError(f"the judge's script {file} cannot be read: {error.strerror or error}") from error
    except (yaml.YamlError, json_nodes.JsonError, msgspec.ValidationError) as error:
        hint = "it is a list of entries with 'reply' and perhaps 'match'"
        raise JudgeError(f"the judge's script {file} is not valid: {error}; {hint}") from error
