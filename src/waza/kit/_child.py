"""One child process as asyncio sees it: its pipes, its end, and signals to its group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import cast

OutputHandler = Callable[[int, bytes], None]
"""Takes what a child wrote: the descriptor (1 or 2) and the bytes; empty bytes mean that no more comes."""

_DRAIN = 0.2  # seconds in which the pipes of an ended process may still be read


class Child(asyncio.SubprocessProtocol):
    """A started process that leads a process group of its own.

    `exited` is set when the process has ended; `closed` when its pipes are closed as well: by all who
    held them, or by us a moment after the end, so that no background process can hold them for ever.
    """

    def __init__(self, number: int, keep: OutputHandler) -> None:
        self.number = number
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self._keep = keep
        self._cut: asyncio.TimerHandle | None = None
        self._stdin_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start: asyncio hands over the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass on what the process wrote."""
        self._keep(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Pass on that one of its pipes is closed."""
        if fd == 0:
            self._stdin_open = False
        else:
            self._keep(fd, b"")

    def process_exited(self) -> None:
        """Note the end, and give the pipes a moment to run empty."""
        self.exited.set()
        self._cut = asyncio.get_running_loop().call_later(_DRAIN, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Kill the rest of the group at once, before its number can be given to another process."""
        if self._cut:
            self._cut.cancel()
        self.signal_group(hard=True)
        self._transport.close()
        self.closed.set()

    def write(self, data: bytes, *, last: bool = False) -> None:
        """Send to stdin without waiting; a child that does not read is no error. `last` closes stdin."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(data)
        if last:
            pipe.write_eof()

    def signal_group(self, *, hard: bool) -> None:
        """Send SIGTERM, or SIGKILL if `hard`, to the group; on Windows, which has none, the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, signal.SIGKILL if hard else signal.SIGTERM)

    def status(self) -> tuple[int | None, str]:
        """Return the exit status and the name of the signal that ended the process (None, "": neither)."""
        code = self._transport.get_returncode()
        if code is None or code >= 0:
            return code, ""
        try:
            return None, signal.Signals(-code).name
        except ValueError:  # a real-time signal has no name
            return None, f"signal {-code}"

    def _cut_off(self) -> None:
        stdin = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if stdin and self._stdin_open:
            stdin.abort()  # closing alone would first wait for a reader
        self._transport.close()
