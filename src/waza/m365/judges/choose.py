"""Choosing the judge: by name, or by what the environment configures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from waza.m365.judges.judge_model import LIMIT, JudgeError, JudgeModel, NoJudge
from waza.m365.judges.scripted import MOCK, ScriptedJudgeModel
from waza.m365.judges.service import AZURE_ENDPOINTS, Service, azure_service, openai_service

AZURE, OPENAI, COPILOT = "azure", "openai", "copilot"
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


def judge_of(backend: str, env: Mapping[str, str], limit: float = LIMIT) -> JudgeModel:
    """Return a judge: `azure`, `openai`, `copilot` (or `github-copilot`), `mock:FILE`; empty: what `env` configures.

    `env` are environment variables; empty ones count as unset. `limit` is for one judgement, in seconds. Nothing is
    asked yet. JudgeError: the judge is unknown, or something that it needs is missing.
    """
    env = {name: value.strip() for name, value in env.items() if value.strip()}
    if backend.startswith(MOCK):
        return ScriptedJudgeModel(Path(backend.removeprefix(MOCK)))
    match backend or _configured(env):
        case "azure":
            return _behind_http(azure_service(env), limit)
        case "openai":
            return _behind_http(openai_service(env), limit)
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


def _behind_http(service: Service, limit: float) -> JudgeModel:
    try:
        from waza.m365.judges.http import HttpJudge
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise JudgeError(NO_HTTPX) from error
    return HttpJudge(service, limit)
