"""Replaying snapshots: whether a record is consistent, and where two records part. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.errors import SuiteError
from waza.evidence.json_file import problem_at, read_json
from waza.evidence.verify import read_snapshot
from waza.kit.json_text import json_text, same_json
from waza.kit.text import replace_surrogates
from waza.model.observation import ToolEvent
from waza.model.result import Validation
from waza.problem import display_path
from waza.results.lenient import Lenient

_LONGEST = 200  # characters of a value in a divergence

IssueKind = Literal["sequence_gap", "validation_inconsistency"]
DivergenceKind = Literal[
    "length_mismatch", "tool_name", "tool_args", "tool_success", "tool_result", "final_status", "validation"
]


class Issue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something in a record that cannot have happened like that."""

    kind: IssueKind
    grader: str = ""
    """The grader that it is about, if it is about one."""
    message: str = msgspec.field()


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay found. `tool_events` and `graders` are counts."""

    source: str
    mode: str = "model-replay"
    passed: bool = msgspec.field(name="pass")
    """Whether the record is consistent; how the trial ended is `status`."""
    status: str
    issues: list[Issue]
    tool_events: int
    graders: int


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """Where two records part. The index counts tool calls from 0; -1: it is about none. Values are cut to 200 characters."""

    kind: DivergenceKind
    first_divergent_index: int
    baseline_value: str
    replayed_value: str
    description: str


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """Two records side by side, up to the first difference. The turn is 0 where they match or no tool call differs."""

    match: bool
    divergences: list[Divergence]
    baseline: str
    replayed: str
    first_divergent_turn: int


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a snapshot."""

    status: str
    events: list[ToolEvent]
    validations: dict[str, Validation]


def replay(path: Path, *, strict: bool = True) -> Replay:
    """Check a snapshot. `strict`: verdicts as well. Raises SuiteError where it cannot be read, or was changed."""
    record = _read(path)
    issues = [*_sequence_issues(record.events), *(_validation_issues(record.validations) if strict else ())]
    return Replay(
        source=str(path),
        passed=not issues,
        status=record.status,
        issues=issues,
        tool_events=len(record.events),
        graders=len(record.validations),
    )


def bisect(baseline: Path, replayed: Path, *, strict: bool = False) -> Bisection:
    """Compare two snapshots call by call: names and arguments, in order.

    `strict`: also whether calls succeeded, their results, how the trial ended, and which graders passed. Raises SuiteError
    where a snapshot cannot be read, or was changed.
    """
    first, second = _read(baseline), _read(replayed)
    found = next(_divergences(first, second, strict=strict), None)
    index = found.first_divergent_index if found else -1
    longer = max(first.events, second.events, key=len)
    return Bisection(
        match=found is None,
        divergences=[found] if found else [],
        baseline=str(baseline),
        replayed=str(replayed),
        first_divergent_turn=(longer[index].turn or index + 1) if index >= 0 else 0,
    )


def _read(path: Path) -> _Record:
    document = read_snapshot(path)
    result = document["result"]
    parts = {
        ("toolEvents",): (list[ToolEvent], document.get("toolEvents")),
        ("result", "validations"): (dict[str, Validation], result.get("validations")),
        ("result", "status"): (str, result.get("status")),
    }
    read: list[Any] = []
    for place, (wanted, value) in parts.items():
        try:
            read.append(msgspec.convert(Lenient().fit(wanted, value), wanted))
        except msgspec.ValidationError as error:
            data, _ = read_json(path)
            raise SuiteError([problem_at(display_path(path), data, place, str(error))]) from None
    events, validations, status = read
    return _Record(
        status=status, events=sorted(events, key=lambda event: event.sequence), validations=validations
    )


def _sequence_issues(events: list[ToolEvent]) -> Iterator[Issue]:
    numbers = [event.sequence for event in events]
    for wanted, number in enumerate(numbers, 1):
        if number != wanted:
            message = f"tool calls are numbered {', '.join(map(str, numbers[:50]))}; {wanted} is missing or there twice"
            yield Issue(kind="sequence_gap", message=message)
            return


def _validation_issues(validations: dict[str, Validation]) -> Iterator[Issue]:
    for name, found in sorted(validations.items()):
        if found.passed and found.weight > 0 and found.score == 0:
            yield Issue(
                kind="validation_inconsistency", grader=name, message=f"{name} passed with a score of 0"
            )


def _divergences(first: _Record, second: _Record, *, strict: bool) -> Iterator[Divergence]:
    for index, (one, other) in enumerate(zip(first.events, second.events, strict=False)):
        yield from _call_divergences(index, one, other, strict=strict)
    one_count, other_count = len(first.events), len(second.events)
    if one_count != other_count:
        index, what = min(one_count, other_count), "one record has more tool calls than the other"
        yield _divergence("length_mismatch", index, one_count, other_count, what)
    if strict:
        yield from _end_divergences(first, second)


def _call_divergences(index: int, one: ToolEvent, other: ToolEvent, *, strict: bool) -> Iterator[Divergence]:
    name = one.tool_name
    if name != other.tool_name:
        yield _divergence("tool_name", index, name, other.tool_name, "another tool was called")
    if not same_json(one.args, other.args, doubles=True):
        what = f"{name} was called with other arguments"
        yield _divergence("tool_args", index, one.args, other.args, what)
    if strict and one.success != other.success:
        what = f"{name} succeeded in one record only"
        yield _divergence("tool_success", index, one.success, other.success, what)
    if strict and not same_json(one.result, other.result, doubles=True):
        yield _divergence("tool_result", index, one.result, other.result, f"{name} answered otherwise")


def _end_divergences(first: _Record, second: _Record) -> Iterator[Divergence]:
    if first.status != second.status:
        yield _divergence("final_status", -1, first.status, second.status, "the trials ended otherwise")
    for name in sorted({*first.validations, *second.validations}):
        one, other = first.validations.get(name), second.validations.get(name)
        passed, then = (None if found is None else found.passed for found in (one, other))
        if passed != then:
            yield _divergence("validation", -1, passed, then, f"{name} reached another verdict")


def _divergence(kind: DivergenceKind, index: int, one: Any, other: Any, what: str) -> Divergence:
    return Divergence(
        kind=kind,
        first_divergent_index=index,
        baseline_value=_shown(one),
        replayed_value=_shown(other),
        description=what if index < 0 else f"{what} (call {index + 1})",
    )


def _shown(value: Any) -> str:
    return replace_surrogates(value if isinstance(value, str) else json_text(value))[:_LONGEST]
