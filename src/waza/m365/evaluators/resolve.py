"""Which evaluators run on which turn, and with which options."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from waza.kit.decode import KeyPath
from waza.m365.custom.custom_result import threshold_problem
from waza.m365.custom.discover import EvaluatorNameProblem
from waza.m365.document.model import DocumentTurn
from waza.m365.document.options import BUILT_IN, NEEDS, Evaluators, name_conflict
from waza.m365.document.read import EvalDocument
from waza.problem import Code, Problem
from waza.suite.read import at

SYSTEM_DEFAULTS: Evaluators = {"Relevance": {}, "Coherence": {}}
"""What runs where neither the document nor an item names evaluators."""


class ResolvedEvaluators(msgspec.Struct, frozen=True, kw_only=True):
    """The evaluators of a document: for each item and each of its turns, names to options, in order.

    `custom` are the names that are not built in, each with the place that names it first; whether there
    are such evaluators is not known here. `problems` are errors and warnings.
    """

    items: tuple[tuple[Evaluators, ...], ...]
    custom: dict[str, KeyPath]
    problems: tuple[Problem, ...]


def resolve(document: EvalDocument) -> ResolvedEvaluators:
    """Return the evaluators of every turn.

    The base are the document's defaults, or else ours. A turn's own evaluators extend it, with their
    options over those of the base, key by key; or they replace it. A reserved name is an error,
    and so is a turn that replaces the base by nothing; a base of nothing that is not extended is a warning, and
    so is an evaluator whose turns lack what it needs.
    """
    base = SYSTEM_DEFAULTS if document.default_evaluators is None else document.default_evaluators
    items = tuple(tuple(_resolve_turn(turn, base) for turn in item.turns) for item in document.items)
    custom, problems = dict[str, KeyPath](), list[Problem]()
    for name, place, _ in _entries(document):
        taken = name_conflict(name)
        if taken:
            problems.append(_problem("evaluator-name", document, place, taken.message, taken.hint))
        elif name not in BUILT_IN:
            custom.setdefault(name, place)
    problems += [*_check_empty(document, items), *_check_needs(document, items)]
    return ResolvedEvaluators(items=items, custom=custom, problems=tuple(problems))


def locate_problems(
    document: EvalDocument, resolved: ResolvedEvaluators, problems: Iterable[Problem]
) -> list[Problem]:
    """Return problems of the custom evaluators; those of names are placed where the document first has the name."""
    return [
        _problem(problem.code, document, resolved.custom[problem.name], problem.message, problem.hint)
        if isinstance(problem, EvaluatorNameProblem)
        else problem
        for problem in problems
    ]


def check_thresholds(document: EvalDocument, judges: Container[str]) -> Iterator[Problem]:
    """Yield an error for each threshold of a custom judge that is not on its scale; `judges` are their names."""
    for name, place, options in _entries(document):
        if name in judges and (wrong := threshold_problem(options)):
            path = (*place, "threshold")
            yield _problem("evaluator-threshold", document, path, wrong, "")


def _resolve_turn(turn: DocumentTurn, base: Evaluators) -> Evaluators:
    own = turn.evaluators
    if isinstance(own, msgspec.UnsetType):
        return base
    if turn.evaluators_mode == "replace":
        return own
    merged = {name: {**options, **own.get(name, {})} for name, options in base.items()}
    return {**merged, **{name: options for name, options in own.items() if name not in base}}


def _entries(document: EvalDocument) -> Iterator[tuple[str, KeyPath, dict[str, Any]]]:
    """Yield every entry of every map of evaluators: its name, its place and its options."""
    for name, options in (document.default_evaluators or {}).items():
        yield name, ("default_evaluators", name), options
    for turn, place in document.turns():
        if not isinstance(turn.evaluators, msgspec.UnsetType):
            for name, options in turn.evaluators.items():
                yield name, (*place, "evaluators", name), options


def _check_empty(document: EvalDocument, items: tuple[tuple[Evaluators, ...], ...]) -> Iterator[Problem]:
    """Yield errors and warnings for turns without evaluators."""
    found = (evaluators for item in items for evaluators in item)
    for (turn, place), evaluators in zip(document.turns(), found, strict=True):
        if evaluators:
            continue
        if turn.evaluators_mode == "replace" and turn.evaluators == {}:
            hint = "name at least one evaluator, or remove 'evaluators' and 'evaluators_mode'"
            yield _problem(
                "no-evaluator", document, (*place, "evaluators"), "no evaluator is left to run", hint
            )
        else:
            hint = "it passes whenever there is a response; name evaluators here, or in 'default_evaluators'"
            problem = _problem("no-evaluator", document, place, "no evaluator runs here", hint)
            yield msgspec.structs.replace(problem, severity="warning")


def _check_needs(document: EvalDocument, items: tuple[tuple[Evaluators, ...], ...]) -> Iterator[Problem]:
    """Yield a warning for each evaluator that will give no result, at the first turn that lacks what it needs."""
    turns = list(zip(document.turns(), (own for item in items for own in item), strict=True))
    for name, key in NEEDS.items():
        found = [place for (turn, place), own in turns if name in own and not getattr(turn, key).strip()]
        if found:
            others = f" (so do {len(found) - 1} others)" if len(found) > 1 else ""
            message = f"has no {key}{others}, without which {name} gives no result"
            hint = f"write '{key}', or leave {name} out"
            yield msgspec.structs.replace(
                _problem("evaluator-input", document, found[0], message, hint), severity="warning"
            )


def _problem(code: Code, document: EvalDocument, place: KeyPath, message: str, hint: str) -> Problem:
    return document.source.problem(code, at(document.source, *place), place, message, hint)
