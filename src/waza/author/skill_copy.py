"""Offering a copy of a skill in the place of the skill itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from waza.suite.discover import iter_targets


def with_copy(roots: Sequence[Path], original: Path, copy: Path) -> tuple[Path, ...]:
    """Return where an agent finds skills: those of the roots, but the copy in the place of the directory of the original."""
    return (*_others(roots, original), copy)


def _others(roots: Sequence[Path], original: Path) -> Iterator[Path]:
    for root in roots:
        if original.is_relative_to(root):
            yield from (
                one.directory
                for one in iter_targets([root])
                if one.kind == "skill" and one.directory != original
            )
        else:
            yield root
