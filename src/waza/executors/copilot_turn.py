"""One turn on a session of the runtime: sent, watched, ended; whatever happens, what was seen is kept."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from copilot import CopilotClient, CopilotSession

from waza.executors.copilot_client import Clients, is_alive
from waza.executors.copilot_events import Collector
from waza.model.agent import Limits

BEAT = 0.5  # seconds between looks at the clocks and at the runtime's process
# Both together stay below the grace that a session gets after its own limit.
ABORT_LIMIT = 2.0
SETTLE_LIMIT = 1.0
LEAVE_LIMIT = 30.0  # seconds for the usage of a session, and as many to disconnect
GONE = "the Copilot runtime ended in the middle of the turn"


class TurnWatch:
    """Collects the events of a turn and says when, and how, it is over."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.collector = Collector()
        self.error = ""
        self.timed_out = False
        self.lost = False
        self.seconds = 0.0  # how long the turn went on
        self._over = asyncio.Event()
        self._started = self._latest = time.monotonic()
        self._any = False
        self._loop = asyncio.get_running_loop()

    def take(self, event: Any) -> None:
        """Take an event of the SDK; it may come from any thread."""
        self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Any) -> None:
        self._latest, self._any = time.monotonic(), True
        self.collector.add(event)
        if getattr(event, "agent_id", None):
            return
        kind = event.type.value
        if kind == "session.error":
            self.error = self.collector.error
        if kind in ("session.idle", "session.error"):
            self._over.set()
        wanted = self.limits.until_skill
        if wanted and any(skill.name == wanted for skill in self.collector.skills):
            self._over.set()

    async def run(self, send: Callable[[], Any], client: CopilotClient, abort: Callable[[], Any]) -> None:
        """Send, and wait for the end: idle, an error, a limit, or the end of the runtime's process."""
        self._started = self._latest = time.monotonic()
        self._any = False  # what the session told when it was made is not of this turn
        sending = asyncio.ensure_future(send())
        try:
            await self._wait(sending, client)
        except asyncio.CancelledError:
            sending.cancel()
            await self._abort(abort)
            raise
        self.seconds = time.monotonic() - self._started
        if not sending.done():
            sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await sending
        if self.timed_out or self.limits.until_skill:
            await self._abort(abort)

    async def _wait(self, sending: asyncio.Future[Any], client: CopilotClient) -> None:
        while not self._over.is_set() and not self.error:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), BEAT)
            alive = self._over.is_set() or await is_alive(client)
            unsent = sending.exception() if sending.done() and not sending.cancelled() else None
            if self._over.is_set():
                return
            if not alive:
                self._end(GONE, lost=True)
            elif unsent is not None:
                self._end(f"the prompt could not be sent: {unsent}")
            elif reason := self._overdue():
                self._end(reason, timed_out=True)

    def _overdue(self) -> str:
        now, limits = time.monotonic(), self.limits
        if limits.first_event and not self._any and now - self._started > limits.first_event:
            return (
                f"the session did not start: no event came within {limits.first_event:g} s "
                "(first_event_timeout_seconds). The Copilot runtime was started, but does nothing"
            )
        if limits.turn and now - self._started > limits.turn:
            return f"the turn did not end within {limits.turn:g} s"
        if limits.idle and now - self._latest > limits.idle:
            return f"the session fell silent: no event came for {limits.idle:g} s (idle_timeout_seconds)"
        return ""

    def _end(self, reason: str, *, timed_out: bool = False, lost: bool = False) -> None:
        self.error, self.timed_out, self.lost = reason, timed_out, lost

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
        await watch.run(send, client, session.abort)
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
