"""Lists of trigger queries: prompts on which a skill should fire, and prompts on which it should not."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.source import SourceFolder

METRICS = [{"name": "trigger_accuracy", "threshold": 1}]
"""The metric of an imported list: every query must be answered as it says."""
_LISTS = {True: "should_trigger_prompts", False: "should_not_trigger_prompts"}


class _Query(msgspec.Struct, kw_only=True):
    """One entry of a list."""

    query: str
    should_trigger: bool


def read_queries(source: SourceFolder, relative: str, notes: Notes, into: dict[str, Any]) -> None:
    """Add the queries of a file to the keys of trigger tests; mistakes are in `source`. Equal queries count once."""
    document = source.read_json(relative)
    if document is None:
        return
    found, unknown = source.decode(document, list[_Query], strict=False)
    for problem in unknown:
        key = problem.path.rpartition(".")[2]
        notes.add(problem.file, f"key {key!r}", "is not known, and is left out", line=problem.line)
    for i, one in enumerate(found or ()):
        node = document.root.items[i]  # type: ignore[union-attr]  # it was read as a list
        if not one.query.strip():
            source.error("missing-key", relative, "the query is empty", "write a prompt", node)
            continue
        listed, other = (
            into.setdefault(_LISTS[side], []) for side in (one.should_trigger, not one.should_trigger)
        )
        if {"prompt": one.query} in other:
            message = f"the query {one.query!r} should trigger, and should not"
            source.error("conflicting-keys", relative, message, "keep one of them", node)
        elif {"prompt": one.query} in listed:
            notes.add(document.file, "equal queries", "are asked once, as there", line=node.line)
        else:
            listed.append({"prompt": one.query})
    notes.add(
        document.file,
        "runs",
        "each query is asked once; there it is asked several times (3), and passes by the share that fired (0.5)",
        unchecked=True,
    )
    notes.add(
        document.file,
        "pass mark",
        "a list has none there; here every query must be answered as it says (the threshold of trigger_accuracy)",
    )
    notes.add(
        document.file,
        "fired",
        "here the skill fires if it is invoked at any time of the first turn; there it must be the first tool call",
    )
