from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import product
from random import Random

import pytest

from waza.kit.stats import (
    Interval,
    bootstrap,
    f1,
    flakiness_percent,
    mean,
    normalized_gain,
    pass_at_k,
    pass_hat_k,
    round_half_away,
    std_dev,
    variance,
    wilson,
)


def close(expected: object) -> object:
    return pytest.approx(expected, rel=0, abs=1e-9)


def test_mean_and_population_spread() -> None:
    assert mean([1, 0.5]) == 0.75
    assert variance([1, 0.5]) == 0.0625
    assert std_dev([1, 0.5]) == 0.25


def test_nothing_gives_zero() -> None:
    assert (mean([]), variance([]), std_dev([])) == (0, 0, 0)


def test_the_mean_does_not_depend_on_the_order() -> None:
    values = [0.1, 0.7, 1e16, -1e16, 0.2]

    assert mean(values) == mean(values[::-1]) == 0.2


def test_wilson_of_the_worked_examples() -> None:
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), worked out with 30 decimals
    assert wilson(4, 5) == close((0.375534629762525, 0.963775891367570))
    assert wilson(1, 3) == close((0.061491944720396, 0.792340399197952))


@pytest.mark.parametrize(("passed", "total"), [(0, 5), (5, 5), (0, 1), (1, 1), (7, 1000)])
def test_wilson_solves_its_own_equation_and_stays_in_range(passed: int, total: int) -> None:
    z = 1.959963984540054
    rate = passed / total

    for bound in wilson(passed, total):
        assert 0 <= bound <= 1
        assert (rate - bound) ** 2 == close(z * z * bound * (1 - bound) / total)


def test_wilson_of_nothing_says_nothing() -> None:
    assert wilson(0, 0) == (0, 1)


def test_pass_hat_k_of_the_worked_example() -> None:
    counts = [(5, 5), (4, 5), (2, 5)]

    assert pass_hat_k(counts) == close([11 / 15, 17 / 30, 7 / 15, 2 / 5, 1 / 3])


def test_pass_at_k_by_counting_the_ways() -> None:
    counts = [(5, 5), (4, 5), (2, 5), (0, 5)]

    def share(passed: int, k: int) -> float:
        picks = [pick for pick in product(range(5), repeat=k) if len(set(pick)) == k]
        return sum(any(place < passed for place in pick) for pick in picks) / len(picks)

    expected = [sum(share(passed, k) for passed, _ in counts) / 4 for k in range(1, 6)]
    assert pass_at_k(counts) == close(expected)


def test_k_goes_up_to_the_fewest_trials() -> None:
    assert pass_hat_k([(3, 3), (1, 2)]) == close([0.75, 0.5])
    assert pass_at_k([(3, 3), (1, 2)]) == close([0.75, 1])
    assert pass_hat_k([]) == pass_at_k([]) == []
    assert pass_hat_k([(0, 0), (2, 2)]) == []


def test_bootstrap_of_fewer_than_two_values() -> None:
    assert bootstrap([], b"") == Interval(0, 0, 0, 0.95, 0)
    assert bootstrap([0.3], b"") == Interval(0.3, 0.3, 0.3, 0.95, 0)


def test_bootstrap_of_one_kind_has_no_width() -> None:
    assert bootstrap([0.5] * 7, b"") == Interval(0.5, 0.5, 0.5, 0.95, 10_000)


def test_bootstrap_of_the_worked_example() -> None:
    assert bootstrap([1, 0.5], b"hello") == Interval(0.5, 1, 0.75, 0.95, 10_000)


@pytest.mark.parametrize("values", [[0, 1], [0, 0, 1], [0.25, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 0]])
def test_two_valued_bounds_are_the_quantiles_of_all_resamples(values: list[float]) -> None:
    size = len(values)
    means = Counter(
        sum(resample) / size for resample in product(values, repeat=size)
    )  # exact: halves and quarters

    def quantile(fortieths: int) -> float:
        seen = 0
        for value in sorted(means):
            seen += means[value]
            if 40 * seen >= fortieths * size**size:
                return value
        raise AssertionError

    found = bootstrap(values, b"any")
    assert (found.lower, found.upper) == close((quantile(1), quantile(39)))
    assert found.num_bootstraps == 10_000


