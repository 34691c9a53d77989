"""What custom evaluators may return, value by value."""

from __future__ import annotations

import math

import pytest
from tests.support.evaluators import entry

from waza.m365.custom.custom_result import CustomResult, custom_result
from waza.m365.evaluators.protocols import EvaluatorResult, result_from

NOT_NUMBERS: list[object] = ["4", None, [], {}, "", "high"]
NOT_FINITE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("score", [1, 2, 5, 4.0])
def test_what_a_judge_may_say(score):
    found = custom_result("judge", {"score": score, "reason": "fine"})
    assert (found, type(found.score)) == (CustomResult(int(score), "fine"), int)


@pytest.mark.parametrize("score", [0, 6, -1, 3.5, 9, 10**400, 1e300])
def test_what_is_no_level_of_a_judge(score):
    found = custom_result("judge", {"score": score})
    assert found.score is None
    assert "1 to 5" in found.error or "finite" in found.error


@pytest.mark.parametrize("score", [*NOT_NUMBERS, *NOT_FINITE, True])
def test_what_is_no_number_for_a_judge(score):
    assert custom_result("judge", {"score": score}).error.startswith("could not parse score: ")


@pytest.mark.parametrize("score", [0, 1, -3, 0.25, 250, 1e300, True, False])
def test_what_a_code_only_evaluator_may_say(score):
    found = custom_result("code", {"score": score})
    assert found == CustomResult(score)
    assert type(found.score) is not bool


@pytest.mark.parametrize("score", [*NOT_NUMBERS, *NOT_FINITE, 10**400])
def test_what_is_no_number_for_code(score):
    assert custom_result("code", {"score": score}).error.startswith("could not parse score: ")


def test_numbers_that_python_does_not_write_are_no_obstacle():
    digits = "a number of thousands of digits"
    assert (
        custom_result("code", {"score": 10**5000}).error
        == f"could not parse score: {digits} is not a finite number"
    )
    assert custom_result("code", {"score": 1, "reason": 10**5000}).reason == digits


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ({"error": "no terms", "score": 5, "reason": "r"}, "no terms"),
        ({"result": "error", "error": "old shape", "threshold": 3}, "old shape"),
        ({"error": 7}, "7"),
        ({"error": ""}, "the evaluator returned an error without a text"),
        ({"error": False, "score": 5}, "False"),
        ({"error": "half \ud800 a character"}, "half ? a character"),
    ],
)
def test_an_error_beats_everything(returned, error):
    assert custom_result("judge", returned) == CustomResult(error=error)


def test_no_error_at_all_is_no_error():
    assert custom_result("judge", {"error": None, "score": 5}) == CustomResult(5)


@pytest.mark.parametrize(("reason", "text"), [(None, ""), (7, "7"), (["a"], "['a']"), ("x\udfff", "x?")])
def test_a_reason_is_text(reason, text):
    assert custom_result("code", {"score": 1, "reason": reason}).reason == text


@pytest.mark.parametrize(
    ("score", "threshold", "result"),
    [(3, 3, "pass"), (2, 3, "fail"), (0.7, 0.7, "pass"), (0.69, 0.7, "fail"), (-1, -2, "pass")],
)
def test_an_entry_passes_from_the_threshold_on(score, threshold, result):
    assert entry(CustomResult(score, "why"), threshold) == {
        "score": score,
        "result": result,
        "threshold": threshold,
        "reason": "why",
    }


def test_an_errored_entry_has_nothing_else():
    assert entry(CustomResult(error="broken"), 3) == {"result": "error", "error": "broken"}
    broken = result_from(CustomResult(error="broken"), 3, "tone", "judge")
    assert broken == EvaluatorResult(name="tone", kind="judge", error="broken")
