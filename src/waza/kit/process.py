"""Child processes with limits: whatever a child starts is dead when the call that started it returns.

Every child leads a session of its own and carries a mark (`marks`), as does all that it starts. A tree
is ended in this order: SIGTERM to the process group, a short grace, SIGKILL to the group, SIGKILL to the
descendants noted before (they may have left the group), SIGKILL to whatever else carries the mark (its
parents may have ended before anybody looked). On Linux a child is killed when this process is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from waza.errors import WazaError
from waza.kit._child import Child, OutputHandler
from waza.kit._start_error import describe_start_error
from waza.kit.process_marks import MARK, before_exec, find_marked, has_marks, new_mark

if TYPE_CHECKING:
    import psutil

MAX_OUTPUT = 8 * 1024 * 1024

_GRACE = 0.3  # seconds between SIGTERM and SIGKILL
_REAP = 2.0  # seconds to wait for a killed process; it takes longer only when the kernel is stuck
_ROUNDS = 20  # how often a sweep looks again for processes that were started meanwhile


class ProcessDiedError(WazaError):
    """A child could not be started, or ended before it gave its answer."""


class FinishedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended.

    `returncode` is None when it never started or was ended by a signal, whose name is in `signal`.
    `truncated` says that it wrote more than was kept; `start_error` why it could not be started, and `cause`
    is the exception behind that.
    """

    returncode: int | None = None
    signal: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    truncated: bool = False
    start_error: str = ""
    cause: Exception | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit status 0."""
        return self.returncode == 0 and not self.timed_out

    @property
    def outcome(self) -> str:
        """How it ended, for messages: `exit status 3`, `killed by SIGSEGV`, `time limit reached`."""
        if self.start_error:
            return self.start_error
        return "time limit reached" if self.timed_out else describe_exit(self.returncode, self.signal)


def describe_exit(returncode: int | None, signal: str) -> str:
    """Return how a process ended, for messages."""
    return f"killed by {signal}" if signal else f"exit status {returncode}"


async def run(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    max_output: int = MAX_OUTPUT,
    on_start: Callable[[int], None] | None = None,
) -> FinishedProcess:
    """Run a program to its end, at most `timeout` seconds, and kill everything it left behind.

    `env` replaces the environment (None: our own). Of stdout and of stderr the first `max_output`
    bytes are kept, the rest is read and dropped. `on_start` gets the process id. Cancelling kills the
    whole tree first. A program that cannot be started raises nothing: `start_error` has the reason.
    """
    outputs = {1: _Capped(max_output), 2: _Capped(max_output)}
    try:
        child = await start(
            argv, lambda fd, data: outputs[fd].add(data), stdin=PIPE if stdin else DEVNULL, cwd=cwd, env=env
        )
    except ProcessDiedError as error:
        return FinishedProcess(start_error=str(error), cause=error)
    try:
        if on_start:
            on_start(child.pid)
        if stdin:
            child.write(stdin, last=True)
        ended = await wait_at_most(timeout, child.exited)
    finally:
        await kill_tree(child)
    returncode, signal = child.status()
    return FinishedProcess(
        returncode=returncode,
        signal=signal,
        stdout=bytes(outputs[1].data),
        stderr=bytes(outputs[2].data),
        timed_out=not ended,
        truncated=any(output.truncated for output in outputs.values()),
    )


async def run_shell(
    command: str,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    max_output: int = MAX_OUTPUT,
) -> FinishedProcess:
    """Run a command line in the system's shell (`sh`, on Windows `cmd`); the rest is as in `run`."""
    program = ["cmd", "/C"] if sys.platform == "win32" else ["sh", "-c"]
    return await run([*program, command], cwd=cwd, env=env, timeout=timeout, max_output=max_output)


