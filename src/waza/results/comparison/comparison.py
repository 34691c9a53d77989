"""What a comparison of two results comes to: the values that JSON output and reports hold."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waza.results.comparison.paired import Bounds
from waza.results.comparison.sign_flip import least_p_value
from waza.results.comparison.variance import Variance

ALPHA = 0.05
"""The chance of a false alarm that is accepted."""


class Counts(msgspec.Struct, frozen=True):
    """How many tasks, of A and of B."""

    a: int
    b: int


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of two results, B against A. None: the data do not say it."""

    a: str
    """The name of the first result."""
    b: str
    """The name of the second one."""
    metric: str
    """The name of the metric."""
    unit: str = "task"
    """What is counted as one."""
    n: int
    """Tasks that both results measured."""
    clusters: int
    """How many of them change independently: groups of tasks, and tasks without a group."""
    unmeasured: Counts
    """Tasks that both results have, without a measurement in one."""
    alone: Counts
    """Tasks that only one of the results has."""
    mean_difference: float | None
    """The mean over the tasks of B minus A."""
    interval: Bounds | None
    """The interval of the mean difference, by its cluster-robust standard error."""
    bootstrap: Bounds | None
    """The same by a bootstrap of the clusters; of the score alone."""
    p_value: float | None
    """How often chance alone gives a difference at least as large: the two-sided sign-flip test."""
    p_adjusted: float | None
    """The same, adjusted for how many comparisons were made."""
    test: str | None
    """The test, and how its p-value was reached."""
    wins: int
    """Tasks that are better in B."""
    losses: int
    """Tasks that are worse in B."""
    ties: int
    """Tasks that are equal in both."""
    smallest_detectable: float | None
    """The smallest true difference that so much data shows in four of five cases."""
    variance: Variance
    """Where the noise comes from."""
    sentence: str
    """What can be said."""

    def is_significant(self, alpha: float = ALPHA) -> bool:
        """Return whether chance gives such a difference no more often than `alpha` says."""
        return self.p_adjusted is not None and self.p_adjusted <= alpha

    def can_be_significant(self, alpha: float = ALPHA, *, of: int = 1) -> bool:
        """Return whether any difference of so few tasks is significant, being one `of` several comparisons."""
        return of * least_p_value(self.clusters) <= alpha


class Comparison(MetricComparison, frozen=True, kw_only=True):
    """Two results by their score, and by the other metrics of which both have data."""

    metrics: Mapping[str, MetricComparison]

    def is_worse(self, alpha: float = ALPHA) -> bool:
        """Return whether B lost score, and more than chance takes."""
        return self.is_significant(alpha) and (self.mean_difference or 0.0) < 0
