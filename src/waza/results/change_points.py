"""Change points: where the level of a series of figures changed, such as the pass rates of successive runs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from random import Random

import msgspec

from waza.kit.stats import mean

PERMUTATIONS = 399
_SHORTEST = 2  # values on each side of a change


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the level of a series.

    `index` counts values from 0: the first one with the new level. `before` and `after` are the means of the values
    from the last change to this one, and from this one to the next. `p_value` is how often chance alone would make the
    largest change of this part of the series as large.
    """

    index: int
    before: float
    after: float
    p_value: float


def change_points(values: Sequence[float], alpha: float) -> list[ChangePoint]:
    """Return the change points of a series, in its order; none where it has fewer than four values.

    Seeded binary segmentation (Kovács, Li, Bühlmann and Munk, Biometrika 110, 2023): intervals of all lengths are
    looked at, so that a fall does not hide the rise before it. Of all places m in all intervals x, of n values each,
    the one with the largest CUSUM statistic

        T = |mean(x[:m]) - mean(x[m:])| sqrt(m (n - m)/n)

    is a change point if its p-value is at most `alpha`; then both sides are searched likewise. The p-value is that of
    a permutation test of the largest T: (1 + permutations that reach it)/(1 + 399), as Matteson and James test each
    split ("A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109, 2014). So where
    nothing changes, and the values are exchangeable, a series has any change point with a probability of at most
    `alpha`, whatever their distribution. Drifts and dependent values are not exchangeable: a drift is shown as steps.

    The random numbers follow from the values: equal series have equal change points.
    """
    seed = hashlib.sha256(repr([float(value) for value in values]).encode()).digest()
    random = Random(int.from_bytes(seed, "big"))  # noqa: S311  statistics, not secrets
    found: list[tuple[int, float]] = []
    parts = [(0, len(values))]
    while parts:
        start, end = parts.pop()
        split = _split(values[start:end], alpha, random)
        if split is not None:
            place, p_value = split
            found.append((start + place, p_value))
            parts += [(start, start + place), (start + place, end)]
    return _with_means(values, sorted(found))


def _with_means(values: Sequence[float], found: Sequence[tuple[int, float]]) -> list[ChangePoint]:
    edges = [0, *(index for index, _ in found), len(values)]
    means = [mean(values[start:end]) for start, end in pairwise(edges)]
    return [
        ChangePoint(index=index, before=means[i], after=means[i + 1], p_value=p_value)
        for i, (index, p_value) in enumerate(found)
    ]


def _split(values: Sequence[float], alpha: float, random: Random) -> tuple[int, float] | None:
    """Return the place of the largest change and its p-value, if that is at most `alpha`."""
    size = len(values)
    if size < 2 * _SHORTEST or min(values) == max(values):
        return None
    intervals = _intervals(size)
    largest, place = max(_statistics(values, intervals), key=lambda pair: pair[0])
    reached, allowed = 0, math.floor(alpha * (1 + PERMUTATIONS) + 1e-9) - 1
    shuffled = list(values)
    for _ in range(PERMUTATIONS):
        random.shuffle(shuffled)
        reached += max(_statistics(shuffled, intervals))[0] >= largest * (1 - 1e-12)
        if reached > allowed:  # more permutations cannot make it significant
            return None
    return place, (1 + reached) / (1 + PERMUTATIONS)


@lru_cache(maxsize=8)
def _intervals(size: int) -> list[tuple[int, int, list[tuple[int, float, float]]]]:
    """Return the seeded intervals of a series: start, end, and of each place in it what its statistic needs.

    Layer k has 2^k - 1 intervals of the length size/2^(k - 1), evenly over the series, down to the shortest length.
    """
    found = []
    for start, end in sorted(_bounds(size)):
        length = end - start
        places = [
            (start + m, m / length, 1 / math.sqrt(m * (length - m) / length))
            for m in range(_SHORTEST, length - _SHORTEST + 1)
        ]
        found.append((start, end, places))
    return found


def _bounds(size: int) -> set[tuple[int, int]]:
    bounds, layer = {(0, size)}, 2
    while (length := size / 2 ** (layer - 1)) >= 2 * _SHORTEST:
        count = 2**layer - 1
        step = (size - length) / (count - 1)
        bounds |= {(math.floor(i * step), math.ceil(i * step + length)) for i in range(count)}
        layer += 1
    return {(start, min(end, size)) for start, end in bounds}


def _statistics(
    values: Sequence[float], intervals: Sequence[tuple[int, int, Sequence[tuple[int, float, float]]]]
) -> Iterator[tuple[float, int]]:
    """Yield the largest statistic of each interval, and its place in the series."""
    sums = list(accumulate(values, initial=0.0))
    for start, end, places in intervals:
        before, total = sums[start], sums[end] - sums[start]
        yield max(
            (abs(sums[place] - before - share * total) * scale, place) for place, share, scale in places
        )
