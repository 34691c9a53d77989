"""Long-lived children that answer one line of JSON with one line of JSON, and pools of them."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from waza.kit import process
from waza.kit._child import Child
from waza.kit.process import ProcessDiedError

_LAST_WORDS = 4096  # bytes of stderr that are kept for messages
Form = TypeVar("Form")
_EXIT = 0.2  # seconds between the end of the output and the end of the process


class LineProcess:
    """A child that is asked over stdin and answers over stdout, one line each, one question at a time.

    Any error ends the child with its whole tree, since a late answer would
    be taken for the answer to the next question. `max_reply` is the longest answer, in bytes. `on_stderr`
    gets what the child writes to stderr, as it comes, and empty bytes at its end.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        max_reply: int = process.MAX_OUTPUT,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = env
        self._max_reply = max_reply
        self._on_stderr = on_stderr
        self._child: Child | None = None
        self._stdout = bytearray()
        self._stdout_closed = False
        self._stderr = b""
        self._news = asyncio.Event()

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._child is not None and not self._child.exited.is_set() and not self._stdout_closed

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return self._child.pid if self._child else None

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to stderr."""
        return self._stderr.decode("utf-8", "replace").strip()

    async def start(self) -> None:
        """Start the child. Raises ProcessDiedError when that is not possible."""
        self._child = await process.start(self._argv, self._keep, stdin=PIPE, cwd=self._cwd, env=self._env)

    async def ask(self, line: bytes, timeout: float) -> bytes:
        """Send one line and return the line that comes back, both without their line end.

        Raises TimeoutError after `timeout` seconds, and ProcessDiedError when the child ends, closes its
        stdout or answers more than `max_reply` bytes. After either the child is dead.
        """
        if not self._child:
            raise ProcessDiedError("the process is not running")
        try:
            async with asyncio.timeout(timeout):
                self._child.write(line + b"\n")
                return await self._next_line(self._child)
        except BaseException:  # also when cancelled
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End the child with its whole tree; harmless when it is dead already."""
        child, self._child = self._child, None
        if child:
            await process.kill_tree(child)

    def _keep(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr = (self._stderr + data)[-_LAST_WORDS:]
            if self._on_stderr:
                self._on_stderr(data)
            return
        self._stdout_closed = self._stdout_closed or not data
        if len(self._stdout) <= self._max_reply:
            self._stdout += data
        self._news.set()

    async def _next_line(self, child: Child) -> bytes:
        while (length := self._stdout.find(b"\n")) < 0:
            if len(self._stdout) > self._max_reply:
                break
            if self._stdout_closed:
                raise ProcessDiedError(await self._why_it_died(child))
            self._news.clear()
            await self._news.wait()
        if not 0 <= length <= self._max_reply:
            raise ProcessDiedError(f"the process answered more than {self._max_reply} bytes in one line")
        line = bytes(self._stdout[:length])
        del self._stdout[: length + 1]
        return line

    async def _why_it_died(self, child: Child) -> str:
        exited = await process.wait_at_most(_EXIT, child.exited)
        how = process.describe_exit(*child.status()) if exited else "it closed its output"
        output = f": {self.stderr_tail}" if self.stderr_tail else ""
        return f"the process gave no answer ({how}){output}"


class ProcessPool:
    """At most `limit` children, each made by `start` when it is needed, and used again and again.

    `start` returns a child that can be asked; what it raises goes to who wanted the child.
    """

    def __init__(self, limit: int, start: Callable[[], Awaitable[LineProcess]]) -> None:
        self._free = asyncio.Semaphore(limit)
        self._start = start
        self._idle: list[LineProcess] = []

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[LineProcess]:
        """Yield a living child, as soon as one is free; after an exception it is ended."""
        async with self._free:
            child = await self._take_idle() or await self._start()
            try:
                yield child
            except BaseException:  # also when cancelled
                await child.aclose()
                raise
            self._idle.append(child)

    async def aclose(self) -> None:
        """End the idle children. Call it when none is in use."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(child.aclose() for child in idle))

    async def _take_idle(self) -> LineProcess | None:
        """Return a child that still lives, or None where none waits; dead ones are ended."""
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            await child.aclose()
        return None


def decode_answer(line: bytes, form: type[Form]) -> Form | None:
    """Return the answer that a line of JSON holds, or None where it is not of that form. Lone surrogates survive."""
    try:
        return msgspec.convert(json.loads(line), form)
    except (ValueError, RecursionError):
        return None
