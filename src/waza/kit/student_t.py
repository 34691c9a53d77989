"""Student's t distribution: the quantiles that intervals of means need. Standard library only."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_MOST_TERMS = 10_000


def t_tail(t: float, df: float) -> float:
    """Return P(T > t) of Student's t with `df` > 0 degrees of freedom.

    For t >= 0 it is I_x(df/2, 1/2)/2 with x = df/(df + t^2) (Abramowitz and Stegun 26.7.1), I_x being the regularised
    incomplete beta function.
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    half = _incomplete_beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t)) / 2
    return half if t >= 0 else 1 - half


@lru_cache
def t_quantile(share: float, df: float) -> float:
    """Return the t below which T lies with the probability `share`, 0 < share < 1; found by bisection."""
    if share < 0.5:
        return -t_quantile(1 - share, df)
    tail, upper = 1 - share, 1.0
    while t_tail(upper, df) > tail:
        upper *= 2
    lower = 0.0
    while (middle := (lower + upper) / 2) not in (lower, upper):
        if t_tail(middle, df) > tail:
            lower = middle
        else:
            upper = middle
    return upper


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b), where y = 1 - x, which loses digits if it is taken from x.

    The continued fraction (DLMF 8.17.22) converges for x or for 1 - x (8.17.4).
    """
    if x <= 0 or y <= 0:
        return float(y <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, y, x)
    ways = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(ways + a * math.log(x) + b * math.log(y)) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction 1 + d1/(1 + d2/(1 + ...)) of I_x, by Lentz's method as Thompson and Barnett have it."""
    value, c, d = 1.0, 1.0, 0.0
    for m in range(1, _MOST_TERMS):
        k = m // 2
        if m % 2:
            term = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        else:
            term = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        d = 1 / (1 + term * d or _TINY)
        c = 1 + term / c or _TINY
        value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value
