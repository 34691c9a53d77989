"""The interval of a ratio of two means over the same tasks."""

from __future__ import annotations

import math

from waza.kit.student_t import t_quantile
from waza.results.comparison.paired import Bounds, mean_difference, standard_error
from waza.results.comparison.pairs import Clusters


def ratio_interval(top: Clusters, bottom: Clusters, level: float) -> Bounds | None:
    """Return the interval of the mean of `top` over that of `bottom`, which have the same tasks in the same clusters.

    Fieller's ("Some Problems in Interval Estimation", 1954): all ratios r for which the mean of top - r * bottom does
    not differ from 0 by more than t of its cluster-robust standard error. With the means T and B, their variances and
    covariance, these are the r between the roots of (B^2 - t^2 V_B) r^2 - 2 (T B - t^2 V_TB) r + (T^2 - t^2 V_T).

    None with fewer than two clusters, and where the mean of `bottom` may be 0, so that no ratio can be ruled out.
    """
    errors = standard_error(top), standard_error(bottom)
    if errors[0] is None or errors[1] is None:
        return None
    squared = t_quantile((1 + level) / 2, errors[0].df) ** 2
    top_mean, bottom_mean = mean_difference(top), mean_difference(bottom)
    top_variance, bottom_variance = errors[0].value ** 2, errors[1].value ** 2
    a = bottom_mean**2 - squared * bottom_variance
    if a <= 0:
        return None
    b = top_mean * bottom_mean - squared * _covariance(top, bottom)
    c = top_mean**2 - squared * top_variance
    root = math.sqrt(max(0.0, b * b - a * c))
    return Bounds((b - root) / a, (b + root) / a, level)


def _covariance(top: Clusters, bottom: Clusters) -> float:
    """Return the cluster-robust covariance of two means: that of `standard_error`, with products for squares."""
    top_mean, bottom_mean = mean_difference(top), mean_difference(bottom)
    products = [
        math.fsum(value - top_mean for value in one) * math.fsum(value - bottom_mean for value in other)
        for one, other in zip(top, bottom, strict=True)
    ]
    count, tasks = len(top), sum(map(len, top))
    return count / (count - 1) * math.fsum(products) / tasks**2
