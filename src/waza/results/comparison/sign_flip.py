"""The sign-flip test: how often chance alone would give a difference at least as large."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import product
from random import Random

import msgspec

from waza.kit.share import TOLERANCE
from waza.results.comparison.pairs import Clusters

EXACT_UNITS = 20
"""Up to so many units that differ, all ways to flip signs are counted."""
DRAWS = 9_999
"""Above that, so many ways are drawn."""
_LEAST_DRAWS = 999
_WORK = 1_000_000  # look-ups; of thousands of units fewer ways are drawn
_BLOCK = 8  # units whose ways of flipping are in one table, so that a byte of chance picks one


class SignFlip(msgspec.Struct, frozen=True):
    """The two-sided p-value and how it was reached: `exact sign-flip` or `Monte Carlo sign-flip`."""

    p_value: float
    test: str


def sign_flip(clusters: Clusters) -> SignFlip:
    """Return the two-sided sign-flip test of the differences, in clusters that change their sign as a whole.

    If A and B differed by chance alone, each unit's difference could as well have had the other sign. p is the share
    of all ways to choose the signs whose sum is at least as far from 0 as the one that was seen (Fisher, The Design of
    Experiments, 1935, section 21). Up to 20 units that are not 0, all 2^n ways are counted. Above, 9,999 are drawn
    (of thousands of units fewer, at least 999), and p = (hits + 1)/(draws + 1), so that the test keeps its level
    (Phipson and Smyth 2010). The draws are seeded from the sizes of the differences: equal data give equal p-values,
    in any order, and with A and B exchanged.
    """
    sums = [math.fsum(cluster) for cluster in clusters]
    sizes = sorted(abs(value) for value in sums if abs(value) > TOLERANCE)  # flipping a zero changes nothing
    total = math.fsum(sizes)
    seen = abs(math.fsum(sums)) - TOLERANCE * max(total, 1.0)
    if len(sizes) <= EXACT_UNITS:
        share = 1.0 if seen <= 0 else 2 * _count_sums(sizes, seen) / 2 ** len(sizes)
        return SignFlip(share, "exact sign-flip")
    drawn = _draw_sums(sizes, _draws(len(sizes)))
    hits = sum(abs(value) >= seen for value in drawn)
    return SignFlip((hits + 1) / (len(drawn) + 1), "Monte Carlo sign-flip")


def least_p_value(units: int) -> float:
    """Return the least p-value that the test can give, with so many units: that of all of them on one side."""
    return 2.0 ** (1 - units) if units <= EXACT_UNITS else 1 / (_draws(units) + 1)


def _draws(units: int) -> int:
    return max(_LEAST_DRAWS, min(DRAWS, _WORK * _BLOCK // units))


def _count_sums(sizes: Sequence[float], least: float) -> int:
    """Count the ways to choose signs whose sum is at least `least`: each of one half with all fitting of the other."""
    middle = len(sizes) // 2
    first, second = _all_sums(sizes[:middle]), sorted(_all_sums(sizes[middle:]))
    return sum(len(second) - bisect_left(second, least - value) for value in first)


def _all_sums(sizes: Sequence[float]) -> list[float]:
    return [math.fsum(signed) for signed in product(*((-size, size) for size in sizes))]


def _draw_sums(sizes: Sequence[float], draws: int) -> list[float]:
    padded = [*sizes, *[0.0] * (-len(sizes) % _BLOCK)]
    tables = [_all_sums(padded[i : i + _BLOCK]) for i in range(0, len(padded), _BLOCK)]
    draw = Random(hashlib.sha256(repr(sizes).encode()).digest()).randbytes  # noqa: S311  statistics, not secrets
    return [
        math.fsum([table[byte] for table, byte in zip(tables, draw(len(tables)), strict=True)])
        for _ in range(draws)
    ]
