"""Child processes with limits: whatever a child starts is dead when the call that started it returns.

Every child leads a session of its own and carries `WAZA_CHILD_OF` in its environment. It is ended in
this order: SIGTERM to its process group, a short grace, SIGKILL to the group, SIGKILL to the
descendants noted before (they may have left the group), SIGKILL to whatever carries the mark (their
parents may have ended before anybody looked).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from waza.errors import WazaError

if TYPE_CHECKING:
    import psutil

MAX_OUTPUT = 8 * 1024 * 1024

_GRACE = 0.3  # seconds between SIGTERM and SIGKILL
_DRAIN = 0.2  # seconds in which the pipes of an ended process may still be read
_REAP = 2.0  # seconds to wait for the end of a killed process; more only when the kernel is stuck
_ROUNDS = 20  # how often to look again for processes that were started during the sweep

_MARK = "WAZA_CHILD_OF"
_SEED = secrets.token_hex(6)
_numbers = itertools.count(1)

Keep = Callable[[int, bytes], None]
"""Takes what a child wrote: the descriptor (1 or 2) and the bytes; empty bytes: nothing more comes."""


class ProcessDied(WazaError):  # noqa: N818 - a statement of fact reads better than ProcessDiedError
    """A child did not start, or ended before it gave its answer."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended.

    `returncode` is None when it never started or was ended by a signal, whose name is in `signal`.
    `truncated` says that it wrote more than was kept. `start_error` says why it could not be started.
    """

    returncode: int | None = None
    signal: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    truncated: bool = False
    start_error: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself and with exit status 0."""
        return self.returncode == 0 and not self.timed_out

    @property
    def ending(self) -> str:
        """The end in words, for messages: `exit status 3`, `killed by SIGSEGV`, `time limit reached`."""
        if self.start_error:
            return self.start_error
        if self.timed_out:
            return "time limit reached"
        return f"killed by {self.signal}" if self.signal else f"exit status {self.returncode}"


async def run(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    max_output: int = MAX_OUTPUT,
    on_start: Callable[[int], None] | None = None,
) -> Finished:
    """Run a program to its end, at most `timeout` seconds, and kill everything it left behind.

    `env` replaces the environment (None: our own). `max_output` is the number of bytes kept of each
    of stdout and stderr; the rest is read and dropped. `on_start` gets the process id. Cancelling
    kills the whole tree first. A program that cannot be started is told in `start_error`.
    """
    outputs = {1: _Capped(max_output), 2: _Capped(max_output)}
    try:
        child = await _start(
            argv, lambda fd, data: outputs[fd].add(data), stdin=PIPE if stdin else DEVNULL, cwd=cwd, env=env
        )
    except ProcessDied as error:
        return Finished(start_error=str(error))
    try:
        if on_start:
            on_start(child.pid)
        if stdin:
            child.write(stdin, last=True)
        ended = await _within(timeout, child.exited)
    finally:
        await child.end()
    code, name = child.status()
    return Finished(
        returncode=code,
        signal=name,
        stdout=bytes(outputs[1].data),
        stderr=bytes(outputs[2].data),
        timed_out=not ended,
        truncated=outputs[1].truncated or outputs[2].truncated,
    )


async def shell(
    command: str,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    max_output: int = MAX_OUTPUT,
) -> Finished:
    """Run a command line in the system's shell (`sh`, on Windows `cmd`); the rest is as in `run`."""
    program = ["cmd", "/C"] if sys.platform == "win32" else ["sh", "-c"]
    return await run([*program, command], cwd=cwd, env=env, timeout=timeout, max_output=max_output)


def leftovers() -> list[int]:
    """Return the ids of the living processes that descend from a child of this process."""
    return sorted(process.pid for process in _marked(None))


def kill_leftovers() -> list[int]:
    """Kill what `leftovers` finds; return the ids."""
    return sweep(None)


def sweep(child: int | None, noted: Sequence[psutil.Process] = ()) -> list[int]:
    """Kill the `noted` processes and all that carry the mark of child number `child` (None: of any child).

    Blocks until they are gone, in the usual case well under a tenth of a second; this also serves a
    caller that is being cancelled. Returns the ids of the killed.
    """
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        living = [process for process in noted if _lives(process)] + _marked(child)
        if not living:
            break
        for process in living:
            _kill(process)
        killed.update(process.pid for process in living)
        time.sleep(0.005)
    return sorted(killed)


