"""False alarms: against enumeration, and against simulated pairs of identical arms, with their confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from random import Random

import msgspec
import pytest
from tests.unit.report.factory import run, suite, task

from waza.model.pass_rule import AtLeast, PassRule
from waza.model.result import SuiteResult, TrialStatus
from waza.results import noise
from waza.results.noise import false_alarm, outcome_chances, pools_of_pair, pools_of_runs


def result(tasks: Sequence[Sequence[TrialStatus]]) -> SuiteResult:
    return suite(
        [
            task(f"t{i}", *[run(n, status) for n, status in enumerate(trials, 1)])
            for i, trials in enumerate(tasks)
        ]
    )


def draw(rates: Sequence[float], trials: int, chance: Random) -> SuiteResult:
    return result(
        [["passed" if chance.random() < rate else "failed" for _ in range(trials)] for rate in rates]
    )


def within(share: float, wanted: float, draws: int, errors: float = 3.29) -> bool:
    """Whether a share of so many draws is one that chance gives: by default in 999 of 1000 cases."""
    return abs(share - wanted) <= errors * math.sqrt(wanted * (1 - wanted) / draws) + 1 / draws


@pytest.mark.parametrize("limit", [0, 34])
def test_the_chance_is_that_of_all_ways_to_deal_the_trials(limit: float):
    a, b = (
        result([["passed", "failed"], ["passed", "passed"], ["error", "passed"]]),
        result([["failed", "failed"], ["passed", "passed"], ["passed", "passed"]]),
    )
    pools = pools_of_pair(a, b)
    ways = [
        [tuple(chosen) for chosen in combinations(range(len(pool.trials)), pool.sizes[0])] for pool in pools
    ]
    hits = total = 0
    for chosen in product(*ways):
        fall = 0
        for pool, first in zip(pools, chosen, strict=True):
            status = [trial.status == "passed" for trial in pool.trials]
            one = all(status[i] for i in first)
            other = all(status[i] for i in range(len(status)) if i not in first)
            fall += one - other
        hits += max(0, fall) / len(pools) * 100 > limit + 1e-9
        total += 1
    found = false_alarm(pools, limit, golden=False)
    assert found is not None
    assert within(found.probability, hits / total, found.deals)


def test_two_identical_arms_often_trip_a_gate_without_a_limit(monkeypatch: pytest.MonkeyPatch):
    """About 40 % at 8 to 20 tasks of three trials; and what is reported is, on the average, what happens."""
    monkeypatch.setattr(noise, "MOST_DEALS", 200)
    chance = Random(20260131)
    reported, tripped, pairs, looked_at = 0.0, 0, 4_000, 60
    for number in range(pairs):
        rates = [chance.betavariate(4, 1.3) for _ in range(chance.randint(8, 20))]
        passed = [sum(chance.random() < rate**3 for rate in rates) for _ in range(2)]
        tripped += passed[1] < passed[0]
        if number < looked_at:
            pools = pools_of_pair(draw(rates, 3, chance), draw(rates, 3, chance))
            found = false_alarm(pools, 0, golden=False)
            assert found is not None
            reported += found.probability / looked_at
    share = tripped / pairs
    error = 3.29 * math.sqrt(share * (1 - share) / pairs)
    assert 0.36 < share - error < share + error < 0.46
    assert abs(reported - share) < error + 3.29 * 0.25 / math.sqrt(looked_at)


def test_the_quiet_limit_is_quiet():
    """A limit outside of the noise of one pair is tripped in at most 5 % of other pairs of the same agent."""
    chance = Random(7)
    rates = [0.5, 0.7, 0.8, 0.9, 0.9, 0.95, 1, 1, 0.6, 0.75]
    found = false_alarm(pools_of_runs([draw(rates, 40, chance)], trials=3), 0, golden=False)
    assert found is not None
    pairs = 1_500
    trips = sum(
        draw(rates, 3, chance).summary.success_rate
        < draw(rates, 3, chance).summary.success_rate - found.quiet_limit_pct / 100 - 1e-9
        for _ in range(pairs)
    )
    assert trips / pairs <= 0.05 + 3.29 * math.sqrt(0.05 * 0.95 / pairs)


def test_steady_runs_raise_no_false_alarm():
    steady = result([["passed"] * 3, ["failed"] * 3])
    found = false_alarm(pools_of_pair(steady, steady), 0, golden=True)
    assert found is not None
    assert (found.probability, found.quiet_limit_pct, found.deals) == (0, 0, 1)


def test_a_golden_task_that_is_flaky_raises_false_alarms():
    a, b = (suite([task("g", run(1, status), golden=True)]) for status in ("passed", "failed"))
    pools = pools_of_pair(a, b)
    found = false_alarm(pools, 100, golden=True)
    assert found is not None
    assert within(found.probability, 0.5, found.deals)
    lenient = false_alarm(pools, 100, golden=False)
    assert lenient is not None
    assert lenient.probability == 0


def test_equal_data_give_equal_chances_in_any_order():
    a, b = result([["passed", "failed"], ["passed", "passed"]] * 4), result([["failed", "passed"]] * 8)
    pools = pools_of_pair(a, b)
    assert false_alarm(pools, 0, golden=False) == false_alarm(pools[::-1], 0, golden=False)


def test_without_trials_nothing_is_known():
    empty = suite([task("a", status="passed")])
    assert false_alarm(pools_of_pair(empty, empty), 0, golden=True) is None


@pytest.mark.parametrize("rule", ["all", "any", "majority", AtLeast(at_least=0.6)])
@pytest.mark.parametrize(("runs", "trials"), [(2, 3), (3, 2), (1, 3)])
def test_chances_of_outcomes_are_those_of_dealing_trials(rule: PassRule, runs: int, trials: int):
    """Without replacement, with trials left over, and with replacement: each against what dealt arms come to.

    Of so many comparisons, chance fails one in a million.
    """
    chance = Random(5)
    made = [draw([0.3, 0.6, 0.9], 3, chance) for _ in range(runs)]
    made = [
        msgspec.structs.replace(one, config=msgspec.structs.replace(one.config, pass_rule=rule))
        for one in made
    ]
    draws = 4_000
    for pool in pools_of_runs(made, trials):
        wanted = outcome_chances(pool)
        assert math.fsum(wanted) == pytest.approx(1)
        seen = [0, 0, 0, 0]
        for _ in range(draws):
            first, second = pool.deal(chance)
            seen[2 * first.passed + second.passed] += 1
        assert all(
            within(count / draws, share, draws, 4.9) for count, share in zip(seen, wanted, strict=True)
        )
