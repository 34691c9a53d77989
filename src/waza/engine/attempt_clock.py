"""When the things of an attempt began, in milliseconds since its first prompt was sent."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from waza.model.observation import PROMPT, START, Event

_RESOLUTION = 1.0  # milliseconds by which a time that others rounded may be early


class AttemptClock:
    """The clock of one attempt. One that is not `measured` tells no times: those of scripts are made up."""

    def __init__(self, *, measured: bool) -> None:
        self.measured = measured
        self._began = self._began_at = (
            0.0  # of the first prompt: monotonic seconds, milliseconds since the epoch
        )
        self._sent: int | None = None
        self._took = 0

    def send_prompt(self) -> None:
        """Note that a prompt is sent now."""
        if not self.measured:
            return
        if self._sent is None:
            self._began, self._began_at = time.monotonic(), time.time() * 1000
        self._sent = round((time.monotonic() - self._began) * 1000)

    def end_turn(self) -> None:
        """Note that the turn of the latest prompt is over."""
        if self._sent is not None:
            self._took = (self.now() or 0) - self._sent

    def now(self) -> int | None:
        """Return the milliseconds since the first prompt; None before it, and if nothing is measured."""
        return None if self._sent is None else round((time.monotonic() - self._began) * 1000)

    def of_epoch(self, at_ms: float | None, since: int = 0) -> int | None:
        """Return the milliseconds from the first prompt to a time, in milliseconds since the Unix epoch.

        None: it is not known, or it is not between `since` and now, so that it is of another clock.
        """
        now = self.now()
        if at_ms is None or now is None:
            return None
        started = at_ms - self._began_at
        within = since - _RESOLUTION <= started <= now + _RESOLUTION
        return min(max(since, round(started)), now) if within else None

    def timed(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Return the events of the turn of the latest prompt, with the times of its prompt and its tool calls."""
        if self._sent is None:
            return tuple(events)
        prompt = next((i for i, event in enumerate(events) if event.type == PROMPT), None)
        return tuple(
            msgspec.structs.replace(event, started_ms=self._sent, duration_ms=self._took)
            if i == prompt
            else self._timed(event, self._sent)
            for i, event in enumerate(events)
        )

    def _timed(self, event: Event, sent: int) -> Event:
        if event.type not in (PROMPT, START):
            return event
        started = self.of_epoch(event.at_ms, sent)
        return event if started is None else msgspec.structs.replace(event, started_ms=started)
