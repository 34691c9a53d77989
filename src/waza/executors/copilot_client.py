"""The runtime's processes: found, started in an environment of their own, watched, and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copilot import CopilotClient, RuntimeConnection

from waza.errors import ExecutorError, OutsideError
from waza.executors.copilot_directories import (
    RuntimeDirectories,
    agent_environment,
    shared_cache,
    unpack_runtime,
)
from waza.kit.process import kill_marked
from waza.kit.process_marks import MARK, apply_mark, new_mark
from waza.kit.tempdirs import ProcessTempdir
from waza.model.agent import Setup
from waza.model.trial import Attempt, TrialKey
from waza.version import __version__

START_LIMIT = 60.0  # seconds; the npm binary takes up to 7 when it unpacks itself
STOP_LIMIT = 10.0
PING_LIMIT = 1.0

INSTALL = """\
the Copilot runtime cannot be found. Install it and say where it is:
  npm install -g @github/copilot
  export COPILOT_CLI_PATH="$(npm root -g)/@github/copilot-linux-x64/copilot"   # the file for this platform
or try the suite without an agent: --executor mock"""
LOGIN = """\
the Copilot runtime is not logged in. Give it a token, or a model server of your own:
  export GITHUB_TOKEN="$(gh auth token)"
  export COPILOT_BASE_URL=http://127.0.0.1:8080/v1      # any OpenAI-compatible server
or try the suite without an agent: --executor mock"""


def runtime_path(environ: Mapping[str, str]) -> Path | None:
    """Return the runtime that COPILOT_CLI_PATH names, or None when the SDK is to find its own.

    Raises ExecutorError if the variable names no file. PATH is never searched.
    """
    named = environ.get("COPILOT_CLI_PATH", "")
    if not named:
        return None
    path = Path(named)
    if not path.is_file():
        what = "a directory" if path.is_dir() else "no file"
        raise ExecutorError(f"COPILOT_CLI_PATH names {named}, which is {what}; name the runtime's program")
    return path


class Clients:
    """The runtime processes of one run: one for all tasks, and one more for each other environment.

    Each has a private home and state directory, so that nothing of the user's own is seen or changed.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._directory: ProcessTempdir | None = None
        self._clients: dict[tuple[object, ...], CopilotClient] = {}
        self._marks: dict[CopilotClient, int] = {}
        self._temporary: dict[CopilotClient, Path] = {}
        self._numbers = itertools.count()
        self._starting = asyncio.Lock()

    @property
    def scratch(self) -> Path:
        """The directory of all that belongs to the processes; removed at the end."""
        if self._directory is None:
            self._directory = ProcessTempdir("copilot")
        return self._directory.path

    def temporary(self, client: CopilotClient) -> Path:
        """Return the directory for temporary files of a client's sessions."""
        return self._temporary[client]

    async def of(self, attempt: Attempt) -> CopilotClient:
        """Return the client of an attempt: shared, unless its environment or `isolation: trial` asks for its own."""
        return await self.get(attempt.task.inputs.environment, self._own(attempt))

    async def leave(self, attempt: Attempt) -> None:
        """Stop the client of an attempt, if it is its own."""
        own = self._own(attempt)
        client = self._clients.pop(_key(attempt.task.inputs.environment, own), None) if own else None
        if client is not None:
            await _stop(client)

    def _own(self, attempt: Attempt) -> TrialKey | None:
        return attempt.trial if self.setup.config.isolation == "trial" else None

    async def get(self, environment: Mapping[str, str], own: TrialKey | None = None) -> CopilotClient:
        """Return the client for an environment, started. `own` names one that nobody else shares."""
        key = _key(environment, own)
        async with self._starting:
            if key not in self._clients:
                self._clients[key] = await self._start(next(self._numbers), environment)
            return self._clients[key]

    async def forget(self, client: CopilotClient) -> None:
        """End a client whose process has ended or hangs; the next session gets a new one."""
        self._clients = {key: known for key, known in self._clients.items() if known is not client}
        await _kill(client)
        self.end_commands(client)

    def end_commands(self, client: CopilotClient, workspace: Path | None = None) -> None:
        """Kill what commands of agents left running in a workspace, or anywhere."""
        kill_marked(self._marks[client], inside=workspace)

    async def forget_if_dead(self, client: CopilotClient) -> None:
        """Stop a client if its process has ended."""
        if not await is_alive(client):
            await self.forget(client)

    async def _start(self, number: int, environment: Mapping[str, str]) -> CopilotClient:
        own = RuntimeDirectories(self.scratch, number)
        variables = agent_environment(os.environ, self.setup, own.agent, environment)
        own.make(variables.get("PATH", os.defpath))
        path = await unpack_runtime(runtime_path(os.environ), shared_cache(os.environ), own.agent.home)
        mark, variables[MARK] = new_mark()
        client = await asyncio.to_thread(_client, path, variables, own, self.setup)
        self._marks[client], self._temporary[client] = mark, own.agent.temporary
        try:
            async with asyncio.timeout(START_LIMIT):
                await client.start()
        except BaseException as error:
            await _kill(client)
            apply_mark(mark)
            kill_marked(mark)
            if isinstance(error, TimeoutError):
                raise OutsideError(f"the Copilot runtime did not start within {START_LIMIT:g} s") from None
            if isinstance(error, Exception):  # the SDK raises bare exceptions and its own
                raise OutsideError(f"the Copilot runtime failed to start: {_reason(error)}") from error
            raise
        apply_mark(mark)  # before any agent starts something
        return client

    async def aclose(self) -> None:
        """Stop every client and remove what they wrote."""
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(_stop(client) for client in clients))
        if self._directory is not None:
            directory, self._directory = self._directory, None
            await asyncio.to_thread(directory.remove)


