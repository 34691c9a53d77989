"""Trigger tests with neighbours in words: which skill was expected, which was invoked, and the table of both."""

from __future__ import annotations

from collections.abc import Sequence

from waza.kit.text import list_first
from waza.model.mock import NO_SKILL
from waza.model.result import TriggerMatrix, TriggerMatrixRow
from waza.report.section import Table
from waza.report.words import one_line

_NAME = 40  # characters of the name of a skill
_SHOWN = 5  # skills that a prompt invoked


def expectation(expected: str, tested: str) -> str:
    """Return what a prompt should do; `expected` is a skill, `none`, or empty for any but the tested one."""
    if not expected:
        return f"should not invoke {one_line(tested, _NAME)}"
    return "should invoke no skill" if expected == NO_SKILL else f"should invoke {one_line(expected, _NAME)}"


def invocation(names: Sequence[str]) -> str:
    """Return which skills a prompt invoked."""
    found = [one_line(name, _NAME) for name in names]
    return f"it invoked {list_first(found, _SHOWN)}" if found else "it invoked no skill"


def matrix_table(matrix: TriggerMatrix) -> Table:
    """Return how often which skill was invoked where which was expected, with the expectations as lines.

    Skills that are neither tested nor neighbours are one column. It is there if one was invoked, as are those of several
    skills and of no answer.
    """
    skills = [matrix.skill, *matrix.neighbours]
    columns = [(one_line(name, _NAME), [row.invoked.get(name, 0) for row in matrix.rows]) for name in skills]
    columns.append(("none", [row.none for row in matrix.rows]))
    rare = (
        ("another skill", [_others(row, skills) for row in matrix.rows]),
        ("several skills", [row.several for row in matrix.rows]),
        ("no answer", [row.errors for row in matrix.rows]),
    )
    columns += [(title, counts) for title, counts in rare if any(counts)]
    lines = [
        [_name_row(row, matrix.skill), *(str(counts[i]) for _, counts in columns)]
        for i, row in enumerate(matrix.rows)
    ]
    return Table(("Expected / invoked", *(title for title, _ in columns)), lines)


def _others(row: TriggerMatrixRow, skills: Sequence[str]) -> int:
    return sum(count for name, count in row.invoked.items() if name not in skills)


def _name_row(row: TriggerMatrixRow, tested: str) -> str:
    return one_line(row.expected, _NAME) or f"any but {one_line(tested, _NAME)}"
