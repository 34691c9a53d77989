"""Making the agent engine of a suite."""

from __future__ import annotations

import os

import msgspec

from waza.engine.place import open_relay
from waza.engine.provider import find_provider, secret_variables
from waza.errors import ExecutorError, RunError
from waza.model.agent import Executor, Setup
from waza.model.loaded import Project, Suite
from waza.plugins import load as load_plugin
from waza.workspace.relay import Relay

COPILOT, MOCK = "copilot-sdk", "mock"
MISSING_SDK = """\
the executor copilot-sdk needs the GitHub Copilot SDK. Install it:
  pip install 'waza[copilot]'
or try it without an agent: --executor mock (documents: --agent mock)"""


class Engine(msgspec.Struct, frozen=True):
    """An agent engine that is ready, and what answers for its mocks."""

    executor: Executor
    relay: Relay | None = None

    async def aclose(self) -> None:
        """Stop both; nothing of them stays."""
        await self.executor.aclose()
        if self.relay is not None:
            await self.relay.aclose()


async def start_engine(suite: Suite, model: str, project: Project) -> Engine:
    """Start the agent engine of a suite. RunError: it is not there, or cannot start, and how to mend that."""
    relay = await open_relay(suite)
    executor: Executor | None = None
    try:
        executor = make_executor(suite, model, project, relay)
        await executor.start()
    except BaseException as error:
        if executor is not None:
            await executor.aclose()
        if relay is not None:
            await relay.aclose()
        if isinstance(error, ExecutorError):
            raise RunError(str(error)) from error
        raise
    return Engine(executor, relay)


def make_executor(suite: Suite, model: str, project: Project, relay: Relay | None = None) -> Executor:
    """Return the agent engine of a suite. RunError: it is not there, or its model server is misdescribed.

    `relay` answers mocked programs, whose directory goes to the front of the agent's PATH.
    """
    config = suite.file.config
    try:
        kind = load_plugin("waza.executors", config.executor)
    except ModuleNotFoundError as error:
        if config.executor == COPILOT and (error.name or "").split(".")[0] == "copilot":
            raise RunError(MISSING_SDK) from error
        raise
    if kind is None:
        raise RunError(f"there is no executor {config.executor!r}; is the package that brings it installed?")
    setup = Setup(
        model=model,
        config=config,
        skill=suite.file.skill,
        provider=None if config.executor == MOCK else find_provider(os.environ, project.keys.provider),
        hidden=frozenset(secret_variables(project.keys.provider)),
        shims=relay.bin if relay else None,
    )
    return kind(setup)  # type: ignore[no-any-return]  # plugins are typed by their group
