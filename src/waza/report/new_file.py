"""Files that are created, never over an existing one."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from waza.kit.names import number_names


def create(directory: Path, stem: str, suffix: str) -> tuple[Path, BinaryIO]:
    """Create `<stem><suffix>` in a directory, or `<stem>-2<suffix>` and so on where that exists.

    Returns the path and the file, open for writing. The directory is made if needed. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in number_names(stem):
        path = directory / f"{name}{suffix}"
        try:
            return path, path.open("xb")
        except FileExistsError:
            continue
    raise AssertionError  # the names have no end
