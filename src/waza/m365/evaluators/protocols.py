"""What an evaluator is, what it is given and what it returns."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from waza.kit.share import reaches
from waza.m365.custom.custom_result import CustomResult, Number
from waza.m365.document.scores import RetrievalExecution

Kind: TypeAlias = Literal["built-in", "judge", "code"]
"""What an evaluator is; of the custom ones, those with a `.prompty` are judges."""


class EvaluatorInput(msgspec.Struct, frozen=True, kw_only=True):
    """One response and what belongs to it. `retrieval`: the agent's searches; None if they are unknown."""

    prompt: str
    response: str
    expected_response: str = ""
    context: str = ""
    retrieval: tuple[RetrievalExecution, ...] | None = None


class EvaluatorResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one evaluator for one response. With an `error`, the rest does not count.

    `score` is on the evaluator's own scale: 1 to 5 for those that judge, the count of Citations, 1 or 0 for
    ExactMatch, anything for code. `extra` are further keys of its entry; RetrievalQuery and RetrievalResult
    must give their `diagnostic_code`. An error that was an exception of people's code has its `traceback`.
    """

    name: str
    kind: Kind = "built-in"
    score: float = 0
    threshold: float = 1
    passed: bool = False
    reason: str = ""
    error: str = ""
    traceback: str = ""
    extra: dict[str, Any] = {}


def result_from(found: CustomResult, threshold: Number, name: str, kind: Kind) -> EvaluatorResult:
    """Return a score, or the reason why it is missing, as the result of an evaluator; it passes from the threshold on."""
    if found.score is None:
        return EvaluatorResult(name=name, kind=kind, error=found.error, traceback=found.traceback)
    return EvaluatorResult(
        name=name,
        kind=kind,
        score=found.score,
        threshold=threshold,
        passed=reaches(found.score, threshold),
        reason=found.reason,
    )


class Evaluator(Protocol):
    """Judges responses by one set of options."""

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Return the result for a response; what goes wrong is an errored result, never an exception."""
        ...
