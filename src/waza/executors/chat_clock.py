"""The limits of one turn of the loop: of the whole turn, until the first answer, and of silence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waza.model.agent import Limits


class TurnLimitError(Exception):
    """A limit ended the turn; the message names it."""


class TurnClock:
    """Measures a turn from the moment it is made. Each step is one thing that is waited for: an answer, or a tool."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._answered = False

    @property
    def milliseconds(self) -> int:
        """How long the turn has lasted."""
        return round((time.monotonic() - self._started) * 1000)

    def note_answer(self) -> None:
        """Note that the model server answered, in whatever way."""
        self._answered = True

    @asynccontextmanager
    async def step(self, *, silent: bool = True) -> AsyncIterator[None]:
        """Return the block of one step, to which the limits apply. Not `silent`: that of silence does not.

        Raises TurnLimitError when one of them is met.
        """
        now, limits = time.monotonic(), self._limits
        ends: list[tuple[float, str]] = []
        if limits.turn:
            ends.append(
                (
                    self._started + limits.turn - now,
                    f"the turn did not end within {limits.turn:g} s",
                )
            )
        if limits.first_event and not self._answered:
            words = (
                f"the session did not start: nothing came from the model within {limits.first_event:g} s "
                "(first_event_timeout_seconds)"
            )
            ends.append((self._started + limits.first_event - now, words))
        if limits.idle and silent:
            words = f"the session fell silent: no event came for {limits.idle:g} s (idle_timeout_seconds)"
            ends.append((limits.idle, words))
        seconds, reason = min(ends, default=(None, ""))
        try:
            async with asyncio.timeout(seconds) as scope:
                yield
        except TimeoutError:
            if scope.expired():
                raise TurnLimitError(reason) from None
            raise
