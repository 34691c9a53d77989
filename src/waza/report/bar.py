"""A bar at the bottom of a terminal, with lines that scroll above it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable

from waza.kit.unsafe_text import escape_unsafe
from waza.report.table import columns
from waza.report.terminal import Console
from waza.report.words import duration, one_line

INTERVAL = 0.1  # seconds between two redraws
_CELLS = 16
_NAME = 30  # characters of a task's name


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
        self._running: dict[str, int] = {}
        self._total = self._ahead = 0
        self._started = self._drawn = clock()
        self._shown = ""
        self._timer: asyncio.TimerHandle | None = None

    def start(self, total: int, done: int = 0) -> None:
        """Show the bar of a suite with so many trials, of which some were done before."""
        self.stop()
        self._total, self._ahead, self._started = total, done, self._clock()
        self._counts, self._running = {}, {}
        self._keep_time()

    def run(self, name: str) -> None:
        """Name a task of which a trial runs."""
        self._running[name] = self._running.get(name, 0) + 1

    def count(self, status: str, name: str) -> None:
        """Count a finished trial of a task."""
        self._counts[status] = self._counts.get(status, 0) + 1
        left = self._running.pop(name, 0) - 1
        if left > 0:
            self._running[name] = left

    def pass_over(self, trials: int) -> None:
        """Count trials that did not have to run."""
        self._ahead += trials

    def write(self, text: str) -> None:
        """Show whole lines above the bar."""
        self._lines.append(text)
        if not self._total or self._clock() - self._drawn >= INTERVAL:
            self._draw()
        self._keep_time()

    def _keep_time(self) -> None:
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
        erase = f"\r{' ' * columns(self._shown)}\r" if self._shown else ""
        output, self._shown = erase + "".join(self._lines) + text, text
        self._lines.clear()
        with contextlib.suppress(OSError):  # a terminal that is closed; the run goes on without a bar
            self._stream.write(output)
            self._stream.flush()

    def _text(self) -> str:
        if not self._total:
            return ""
        ran = sum(self._counts.values())
        done = min(self._total, self._ahead + ran)
        filled = _CELLS * done // self._total
        took = self._clock() - self._started
        parts = [
            f"[{'#' * filled}{'-' * (_CELLS - filled)}] {done}/{self._total} trials",
            duration(took // 1 * 1000),
            *(f"{number} {status}" for status, number in sorted(self._counts.items())),
        ]
        if ran > 0 and done < self._total:
            parts.append(f"about {_rough(took / ran * (self._total - done))} left")
        if self._running:
            parts.append(f"running: {', '.join(one_line(name, _NAME) for name in self._running)}")
        text, width = escape_unsafe(", ".join(parts)), shutil.get_terminal_size().columns - 1
        while columns(text) > width:
            text = text[:-1]
        return text


def _rough(seconds: float) -> str:
    """Return an estimate as nobody would say it more exactly."""
    return duration(max(1, round(seconds if seconds < 90 else seconds // 60 * 60)) * 1000)
