"""Agreement and corrected rates against another computation (statsmodels), and on raters whose errors are known."""

from __future__ import annotations

import math
from random import Random

import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from waza.kit.agreement import MeasuredShare, RaterPairs, cohen_kappa, corrected_rate, kappa_interval
from waza.kit.stats import wilson

TABLES = [
    RaterPairs(45, 15, 25, 15),
    RaterPairs(20, 5, 10, 15),
    RaterPairs(1, 7, 3, 2),
    RaterPairs(9, 1, 0, 190),
    RaterPairs(0, 6, 5, 0),
]


def close(expected: object) -> object:
    return pytest.approx(expected, rel=0, abs=1e-9)


@pytest.mark.parametrize("pairs", TABLES)
def test_kappa_and_its_interval_are_those_of_another_computation(pairs: RaterPairs) -> None:
    both, first, second, neither = pairs
    whole = cohens_kappa([[both, first], [second, neither]])
    added = cohens_kappa([[both + 0.5, first + 0.5], [second + 0.5, neither + 0.5]])
    half = 1.959963984540054 * math.sqrt(added.var_kappa)
    kappa = cohen_kappa(pairs)
    assert kappa == close(whole.kappa)
    assert kappa_interval(pairs) == close(
        (max(-1, min(whole.kappa, added.kappa - half)), min(1, max(whole.kappa, added.kappa + half)))
    )


def test_there_is_no_kappa_where_both_always_say_the_same_one_thing() -> None:
    for pairs in (RaterPairs(), RaterPairs(both=9), RaterPairs(neither=3)):
        assert (cohen_kappa(pairs), kappa_interval(pairs)) == (None, None)
    assert cohen_kappa(RaterPairs(both=99, second=1)) == 0  # much agreement, and none beyond chance


def test_perfect_agreement_on_few_things_is_not_certain() -> None:
    few, many = (
        kappa_interval(RaterPairs(both=3, neither=2)),
        kappa_interval(RaterPairs(both=300, neither=200)),
    )
    assert few is not None
    assert many is not None
    assert few[1] == many[1] == 1
    assert few[0] < 0.4
    assert many[0] > 0.98


def test_wilson_is_that_of_another_computation() -> None:
    for share in (MeasuredShare(0, 7), MeasuredShare(5, 9), MeasuredShare(41, 41)):
        assert wilson(*share) == close(proportion_confint(*share, method="wilson"))


def test_a_rate_is_corrected() -> None:
    # Of 100 things that are yes 90 were called so, of 100 that are no 80: (0.45 + 0.8 - 1)/(0.9 + 0.8 - 1).
    found = corrected_rate(MeasuredShare(90, 200), MeasuredShare(90, 100), MeasuredShare(80, 100))
    assert found is not None
    assert found.value == close(0.25 / 0.7)
    assert not found.clipped

    # Worked out by hand, with z^2 = 3.841458820694124.
    squared = 3.841458820694124
    rate, hits, rejections = (90 + squared / 2) / (200 + squared), 91 / 102, 81 / 102
    gained = hits + rejections - 1
    centre = (rate + rejections - 1) / gained
    shift = (
        2 * squared * (centre * hits * (1 - hits) / 102 - (1 - centre) * rejections * (1 - rejections) / 102)
    )
    error = (
        math.sqrt(
            rate * (1 - rate) / (200 + squared)
            + centre**2 * hits * (1 - hits) / 102
            + (1 - centre) ** 2 * rejections * (1 - rejections) / 102
        )
        / gained
    )
    assert found.interval == close(
        (centre + shift - math.sqrt(squared) * error, centre + shift + math.sqrt(squared) * error)
    )


def test_a_perfect_rater_needs_no_correction() -> None:
    found = corrected_rate(
        MeasuredShare(700, 1000), MeasuredShare(10_000, 10_000), MeasuredShare(10_000, 10_000)
    )
    assert found is not None
    assert found.value == 0.7
    assert found.interval == pytest.approx(wilson(700, 1000), abs=1e-3)


@pytest.mark.parametrize(("passed", "value"), [(1, 0.0), (99, 1.0)])
def test_what_lies_outside_is_clipped_and_marked(passed: int, value: float) -> None:
    found = corrected_rate(MeasuredShare(passed, 100), MeasuredShare(45, 50), MeasuredShare(45, 50))
    assert found is not None
    assert (found.value, found.clipped) == (value, True)
    assert 0 <= found.interval[0] <= value <= found.interval[1] <= 1


