"""A bar at the bottom of a terminal, with lines that scroll above it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable

from waza.report.terminal import Console
from waza.report.words import duration

INTERVAL = 0.1  # seconds between two redraws
_CELLS = 24


class Bar:
    """A stream for whole lines, which draws how far the run is below them.

    Lines are collected and drawn together, at most once in `INTERVAL` seconds. Where an event
    loop runs, a timer draws what came in between and moves the clock on. No escape codes are used,
    only carriage returns and blanks. `clock` gives seconds.
    """

    def __init__(self, stream: Console, clock: Callable[[], float]) -> None:
        self.encoding = getattr(stream, "encoding", None)
        self._stream = stream
        self._clock = clock
        self._lines: list[str] = []
        self._counts: dict[str, int] = {}
        self._total = 0
        self._started = self._drawn = clock()
        self._shown = ""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, total: int) -> None:
        """Show the bar of a suite with so many tasks."""
        self.stop()
        self._total, self._counts, self._started = total, {}, self._clock()

    def count(self, status: str) -> None:
        """Count a finished task; the next line that is written shows it."""
        self._counts[status] = self._counts.get(status, 0) + 1

    def write(self, text: str) -> None:
        """Show whole lines above the bar."""
        self._lines.append(text)
        if not self._total or self._clock() - self._drawn >= INTERVAL:
            self._draw()
        if self._timer is None and self._total:
            self._wait()

    def stop(self) -> None:
        """Show what is still to be shown and take the bar away."""
        self._total = 0
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._draw()

    def _wait(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # nothing runs in between, so there is nothing to draw in between
        self._timer = loop.call_later(INTERVAL, self._tick)

    def _tick(self) -> None:
        self._draw()
        self._wait()

    def _draw(self) -> None:
        self._drawn = self._clock()
        text = self._text()
        if not self._lines and text == self._shown:
            return
        erase = f"\r{' ' * len(self._shown)}\r" if self._shown else ""
        said, self._shown = erase + "".join(self._lines) + text, text
        self._lines.clear()
        with contextlib.suppress(OSError):  # a terminal that is closed; the run goes on without a bar
            self._stream.write(said)
            self._stream.flush()

    def _text(self) -> str:
        if not self._total:
            return ""
        done = sum(self._counts.values())
        filled = min(_CELLS, _CELLS * done // self._total)
        counts = " ".join(f"{status} {number}" for status, number in sorted(self._counts.items()))
        elapsed = duration((self._clock() - self._started) // 1 * 1000)
        text = f"[{'#' * filled}{'-' * (_CELLS - filled)}] {done}/{self._total} {elapsed} {counts}".rstrip()
        return text[: shutil.get_terminal_size().columns - 1]
