"""The runs of the store that `.waza.yaml` names."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from waza.dashboard.pages import StorageStatus, StoredRun
from waza.errors import WazaError
from waza.model.loaded import Project
from waza.stores.stored_runs import StoredResult, open_stored_runs

_KEPT = 30.0  # seconds for which a list is not asked for again
_MOST = 1000  # runs that are shown: in some stores each costs a request


class _Listed(NamedTuple):
    """What the store last answered."""

    runs: Sequence[StoredResult] = ()
    warnings: Sequence[str] = ()
    error: str = ""


class StoreView:
    """The configured store. Its list is asked for at most twice a minute, whatever pages ask."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._lock = threading.Lock()
        self._listed, self._listed_at = _Listed(), -math.inf

    @property
    def status(self) -> StorageStatus:
        """Say which store is configured; it is not asked."""
        keys = self._project.storage
        if keys is None:
            return StorageStatus(configured=False, provider="", account="")
        return StorageStatus(
            configured=True, provider=keys.provider, account=keys.accountName or keys.bucket or keys.path
        )

    def runs(self, local: Mapping[str, str]) -> tuple[list[StoredRun], Sequence[str], str]:
        """Return its runs, the newest first, what they may lack, and why they cannot be listed.

        `local` names those here, by id.
        """
        if self._project.storage is None:
            return [], (), ""
        with self._lock:
            now = time.monotonic()
            if now - self._listed_at > _KEPT:
                self._listed, self._listed_at = self._list(), now
            found = self._listed
        return [_page(one, local) for one in found.runs], found.warnings, found.error

    def _list(self) -> _Listed:
        try:
            return asyncio.run(_list(self._project))
        except (WazaError, OSError) as error:
            return _Listed(error=str(error))


async def _list(project: Project) -> _Listed:
    async with open_stored_runs(project, interactive=False) as stored:
        runs = await stored.list(limit=_MOST)
        cut = [f"only the newest {_MOST:,} runs are shown"] if len(runs) == _MOST else []
        return _Listed(runs, [*stored.warnings, *cut])


def _page(run: StoredResult, local: Mapping[str, str]) -> StoredRun:
    return StoredRun(
        id=run.run_id,
        skill=run.skill,
        spec=run.skill,
        model=run.model,
        pass_rate=None if run.pass_rate is None else run.pass_rate / 100,
        timestamp=run.timestamp,
        size=run.size or None,
        local=run.run_id in local,
        run=local.get(run.run_id, ""),
        verdict=run.verdict,
    )
