"""Statistics of scores and of passes; standard library only, and the same numbers on every machine.

Empty input gives 0 everywhere, as result files expect it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from random import Random
from typing import NamedTuple

CONFIDENCE_LEVEL = 0.95
NUM_BOOTSTRAPS = 10_000

Z_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval, in standard errors."""
_LOWER, _UPPER = 250, 9750  # places of the 2.5 % and 97.5 % quantiles among the sorted resamples


class Interval(NamedTuple):
    """A confidence interval for a mean; `num_bootstraps` is 0 where one value says nothing about spread."""

    lower: float
    upper: float
    mean: float
    confidence_level: float
    num_bootstraps: int


class Overlap(NamedTuple):
    """How far two lists agree, each number from 0 to 1."""

    precision: float
    recall: float
    f1: float


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, exactly rounded, so that the order of the values does not matter."""
    return math.fsum(values) / len(values) if values else 0.0


def variance(values: Sequence[float]) -> float:
    """Return the population variance (divided by n, not n - 1)."""
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    return mean([(value - centre) ** 2 for value in values])


def pooled_variance(groups: Iterable[Sequence[float]]) -> float | None:
    """Return the variance within groups, over all of them (divided by their degrees of freedom, n - 1 each).

    None if none of them has two values.
    """
    squares, degrees = [0.0], 0
    for values in groups:
        if len(values) > 1:
            centre = mean(values)
            squares += [(value - centre) ** 2 for value in values]
            degrees += len(values) - 1
    return math.fsum(squares) / degrees if degrees else None


def std_dev(values: Sequence[float]) -> float:
    """Return the population standard deviation."""
    return math.sqrt(variance(values))


def wilson(passed: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a pass rate; of nothing it is (0, 1).

    With p = passed/n: centre (p + z^2/2n)/(1 + z^2/n), half width z/(1 + z^2/n) * sqrt(p(1-p)/n + z^2/4n^2).
    """
    if total == 0:
        return 0.0, 1.0
    rate, spread = passed / total, Z_95 * Z_95 / total
    centre = (rate + spread / 2) / (1 + spread)
    half = Z_95 / (1 + spread) * math.sqrt((rate * (1 - rate) + spread / 4) / total)
    return max(0.0, centre - half), min(1.0, centre + half)


def pass_hat_k(counts: Sequence[tuple[int, int]]) -> list[float]:
    """Return, for k = 1, 2, ..., how likely k trials of a task all pass, averaged over tasks.

    `counts` holds (passed, trials) of each task; the list is as long as the fewest trials of any.
    Of c passes in n trials the share is C(c, k)/C(n, k).
    """
    return _over_k(counts, lambda passed, trials, k: math.comb(passed, k) / math.comb(trials, k))


def pass_at_k(counts: Sequence[tuple[int, int]]) -> list[float]:
    """Return, for k = 1, 2, ..., how likely at least one of k trials of a task passes, averaged over tasks.

    As `pass_hat_k`, with 1 - C(n - c, k)/C(n, k).
    """
    return _over_k(counts, lambda passed, trials, k: 1 - math.comb(trials - passed, k) / math.comb(trials, k))


def _over_k(counts: Sequence[tuple[int, int]], share: Callable[[int, int, int], float]) -> list[float]:
    longest = min((trials for _, trials in counts), default=0)
    return [mean([share(passed, trials, k) for passed, trials in counts]) for k in range(1, longest + 1)]


