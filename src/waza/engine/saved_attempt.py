"""What the cache needs of an attempt, for graders that are asked again later: its observation and its workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit.redact import Redactor
from waza.model.observation import Observation


class SavedAttempt(msgspec.Struct, frozen=True):
    """An attempt before its graders were asked. `files` is the packed workspace; None where there was none.

    `why` says why it could not be packed.
    """

    observation: Observation
    files: bytes | None = None
    why: str = ""

    @classmethod
    async def capture(cls, observation: Observation, redactor: Redactor) -> SavedAttempt:
        """Pack the workspace as it is now, unless it holds secrets: judges need it as it is, and files do not."""
        if not observation.workspace:
            return cls(observation)
        from waza.workspace.pack import pack  # it imports tarfile, which most runs do without

        try:
            data = await asyncio.to_thread(pack, Path(observation.workspace))
        except WazaError as error:
            return cls(observation, why=str(error))
        if path := await asyncio.to_thread(_find_secret, data, redactor):
            why = f"its workspace holds what looks like a secret, in {redactor.text(path)}"
            return cls(observation, why=why)
        return cls(observation, data)


def _find_secret(packed: bytes, redactor: Redactor) -> str:
    """Return the path of a packed file with a secret in it or in its path, or an empty text."""
    from waza.workspace.pack import packed_texts  # as above

    for path, text in packed_texts(packed):
        if redactor.text(path) is not path or redactor.text(text) is not text:
            return path
    return ""
