"""A process of Claude Code with a home, a configuration and temporary files of its own, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    CLIConnectionError,
    HookMatcher,
    ResultMessage,
    SystemMessage,
)

from waza.errors import OutsideError
from waza.executors._agent_home import AgentHome, private_environment, put_shims_first
from waza.executors._servers import LIMIT_KEY
from waza.executors.chat_clock import TurnClock, TurnLimitError
from waza.executors.chat_skills import ChatSkill
from waza.executors.claude_events import ClaudeTurn
from waza.executors.claude_policy import ClaudePolicy
from waza.kit.process import kill_marked
from waza.kit.process_marks import MARK, apply_mark, new_mark
from waza.model.agent import Limits, Provider, Setup

START_LIMIT = 30.0
STOP_LIMIT = 2.0  # seconds that an interrupted turn may take to end, and the process after it
_BEAT = 0.05  # seconds between looks at servers that are starting
_OWN = ("ANTHROPIC", "CLAUDE")  # how variables begin that would lead Claude Code elsewhere
_SETTINGS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "ENABLE_TOOL_SEARCH": "false",  # else tools of servers are not offered, but have to be found
}


class ClaudeHome(msgspec.Struct, frozen=True):
    """The directories of one process, or of those that go on in one session."""

    root: Path

    @property
    def config(self) -> Path:
        """Where Claude Code keeps sessions, and finds skills."""
        return self.root / "config"

    @property
    def agent(self) -> AgentHome:
        """The home of what it starts, and the temporary files."""
        return AgentHome(self.root / "home", self.root / "tmp")

    def lay(self, skills: Sequence[ChatSkill]) -> dict[str, str]:
        """Put skills where Claude Code finds them; return their files by name. It knows them by the names of their folders."""
        folder = self.config / "skills"
        folder.mkdir(parents=True, exist_ok=True)
        paths: dict[str, str] = {}
        for skill in skills:
            place = folder / skill.name
            if place.parent != folder or skill.name in ("", ".", ".."):
                raise OutsideError(f"{skill.path}: the name {skill.name!r} is no name of a folder; change it")
            try:
                place.symlink_to(skill.path.parent.resolve(), target_is_directory=True)
            except OSError:  # as on Windows, where links need a privilege
                shutil.copytree(skill.path.parent, place)
            paths[skill.name] = str(skill.path)
        return paths


def claude_environment(
    setup: Setup, home: ClaudeHome, provider: Provider, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the whole environment of a process. The SDK lays it over ours, so all else of ours is emptied.

    `variables` are those of the task. The directories of `home` are made.
    """
    environ = {name: value for name, value in os.environ.items() if not name.upper().startswith(_OWN)}
    own = {**private_environment(environ, setup, home.agent), **variables}
    put_shims_first(own, setup)
    home.agent.make(own.get("PATH", os.defpath))
    home.config.mkdir(parents=True, exist_ok=True)
    bearer = {"ANTHROPIC_AUTH_TOKEN": provider.bearer_token} if provider.bearer_token else {}
    headers = "\n".join(f"{name}: {value}" for name, value in provider.headers.items())
    own |= {
        **_SETTINGS,
        "ANTHROPIC_BASE_URL": provider.base_url.rstrip("/").removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "" if bearer else provider.api_key,
        **bearer,
        **({"ANTHROPIC_CUSTOM_HEADERS": headers} if headers else {}),
        "CLAUDE_CONFIG_DIR": str(home.config),
        "CLAUDE_CODE_TMPDIR": str(home.agent.temporary),
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        own["IS_SANDBOX"] = "1"  # else Claude Code refuses to work for root
    return {**dict.fromkeys(os.environ, ""), **own}


class ClaudeProcess:
    """One process, from `start` to `aclose`. `policy` holds its tools, `limits` are the seconds that each MCP server has to come up."""

    def __init__(
        self,
        policy: ClaudePolicy,
        environment: Mapping[str, str],
        directory: Path,
        servers: Mapping[str, Any],
        limits: Mapping[str, float],
    ) -> None:
        self.policy, self.limits = policy, limits
        self._number, mark = new_mark()
        self._errors: list[str] = []
        self._client: ClaudeSDKClient | None = None
        self._arguments: dict[str, Any] = {
            "cwd": directory,
            "env": {**environment, MARK: mark},
            "mcp_servers": {name: _server(entry, mark) for name, entry in servers.items()},
            "strict_mcp_config": True,  # else servers that the workspace names are started
            "stderr": self._errors.append,
            "include_partial_messages": True,  # so that a long answer is not silence
            **policy.options(HookMatcher),
        }

    async def start(self, **options: Any) -> None:
        """Start it with further options of the SDK. OutsideError: it does not start, or one of its servers."""
        client = ClaudeSDKClient(ClaudeAgentOptions(**{**self._arguments, **options}))
        try:
            async with asyncio.timeout(START_LIMIT):
                await client.connect()
            self._client = client
            await asyncio.to_thread(apply_mark, self._number)
            await self._wait_for_servers(client)
        except TimeoutError:
            raise OutsideError(f"Claude Code did not start within {START_LIMIT:g} s") from None
        except (ClaudeSDKError, OSError) as error:
            raise OutsideError(f"Claude Code did not start: {self._reason(error)}") from error

    async def _wait_for_servers(self, client: ClaudeSDKClient) -> None:
        """Wait until all MCP servers came up. OutsideError: one did not."""
        began = asyncio.get_running_loop().time()
        waiting = dict(self.limits)
        while waiting:
            states = {one["name"]: one for one in (await client.get_mcp_status())["mcpServers"]}
            seconds = asyncio.get_running_loop().time() - began
            for name, limit in list(waiting.items()):
                state: Mapping[str, Any] = states.get(name) or {"status": "not there"}
                if state["status"] == "connected":
                    del waiting[name]
                elif state["status"] != "pending":
                    why = state.get("error") or state["status"]
                    raise OutsideError(f"the MCP server {name!r} did not start: {why}")
                elif seconds > limit:
                    raise OutsideError(
                        f"the MCP server {name!r} did not come up within {limit:g} s ({LIMIT_KEY} of the server)"
                    )
            if waiting:
                await asyncio.sleep(_BEAT)

    async def take_turn(self, prompt: str, limits: Limits, turn: ClaudeTurn) -> ClaudeEnding:
        """Send a prompt, and let `turn` take all messages until the turn ends, in whatever way."""
        clock = TurnClock(limits)
        try:
            if await self._watch(prompt, clock, limits.until_skill, turn):
                await self._interrupt(turn)
                return ClaudeEnding(clock.milliseconds)
        except TurnLimitError as limit:
            await self._interrupt(turn)
            return ClaudeEnding(clock.milliseconds, str(limit), timed_out=True)
        except asyncio.CancelledError:
            self.kill()
            raise
        except ClaudeSDKError as error:
            if turn.result is None:
                return ClaudeEnding(
                    clock.milliseconds, f"Claude Code ended: {self._reason(error)}", outside=True
                )
        fault = turn.fault()
        if fault is None:
            return ClaudeEnding(clock.milliseconds)
        return ClaudeEnding(clock.milliseconds, fault.text, outside=fault.outside, throttled=fault.throttled)

    async def _watch(self, prompt: str, clock: TurnClock, until_skill: str, turn: ClaudeTurn) -> bool:
        """Send a prompt, and take all messages until the last one; return whether the skill was invoked that ends the turn."""
        if self._client is None:
            raise CLIConnectionError("it was not started")
        messages = self._client.receive_response()
        async with clock.step():
            await self._client.query(prompt)
        while True:
            async with clock.step():
                message = await anext(messages, None)
            if message is None:
                return False
            turn.take(message)
            if not isinstance(message, SystemMessage):  # those are told before the model is asked
                clock.note_answer()
            if until_skill and any(one.name == until_skill for one in turn.skills):
                return True

    async def _interrupt(self, turn: ClaudeTurn) -> None:
        """End the turn, and take what it still says; a process that goes on is killed."""
        client = self._client
        if client is None:
            return
        try:
            async with asyncio.timeout(STOP_LIMIT):
                await client.interrupt()
                async for message in client.receive_response():
                    turn.take(message)
                    if isinstance(message, ResultMessage):
                        return
        except (TimeoutError, ClaudeSDKError):
            pass
        self.kill()

    def kill(self) -> None:
        """Kill it, with all that it started."""
        kill_marked(self._number)

    def _reason(self, error: BaseException) -> str:
        stated = " ".join(_tail(self._errors))
        return " ".join(f"{error} {stated}".split())

    async def aclose(self) -> None:
        """Stop it, and end all that it started, in the background, too. A second call does nothing."""
        client, self._client = self._client, None
        try:
            if client is not None:
                with contextlib.suppress(TimeoutError, ClaudeSDKError, OSError):
                    async with asyncio.timeout(STOP_LIMIT):
                        await client.disconnect()
        finally:
            self.kill()


class ClaudeEnding(msgspec.Struct, frozen=True):
    """How a turn ended; without `error` it has an answer."""

    duration_ms: int = 0
    error: str = ""
    outside: bool = False
    throttled: bool = False
    timed_out: bool = False


def _server(entry: Any, mark: str) -> Any:
    """Return the entry of a server as the SDK has it. Programs carry the mark, so that they are found."""
    if entry["type"] == "sdk":
        return entry
    kept = {key: entry[key] for key in ("type", "command", "args", "env", "url", "headers") if key in entry}
    if "command" not in kept:
        return kept
    own = {str(key): str(value) for key, value in (kept.get("env") or {}).items()}
    return {**kept, "args": [str(one) for one in kept.get("args") or ()], "env": {**own, MARK: mark}}


def _tail(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[-5:]
