"""Stopping a run: fail_fast, Ctrl-C, SIGTERM, a closed terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from waza.errors import EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED
from waza.kit.process import kill_leftovers

_CODES = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}
if sys.platform != "win32":
    _CODES[signal.SIGHUP] = EXIT_HUNG_UP  # the terminal is closed


class Control:
    """Says whether new work may start. The first signal stops work in order, the second at once."""

    def __init__(self) -> None:
        self.stopped_by: signal.Signals | None = None
        self.failed_fast = False
        self._workers: set[asyncio.Task[None]] = set()

    @property
    def may_start(self) -> bool:
        """Whether a new task may start."""
        return self.stopped_by is None and not self.failed_fast

    @property
    def exit_code(self) -> int | None:
        """The exit code of an interrupted run, or None."""
        return None if self.stopped_by is None else _CODES[self.stopped_by]

    def watch(self, worker: asyncio.Task[None]) -> None:
        """Let a signal cancel this worker."""
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    def interrupt(self, number: signal.Signals) -> None:
        """Take a signal."""
        if self.stopped_by is not None:
            kill_leftovers()
            os._exit(_CODES[number])
        self.stopped_by = number
        for worker in list(self._workers):
            worker.cancel()
        with contextlib.suppress(OSError):  # the terminal may be what is gone
            sys.stderr.write("\nstopping: what has finished counts; once more to stop at once\n")

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGINT, SIGTERM and SIGHUP while the block runs, in the running event loop.

        An ignored SIGHUP stays so: that is what `nohup` is for.
        """
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":
            with self._plain_handlers(loop):
                yield
            return
        before = {number: signal.getsignal(number) for number in _CODES}
        if before[signal.SIGHUP] == signal.SIG_IGN:
            del before[signal.SIGHUP]
        for number in before:
            loop.add_signal_handler(number, self.interrupt, number)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    @contextmanager
    def _plain_handlers(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Take signals where event loops cannot (Windows)."""

        def taken(number: int, frame: FrameType | None) -> None:
            del frame
            loop.call_soon_threadsafe(self.interrupt, signal.Signals(number))

        before = {number: signal.signal(number, taken) for number in _CODES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
