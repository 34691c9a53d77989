"""What the cache needs of an attempt, for graders that are asked again later: its observation and its workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.model.observation import Observation


class SavedAttempt(msgspec.Struct, frozen=True):
    """An attempt before its graders were asked. `files` is the packed workspace; None where there was none.

    `why` says why it could not be packed.
    """

    observation: Observation
    files: bytes | None = None
    why: str = ""

    @classmethod
    async def capture(cls, observation: Observation) -> SavedAttempt:
        """Pack the workspace as it is now."""
        if not observation.workspace:
            return cls(observation)
        from waza.workspace.pack import pack  # it imports tarfile, which most runs do without

        try:
            return cls(observation, await asyncio.to_thread(pack, Path(observation.workspace)))
        except WazaError as error:
            return cls(observation, why=str(error))
