"""The mean of paired differences with its standard error and intervals."""

from __future__ import annotations

import hashlib
import math
from random import Random
from typing import NamedTuple

import msgspec

from waza.kit import stats
from waza.kit.student_t import t_quantile
from waza.results.comparison.pairs import Clusters

MOST_RESAMPLED = 1_000
"""Of more units than these no bootstrap is drawn: by then it says what the interval of the mean says, and takes long."""


class Bounds(msgspec.Struct, frozen=True):
    """An interval; `level` is its confidence, from 0 to 1."""

    lower: float
    upper: float
    level: float


class StandardError(NamedTuple):
    """The standard error of a mean, and its degrees of freedom."""

    value: float
    df: int


def mean_difference(clusters: Clusters) -> float:
    """Return the mean over all tasks; there must be one."""
    return stats.mean([value for cluster in clusters for value in cluster])


def standard_error(clusters: Clusters) -> StandardError | None:
    """Return the cluster-robust standard error of the mean; None with fewer than two clusters.

    With G clusters of n tasks, and S_g the sum over cluster g of the differences from the mean, its square is
    G/(G-1) * sum(S_g^2)/n^2, with G - 1 degrees of freedom: CR1 of Cameron and Miller, "A Practitioner's Guide to
    Cluster-Robust Inference" (2015), for a regression on a constant. Of clusters of one task it is s/sqrt(n).
    """
    count = len(clusters)
    if count < 2:
        return None
    centre, tasks = mean_difference(clusters), sum(map(len, clusters))
    squares = math.fsum(math.fsum(value - centre for value in cluster) ** 2 for cluster in clusters)
    return StandardError(math.sqrt(count / (count - 1) * squares) / tasks, count - 1)


def mean_interval(clusters: Clusters, level: float) -> Bounds | None:
    """Return mean +/- t * standard error, t of Student with G - 1 degrees of freedom; None where there is no error."""
    error = standard_error(clusters)
    if error is None:
        return None
    centre, half = mean_difference(clusters), t_quantile((1 + level) / 2, error.df) * error.value
    return Bounds(centre - half, centre + half, level)


def bootstrap_interval(clusters: Clusters) -> Bounds | None:
    """Return the 95 % percentile bootstrap interval of the mean, resampling whole clusters.

    Each resample draws as many clusters as there are, with replacement, and takes the mean over their tasks (the pairs
    cluster bootstrap, Cameron, Gelbach and Miller 2008). Seeded from the data. None with fewer than two clusters, and
    with more than `MOST_RESAMPLED`.
    """
    if not 2 <= len(clusters) <= MOST_RESAMPLED:
        return None
    seed = repr(sorted(map(sorted, clusters))).encode()
    if all(len(cluster) == 1 for cluster in clusters):
        found = stats.bootstrap([cluster[0] for cluster in clusters], seed)
        return Bounds(found.lower, found.upper, found.confidence_level)
    units = sorted((math.fsum(cluster), len(cluster)) for cluster in clusters)
    choose = Random(hashlib.sha256(seed).digest()).choices  # noqa: S311  statistics, not secrets
    means = sorted(_mean(choose(units, k=len(units))) for _ in range(stats.NUM_BOOTSTRAPS))
    outside = (1 - stats.CONFIDENCE_LEVEL) / 2
    lower, upper = (means[round(share * stats.NUM_BOOTSTRAPS)] for share in (outside, 1 - outside))
    return Bounds(lower, upper, stats.CONFIDENCE_LEVEL)


def _mean(units: list[tuple[float, int]]) -> float:
    return math.fsum(total for total, _ in units) / sum(size for _, size in units)
