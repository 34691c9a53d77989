"""Shares: what rounding must never say, and what noise must never decide."""

from __future__ import annotations

import pytest

from waza.kit.share import decimal, differs, percent, reaches


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (1.0, 1, "100.0%"),
        (0.0, 1, "0.0%"),
        (2999 / 3000, 1, "99.9%"),
        (1 / 3000, 1, "0.1%"),
        (2999 / 3000, 0, "99%"),
        (1 / 3000, 0, "1%"),
        (2 / 3, 1, "66.7%"),
        (1 - 1e-12, 1, "100.0%"),
        (1e-12, 1, "0.0%"),
    ],
)
def test_only_all_is_100_percent_and_only_none_is_0(share: float, digits: int, shown: str) -> None:
    assert percent(share, digits) == shown


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [(1.0, 2, "1.00"), (0.996, 2, "0.99"), (0.004, 2, "0.01"), (0.0, 2, "0.00"), (0.99996, 4, "0.9999")],
)
def test_only_a_full_score_is_1(share: float, digits: int, shown: str) -> None:
    assert decimal(share, digits) == shown


def test_thresholds_are_reached_up_to_the_noise_of_floating_point() -> None:
    assert reaches(0.7499999999999999, 0.75)
    assert reaches((0.7 + 0.7 + 0.7) / 3, 0.7)
    assert not reaches(0.7499, 0.75)
    assert not reaches(0.75 - 1e-8, 0.75)
    assert differs(0.5, 0.5 + 1e-8)
    assert not differs(0.3, 0.1 + 0.2)
