"""Which part of a suite was run, where it was not all of it."""

from __future__ import annotations

import msgspec


class Shard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the parts that a run was divided into, so that each can run on a machine of its own (`--shard`)."""

    number: int
    """Which of the shards it is, from 1."""
    of: int
    """How many shards there are."""
    durations: str = ""
    """The SHA-256 digest of the file whose durations balanced the shards; empty: the ids of tasks decided."""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tasks of a suite that were chosen to run. Results have it as `metadata.selection`, unless all were."""

    filters: tuple[str, ...]
    """The options that chose them, as on a command line."""
    selected: int
    """How many tasks were chosen."""
    of: int
    """How many tasks the suite has, without those that are disabled."""
    shard: Shard | None = None
    """The shard whose tasks these are; such results are of a part of a run."""