def _key(environment: Mapping[str, str], own: TrialKey | None) -> tuple[object, ...]:
    return tuple(sorted(environment.items())), own


def _client(
    path: Path | None, variables: dict[str, str], own: RuntimeDirectories, setup: Setup
) -> CopilotClient:
    """Make a client. Without a path the SDK may download its runtime here, so this runs in a thread."""
    token = os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN")
    try:
        return CopilotClient(
            connection=RuntimeConnection.for_stdio(path=str(path)) if path else None,
            env=variables,
            base_directory=str(own.state),
            working_directory=str(own.agent.home),
            github_token=None if setup.provider else token,
            use_logged_in_user=False,
            log_level="error",
        )
    except Exception as error:  # the SDK raises RuntimeError when its download fails
        raise ExecutorError(f"{INSTALL}\n({_reason(error)})") from error


async def _stop(client: CopilotClient) -> None:
    """Stop a client, whatever state it is in."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(STOP_LIMIT):
            await client.stop()
            return
    await _kill(client)


async def _kill(client: CopilotClient) -> None:
    """End the process of a client at once."""
    with contextlib.suppress(Exception):
        await client.force_stop()


def _reason(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:500]


async def is_alive(client: CopilotClient) -> bool:
    """Tell whether the runtime's process lives. One that is busy may answer late: limits are for one that hangs."""
    try:
        async with asyncio.timeout(PING_LIMIT):
            await client.ping()
    except TimeoutError:
        return True
    except Exception:  # noqa: BLE001 - any failure of a ping means the same
        return False
    return True


def quiet_logging() -> None:
    """Keep the SDK's tracebacks off people's terminals: what matters is reported as a reason."""
    logging.getLogger("copilot").setLevel(logging.CRITICAL)
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(running: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "copilot" in str(context.get("handle", "")) or "CopilotClient" in str(context.get("message", "")):
            return  # an event that the SDK cannot read is lost; the runtime goes on
        if before is not None:
            before(running, context)
        else:
            running.default_exception_handler(context)

    loop.set_exception_handler(handle)


def user_agent() -> str:
    """Return how sessions name their client."""
    return f"waza/{__version__}"
