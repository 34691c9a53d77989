"""Intervals for a rate that stay right when somebody looks after every trial, and stops when they please.

A fixed-n interval such as Wilson's holds for one look at a number of trials that was chosen before. Looked at after each
trial it leaves the true rate out sooner or later.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

LEVEL = 0.95
_PRIOR = 0.5  # of both outcomes: Jeffreys' mixture, which is narrow where nearly all trials pass or fail
_STEPS = 60  # of bisection; a double has 53 bits
_DIGITS = 9  # so that the last bits of a machine's logarithms decide nothing


class RateBounds(NamedTuple):
    """An interval of a rate."""

    lower: float
    upper: float

    @property
    def half_width(self) -> float:
        """Half of its width."""
        return (self.upper - self.lower) / 2


@lru_cache(maxsize=4096)
def rate_bounds(hits: float, total: int, level: float = LEVEL) -> RateBounds:
    """Return the confidence sequence of a rate after `total` trials with the sum `hits`; of nothing it is (0, 1).

    With the probability `level` the true rate lies in all of the intervals at once, however many trials follow and
    whatever decides when they end. It is the beta-binomial mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon,
    "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021): for each rate p,
    M(p) = B(1/2 + s, 1/2 + f) / B(1/2, 1/2) / (p^s (1-p)^f), with s = hits and f = total - hits, is a martingale of
    mean 1 if p is true, so it ever reaches 1/(1 - level) with the probability 1 - level at most (Ville 1939). The
    interval holds the p with M(p) < 1/(1 - level). It holds for the mean of values from 0 to 1 too: each factor is
    convex in the value, so that M(p) is a supermartingale then.
    """
    if total == 0:
        return RateBounds(0.0, 1.0)
    misses = total - hits
    mixture = _log_beta(_PRIOR + hits, _PRIOR + misses) - _log_beta(_PRIOR, _PRIOR)
    limit = -math.log1p(-level)

    def is_outside(rate: float) -> bool:
        return mixture - _times_log(hits, rate) - _times_log(misses, 1 - rate) >= limit

    centre = hits / total
    lower = 0.0 if not is_outside(0.0) else _edge(is_outside, 0.0, centre)
    upper = 1.0 if not is_outside(1.0) else _edge(is_outside, 1.0, centre)
    return RateBounds(round(lower, _DIGITS), round(upper, _DIGITS))


def fewest_trials(half_width: float, most: int) -> int:
    """Return after how many trials an interval can be so narrow at the earliest, at most `most`.

    No outcome gives a narrower one than that all trials pass.
    """
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if rate_bounds(middle, middle).half_width <= half_width:
            high = middle
        else:
            low = middle + 1
    return low


def _edge(is_outside: Callable[[float], bool], outside: float, inside: float) -> float:
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        if is_outside(middle):
            outside = middle
        else:
            inside = middle
    return inside


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _times_log(count: float, rate: float) -> float:
    """Return count * log(rate), which is 0 for no counts."""
    if count <= 0:
        return 0.0
    return count * math.log(rate) if rate > 0 else -math.inf
