"""One turn on a session of the runtime: sent, watched, ended; whatever happens, what was seen is kept."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from copilot import CopilotClient, CopilotSession
from copilot.rpc import TasksCancelRequest, TaskShellInfo, TaskStatus

from waza.errors import OutsideError
from waza.executors.copilot_client import Clients, is_alive
from waza.executors.copilot_events import Collector
from waza.executors.copilot_servers import Servers
from waza.executors.copilot_skills import OfferWatch
from waza.model.agent import Limits
from waza.model.observation import Event, ModelCall

BEAT = 0.5  # seconds between looks at the clocks and at the runtime's process
# Both together stay below the grace that a session gets after its own limit.
ABORT_LIMIT = 2.0
SETTLE_LIMIT = 1.0
LEAVE_LIMIT = 30.0  # seconds for the usage of a session, and as many to disconnect
# Commands in the background may end this long after the answer, and the agent go on; then they are stopped.
REST_LIMIT = 5.0
GONE = "the Copilot runtime ended in the middle of the turn"


class TurnWatch:
    """Collects the events of a turn and says when, and how, it is over."""

    def __init__(
        self,
        limits: Limits,
        servers: Servers | None = None,
        report: Callable[[Event | ModelCall], None] | None = None,
    ) -> None:
        self.limits = limits
        self.servers = servers or Servers({}, fresh=True)
        self.collector = Collector(report)
        self.offers = OfferWatch()
        self.error = ""
        self.timed_out = False
        self.lost = False
        self.outside = False  # the runtime, or a server, broke the turn
        self.stopped: list[str] = []  # commands that went on after the answer
        self.seconds = 0.0  # how long the turn went on
        self._over = asyncio.Event()
        self._started = self._latest = time.monotonic()
        self._cut = False
        self._answered: float | None = None
        self._any = False
        self._loop = asyncio.get_running_loop()

    def take(self, event: Any) -> None:
        """Take an event of the SDK; it may come from any thread."""
        self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Any) -> None:
        kind = event.type.value
        self._latest = time.monotonic()
        self._any = self._any or _is_of_model(kind)
        self.collector.add(event)
        if kind.startswith("session.mcp_server"):
            self.servers.take(kind, event.data.to_dict())
        if getattr(event, "agent_id", None):
            return
        self.offers.take(kind, event)
        if kind.startswith("assistant."):
            self._answered = self._latest if kind == "assistant.idle" else None
        if kind == "session.error":
            self.error, self.outside = self.collector.error, self.collector.outside
        if kind in ("session.idle", "session.error"):
            self._over.set()
        wanted = self.limits.until_skill
        if wanted and any(skill.name == wanted for skill in self.collector.skills):
            self._over.set()

    async def run(
        self,
        send: Callable[[], Any],
        client: CopilotClient,
        abort: Callable[[], Any],
        stop_commands: Callable[[], Awaitable[list[str]]] | None = None,
    ) -> None:
        """Send, and wait for the end: idle, an error, a limit, or the end of the runtime's process.

        `stop_commands` stops what still runs after the answer, if these are commands only, and names them.
        """
        self._started = self._latest = time.monotonic()
        self._any = False  # what the session told when it was made is not of this turn
        sending = asyncio.ensure_future(send())
        try:
            await self._wait(sending, client, stop_commands)
        except asyncio.CancelledError:
            sending.cancel()
            await self._abort(abort)
            raise
        self.seconds = time.monotonic() - self._started
        if not sending.done():
            sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await sending
        if self._cut or self.limits.until_skill:
            await self._abort(abort)

    async def _wait(
        self,
        sending: asyncio.Future[Any],
        client: CopilotClient,
        stop_commands: Callable[[], Awaitable[list[str]]] | None,
    ) -> None:
        while not self._over.is_set() and not self.error:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), BEAT)
            alive = self._over.is_set() or await is_alive(client)
            unsent = sending.exception() if sending.done() and not sending.cancelled() else None
            if self._over.is_set():
                break
            if not alive:
                self._end(GONE, lost=True, outside=True)
            elif unsent is not None:
                self._end(f"the prompt could not be sent: {unsent}", outside=True)
            elif reason := self.servers.fault():
                self._end(reason, cut=True, outside=True)
            elif reason := self._overdue():
                self._end(reason, timed_out=True, cut=True)
            elif stop_commands is not None and self._rests():
                self.stopped += await stop_commands()
        if not self.error and (
            reason := self.servers.fault()
        ):  # it may have failed just before the turn's end
            self._end(reason, outside=True)

    async def wait_opened(self, opening: Coroutine[Any, Any, CopilotSession]) -> CopilotSession:
        """Return the session that is being opened. OutsideError: a server that it needs does not come up.

        The runtime makes no session before its servers came up or failed, for which it takes a minute.
        """
        session = asyncio.ensure_future(opening)
        try:
            while not session.done() and not (reason := self.servers.fault()):
                await asyncio.wait([session], timeout=BEAT)
        finally:
            if not session.done():
                session.cancel()
        if reason := self.servers.fault():
            raise OutsideError(reason)
        return await session

    def _rests(self) -> bool:
        """Tell whether the agent has answered, and only waits for what runs in the background."""
        return self._answered is not None and time.monotonic() - self._answered > REST_LIMIT

    def _overdue(self) -> str:
        now, limits = time.monotonic(), self.limits
        if limits.first_event and not self._any and now - self._started > limits.first_event:
            return (
                f"the session did not start: nothing came from the model within {limits.first_event:g} s "
                "(first_event_timeout_seconds)"
            )
        if limits.turn and now - self._started > limits.turn:
            return f"the turn did not end within {limits.turn:g} s"
        if limits.idle and now - self._latest > limits.idle:
            return f"the session fell silent: no event came for {limits.idle:g} s (idle_timeout_seconds)"
        return ""

    def _end(
        self,
        reason: str,
        *,
        timed_out: bool = False,
        lost: bool = False,
        cut: bool = False,
        outside: bool = False,
    ) -> None:
        self.error, self.timed_out, self.lost = reason, timed_out, lost
        self._cut, self.outside = cut, outside

    async def _abort(self, abort: Callable[[], Any]) -> None:
        """Stop the agent, so that it changes nothing any more while it is graded. A runtime that cannot is lost."""
        try:
            async with asyncio.timeout(ABORT_LIMIT):
                await abort()
        except Exception:  # noqa: BLE001 - whatever goes wrong, the agent still runs
            self.lost = True
            return
        with contextlib.suppress(TimeoutError):  # a command in the background keeps a session from its end
            async with asyncio.timeout(SETTLE_LIMIT):
                await self._over.wait()


def _is_of_model(kind: str) -> bool:
    """Tell whether an event says that the model, and not only the runtime, did something."""
    kinds = ("assistant.", "tool.", "skill.", "session.error", "model.call_f")
    return kind.startswith(kinds) and kind not in ("assistant.turn_start", "assistant.idle")


async def _stop_commands(session: CopilotSession) -> list[str]:
    """Stop the commands that an agent left running, unless a sub-agent runs as well; return what they were."""
    stopped: list[str] = []
    with contextlib.suppress(Exception):  # a runtime that cannot is seen by its limits
        async with asyncio.timeout(ABORT_LIMIT):
            tasks = (await session.rpc.tasks.list()).tasks
            running = [task for task in tasks if task.status is TaskStatus.RUNNING]
            if all(isinstance(task, TaskShellInfo) for task in running):
                for task in running:
                    await session.rpc.tasks.cancel(TasksCancelRequest(id=task.id))
                    stopped.append(task.description or task.id)
    return stopped


async def take_turn(
    watch: TurnWatch,
    session: CopilotSession,
    client: CopilotClient,
    clients: Clients,
    send: Callable[[], Any],
) -> dict[str, Any] | None:
    """Send a prompt by `send`, wait for the end of the turn, and leave the session resumable.

    Returns the session's usage so far, or None if it cannot be had. A runtime that is lost is ended.
    """
    metrics: dict[str, Any] | None = None
    try:
        await watch.run(send, client, session.abort, lambda: _stop_commands(session))
        if not watch.lost:
            metrics = await session_metrics(session)
    finally:
        if watch.lost:
            await clients.forget(client)
        else:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LEAVE_LIMIT):
                    await session.disconnect()
    return metrics


async def session_metrics(session: CopilotSession) -> dict[str, Any] | None:
    """Return the usage of a session so far, in the SDK's form; None if it cannot be had."""
    try:
        async with asyncio.timeout(LEAVE_LIMIT):
            found = (await session.rpc.usage.get_metrics()).to_dict()
    except Exception:  # noqa: BLE001 - usage then comes from the events of the turn
        return None
    return found if isinstance(found, dict) else None
