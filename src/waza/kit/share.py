"""Shares from 0 to 1, such as scores and rates: how they are compared with thresholds, and how they are written."""

from __future__ import annotations

TOLERANCE = 1e-9


def reaches(value: float, threshold: float) -> bool:
    """Tell whether a value is at least the threshold, up to the noise of floating point."""
    return value >= threshold - TOLERANCE


def differs(one: float, other: float) -> bool:
    """Tell whether two values differ by more than the noise of floating point."""
    return abs(one - other) > TOLERANCE


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage: 100 only for all of it, 0 only for none."""
    return f"{_keep_off_ends(share, digits + 2) * 100:.{digits}f}%"


def decimal(share: float, digits: int = 2) -> str:
    """Return a share as a decimal: 1.00 only for all of it, 0.00 only for none."""
    return f"{_keep_off_ends(share, digits):.{digits}f}"


def _keep_off_ends(share: float, digits: int) -> float:
    """Return the share, moved off the ends of its scale where rounding to so many digits would reach them."""
    step = 10.0**-digits
    if TOLERANCE < share < step:
        return step
    return 1 - step if 1 - step < share < 1 - TOLERANCE else share
