"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values, in the order given: the chance of any false alarm stays at the level.

    The i-th smallest of m (from 0) is multiplied by m - i, is never below a smaller one's, and at most 1 (Holm, "A
    Simple Sequentially Rejective Multiple Test Procedure", 1979).
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [1.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted
