"""Choosing the judge: by name, or by what the environment configures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from waza.kit.scripted_replies import SCRIPT_PREFIX
from waza.m365.judges.judge_model import LIMIT, JudgeError, JudgeModel, NoJudgeError
from waza.m365.judges.scripted import ScriptedJudgeModel
from waza.m365.judges.service import AZURE_ENDPOINTS, Service, azure_service, openai_service

AZURE, OPENAI, COPILOT = "azure", "openai", "copilot"
KEYS = ("AZURE_AI_API_KEY", "AZURE_OPENAI_API_KEY", "OPENAI_API_KEY")  # only the judge may see them
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


def make_judge(backend: str, env: Mapping[str, str], limit: float = LIMIT) -> JudgeModel:
    """Return a judge: `azure`, `openai`, `copilot` (or `github-copilot`), `mock:FILE`; empty: what `env` configures.

    `env` are environment variables; empty ones count as unset. `limit` is for one judgement, in seconds. Nothing is
    asked yet. Raises JudgeError if the judge is unknown, or something that it needs is missing.
    """
    env = {name: value.strip() for name, value in env.items() if value.strip()}
    if backend.startswith(SCRIPT_PREFIX):
        return ScriptedJudgeModel(Path(backend.removeprefix(SCRIPT_PREFIX)))
    match backend or _configured_backend(env):
        case "azure":
            return _http_judge(azure_service(env), limit)
        case "openai":
            return _http_judge(openai_service(env), limit)
        case "copilot" | "github-copilot":
            from waza.m365.judges.copilot import CopilotJudgeModel

            return CopilotJudgeModel(env.get(_COPILOT_MODEL, "auto"), env, limit)
    known = f"known: {AZURE}, {OPENAI}, {COPILOT}, {SCRIPT_PREFIX}FILE"
    hint = f"did you mean {SCRIPT_PREFIX + backend!r}?" if Path(backend).is_file() else known
    raise JudgeError(f"there is no judge {backend!r}; {hint}")


def require_judge(
    asking: Sequence[str], backend: str, env: Mapping[str, str], limit: float = LIMIT
) -> JudgeModel:
    """Return what `make_judge` returns; the JudgeError for a missing judge names the evaluators that ask it."""
    if not backend and not is_configured(env):
        raise NoJudgeError(
            f"{', '.join(asking)} {'asks' if len(asking) == 1 else 'ask'} a judge, and {NO_JUDGE}; {HOW_TO_JUDGE}\n"
            "or give a script, to try it out: --judge mock:FILE\n"
            'or use evaluators without a judge only, with "evaluators_mode": "replace"'
        )
    return make_judge(backend, env, limit)


def is_configured(env: Mapping[str, str]) -> bool:
    """Tell whether environment variables name a judge."""
    try:
        return bool(_configured_backend({name: value for name, value in env.items() if value.strip()}))
    except NoJudgeError:
        return False


def describe_judge(env: Mapping[str, str]) -> str:
    """Return the environment variables that configure the judge, without keys; empty without any."""
    return " ".join(f"{name}={env[name]}" for name in CHOICES if env.get(name, "").strip())


def _configured_backend(env: Mapping[str, str]) -> str:
    if any(endpoint in env for endpoint in AZURE_ENDPOINTS):
        return AZURE
    if "OPENAI_API_KEY" in env or "OPENAI_BASE_URL" in env:
        return OPENAI
    if _COPILOT_MODEL in env:
        return COPILOT
    raise NoJudgeError(f"{NO_JUDGE}; {HOW_TO_JUDGE}")


def _http_judge(service: Service, limit: float) -> JudgeModel:
    try:
        from waza.m365.judges.http import HttpJudge
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise JudgeError(NO_HTTPX) from error
    return HttpJudge(service, limit)