def _mark(child: int | None) -> str:
    """Return the mark of a child, or the beginning of the marks of all children."""
    return f"{os.getpid()}-{_SEED}:{'' if child is None else child}"


def _marked(child: int | None) -> list[psutil.Process]:
    import psutil

    wanted = _mark(child)
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):  # ended meanwhile, or not ours to look at
            process = psutil.Process(pid)
            marks = process.environ().get(_MARK, "").split()
            if any(mark.startswith(wanted) if child is None else mark == wanted for mark in marks):
                found.append(process)
    return found


def _descendants(pid: int) -> list[psutil.Process]:
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _lives(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _kill(process: psutil.Process) -> None:
    import psutil

    with contextlib.suppress(psutil.Error):
        process.kill()


async def _within(seconds: float | None, event: asyncio.Event) -> bool:
    """Wait for the event; return whether it came in time (None: however long it takes)."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


class _Capped:
    """The first `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._limit = limit

    def add(self, data: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += data[:room]
        self.truncated = self.truncated or len(data) > room


async def _start(
    argv: Sequence[str], keep: Keep, *, stdin: int, cwd: Path | None, env: Mapping[str, str] | None
) -> _Child:
    """Start a child; raise ProcessDied with the reason when that is not possible."""
    if not argv:
        raise ProcessDied("no program was given")
    number = next(_numbers)
    # The mark of an outer waza stays beside ours, so that its sweep finds our children too.
    marks = f"{os.environ.get(_MARK, '')} {_mark(number)}".strip()
    try:
        _, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Child(number, keep),
            *argv,
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            cwd=cwd,
            env={**(os.environ if env is None else env), _MARK: marks},
            start_new_session=True,
        )
    except asyncio.CancelledError:
        sweep(number)
        raise
    except (OSError, ValueError) as error:
        raise ProcessDied(_why_not_started(error, argv[0], cwd)) from None
    return child


def _why_not_started(error: OSError | ValueError, program: str, cwd: Path | None) -> str:
    if cwd is not None and not cwd.is_dir():
        return f"{program!r} cannot be started: the directory {cwd} does not exist"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{program!r} cannot be started: {reason or error}"


class _Child(asyncio.SubprocessProtocol):
    """One started process: its pipes, its end, and the way to end it.

    `exited` is set when the process has ended, `over` when also its pipes are closed: by everybody
    who held them, or by us a moment after the end. A background process cannot hold them for ever.
    """

    def __init__(self, number: int, keep: Keep) -> None:
        self.exited = asyncio.Event()
        self.over = asyncio.Event()
        self._number = number
        self._keep = keep
        self._cut: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._keep(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if fd != 0:
            self._keep(fd, b"")

    def process_exited(self) -> None:
        self.exited.set()
        self._cut = asyncio.get_running_loop().call_later(_DRAIN, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._cut:
            self._cut.cancel()
        self._signal(hard=True)  # the rest of the group, before its number can be given out again
        self.over.set()

    def write(self, data: bytes, *, last: bool = False) -> None:
        """Send to stdin without waiting; a child that does not read is no error. `last` closes it."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(data)
        if last:
            pipe.write_eof()

    async def end(self) -> None:
        """Kill what still lives of the tree, and wait until this process is over."""
        noted: list[psutil.Process] = []
        try:
            if self.exited.is_set():
                await _within(_REAP, self.over)
            else:
                noted = _descendants(self.pid)
                self._signal(hard=False)
                await _within(_GRACE, self.exited)
        finally:  # also when cancelled once more during the grace
            if not self.over.is_set():
                self._signal(hard=True)
            sweep(self._number, noted)
        await _within(_REAP, self.over)

    def status(self) -> tuple[int | None, str]:
        """Return the exit status and the name of the signal that ended the process."""
        code = self._transport.get_returncode()
        if code is None or code >= 0:
            return code, ""
        try:
            return None, signal.Signals(-code).name
        except ValueError:
            return None, f"signal {-code}"

    def _cut_off(self) -> None:
        stdin = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if stdin:
            stdin.abort()  # closing alone would first wait for a reader
        self._transport.close()

    def _signal(self, *, hard: bool) -> None:
        """Ask (SIGTERM) or force (SIGKILL) the group to end; on Windows, which has none, the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._transport.kill()
            else:
                os.killpg(self.pid, signal.SIGKILL if hard else signal.SIGTERM)
