"""Which part of a suite was run, where it was not all of it."""

from __future__ import annotations

import msgspec


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a suite that were chosen to run. Results have it as `metadata.selection`, unless all were."""

    filters: tuple[str, ...]
    """The options that chose them, as on a command line."""
    selected: int
    """How many tasks were chosen."""
    of: int
    """How many tasks the suite has, without those that are disabled."""
