"""From the name of a built-in evaluator to the evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waza.m365.document.options import (
    CitationsOptions,
    ExactMatchOptions,
    JudgedOptions,
    PartialMatchOptions,
    RetrievalQueryOptions,
    RetrievalResultOptions,
    convert_options,
)
from waza.m365.evaluators.protocols import Evaluator
from waza.m365.evaluators.retrieval import RetrievalQuery, RetrievalResult
from waza.m365.evaluators.rubric import MATERIAL, RubricEvaluator
from waza.m365.evaluators.texts import Citations, ExactMatch, PartialMatch
from waza.m365.judges.judge_model import JudgeError, JudgeModel

JUDGED = frozenset(MATERIAL)
"""Names of the evaluators that always need a judge."""


def asks_judge(name: str, options: Mapping[str, Any], *, entailment: bool = False) -> bool:
    """Tell whether an evaluator with these options is a built-in one that asks a judge."""
    return name in JUDGED or (entailment and name == "RetrievalResult" and "expected_items" in options)


def make_built_in(
    name: str, options: Mapping[str, Any], judge: JudgeModel | None, *, entailment: bool = False
) -> Evaluator:
    """Return the built-in evaluator of a name with its options, which are valid.

    `entailment` lets the judge decide which of the `expected_items` the extracts of RetrievalResult support.

    Raises JudgeError if it needs a judge and has no judge, KeyError if no built-in evaluator has the name.
    """
    asks = asks_judge(name, options, entailment=entailment)
    if asks and judge is None:
        raise JudgeError(f"the evaluator {name} needs a judge, and none is configured")
    match convert_options(name, dict(options)):
        case JudgedOptions() as own if judge is not None:
            return RubricEvaluator(name, own, judge)
        case CitationsOptions() as own:
            return Citations(own)
        case ExactMatchOptions() as own:
            return ExactMatch(own)
        case PartialMatchOptions() as own:
            return PartialMatch(own)
        case RetrievalQueryOptions() as own:
            return RetrievalQuery(own)
        case RetrievalResultOptions() as own:
            return RetrievalResult(own, judge if asks else None)
        case _:
            raise KeyError(name)
