"""What was made of files, which is made again only when one of the files has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from waza.kit.files import Stamp, stamp_at, stamp_of

T = TypeVar("T")


class FileCache(Generic[T]):
    """Keeps for each file what was last made of it, and of others that belong to it."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[tuple[Path, Stamp | None]], T]] = {}

    def get(
        self,
        path: Path,
        make: Callable[[], T],
        others: Iterable[Path] = (),
        *,
        stamp: Stamp | None = None,
    ) -> T:
        """Return what `make` makes of a file, whose `stamp` may be known, and of `others`.

        Raises what `make` raises, and OSError for a file that is gone.
        """
        stamps = [(path, stamp or stamp_of(path.stat())), *((one, stamp_at(one)) for one in others)]
        known = self._known.get(path)
        if known is None or known[0] != stamps:
            known = self._known[path] = stamps, make()
        return known[1]

    def keep(self, paths: Collection[Path]) -> None:
        """Forget all but these files."""
        self._known = {path: one for path, one in self._known.items() if path in paths}
