"""Getting the evaluators of a document ready: what a run refuses is found here, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence

from waza.m365.document.read import EvalDocument
from waza.m365.evaluators.evaluator_set import EvaluatorSet
from waza.m365.evaluators.resolve import ResolvedEvaluators, check_thresholds, locate_problems
from waza.problem import Problem


async def start_evaluators(
    document: EvalDocument, resolved: ResolvedEvaluators, evaluator_set: EvaluatorSet
) -> list[Problem]:
    """Look for the custom evaluators of a document and, if all are there, import them; return all problems.

    Warnings are among them. With an error, the evaluators cannot be used.
    """
    names = resolved.custom
    found = locate_problems(document, resolved, evaluator_set.find(names))
    found += check_thresholds(document, {name for name in names if evaluator_set.is_judge(name)})
    problems = [*resolved.problems, *found]
    return problems if has_errors(problems) else [*problems, *await evaluator_set.start(names)]


def has_errors(problems: Sequence[Problem]) -> bool:
    """Tell whether one of the problems is more than a warning."""
    return any(problem.severity == "error" for problem in problems)
