"""When the trials of a task end before all have run: `config.stop_when`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from waza.model.base import Count, Keys

_HINT = "write half of the interval's width as a share, such as 0.05 for 5 points on both sides"

EndedBy = Literal["ci_half_width", "pass_rule", "max_trials", "not_graded"]
"""Why a task had no further trial: its interval is narrow enough, its verdict is decided, it had the most trials, or
nobody graded it, so that more of them could decide nothing."""


class StopWhen(Keys, frozen=True, kw_only=True):
    """`stop_when`: the trials of each task end when its pass rate is known well enough."""

    strict_keys: ClassVar[bool] = True
    min_trials: Count | None = None
    """The fewest trials of a task. Default: `trials_per_task` if there is `max_trials`, else 1."""
    max_trials: Count | None = None
    """The most trials of a task. Default: `trials_per_task`."""
    ci_half_width: Annotated[float, msgspec.Meta(gt=0, lt=0.5, extra={"hint": _HINT})] | None = None
    """A task ends when half the width of its pass rate's 95 % confidence sequence is no more than this. Left out, a task
    ends when its verdict by the pass rule is decided."""


class StopRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`stop_when` with all that was left out filled in, as journals and results have it."""

    min_trials: int
    """The fewest trials of a task."""
    max_trials: int
    """The most trials of a task."""
    ci_half_width: float | None = None
    """The half width that ends a task; left out: its verdict does."""


def describe_stop(stop: StopRule) -> str:
    """Return the rule for people: `3 to 20 a task, until its verdict is decided`."""
    until = (
        "its verdict is decided"
        if stop.ci_half_width is None
        else f"its pass rate is known to ±{stop.ci_half_width * 100:g} points"
    )
    return f"{stop.min_trials} to {stop.max_trials} a task, until {until}; intervals of tasks are confidence sequences"


def stop_rule(stop_when: StopWhen, trials_per_task: int) -> StopRule:
    """Return the rule of a suite, of which `trials_per_task` is the one of the two numbers that is left out."""
    least, most = stop_when.min_trials, stop_when.max_trials
    if least is None:
        least = 1 if most is None else trials_per_task
    return StopRule(
        min_trials=least,
        max_trials=trials_per_task if most is None else most,
        ci_half_width=stop_when.ci_half_width,
    )
