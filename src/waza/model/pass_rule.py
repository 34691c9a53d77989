"""How many of its trials a task must pass: `config.pass_rule`."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import msgspec

from waza.model.base import Keys

_HINT = "write a share of the trials, such as 0.8 for four of five"
_NOISE = 1e-9  # of floating point: 0.8 of 5 trials are 4


class AtLeast(Keys, frozen=True, kw_only=True):
    """`pass_rule: {at_least: 0.8}`: a share of the trials."""

    strict_keys: ClassVar[bool] = True
    at_least: Annotated[float, msgspec.Meta(gt=0, le=1, extra={"hint": _HINT})]
    """The least share of the trials, above 0 and at most 1, that must pass."""


PassRule = Literal["all", "any", "majority"] | AtLeast
"""Which trials of a task must pass: all, one, more than half, or a share of them."""

ALL: Literal["all"] = "all"
"""The rule of suites without one."""


def trials_needed(rule: PassRule, trials: int) -> int:
    """Return how many of so many trials must pass; at least 1."""
    if isinstance(rule, AtLeast):
        return max(1, math.ceil(rule.at_least * trials - _NOISE))
    return {"all": max(1, trials), "any": 1, "majority": trials // 2 + 1}[rule]


def rule_name(rule: PassRule) -> str:
    """Return the rule in words: `any`, `at least 0.8`."""
    return f"at least {rule.at_least:g}" if isinstance(rule, AtLeast) else rule


def describe_rule(rule: PassRule, trials: int) -> str:
    """Return the rule for people, for tasks of so many trials: `any, 1 of 3 trials must pass`."""
    return f"{rule_name(rule)}, {trials_needed(rule, trials)} of {trials} trials must pass"
