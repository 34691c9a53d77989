"""The sign-flip test against scipy and against counting; Holm's method against statsmodels."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from tests.unit.results.comparison.data import random_clusters, random_differences

from waza.results.comparison.holm import holm
from waza.results.comparison.sign_flip import DRAWS, least_p_value, sign_flip


def by_counting(sums: list[float]) -> float:
    """Return the share of all sign patterns whose sum is as far from 0 as that of `sums`."""
    seen = abs(sum(sums))
    ways = [
        abs(sum(s * x for s, x in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    return sum(way >= seen - 1e-9 for way in ways) / len(ways)


@pytest.mark.parametrize("seed", range(12))
def test_up_to_twenty_units_every_way_is_counted(seed: int):
    values = random_differences(seed, seed + 1)
    found = sign_flip([[value] for value in values])
    assert found.test == "exact sign-flip"
    assert found.p_value == pytest.approx(by_counting(values), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_permutation_test_of_pairs(seed: int):
    draw = Random(seed)
    values = [draw.gauss(0.2, 0.5) for _ in range(12)]
    theirs = scipy.stats.permutation_test(
        (values, [0.0] * 12),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        vectorized=False,
        n_resamples=np.inf,
    )
    assert sign_flip([[value] for value in values]).p_value == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_of_two_valued_differences_it_is_the_sign_test(seed: int):
    draw = Random(seed)
    values = [draw.choice([1.0, -1.0, 0.0]) for _ in range(20)]
    better, worse = values.count(1.0), values.count(-1.0)
    theirs = scipy.stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_flip([[value] for value in values]).p_value == pytest.approx(theirs, rel=1e-9)


def test_clusters_flip_as_a_whole():
    clusters = random_clusters(5, 9)
    assert sign_flip(clusters).p_value == pytest.approx(by_counting([sum(cluster) for cluster in clusters]))


@pytest.mark.parametrize("seed", range(5))
def test_above_twenty_units_the_draws_come_near_the_exact_value(seed: int):
    draw = Random(seed)
    values = [draw.choice([1.0, -1.0, 1.0]) for _ in range(30)]
    found = sign_flip([[value] for value in values])
    exact = scipy.stats.binomtest(values.count(1.0), 30).pvalue
    assert found.test == "Monte Carlo sign-flip"
    assert found.p_value == pytest.approx(exact, abs=5 * (exact * (1 - exact) / DRAWS) ** 0.5 + 1 / DRAWS)


def test_equal_data_give_equal_values_in_any_order_and_either_way_round():
    clusters = random_clusters(1, 50)
    found = sign_flip(clusters)
    assert sign_flip(clusters[::-1]) == found
    assert sign_flip([[-value for value in cluster] for cluster in clusters]) == found


def test_what_cannot_be_shown():
    assert sign_flip([[0.0], [0.0]]).p_value == 1
    assert sign_flip([[1.0], [-1.0]]).p_value == 1
    assert sign_flip([[1.0]]).p_value == 1
    assert sign_flip([[1.0]] * 5).p_value == least_p_value(5) == 0.0625
    assert sign_flip([[1.0]] * 40).p_value == least_p_value(40) == 1 / (DRAWS + 1)


@pytest.mark.parametrize("seed", range(10))
def test_holm_is_that_of_statsmodels(seed: int):
    draw = Random(seed)
    values = [draw.choice([draw.random(), draw.random() / 50, 0.01, 1.0]) for _ in range(1 + seed)]
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist(), rel=1e-12)


def test_holm_of_nothing_is_nothing():
    assert holm([]) == []