def bootstrap(values: Sequence[float], seed_material: bytes) -> Interval:
    """Return the 95 % percentile bootstrap interval of the mean of `values`.

    Of 10,000 resamples with replacement the sorted means number 250 and 9750 are the bounds. The random
    numbers follow from SHA-256 of `seed_material`, and the order of the values does not matter: equal
    values and equal seed give the equal interval. Values of two kinds need no chance at all: see
    `_two_valued`. Values of one kind, or a single value, give an interval without width.
    """
    ordered, centre = sorted(values), mean(values)
    kinds = sorted(set(ordered))
    if len(ordered) < 2:
        return Interval(centre, centre, centre, CONFIDENCE_LEVEL, 0)
    if len(kinds) == 1:
        lower = upper = centre
    elif len(kinds) == 2:
        lower, upper = _two_valued(kinds[0], kinds[1], ordered.count(kinds[1]), len(ordered))
    else:
        lower, upper = _resampled(ordered, seed_material)
    return Interval(lower, upper, centre, CONFIDENCE_LEVEL, NUM_BOOTSTRAPS)


def _resampled(values: list[float], seed_material: bytes) -> tuple[float, float]:
    seed = int.from_bytes(hashlib.sha256(seed_material).digest(), "big")
    draw, size = Random(seed).random, len(values)  # noqa: S311  statistics, not secrets
    places = range(size)
    # fsum rounds the sum once, whatever the Python version; the mean is taken of the two bounds only.
    sums = sorted(math.fsum([values[int(draw() * size)] for _ in places]) for _ in range(NUM_BOOTSTRAPS))
    return sums[_LOWER] / size, sums[_UPPER] / size


def _two_valued(low: float, high: float, highs: int, size: int) -> tuple[float, float]:
    """Return the bounds that infinitely many resamples would give for values of two kinds.

    A resample of n values, of which c of n are `high`, holds K ~ Binomial(n, c/n) high ones and has the mean
    low + (high - low) K/n. The bounds are its quantiles: K at q is the smallest k with P(K <= k) >= q,
    for q = 0.025 and q = 0.975.
    """
    shares = [k / size for k in _binomial_quantiles(size, highs / size, (0.025, 0.975))]
    lower, upper = (low * (1 - share) + high * share for share in shares)
    return lower, upper


def _binomial_quantiles(size: int, rate: float, wanted: Iterable[float]) -> list[int]:
    # Logarithms, because the terms of a large sample underflow; 0 < rate < 1 holds here.
    whole, log_hit, log_miss = math.lgamma(size + 1), math.log(rate), math.log1p(-rate)
    found: list[int] = []
    below, k = 0.0, -1
    for quantile in wanted:
        while below < quantile and k < size:
            k += 1
            ways = whole - math.lgamma(k + 1) - math.lgamma(size - k + 1)
            below += math.exp(ways + k * log_hit + (size - k) * log_miss)
        found.append(k)
    return found


def normalized_gain(pre: float, post: float) -> float:
    """Return Hake's normalised gain (post - pre)/(1 - pre): the share of the possible improvement reached.

    0 where nothing could be gained (pre >= 1) or nothing changed; 1 where post >= 1.
    """
    if pre >= 1 or abs(post - pre) < 1e-12:
        return 0.0
    return 1.0 if post >= 1 else (post - pre) / (1 - pre)


def flakiness_percent(passed: int, total: int) -> float:
    """Return the share of the rarer outcome in percent: 0 (always the same) to 50 (as often as not)."""
    return min(passed, total - passed) / total * 100 if 0 < passed < total else 0.0


def round_half_away(value: float, digits: int = 0) -> float:
    """Return the value rounded to `digits` decimals, halves away from zero: 2.5 gives 3, -2.5 gives -3.

    The decimals people see count: 2.675 gives 2.68, although its binary form lies a trifle below.
    """
    if not abs(value) < 2**52:  # whole numbers, infinities and NaN
        return value
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(repr(value)).quantize(step, ROUND_HALF_UP, Context(prec=60)))


def f1(expected: Sequence[str], actual: Sequence[str]) -> Overlap:
    """Compare two lists as multisets: a name that occurs twice has to be matched twice; order is ignored."""
    shared = (Counter(expected) & Counter(actual)).total()
    precision = shared / len(actual) if actual else 0.0
    recall = shared / len(expected) if expected else 0.0
    both = precision + recall
    return Overlap(precision, recall, 2 * precision * recall / both if both else 0.0)
