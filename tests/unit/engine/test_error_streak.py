"""Trials in a row that break for one cause."""

from __future__ import annotations

import pytest

from waza.engine.error_streak import ErrorStreak


def stops_at(most: int, causes: list[str]) -> int:
    """The number of the trial that stops the run; 0 if none does."""
    streak = ErrorStreak(most)
    return next((number for number, cause in enumerate(causes, 1) if streak.add(cause)), 0)


@pytest.mark.parametrize(
    ("most", "causes", "number"),
    [
        (3, ["a", "a", "a", "a"], 3),
        (3, ["a", "a", "", "a", "a", "a"], 6),
        (3, ["a", "b", "a", "b", "", "a", "b"], 0),
        (3, ["a", "b", "a", "b", "a"], 5),
        (3, ["server down, request dwtgmlqu", "server down, request qqzzwxyv", "server down, request k"], 3),
        (2, ['{"error":"busy","for":"me","id":"xyz"}', '{"error":"busy","for":"me","id":"uvw"}'], 2),
        (2, ["the server is away", "the disk was full"], 0),
        (2, ["port 40291 is dead", "port 9 is dead"], 2),
        (2, ["session 3f9a77b01c is gone", "session 00aa77b01cff is gone"], 2),
        (1, ["", "a"], 2),
        (0, ["a"] * 50, 0),
    ],
)
def test_one_cause_in_a_row_is_enough(most: int, causes: list[str], number: int):
    assert stops_at(most, causes) == number


def test_the_reason_names_the_cause_and_what_to_do():
    streak = ErrorStreak(2)
    streak.add("the server is\naway")
    assert streak.add("the server is\naway") == (
        "2 trials in a row broke for one cause: the server is away; mend it, and go on with --resume "
        "(config.stop_after_errors)"
    )
