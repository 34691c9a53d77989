"""Command lines whose processes can be found again, for tests of what survives."""

import asyncio
from pathlib import Path

import pytest

from waza.kit.process import shell


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