def test_two_valued_bounds_use_no_chance() -> None:
    values = [0] * 40 + [1] * 60

    assert bootstrap(values, b"one") == bootstrap(values, b"two")


def test_two_valued_bounds_of_many_values() -> None:
    found = bootstrap([0] * 5000 + [1] * 5000, b"")

    # 0.5 -+ 1.96 * 0.5 / sqrt(10000), to the next whole number of 10,000
    assert (found.lower, found.upper) == close((0.4902, 0.5098))


def test_bootstrap_takes_the_places_250_and_9750_of_the_seeded_resamples() -> None:
    values = [0.1, 0.2, 0.35, 0.4, 0.9]
    draws = Random(int(hashlib.sha256(b"task-1").hexdigest(), 16))
    means = sorted(sum(values[int(draws.random() * 5)] for _ in values) / 5 for _ in range(10_000))

    found = bootstrap(values, b"task-1")

    assert (found.lower, found.upper) == close((means[250], means[9750]))
    assert found[2:] == close((0.39, 0.95, 10_000))
    # The same on every machine and Python.
    assert (found.lower, found.upper) == close((0.18, 0.66))


def test_bootstrap_of_many_kinds_is_near_the_normal_interval() -> None:
    values = [place / 40 for place in range(41)]
    half = 1.96 * std_dev(values) / math.sqrt(41)

    found = bootstrap(values, b"seed")

    assert found.lower == pytest.approx(0.5 - half, abs=0.01)
    assert found.upper == pytest.approx(0.5 + half, abs=0.01)


def test_equal_values_and_seed_give_the_equal_interval() -> None:
    values = [0.1, 0.4, 0.35, 0.9, 0.2]

    assert bootstrap(values, b"seed") == bootstrap(values[::-1], b"seed")
    assert bootstrap(values, b"seed") != bootstrap(values, b"other")


@pytest.mark.parametrize(
    ("pre", "post", "gain"),
    [
        (0.5, 0.75, 0.5),
        (0.5, 0.25, -0.5),
        (1, 0.5, 0),
        (0.2, 1, 1),
        (0.4, 0.4, 0),
        (0.4, 0.4 + 1e-13, 0),
        (1, 1, 0),
    ],
)
def test_normalized_gain(pre: float, post: float, gain: float) -> None:
    assert normalized_gain(pre, post) == close(gain)


@pytest.mark.parametrize(
    ("passed", "total", "percent"), [(1, 2, 50), (4, 5, 20), (0, 5, 0), (5, 5, 0), (0, 0, 0)]
)
def test_flakiness(passed: int, total: int, percent: float) -> None:
    assert flakiness_percent(passed, total) == close(percent)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (2.5, 0, 3),
        (-2.5, 0, -3),
        (0.5, 0, 1),
        (0.49999999999999994, 0, 0),
        (2.675, 2, 2.68),
        (1.25, 1, 1.3),
        (7, 2, 7),
        (1e300, 2, 1e300),
        (math.inf, 2, math.inf),
    ],
)
def test_halves_are_rounded_away_from_zero(value: float, digits: int, rounded: float) -> None:
    assert round_half_away(value, digits) == rounded


def test_not_a_number_stays_so() -> None:
    assert math.isnan(round_half_away(math.nan))


@pytest.mark.parametrize(
    ("expected", "actual", "overlap"),
    [
        (["view", "edit"], ["view", "bash", "edit", "view"], (0.5, 1, 2 / 3)),
        (["edit", "edit"], ["edit"], (1, 0.5, 2 / 3)),
        (["a"], ["b"], (0, 0, 0)),
        (["a"], [], (0, 0, 0)),
        ([], [], (0, 0, 0)),
        (["b", "a"], ["a", "b"], (1, 1, 1)),
    ],
)
def test_f1_counts_how_often(
    expected: list[str], actual: list[str], overlap: tuple[float, float, float]
) -> None:
    assert f1(expected, actual) == close(overlap)
