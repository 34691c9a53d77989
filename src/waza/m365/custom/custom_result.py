"""What a custom evaluator may return, and the result made of it. Pure: values in, values out.

A *judge* (it has a `.prompty`) scores with an integer from 1 to 5, a *code-only* evaluator with any
finite number. What breaks these rules is an error, never a guess: `"4"` is not 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from waza.kit.text import replace_surrogates

CustomKind: TypeAlias = Literal["judge", "code"]
Number: TypeAlias = int | float

DEFAULT_THRESHOLD: Mapping[CustomKind, int] = {"judge": 3, "code": 1}

_LOWEST, _HIGHEST = 1, 5  # the scores that a judge may give
_LONGEST = 200  # characters of a wrong value that a message shows


class CustomResult(msgspec.Struct, frozen=True):
    """What one call of an evaluator gave: a score and why, or else the text of an error and no score.

    An error that was an exception has its `traceback`.
    """

    score: Number | None = None
    reason: str = ""
    error: str = ""
    traceback: str = ""


def failed_result(text: str, place: str = "", traceback: str = "") -> CustomResult:
    """Return the result of an evaluator that failed; `text` is the reason, and `place` where it happened."""
    return CustomResult(
        error=f"Evaluator failed: {text}{f' ({place})' if place else ''}", traceback=traceback
    )


def custom_result(kind: CustomKind, returned: Mapping[str, object]) -> CustomResult:
    """Return the result for the dict that an evaluator returned.

    With an `error` that is not None, the result is that error, whatever else is in the dict. Else its
    `score` must be a number that the kind may give; `reason` is kept as text. All other keys are ignored.
    """
    error = returned.get("error")
    if error is not None:
        return CustomResult(error=_text(error) or "the evaluator returned an error without a text")
    if "score" not in returned:
        return CustomResult(error="could not parse score: the evaluator returned no 'score'")
    score = _read_score(kind, returned["score"])
    if isinstance(score, str):
        return CustomResult(error=score)
    return CustomResult(score=score, reason=read_reason(returned))


def read_reason(returned: Mapping[str, object]) -> str:
    """Return the `reason` as text, empty without one."""
    reason = returned.get("reason")
    return "" if reason is None else _text(reason)


def threshold_problem(options: Mapping[str, Any]) -> str:
    """Return what is wrong with the threshold of a judge, which scores from 1 to 5; empty if it is on the scale."""
    threshold = options.get("threshold", DEFAULT_THRESHOLD["judge"])
    if _LOWEST <= threshold <= _HIGHEST:
        return ""
    always = "always" if threshold < _LOWEST else "never"
    return f"the threshold is {threshold:g}, but a judge scores from {_LOWEST} to {_HIGHEST}, so it would {always} pass"


def _read_score(kind: CustomKind, score: object) -> Number | str:
    """Return the score as the kind may give it, else what is wrong with it."""
    if isinstance(score, bool) and kind == "code":
        return int(score)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return f"could not parse score: {_short_repr(score)} is not a number"
    if not _is_finite(score):
        return f"could not parse score: {_short_repr(score)} is not a finite number"
    if kind == "code":
        return score
    if score != int(score) or not _LOWEST <= score <= _HIGHEST:
        return f"the score {_short_repr(score)} is not an integer from {_LOWEST} to {_HIGHEST}, as a judge must give"
    return int(score)


def _is_finite(number: Number) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that no float can hold, and no JSON reader either
        return False


def _short_repr(value: object) -> str:
    return _text(value, repr)[:_LONGEST]


def _text(value: object, conversion: Callable[[object], str] = str) -> str:
    """Return the value as text that any file can hold."""
    try:
        text = conversion(value)
    except ValueError:  # Python writes no integers of thousands of digits
        return "a number of thousands of digits"
    return replace_surrogates(text)
