"""Files that are made anew and never over another one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import BinaryIO


def create(directory: Path, stem: str, suffix: str) -> tuple[Path, BinaryIO]:
    """Create `<stem><suffix>` in a directory, or `<stem>-2<suffix>` and so on where that exists.

    Returns the path and the file, open for writing. The directory is made if needed. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = directory / f"{stem}{f'-{number}' if number > 1 else ''}{suffix}"
        try:
            return path, path.open("xb")
        except FileExistsError:
            continue
    raise AssertionError  # the counter has no end
