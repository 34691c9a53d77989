"""The keys of a policy file of `waza gate` (`--policy FILE`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from waza.model.base import Keys, NonBlank

NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class Limit(Keys, frozen=True, kw_only=True):
    """One of `limits`: what a figure of the current run may be. At least one of the last four keys is needed."""

    strict_keys: ClassVar[bool] = True
    metric: NonBlank
    """`pass_rate`, `score`, `flakiness`, `errors`, `cost`, `tokens`, `latency`, or the name of a metric of the suite.
    `flakiness` is of tasks with at least two trials."""
    group: str = ""
    """Only tasks of this group (`config.group_by`)."""
    tag: str = ""
    """Only tasks with this tag."""
    least: float | None = msgspec.field(default=None, name="min")
    """The least value that passes."""
    most: float | None = msgspec.field(default=None, name="max")
    """The largest value that passes."""
    max_drop: NotNegative | None = None
    """By how much `pass_rate`, `score` or a metric of the suite may be below the baseline: 0.05 is 5 points."""
    max_rise: NotNegative | None = None
    """By how much the others may be above the baseline: `cost`, `tokens` and `latency` as a share of it (0.2 is a fifth),
    `flakiness` and `errors` in shares of the tasks."""


class GatePolicy(Keys, frozen=True, kw_only=True):
    """The keys of a policy file."""

    strict_keys: ClassVar[bool] = True
    limits: Annotated[list[Limit], msgspec.Meta(min_length=1)]
    """What figures of the current run may be."""
    require: Literal["significant"] | None = None
    """`significant`: `max_drop` and `max_rise` are broken only by a loss that chance does not explain."""
    alpha: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """The chance of a false alarm that such a test accepts."""
