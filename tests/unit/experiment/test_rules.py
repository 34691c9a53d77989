"""Rules of experiments: what they say, and how often they err, by simulation.

Each rate is checked with its exact binomial interval (Clopper and Pearson) of 99.9 % confidence. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
import scipy.stats

from waza.experiment.rules import Rule, can_decide, rule_on

ALPHA = 0.05
FIXED = Rule(kind="fixed", alpha=ALPHA)
SEQUENTIAL = Rule(kind="sequential", alpha=ALPHA)
Draw = Callable[[Random], float]


def bounds(hits: int, runs: int) -> tuple[float, float]:
    found = scipy.stats.binomtest(hits, runs).proportion_ci(0.999)
    return float(found.low), float(found.high)


def null(draw: Random) -> float:
    """Return the difference of pass rates over two trials of a task on which both arms are alike."""
    rate = draw.random()
    return (sum(draw.random() < rate for _ in range(2)) - sum(draw.random() < rate for _ in range(2))) / 2


def lower_by_a_tenth(draw: Random) -> float:
    """Return differences whose mean is -0.1: mostly 0, sometimes a loss."""
    return -1.0 if draw.random() < 0.1 else 0.0


def lower_symmetrically(draw: Random) -> float:
    """Return differences about -0.1, as far above as below."""
    return -0.1 + draw.choice([-0.3, -0.1, 0.1, 0.3])


def rates(rule: Rule, one: Draw, units: int, runs: int) -> tuple[int, int]:
    """Return how often the rule passes and fails."""
    draw = Random(f"{rule.kind}{units}")
    found = [rule_on(rule, [[one(draw)] for _ in range(units)]).outcome for _ in range(runs)]
    return found.count("pass"), found.count("fail")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "one", "units"),
    [
        (FIXED, null, 8),
        (FIXED, null, 18),
        (SEQUENTIAL, null, 30),
        (SEQUENTIAL, null, 100),
        (Rule(kind="sequential", alpha=ALPHA, tolerated_loss=0.1), lower_symmetrically, 60),
        (Rule(kind="sequential", alpha=ALPHA, tolerated_loss=0.1), lower_by_a_tenth, 60),
    ],
)
def test_no_rule_errs_more_often_than_alpha(rule: Rule, one: Draw, units: int):
    runs = 800
    for wrong in rates(rule, one, units, runs):
        assert bounds(wrong, runs)[0] <= ALPHA


@pytest.mark.slow
def test_looking_again_and_again_with_the_fixed_rule_would_err_more_often():
    """The check above can fail: the test of a fixed size, repeated after every unit."""
    draw, runs, alarms = Random(2), 300, 0
    for _ in range(runs):
        units = [[draw.gauss(0, 0.3)] for _ in range(18)]
        alarms += any(rule_on(FIXED, units[:n]).outcome == "pass" for n in range(5, 19))
    assert bounds(alarms, runs)[0] > ALPHA


def test_the_fixed_rule_with_a_tolerated_loss_would_err_more_often():
    """Why no plan has both: a loss that is rare and large passes, although it is as large as the tolerated one."""
    runs = 100
    passed, _ = rates(Rule(kind="fixed", alpha=ALPHA, tolerated_loss=0.1), lower_by_a_tenth, 10, runs)
    assert bounds(passed, runs)[0] > ALPHA


@pytest.mark.parametrize("rule", [FIXED, SEQUENTIAL])
def test_a_large_difference_is_decided_and_none_is_not(rule: Rule):
    better, worse = [[0.9]] * 15, [[-0.9]] * 15
    assert rule_on(rule, better).outcome == "pass"
    assert rule_on(rule, worse).outcome == "fail"
    assert rule_on(rule, [[0.5], [-0.5]] * 7).outcome == "inconclusive"
    assert rule_on(rule, []).outcome == "inconclusive"


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_the_wealth_is_the_mean_of_products_and_stops_the_rule(loss: float):
    draw = Random(5)
    units = [[draw.choice([1.0, 0.5, 0.0, -0.5])] for _ in range(40)]
    rule = Rule(kind="sequential", alpha=ALPHA, tolerated_loss=loss)
    found = rule_on(rule, units)
    effects = (np.array([unit[0] for unit in units]) + loss) / (1 + loss)
    bets = np.arange(1, 20)[:, None] / 20
    wealth = np.cumprod(1 + bets * effects, axis=1).mean(axis=0)
    against = np.cumprod(1 - bets * effects, axis=1).mean(axis=0)
    crossed = np.flatnonzero(np.maximum(wealth, against) >= 1 / ALPHA)
    assert found.units == (crossed[0] + 1 if len(crossed) else 40)
    assert found.evidence["wealth_for"] == pytest.approx(wealth[found.units - 1], rel=1e-9)
    assert found.evidence["wealth_against"] == pytest.approx(against[found.units - 1], rel=1e-9)


def test_the_worst_differences_cost_a_bet_no_more_than_it_has():
    rule = Rule(kind="sequential", alpha=1e-6, tolerated_loss=0.5)
    assert rule_on(rule, [[-1.0], [1.0]] * 30).evidence["wealth_for"] > 0


def test_the_fixed_rule_is_half_of_the_two_sided_test():
    assert rule_on(FIXED, [[1.0]] * 5).evidence == {"p_value": 2**-5}
    assert rule_on(FIXED, [[1.0]] * 5).outcome == "pass"
    assert rule_on(FIXED, [[1.0]] * 4).outcome == "inconclusive"


def test_how_many_units_can_decide_at_all():
    assert [can_decide(FIXED, n) for n in (4, 5)] == [False, True]
    least = next(n for n in range(1, 50) if can_decide(SEQUENTIAL, n))
    assert 5 < least < 10
    assert not can_decide(SEQUENTIAL, least - 1)
