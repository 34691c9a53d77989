"""Command lines whose processes can be found again, for tests of what survives."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from waza.kit.process import run_shell

T = TypeVar("T")
FAR = 1000.0  # seconds: a time limit that is reached only when a test lets time pass


async def until(condition) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - other processes set no event here
            await asyncio.sleep(0.01)


async def stop(command: str, when, cwd: Path | None = None) -> None:
    """Cancel a command line as soon as the condition holds."""
    task = asyncio.create_task(run_shell(command, cwd=cwd))
    await until(when)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def overdue(work: Awaitable[T], when: Callable[[], object]) -> T:
    """Let `FAR` seconds pass on the clock of the event loop, when a limit is set and the condition holds."""
    loop, limited = asyncio.get_running_loop(), asyncio.Event()
    now, call_at = loop.time, loop.call_at

    def noted(moment: float, *args: Any, **options: Any) -> asyncio.TimerHandle:
        if moment > loop.time() + FAR / 2:
            limited.set()
        return call_at(moment, *args, **options)

    loop.call_at = noted  # type: ignore[method-assign, assignment]  # of this one loop, as is the clock
    task = asyncio.ensure_future(work)
    await until(when)
    await until(limited.is_set)
    loop.time = lambda: now() + FAR  # type: ignore[method-assign]  # as above
    return await task
