"""The workspace of an attempt while it lasts, and its mocked dependencies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from waza.model.agent import AttemptWorkspace
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.workspace.prepare import close_workspace, open_workspace
from waza.workspace.relay import AttemptMocks, Relay
from waza.workspace.run_tempdir import RunTempdir


@asynccontextmanager
async def attempt_workspace(
    tempdir: RunTempdir, relay: Relay | None, task: Task, *, wanted: bool
) -> AsyncIterator[tuple[AttemptWorkspace, AttemptMocks | None]]:
    """Open the workspace of an attempt and its mocks (None without any); close them at the end of the block.

    Raises ExecutorError where the workspace or a mock cannot be made.
    """
    place = await open_workspace(tempdir, task, wanted=wanted)
    try:
        if relay is None or not (task.mcp_mocks or task.command_mocks):
            yield place, None
            return
        mocked = relay.open(task.mcp_mocks, task.command_mocks, task.home, place.workspace)
        try:
            token = mocked.token if task.command_mocks else ""
            yield msgspec.structs.replace(place, mock_servers=mocked.mcp_servers, mock_token=token), mocked
        finally:
            mocked.close()
    finally:
        await close_workspace(tempdir, place)


async def open_relay(suite: Suite) -> Relay | None:
    """Start the relay that answers the mocks of a suite; return None where an agent could call none."""
    file = suite.file  # trigger tests have the suite's own mocks, whatever its tasks replace them by
    mocks = (
        file.mcp_mocks
        or file.command_mocks
        or any(task.mcp_mocks or task.command_mocks for task in suite.tasks)
    )
    capabilities = suite.capabilities
    if not mocks or not (capabilities.mcp or capabilities.command_mocks):
        return None
    relay = Relay()
    await relay.start()
    return relay
