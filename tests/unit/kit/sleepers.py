"""Command lines whose processes can be found again, for tests of what survives."""

import asyncio
import random
from pathlib import Path

import psutil
import pytest

from waza.kit.process import shell

NAPS = random.SystemRandom()


def nap() -> str:
    """A sleeping time that no other process on this machine has: survivors are found by it."""
    return f"300.{NAPS.randrange(10**9):09d}"


def survivors(duration: str) -> list[int]:
    return [
        found.pid
        for found in psutil.process_iter(["cmdline", "status"])
        if duration in (found.info["cmdline"] or []) and found.info["status"] != psutil.STATUS_ZOMBIE
    ]


def stubborn(duration: str) -> str:
    return f"sleep {duration} & setsid sleep {duration} & trap '' TERM; sleep {duration}"


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - other processes set no event here
            await asyncio.sleep(0.01)


async def stop(command: str, when, cwd: Path | None = None) -> None:
    """Cancel a command line as soon as the condition holds."""
    task = asyncio.create_task(shell(command, cwd=cwd))
    await until(when)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
