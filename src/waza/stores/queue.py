"""The results of a project that were not uploaded yet: copies below `.waza/upload-queue`.

A copy is made before the upload and removed after it, so that whatever happens in between, the next run or `waza results
push` uploads it.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

from waza.kit.files import write_atomic
from waza.kit.git import ignore_in_git
from waza.results.outcome import Outcome
from waza.results.write import encode
from waza.stores.names import SUFFIX, file_name

QUEUE = ".waza/upload-queue"


class UploadQueue:
    """The queue of a project."""

    def __init__(self, project: Path) -> None:
        self.directory = project / QUEUE

    def add(self, outcome: Outcome) -> Path:
        """Keep results for upload, in place of earlier ones of the same run; return the copy.

        Raises WazaError if it cannot be written.
        """
        path = self.directory / file_name(outcome.head.eval_id)
        write_atomic(path, encode(outcome))
        ignore_in_git(self.directory.parent)
        return path

    def files(self) -> list[Path]:
        """Return the copies, oldest first. Links, pipes and directories are left out."""
        found: list[tuple[int, Path]] = []
        for path in self.directory.glob(f"*{SUFFIX}"):
            with suppress(FileNotFoundError):  # another process uploaded it
                state = path.lstat()
                if stat.S_ISREG(state.st_mode):
                    found.append((state.st_mtime_ns, path))
        return [path for _, path in sorted(found)]

    def holds(self, path: Path) -> bool:
        """Tell whether a file is one of the copies."""
        return path.parent == self.directory
