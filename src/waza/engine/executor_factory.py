"""Make the executor of a suite."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from waza.engine.attempt_workspace import open_relay
from waza.engine.cassettes import Cassettes
from waza.engine.provider import (
    ANTHROPIC_KEYS,
    OPENAI_KEY,
    anthropic_provider,
    find_provider,
    openai_provider,
    secret_variables,
)
from waza.engine.wire import RunWire, open_wire
from waza.errors import ExecutorError, RunError, WazaError
from waza.executors import EXTRAS
from waza.executors.mock import ScriptedAgent
from waza.kit.exception_report import describe_exception
from waza.model.agent import Executor, Provider, Setup
from waza.model.loaded import Project, Suite
from waza.plugins import load_class as load_plugin
from waza.workspace.relay import Relay

COPILOT = "copilot-sdk"


class StartedExecutor(msgspec.Struct, frozen=True):
    """An executor that is started, the relay that answers its mocks, and the wire to its models."""

    executor: Executor
    relay: Relay | None = None
    wire: RunWire | None = None

    async def aclose(self) -> str:
        """Stop both. Return what the executor broke with, or nothing: what was run stays."""
        try:
            await self.executor.aclose()
        except Exception as error:  # noqa: BLE001 - executors are other people's code
            return f"the executor broke when it was stopped: {describe_exception(error).text}"
        finally:
            fault = await self._close_wires()
        return fault

    async def _close_wires(self) -> str:
        try:
            if self.wire is not None:
                await self.wire.aclose()
        except ExecutorError as error:  # what judges were asked could not be kept
            return str(error)
        finally:
            if self.relay is not None:
                await self.relay.aclose()
        return ""


async def start_executor(
    suite: Suite,
    model: str,
    project: Project,
    *,
    only_judges: bool = False,
    cassettes: Cassettes | None = None,
) -> StartedExecutor:
    """Start the executor of a suite. With `only_judges` a script plays its agent. `cassettes` are those that the run records or replays. Raises RunError, with what to do, when it is missing or cannot start."""
    relay = await open_relay(suite)
    executor: Executor | None = None
    wire: RunWire | None = None
    try:
        if not only_judges:
            replays = cassettes is not None and cassettes.replays
            provider = cassettes.provider if cassettes and replays else _find_provider(suite, project)
            wire = await open_wire(suite, provider, os.environ, cassettes)
        executor = make_executor(suite, model, project, relay, wire)
        await executor.start()
    except BaseException as error:
        fault = ""
        if executor is not None:
            fault = await StartedExecutor(executor, relay, wire).aclose()
        else:
            for part in (wire, relay):
                if part is not None:
                    await part.aclose()
        also = f"; {fault}" if fault else ""
        if isinstance(error, ExecutorError):
            raise RunError(f"{error}{also}") from error
        if isinstance(error, Exception) and not isinstance(error, WazaError | OSError):
            name = suite.file.config.executor
            raise RunError(f"the executor {name} broke: {describe_exception(error).text}{also}") from error
        raise
    return StartedExecutor(ScriptedAgent(executor) if only_judges else executor, relay, wire)


def missing_extra(executor: str) -> str:
    """Return what to do where the packages of an executor are not installed."""
    extra, brings = EXTRAS[executor]
    return (
        f"the executor {executor} needs {brings}. Install it:\n  pip install 'waza[{extra}]'\n"
        "or try it without an agent: --executor mock (documents: --agent mock)"
    )


def _executor_class(executor: str) -> Any:
    try:
        kind = load_plugin("waza.executors", executor)
    except ModuleNotFoundError as error:
        if executor in EXTRAS and not (error.name or "").startswith("waza"):
            raise RunError(missing_extra(executor)) from error
        raise
    if kind is None:
        raise RunError(f"there is no executor {executor!r}; is the package that brings it installed?")
    return kind


def _hidden_variables(suite: Suite, project: Project) -> frozenset[str]:
    """Return the variables with keys of model servers; for agents that are models also those with secrets of graders."""
    able = suite.capabilities
    names = secret_variables(project.keys.provider)
    if able.server_variables == "openai":
        names.add(OPENAI_KEY)
    elif able.server_variables == "anthropic":
        names.update(ANTHROPIC_KEYS)
    if able.models:
        graders = (built.grader for task in suite.tasks for built in task.all_graders)
        names.update(name for grader in graders for name in getattr(grader, "secret_variables", ()))
    return frozenset(names)


def make_executor(
    suite: Suite, model: str, project: Project, relay: Relay | None = None, wire: RunWire | None = None
) -> Executor:
    """Return the executor of a suite. Raises RunError when it is missing, or its model server is misconfigured.

    `relay` answers mocked programs, whose directory goes to the front of the agent's PATH. `wire` is that of the run.
    """
    config = suite.file.config
    setup = Setup(
        model=model,
        config=config,
        skill=suite.file.skill,
        provider=wire.provider if wire else _find_provider(suite, project),
        judge_wire=wire.judges if wire else None,
        hidden=_hidden_variables(suite, project),
        shims=relay.bin if relay else None,
    )
    try:
        return _executor_class(config.executor)(setup)  # type: ignore[no-any-return]  # plugins are typed by their group
    except ExecutorError as error:
        raise RunError(str(error)) from error


def _find_provider(suite: Suite, project: Project) -> Provider | None:
    """Return the model server of the project, or of the usual variables, if the executor of the suite asks it."""
    able = suite.capabilities
    if not able.models:
        return None
    found = find_provider(os.environ, project.keys.provider)
    if found is None and able.server_variables == "openai":
        return openai_provider(os.environ)
    if able.server_variables == "anthropic" and (found is None or found.type != "anthropic"):
        return anthropic_provider(os.environ) or found
    return found