@pytest.mark.parametrize(
    ("sensitivity", "specificity"),
    [
        (MeasuredShare(5, 10), MeasuredShare(5, 10)),  # as a coin
        (MeasuredShare(1, 10), MeasuredShare(1, 10)),  # worse
        (MeasuredShare(0, 0), MeasuredShare(9, 9)),  # nothing to know the sensitivity by
        (MeasuredShare(9, 9), MeasuredShare(0, 0)),
        (MeasuredShare(2, 2), MeasuredShare(1, 900)),  # barely above 1, and only by chance
    ],
)
def test_a_rater_no_better_than_chance_corrects_nothing(
    sensitivity: MeasuredShare, specificity: MeasuredShare
) -> None:
    assert corrected_rate(MeasuredShare(50, 100), sensitivity, specificity) is None


def test_nothing_was_measured() -> None:
    assert corrected_rate(MeasuredShare(0, 0), MeasuredShare(9, 9), MeasuredShare(9, 9)) is None


def _rate(
    random: Random, true: float, size: int, sensitivity: float, specificity: float
) -> list[tuple[bool, bool]]:
    """What is true of so many things, and what a rater with these errors says of them."""
    found = []
    for _ in range(size):
        is_yes = random.random() < true
        says_yes = random.random() < (sensitivity if is_yes else 1 - specificity)
        found.append((is_yes, says_yes))
    return found


@pytest.mark.parametrize("true", [0.15, 0.5, 0.85])
@pytest.mark.parametrize(("sensitivity", "specificity"), [(0.95, 0.7), (0.7, 0.95), (0.85, 0.85)])
def test_the_interval_holds_the_true_rate_as_often_as_it_should(
    true: float, sensitivity: float, specificity: float
) -> None:
    """The first 60 of 200 answers were also looked at by a person, as with labels: the samples are not independent."""
    random, held, apart, held_uncorrected = Random(f"{true} {sensitivity} {specificity}"), 0, 0, 0
    errors = []
    for _ in range(400):
        rated = _rate(random, true, 200, sensitivity, specificity)
        labelled = rated[:60]
        yes = [says for is_yes, says in labelled if is_yes]
        no = [says for is_yes, says in labelled if not is_yes]
        observed = MeasuredShare(sum(says for _, says in rated), len(rated))
        found = corrected_rate(
            observed, MeasuredShare(sum(yes), len(yes)), MeasuredShare(len(no) - sum(no), len(no))
        )
        if found is None:
            continue
        apart += 1
        held += found.interval[0] <= true <= found.interval[1]
        lower, upper = wilson(*observed)
        held_uncorrected += lower <= true <= upper
        errors.append(found.value - true)
    assert apart > 390
    assert held / apart >= 0.94, held / apart
    assert abs(sum(errors) / apart) < 0.02
    biased = abs(true * sensitivity + (1 - true) * (1 - specificity) - true) > 0.08
    assert not biased or held_uncorrected / apart < 0.5


@pytest.mark.parametrize(
    ("true", "sensitivity", "specificity"), [(0.5, 0.9, 0.8), (0.8, 0.95, 0.9), (0.5, 0.99, 0.99)]
)
@pytest.mark.parametrize("size", [20, 80])
def test_the_interval_holds_the_true_kappa_as_often_as_it_should(
    true: float, sensitivity: float, specificity: float, size: int
) -> None:
    random, held = Random(f"{true} {size}"), 0
    cells = (
        true * sensitivity,
        true * (1 - sensitivity),
        (1 - true) * (1 - specificity),
        (1 - true) * specificity,
    )
    agreed, yes = cells[0] + cells[3], cells[0] + cells[2]
    chance = true * yes + (1 - true) * (1 - yes)
    kappa = (agreed - chance) / (1 - chance)
    for _ in range(600):
        rated = _rate(random, true, size, sensitivity, specificity)
        found = kappa_interval(
            RaterPairs(
                *(rated.count(one) for one in ((True, True), (True, False), (False, True), (False, False)))
            )
        )
        held += found is not None and found[0] <= kappa <= found[1]
    assert held / 600 >= 0.93, held / 600
