"""Results as JUnit XML, for CI servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

import msgspec

from waza.kit.foreign import harmless
from waza.kit.share import decimal
from waza.kit.text import counted
from waza.model.result import SuiteResult
from waza.report.rows import Row, rows
from waza.results.invocation import Invocation
from waza.results.outcome import Outcome
from waza.results.verdict import UNGRADED, NotStarted, gates, reason_of, tasks_reason, verdict_of

_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A test case; `tag` is empty if it passed, else failure, error or skipped."""

    name: str
    duration_ms: int = 0
    tag: str = ""
    type: str = ""
    message: str = ""
    body: str = ""
    properties: dict[str, str] = {}


def document(invocation: Invocation) -> bytes:
    """Return the JUnit document: a test suite for each outcome, and one for what did not start.

    There is a test case for each task, for each gate, and for whatever else is against passing. Texts are made
    harmless, which leaves no character in them that XML 1.0 forbids. `time` is in seconds. Goes through the tasks
    once.
    """
    suites = [(outcome.head, _cases(outcome)) for outcome in invocation.outcomes]
    lines = [line for head, cases in suites for line in _suite(head, cases)]
    absent = [_absent(one) for one in invocation.not_started]
    if absent:
        lines += _test_suite({"name": "not started", **_counts(absent)}, absent, "waza", [])
    totals = _counts([*(case for _, cases in suites for case in cases), *absent])
    del totals["skipped"]
    took = sum(head.summary.duration_ms for head, _ in suites)
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            _open("testsuites", {**totals, "time": _seconds(took)}),
            *lines,
            "</testsuites>",
            "",
        ]
    ).encode()


def _cases(outcome: Outcome) -> list[Case]:
    """Return the cases of one outcome: none of them passed may hide that the run did not."""
    head = outcome.head
    cases = [_task(row) for row in rows(outcome)]
    known = {tasks_reason(head)}
    for gate in gates(head):
        case = Case(name=f"gate {gate.name}", tag="failure", type="GateFailure", message=reason_of(gate))
        cases.append(Case(name=case.name) if gate.passed else case)
        known.add(reason_of(gate))
    cases += [
        Case(name="verdict", tag="skipped", message=reason)
        if reason == UNGRADED
        else Case(name="verdict", tag="error", type="NotComplete", message=reason)
        for reason in outcome.verdict.reasons
        if reason not in known
    ]
    return cases


def _task(row: Row) -> Case:
    took = row.stats.avg_duration_ms if row.stats else 0
    case = Case(name=row.title, duration_ms=took, properties={"test_id": row.id})
    first_error = next((run.error for run in row.bad_runs if run.error), row.error)
    tag, kind, message, body = "", "", "", ""
    if row.status == "error":
        tag, kind = "error", "ExecutionError"
        message, body = first_error or "the task did not run to its end", _body(row) or first_error
    elif row.status == "failed":
        tag, kind = "failure", "GraderFailure"
        message, body = f"{row.name}: score={decimal(row.score)}", _body(row) or first_error
    elif row.missing:
        tag, kind = "error", "NotComplete"
        message = f"{row.missing} of {counted(row.runs + row.missing, 'trial')} did not run"
    elif row.status == "skipped":
        tag, message = "skipped", "nothing was graded" if row.runs else "it was not started"
    return msgspec.structs.replace(case, tag=tag, type=kind, message=message, body=body)


def _body(row: Row) -> str:
    """Return a line for each failing grader of the first run that did not pass."""
    if not row.bad_runs:
        return ""
    misses = sorted(row.bad_runs[0].misses, key=lambda check: (check.grader, check.after_turn))
    return "\n".join(
        f"[FAIL] {check.label}: score={decimal(check.score)} — {check.feedback}" for check in misses
    )


def _absent(one: NotStarted) -> Case:
    return Case(name=one.name, tag="error", type="NotStarted", message=f"it did not run: {one.why}")


def _suite(head: SuiteResult, cases: Sequence[Case]) -> Iterator[str]:
    fields = {
        "name": head.eval_name,
        **_counts(cases),
        "time": _seconds(head.summary.duration_ms),
        "timestamp": _moment(head.timestamp),
    }
    values = {
        "skill": head.skill,
        "model": head.config.model_id,
        "engine": head.config.engine_type,
        "score": decimal(head.summary.aggregate_score, 4),
        "verdict": verdict_of(head).word,
    }
    told = [f"warning: {warning}" for warning in head.metadata.get("warnings", ())]
    before = ["    <properties>", *_properties("      ", values), "    </properties>"]
    yield from _test_suite(fields, cases, head.skill or head.eval_name, before, told)


def _test_suite(
    fields: Mapping[str, object],
    cases: Sequence[Case],
    classname: str,
    before: Sequence[str],
    told: Sequence[str] = (),
) -> Iterator[str]:
    yield "  " + _open("testsuite", fields)
    yield from before
    for case in cases:
        yield from _case(case, classname)
    if told:
        yield f"    <system-out>{_text(chr(10).join(told))}</system-out>"
    yield "  </testsuite>"


def _case(case: Case, classname: str) -> Iterator[str]:
    inside = []
    if case.properties:
        inside = ["      <properties>", *_properties("        ", case.properties), "      </properties>"]
    if case.tag:
        fields = {name: value for name, value in (("type", case.type), ("message", case.message)) if value}
        inside.append(f"      {_open(case.tag, fields)}{_text(case.body)}</{case.tag}>")
    fields = {"name": case.name, "classname": classname, "time": _seconds(case.duration_ms)}
    yield "    " + _open("testcase", fields, close=not inside)
    if inside:
        yield from inside
        yield "    </testcase>"


def _properties(indent: str, values: Mapping[str, str]) -> list[str]:
    return [
        indent + _open("property", {"name": name, "value": value}, close=True)
        for name, value in values.items()
    ]


def _counts(cases: Sequence[Case]) -> dict[str, object]:
    tags = [case.tag for case in cases]
    return {"tests": len(cases), **{word: tags.count(tag) for tag, word in _COUNTED.items()}}


def _moment(timestamp: str) -> str:
    """Return a time to the second in UTC; as it is where it is none."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _open(tag: str, fields: Mapping[str, object], *, close: bool = False) -> str:
    written = "".join(f' {name}="{_attribute(str(value))}"' for name, value in fields.items())
    return f"<{tag}{written}{'/' if close else ''}>"


def _text(value: str) -> str:
    return escape(harmless(value))


def _attribute(value: str) -> str:
    return _text(value).replace("\n", "&#10;").replace("\t", "&#9;")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
