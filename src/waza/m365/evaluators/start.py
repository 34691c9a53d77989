"""Getting the evaluators of a document ready: what a run refuses is found here, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence

from waza.m365.document.read import EvalDocument
from waza.m365.evaluators.evaluator_set import EvaluatorSet
from waza.m365.evaluators.resolve import Resolved, located_problems, off_scales
from waza.problem import Problem


async def start_evaluators(document: EvalDocument, resolved: Resolved, panel: EvaluatorSet) -> list[Problem]:
    """Look for the custom evaluators of a document and, if all are there, import them; return all problems.

    Warnings are among them. With an error, the evaluators cannot be used.
    """
    names = resolved.custom
    found = located_problems(document, resolved, panel.find(names))
    found += off_scales(document, {name for name in names if panel.is_judge(name)})
    problems = [*resolved.problems, *found]
    return problems if has_errors(problems) else [*problems, *await panel.start(names)]


def has_errors(problems: Sequence[Problem]) -> bool:
    """Tell whether one of the problems is more than a warning."""
    return any(problem.severity == "error" for problem in problems)
