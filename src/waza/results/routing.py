"""Trigger tests with neighbours: which skill was invoked where which was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from waza.model.loaded import Suite
from waza.model.mock import NO_SKILL
from waza.model.result import SuiteResult, TriggerMatrix, TriggerMatrixRow, TriggerResult


def is_as_expected(result: TriggerResult, tested: str) -> bool:
    """Return whether exactly the expected skill was invoked. A prompt without an answer is never as expected."""
    if result.error_msg or result.invoked_skills is None:
        return False
    invoked = set(result.invoked_skills)
    if not result.expected_skill:
        return tested not in invoked
    return invoked == ({result.expected_skill} - {NO_SKILL})


def list_wrong(head: SuiteResult) -> Iterator[TriggerResult]:
    """Yield the prompts that did not end as expected, those without an answer included."""
    matrix = head.trigger_matrix
    for one in head.trigger_results:
        wrong = one.should_trigger != one.did_trigger
        if matrix is not None:
            wrong = wrong or not is_as_expected(one, matrix.skill)
        if wrong or one.error_msg:
            yield one


def trigger_matrix(suite: Suite, results: Sequence[TriggerResult]) -> TriggerMatrix | None:
    """Return the counts of what was invoked by what was expected; None where nothing ran, or without neighbours.

    Expectations without any prompt have no row, but that of the tested skill and those of its neighbours.
    """
    names = [one.name for one in suite.trigger_neighbours]
    if not (names and results):
        return None
    skills = [suite.trigger_skill, *names]
    by_expectation: dict[str, list[TriggerResult]] = {name: [] for name in skills}
    for expected in (NO_SKILL, ""):
        by_expectation[expected] = []
    for one in results:
        by_expectation.setdefault(one.expected_skill, []).append(one)
    rows = [
        _row(expected, found, skills)
        for expected, found in by_expectation.items()
        if found or expected in skills
    ]
    return TriggerMatrix(skill=suite.trigger_skill, neighbours=names, rows=rows)


def _row(expected: str, results: Iterable[TriggerResult], skills: Sequence[str]) -> TriggerMatrixRow:
    alone = Counter[str]()
    none = several = errors = 0
    for one in results:
        invoked = one.invoked_skills or []
        if one.error_msg:
            errors += 1
        elif len(invoked) > 1:
            several += 1
        elif invoked:
            alone[invoked[0]] += 1
        else:
            none += 1
    others = sorted(alone.keys() - set(skills))
    counts = {name: alone[name] for name in (*skills, *others)}
    return TriggerMatrixRow(expected=expected, invoked=counts, none=none, several=several, errors=errors)
