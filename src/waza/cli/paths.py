"""Paths as values of options."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path


class FilePath(click.Path):
    """A path that need not exist, given to commands as a `Path`. Help does without `pathlib`, whose import takes long."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path that a word is."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


PATH = FilePath()