async def start(
    argv: Sequence[str],
    keep: OutputHandler,
    *,
    stdin: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Child:
    """Start a child whose output goes to `keep`; the caller must `kill_tree` it. Raises ProcessDiedError."""
    if not argv:
        raise ProcessDiedError("no program was given")
    number, marks = new_mark()
    loop = asyncio.get_running_loop()
    try:
        starting = loop.create_task(
            loop.subprocess_exec(
                lambda: Child(number, keep),
                *argv,
                stdin=stdin,
                stdout=PIPE,
                stderr=PIPE,
                cwd=cwd,
                env={**(os.environ if env is None else env), MARK: marks},
                start_new_session=True,
                preexec_fn=before_exec(number),
            )
        )
        _, child = await asyncio.shield(starting)
    except asyncio.CancelledError:
        try:
            if not starting.cancelling():
                with contextlib.suppress(OSError, ValueError):
                    await kill_tree((await asyncio.shield(starting))[1])
        finally:
            if starting.cancelling():
                await _abandon(starting, number)
            elif not starting.done():  # cancelled once more, while it was being started
                await _kill_started(starting, number)
        raise
    except (OSError, ValueError) as error:
        raise ProcessDiedError(describe_start_error(error, argv[0], cwd)) from error
    return child


async def _kill_started(starting: asyncio.Task[tuple[Any, Child]], number: int) -> None:
    """Kill a child without grace as soon as it has started, and wait until it is gone."""
    try:
        with contextlib.suppress(asyncio.CancelledError, OSError, ValueError):
            child = (await asyncio.shield(starting))[1]
            child.signal_group(hard=True)
            kill_marked(number)
            await wait_at_most(_REAP, child.closed)
    finally:
        if starting.cancelling():
            await _abandon(starting, number)
        kill_marked(number)


async def _abandon(starting: asyncio.Task[tuple[Any, Child]], number: int) -> None:
    """Kill a child whose start was cancelled itself, as `asyncio.run` does with every task when it is left.

    That cancels asyncio's task that opens the pipes as well. Without it (CPython issue 103847) the start would wait
    for ever to hear of the end of its process, so it is cancelled again once that had its time.
    """
    await asyncio.wait([starting], timeout=_GRACE)
    kill_marked(number)
    while not starting.done():
        starting.cancel()
        await asyncio.sleep(0)


async def kill_tree(child: Child) -> None:
    """Kill what still lives of a child's tree, and wait until its pipes are closed."""
    noted: list[psutil.Process] = []
    try:
        if child.exited.is_set():
            await wait_at_most(_REAP, child.closed)
        else:
            noted = _descendants(child.pid)
            child.signal_group(hard=False)
            await wait_at_most(_GRACE, child.exited)
    finally:  # also when cancelled during the grace
        if not child.closed.is_set():
            child.signal_group(hard=True)
        kill_marked(child.number, noted)
    await wait_at_most(_REAP, child.closed)


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this id, of any user."""
    import psutil

    return psutil.pid_exists(pid)


def find_leftovers() -> list[int]:
    """Return the ids of living processes that descend from a child of this process."""
    return sorted(process.pid for process in find_marked(None)) if has_marks() else []


def kill_leftovers() -> list[int]:
    """Kill what `find_leftovers` finds, and return the ids."""
    return kill_marked(None)


def kill_marked(
    number: int | None,
    known: Sequence[psutil.Process] = (),
    *,
    owner: str | None = None,
    inside: Path | None = None,
) -> list[int]:
    """Kill the `known` processes and all with the mark of a child (None: of any child); return their ids.

    `owner` is the owner of the mark (default: this process). `inside` spares marked processes that do not
    work in that directory, a real path, or below it.
    It blocks until they are gone, some milliseconds, so that it also serves a caller being cancelled.
    """
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        living = [process for process in known if _lives(process)] + find_marked(
            number, owner=owner, inside=inside
        )
        if not living:
            break
        for process in living:
            _kill(process)
        killed.update(process.pid for process in living)
        time.sleep(0.005)
    return sorted(killed)


async def wait_at_most(seconds: float | None, event: asyncio.Event) -> bool:
    """Wait for an event; return whether it came within `seconds` (None: no limit)."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


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


class _Capped:
    """The first `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._limit = limit

    def add(self, data: bytes) -> None:
        """Keep the data up to the limit."""
        free = self._limit - len(self.data)
        self.data += data[:free]
        self.truncated = self.truncated or len(data) > free
