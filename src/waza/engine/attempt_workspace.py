"""The workspace of an attempt while it lasts, and its mocked dependencies."""

from __future__ import annotations

from functools import partial

import msgspec

from waza.engine.attempt_watch import AttemptWatch
from waza.engine.limits import TrialMeter
from waza.engine.wire import AttemptWire, RunWire
from waza.model.agent import AttemptWorkspace
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.trial import TrialKey
from waza.workspace.prepare import close_workspace, open_workspace
from waza.workspace.relay import AttemptMocks, Relay
from waza.workspace.relay import open_mocks as open_scripted_mocks
from waza.workspace.run_tempdir import RunTempdir


class AttemptScope:
    """The block in which an attempt has its workspace and its mocks (None without any), which `async with` gives.

    Entering it raises ExecutorError where the workspace or a mock cannot be made. `wanted`: there is to be a workspace
    even without files. `watch` gets to know what agent and mocks do. `scripted`: a script is played, whose calls meet the mocks
    without a relay. `run_wire` is the wire of the run; `wire` that of the attempt, inside of the block, which is held to the
    limits by `meter`. `key` is that of the trial.
    """

    def __init__(
        self,
        tempdir: RunTempdir,
        relay: Relay | None,
        task: Task,
        key: TrialKey,
        *,
        wanted: bool,
        meter: TrialMeter,
        watch: AttemptWatch | None = None,
        scripted: bool = False,
        run_wire: RunWire | None = None,
    ) -> None:
        self._tempdir, self._relay, self._task, self._wanted = tempdir, relay, task, wanted
        self._watch, self._scripted = watch, scripted
        self._mocks: AttemptMocks | None = None
        self._run_wire, self._key, self._meter = run_wire, key, meter
        self.wire: AttemptWire | None = None

    async def __aenter__(self) -> tuple[AttemptWorkspace, AttemptMocks | None]:
        task = self._task
        self._place = place = await open_workspace(self._tempdir, task, wanted=self._wanted)
        if (watch := self._watch) is not None:
            environment = {**watch.environment, **place.environment}
            place = msgspec.structs.replace(place, environment=environment, report=watch.see)
        if self._run_wire is not None:
            try:
                self.wire = await self._run_wire.open(task, self._key, place.workspace, self._meter)
            except BaseException:
                await self.__aexit__()
                raise
            place = msgspec.structs.replace(place, wire=self.wire.address)
        asks = self._scripted and task.mock is not None and task.mock.asks_mocks
        open_mocks = self._relay.open if self._relay else open_scripted_mocks if asks else None
        if open_mocks is None or not (task.mcp_mocks or task.command_mocks):
            return place, None
        try:
            mocks = open_mocks(task.mcp_mocks, task.command_mocks, task.home, place.workspace, watch)
        except BaseException:
            await self.__aexit__()
            raise
        self._mocks = mocks
        if self._scripted:
            workdir = str(place.workdir or "")
            return msgspec.structs.replace(place, ask_mocks=partial(mocks.ask, workdir=workdir)), mocks
        token = mocks.token if task.command_mocks else ""
        return msgspec.structs.replace(place, mock_servers=mocks.mcp_servers, mock_token=token), mocks

    async def __aexit__(self, *error: object) -> None:
        try:
            if self._mocks is not None:
                self._mocks.close()
            if self.wire is not None:
                await self.wire.aclose()
        finally:
            await close_workspace(self._tempdir, self._place)


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
