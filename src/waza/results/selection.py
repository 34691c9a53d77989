"""Whether results are of a part of a suite, chosen by options, and of which."""

from __future__ import annotations

import msgspec

from waza.kit.text import pluralize
from waza.model.result import SuiteResult
from waza.model.selection import Selection, Shard

SELECTION = "selection"  # the key in the metadata of results


def read_selection(head: SuiteResult) -> Selection | None:
    """Return which part of its suite a run was of; None for all of it, as in results of other programs."""
    try:
        return msgspec.convert(head.metadata.get(SELECTION), Selection | None)
    except msgspec.ValidationError:
        return None


def shard_of(head: SuiteResult) -> Shard | None:
    """Return which shard of a run these results are of; None for those of a whole run."""
    found = read_selection(head)
    return found.shard if found else None


def selected_by(head: SuiteResult) -> str:
    """Return the options that chose the tasks of a run; nothing for all tasks of its suite."""
    found = read_selection(head)
    return " ".join(found.filters) if found else ""


def describe_selection(head: SuiteResult) -> str:
    """Return that a run was of a part of its suite, in words; nothing for all of it."""
    found = read_selection(head)
    if found is None:
        return ""
    return f"only {found.selected} of {pluralize(found.of, 'task')} chosen: {selected_by(head)}"


def is_same_part(one: SuiteResult, other: SuiteResult) -> bool:
    """Return whether two runs are of all of their suites, or were chosen by the same options and have the same tasks."""
    first, second = read_selection(one), read_selection(other)
    if first is None or second is None:
        return first is second
    same = {task.test_id for task in one.tasks} == {task.test_id for task in other.tasks}
    return first.filters == second.filters and same
