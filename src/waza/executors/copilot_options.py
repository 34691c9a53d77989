"""What a session of the runtime is given: system message, skills, servers, tools. The same again on resume."""

from __future__ import annotations

from typing import Any

from waza.executors._servers import mcp_servers
from waza.executors._system import system_text
from waza.executors.copilot_client import user_agent
from waza.model.agent import AttemptWorkspace, Provider, Setup
from waza.model.task import Task


def agent_options(setup: Setup, task: Task, place: AttemptWorkspace, temporary: str) -> dict[str, Any]:
    """Return the options of an agent's session, on create and on resume alike, but for policy and events."""
    message = system_text(setup.config, task, place)
    provider = setup.provider.on_wire(place.wire) if setup.provider else None
    options = common_options(setup.model, setup.config.reasoning_effort or "", provider, temporary)
    options |= {
        "working_directory": str(place.workdir or place.workspace),
        "mcp_servers": mcp_servers(setup.config.mcp_servers, place.mock_servers),
        "skill_directories": [] if task.no_skills else skill_directories(task),
        "included_builtin_skills": [],
    }
    if task.no_skills:
        options["enable_skills"] = False
    elif task.disabled_skills:
        options["disabled_skills"] = list(task.disabled_skills)
    if message.strip():
        options["system_message"] = {"mode": "append", "content": message}
    return options


def common_options(model: str, effort: str, provider: Provider | None, temporary: str) -> dict[str, Any]:
    """Return the options of every session."""
    options: dict[str, Any] = {
        "client_name": user_agent(),
        "streaming": False,
        "enable_session_telemetry": False,
        "large_output": {"output_directory": temporary},
    }
    if model:
        options["model"] = model
    if effort:
        options["reasoning_effort"] = effort
    if provider is not None:
        options["provider"] = provider_options(provider)
    return options


def provider_options(provider: Provider) -> dict[str, Any]:
    """Return a model server in the SDK's form; only what is set."""
    given = {
        "type": provider.type,
        "base_url": provider.base_url,
        "wire_api": provider.wire_api,
        "api_key": provider.api_key,
        "bearer_token": provider.bearer_token,
        "headers": provider.headers,
    }
    return {key: value for key, value in given.items() if value}


def skill_directories(task: Task) -> list[str]:
    """Return the declared skill roots, and the directory of the skill under test: nothing else is listed."""
    found = [str(path) for path in task.skill_paths]
    if task.target is not None and task.target.kind == "skill":
        found.append(str(task.target.directory))
    return list(dict.fromkeys(found))
