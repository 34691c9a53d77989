"""Rules that decide an experiment: what is tested, when it stops, and what comes out.

A unit is a task, or a group of tasks that change together; its effect is the mean difference of the score, candidate
minus baseline, plus the loss that the plan tolerates. Pass: the effect is above 0. Fail: it is below. A rule says
either in error with the probability alpha at most, under the conditions that it states; else the outcome is
inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from waza.kit.stats import mean
from waza.results.comparison.sign_flip import sign_flip

Outcome = Literal["pass", "fail", "inconclusive"]
CONDITIONS = {
    "fixed": "The fixed rule is exact where the two arms are alike; where they are not, it takes the differences to be "
    "spread alike on both sides of their mean",
    "sequential": "The sequential rule takes the tasks to be a sample of all that the suite stands for",
}
"""What the error rate of each kind of rule rests on."""
_BETS = tuple(step / 20 for step in range(1, 20))


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an experiment is decided."""

    kind: Literal["fixed", "sequential"]
    """`fixed`: one test, of all units. `sequential`: after every unit, until the rule decides."""
    alpha: float
    """The chance of passing a candidate that is worse than tolerated, and of failing one that is not."""
    tolerated_loss: float = 0.0
    """A loss of score that still passes, from 0 to 1; only of `sequential` rules."""


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says of the units so far. `evidence` are the figures that it goes by."""

    outcome: Outcome
    units: int
    """Units that were looked at; a sequential rule stops at the one that decides."""
    evidence: dict[str, float]


def rule_on(rule: Rule, differences: Sequence[Sequence[float]]) -> Ruling:
    """Apply a rule to the differences of the tasks, in units, in the order in which they were collected."""
    units = [[value + rule.tolerated_loss for value in unit] for unit in differences]
    return _rule_fixed(rule, units) if rule.kind == "fixed" else _rule_sequential(rule, units)


def can_decide(rule: Rule, units: int) -> bool:
    """Return whether so many units can decide at all: whether they do if every task of the candidate is better by 1."""
    return rule_on(rule, [[1.0]] * units).outcome == "pass"


def _rule_fixed(rule: Rule, units: Sequence[Sequence[float]]) -> Ruling:
    """Test by sign flips, two-sided at 2 alpha: by symmetry each side errs with the probability alpha at most.

    Effects of two arms that are alike are symmetric about 0. With a tolerated loss they are not: of ten tasks, one of
    which loses everything in one case of ten, most collections have ten small gains. So no plan has both.
    """
    total = math.fsum(value for unit in units for value in unit)
    p_value = sign_flip(units).p_value if units else 1.0
    decided = p_value <= 2 * rule.alpha
    outcome: Outcome = "inconclusive" if not decided else "pass" if total > 0 else "fail"
    return Ruling(outcome=outcome, units=len(units), evidence={"p_value": p_value / 2})


def _rule_sequential(rule: Rule, units: Sequence[Sequence[float]]) -> Ruling:
    """Bet on the effects, one unit after another, and stop at a wealth of 1/alpha.

    Against "not above 0" the wealth is the mean, over the bets b, of the products of 1 + b x, where x is the mean of a
    unit divided by its largest size, 1 + tolerated loss. If the effect is not above 0 in truth, no bet gains on the
    average, whatever was seen before: so the wealth ever reaches 1/alpha with the probability alpha at most (Ville's
    inequality; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024), and looking
    after every unit costs nothing. Against "not below 0" the bets are on -x. Units are taken to be drawn from all that
    the suite is a sample of; of a group of tasks the mean counts once, however many they are.
    """
    largest = 1 + rule.tolerated_loss
    up, down = [0.0] * len(_BETS), [0.0] * len(_BETS)
    outcome: Outcome = "inconclusive"
    seen = 0
    for unit in units:
        seen += 1
        effect = mean(unit) / largest
        up = [log + math.log1p(bet * effect) for log, bet in zip(up, _BETS, strict=True)]
        down = [log + math.log1p(-bet * effect) for log, bet in zip(down, _BETS, strict=True)]
        if max(_wealth(up), _wealth(down)) >= 1 / rule.alpha:
            outcome = "pass" if _wealth(up) > _wealth(down) else "fail"
            break
    evidence = {"wealth_for": _wealth(up), "wealth_against": _wealth(down), "needed": 1 / rule.alpha}
    return Ruling(outcome=outcome, units=seen, evidence=evidence)


def _wealth(logs: Sequence[float]) -> float:
    return mean([math.exp(min(log, 700.0)) for log in logs])
