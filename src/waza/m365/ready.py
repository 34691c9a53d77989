"""Getting the evaluators of a document ready: what a run refuses is found here, before anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence

from waza.m365.document import EvalDocument
from waza.m365.panel import Panel
from waza.m365.resolve import Resolved, off_scales, placed
from waza.problem import Problem


async def start_evaluators(document: EvalDocument, resolved: Resolved, panel: Panel) -> list[Problem]:
    """Look for the custom evaluators of a document and, if all are there, import them; return all problems.

    Warnings are among them. With an error, the evaluators cannot be used.
    """
    names = resolved.custom
    found = placed(document, resolved, panel.find(names))
    found += off_scales(document, {name for name in names if panel.is_judge(name)})
    problems = [*resolved.problems, *found]
    return problems if has_errors(problems) else [*problems, *await panel.start(names)]


def has_errors(problems: Sequence[Problem]) -> bool:
    """Tell whether one of the problems is more than a warning."""
    return any(problem.severity == "error" for problem in problems)
