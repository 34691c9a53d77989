"""The decision of `config.stop_when`: of finished trials alone, and rarely wrong."""

from __future__ import annotations

from random import Random

import pytest

from waza.model.pass_rule import AtLeast, PassRule
from waza.model.result import TrialStatus
from waza.model.stop_when import StopRule
from waza.results.comparison.sign_flip import sign_flip
from waza.results.stop_when import ended_by, graded_bounds, lacking, next_trials

SHARE = StopRule(min_trials=2, max_trials=60)
WIDTH = StopRule(min_trials=2, max_trials=120, ci_half_width=0.15)


def play(stop: StopRule, rule: PassRule, rate: float, chance: Random) -> dict[int, TrialStatus]:
    """Run the trials of a task that passes with this rate, until the rule ends it."""
    trials: dict[int, TrialStatus] = {}
    while numbers := next_trials(stop, rule, trials, stop.max_trials):
        trials |= {number: "passed" if chance.random() < rate else "failed" for number in numbers}
    return trials


@pytest.mark.parametrize(
    ("rule", "rate"), [("majority", 0.4), ("majority", 0.6), (AtLeast(at_least=0.8), 0.78)]
)
def test_a_verdict_that_ended_a_task_is_wrong_in_no_more_than_5_percent_of_cases(rule: PassRule, rate: float):
    share = rule.at_least if isinstance(rule, AtLeast) else 0.5
    chance, wrong, runs = Random(3), 0, 600
    for _ in range(runs):
        statuses = list(play(SHARE, rule, rate, chance).values())
        if ended_by(SHARE, rule, statuses) == "pass_rule":
            wrong += (statuses.count("passed") / len(statuses) > share) != (rate > share)
    assert wrong / runs <= 0.05


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_the_interval_of_a_task_that_was_ended_holds_its_rate(rate: float):
    chance, missed, runs = Random(4), 0, 600
    for _ in range(runs):
        lower, upper = graded_bounds(list(play(WIDTH, "all", rate, chance).values()))
        missed += not lower <= rate <= upper
    assert missed / runs <= 0.05


@pytest.mark.parametrize(("stop", "rule"), [(SHARE, "all"), (SHARE, "majority"), (WIDTH, "all")])
def test_two_runs_of_one_rule_differ_significantly_in_no_more_than_5_percent_of_cases(
    stop: StopRule, rule: PassRule
):
    chance, hits, runs = Random(6), 0, 300
    for _ in range(runs):
        differences = []
        for _ in range(10):
            rate = chance.choice((0.3, 0.7, 0.9, 0.97))
            arms = [list(play(stop, rule, rate, chance).values()) for _ in range(2)]
            shares = [arm.count("passed") / len(arm) for arm in arms]
            differences.append([shares[1] - shares[0]])
        hits += sign_flip(differences).p_value <= 0.05
    assert hits / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_it_depends_on_the_finished_trials_alone():
    chance = Random(8)
    for stop in (SHARE, WIDTH):
        trials = play(stop, "majority", 0.7, chance)
        assert sorted(trials) == list(range(1, len(trials) + 1))
        assert lacking(stop, "majority", list(trials.values())) == 0
        for kept in range(len(trials)):  # killed after each of them
            left = {number: trials[number] for number in list(trials)[:kept]}
            assert lacking(stop, "majority", list(left.values())) > 0
            assert set(next_trials(stop, "majority", left, 0)) <= set(trials) - set(left)
        mixed = list(trials.values())
        chance.shuffle(mixed)
        assert ended_by(stop, "majority", mixed) == ended_by(stop, "majority", list(trials.values()))


def test_a_trial_that_broke_is_run_again_in_its_place():
    trials: dict[int, TrialStatus] = dict.fromkeys(range(1, 8), "passed")
    assert next_trials(SHARE, "majority", trials, 0) == []
    del trials[3]
    assert next_trials(SHARE, "majority", trials, 0) == [3]
    assert next_trials(None, "majority", trials, 9) == [3, 8, 9]
