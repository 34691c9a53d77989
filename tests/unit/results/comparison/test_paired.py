"""Mean differences: standard errors and intervals against scipy and statsmodels, on random data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from tests.unit.results.comparison.data import random_clusters, random_differences

from waza.results.comparison.detectable import expected_error, smallest_detectable
from waza.results.comparison.paired import (
    MOST_RESAMPLED,
    bootstrap_interval,
    mean_difference,
    mean_interval,
    standard_error,
)

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_single_tasks_it_is_the_paired_t_interval(seed: int):
    values = random_differences(seed, 2 + seed * 3)
    clusters = [[value] for value in values]
    error, interval = standard_error(clusters), mean_interval(clusters, 0.95)
    assert error is not None
    assert interval is not None
    assert error.value == pytest.approx(scipy.stats.sem(values), rel=1e-12)
    paired = scipy.stats.ttest_rel(values, np.zeros(len(values))).confidence_interval(0.95)
    assert (interval.lower, interval.upper) == pytest.approx((paired.low, paired.high), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_clusters_it_is_the_cluster_robust_interval(seed: int):
    clusters = random_clusters(seed, 2 + seed)
    values = [value for cluster in clusters for value in cluster]
    groups = np.array([i for i, cluster in enumerate(clusters) for _ in cluster])
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}, use_t=True
    )
    error, interval = standard_error(clusters), mean_interval(clusters, 0.9)
    assert error is not None
    assert interval is not None
    assert mean_difference(clusters) == pytest.approx(fit.params[0], rel=1e-9)
    assert error.value == pytest.approx(fit.bse[0], rel=1e-9)
    assert (interval.lower, interval.upper) == pytest.approx(fit.conf_int(0.1)[0], rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bootstrap_is_that_of_scipy(seed: int):
    values = random_differences(seed, 40)
    found = bootstrap_interval([[value] for value in values])
    assert found is not None
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=50_000, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    noise = 0.15 * scipy.stats.sem(values)  # five standard errors of such a quantile of 10,000 resamples
    assert found.lower == pytest.approx(theirs.low, abs=noise)
    assert found.upper == pytest.approx(theirs.high, abs=noise)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bootstrap_of_clusters_resamples_whole_clusters(seed: int):
    clusters = random_clusters(seed, 25)
    found = bootstrap_interval(clusters)
    assert found is not None
    rng = np.random.default_rng(seed)
    sums, sizes = np.array([sum(c) for c in clusters]), np.array([len(c) for c in clusters])
    drawn = rng.integers(0, len(clusters), (50_000, len(clusters)))
    lower, upper = np.quantile(sums[drawn].sum(1) / sizes[drawn].sum(1), [0.025, 0.975])
    noise = 0.06 * (upper - lower)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=noise)
    assert bootstrap_interval(clusters[::-1]) == found


def test_one_cluster_has_no_interval_and_too_many_no_bootstrap():
    assert standard_error([[1.0, 0.0, 1.0]]) is None
    assert mean_interval([[1.0]], 0.95) is None
    assert bootstrap_interval([[1.0]]) is None
    assert bootstrap_interval([[0.5], [1.0]] * MOST_RESAMPLED) is None


@pytest.mark.parametrize(("tasks", "alpha"), [(8, 0.05), (20, 0.05), (40, 0.01)])
def test_the_smallest_detectable_difference_is_found_four_times_in_five(tasks: int, alpha: float):
    error = expected_error(0.04, 0.09, tasks=tasks, trials=3)
    assert error.value == pytest.approx(math.sqrt((0.04 + 2 * 0.09 / 3) / tasks))
    size = smallest_detectable(error, alpha)
    assert size is not None
    bound = scipy.stats.t.ppf(1 - alpha / 2, error.df)
    power = scipy.stats.nct.sf(bound, error.df, size / error.value)
    assert power == pytest.approx(0.8, abs=0.012)  # the exact power is of the noncentral t


def test_without_any_difference_nothing_is_known_of_the_noise():
    error = standard_error([[0.0], [0.0], [0.0]])
    assert error is not None
    assert smallest_detectable(error, 0.05) is None
