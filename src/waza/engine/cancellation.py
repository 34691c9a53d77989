"""Stopping runs: Ctrl-C, SIGTERM, a closed terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from waza.errors import EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED
from waza.kit.process import kill_leftovers

T = TypeVar("T")
GRACE = 10.0  # seconds that after_run hooks have after a signal, or after their start if that is later

_CODES = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}
if sys.platform != "win32":
    _CODES[signal.SIGHUP] = EXIT_HUNG_UP  # the terminal is closed


class Cancellation:
    """Stops runs. The first signal stops all runs in order, the second ends the process at once.

    Signals are handled in the main thread only; Python delivers them to no other.
    """

    def __init__(self) -> None:
        self.stopped_by: signal.Signals | None = None
        self._workers: dict[asyncio.Task[Any], float] = {}

    @property
    def exit_code(self) -> int | None:
        """The exit code of an interrupted run, or None."""
        return None if self.stopped_by is None else _CODES[self.stopped_by]

    async def run_cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work that a signal cancels, and return its result. Cleanup belongs outside of it."""
        worker = asyncio.create_task(work)
        self._watch(worker)
        return await worker

    def _watch(self, worker: asyncio.Task[Any], grace: float = 0.0) -> None:
        """Let a signal cancel this worker, `grace` seconds later."""
        self._workers[worker] = grace
        worker.add_done_callback(self._workers.pop)
        if self.stopped_by is not None:
            self._cancel(worker)

    async def run_with_grace(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run work that has a grace of GRACE seconds after a signal; return whether it ran to its end."""
        finishing = asyncio.create_task(work)
        self._watch(finishing, GRACE)
        try:
            await finishing
        except asyncio.CancelledError:
            if not finishing.cancelled():
                raise
            return False
        return True

    def _cancel(self, worker: asyncio.Task[Any]) -> None:
        grace = self._workers[worker]
        if grace:
            asyncio.get_running_loop().call_later(grace, worker.cancel)
        else:
            worker.cancel()

    def handle_signal(self, number: signal.Signals) -> None:
        """Stop all runs; at the second signal, end the process."""
        if self.stopped_by is not None:
            kill_leftovers()
            os._exit(_CODES[number])
        self.stopped_by = number
        for worker in list(self._workers):
            self._cancel(worker)
        with contextlib.suppress(OSError):  # the terminal may be what is gone
            sys.stderr.write("\nstopping: what has finished counts; once more to stop at once\n")

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Handle SIGINT, SIGTERM and SIGHUP while the block runs, in the running event loop.

        An ignored SIGHUP stays so: that is what `nohup` is for.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":
            with self._plain_handlers(loop):
                yield
            return
        before = {number: signal.getsignal(number) for number in _CODES}
        if before[signal.SIGHUP] == signal.SIG_IGN:
            del before[signal.SIGHUP]
        for number in before:
            loop.add_signal_handler(number, self.handle_signal, number)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    @contextmanager
    def _plain_handlers(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Handle signals where event loops cannot (Windows)."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            del frame
            loop.call_soon_threadsafe(self.handle_signal, signal.Signals(number))

        before = {number: signal.signal(number, on_signal) for number in _CODES}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
