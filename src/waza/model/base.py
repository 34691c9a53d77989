"""The two kinds of struct that people's files are made of, and the limits their numbers keep."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

Effort = Literal["low", "medium", "high", "xhigh", "max"]

# Upper limits only keep absurd numbers out of timers and loops: a day, a million runs.
Seconds = Annotated[int, msgspec.Meta(ge=1, le=86_400)]
SecondsOrOff = Annotated[int, msgspec.Meta(ge=0, le=86_400)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
CountOrOff = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
NonNegative = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
NonBlank = Annotated[str, msgspec.Meta(min_length=1)]
Weight = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]


class Keys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys that people write in a YAML file."""

    strict_keys: ClassVar[bool] = False  # True: an unknown key is an error at every schema version
