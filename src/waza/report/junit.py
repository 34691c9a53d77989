"""Results as JUnit XML, for CI servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from html import escape

import msgspec

from waza.kit.moments import read_moment
from waza.kit.share import decimal
from waza.kit.unsafe_text import escape_unsafe
from waza.model.pass_rule import ALL, rule_name
from waza.report.reporter import Reporter
from waza.report.rows import BadTrial, TaskRow
from waza.report.view import NOT_STARTED, InvocationView, RunLine, RunView
from waza.report.words import LEFT_OUT, NO_SUITE
from waza.results.invocation import InvocationResults, suite_name
from waza.results.verdict import UNGRADED, Gate, reason_of, tasks_reason

_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


class JUnitReporter(Reporter):
    """`--reporter junit:FILE`."""

    extension = ".xml"
    needs_file = True

    def report(self, results: InvocationResults) -> bytes:
        """Return the JUnit document."""
        return document(results)


class JUnitCase(msgspec.Struct, frozen=True, kw_only=True):
    """A test case; `tag` is empty if it passed, else failure, error or skipped."""

    name: str
    duration_ms: int = 0
    tag: str = ""
    type: str = ""
    message: str = ""
    body: str = ""
    properties: dict[str, str] = {}


def document(invocation: InvocationResults) -> bytes:
    """Return the JUnit document: a test suite for each outcome, one for what did not start, one for skills without.

    There is a test case for each task, for each gate, and for whatever else is against passing. Their class is the
    skill; where several outcomes have one, as those of several models do, it names the model as well. Texts are made
    harmless, which leaves no character in them that XML 1.0 forbids. `time` is in seconds. Goes through the tasks
    once.
    """
    plain = Counter(suite_name(outcome.head) for outcome in invocation.outcomes)
    plain.update(one.skill for one in invocation.not_started)  # the classes are the same, whatever is cut off
    lines, every = list[str](), list[JUnitCase]()
    view = InvocationView(invocation)
    for run in view.runs():
        part = _Part(run)
        own = suite_name(run.head)
        lines += part.lines(own if plain[own] == 1 else run.name)
        every += part.cases
    for title, cases in (
        (NOT_STARTED, [_absent(one) for one in view.not_started]),
        *(
            (word, [_not_run(one) for one in view.not_run if one.word == word])
            for word in (NO_SUITE, LEFT_OUT)
        ),
    ):
        if cases:
            lines += _test_suite({"name": title, **_counts(cases)}, cases, "waza", [])
            every += cases
    totals = _counts(every)
    del totals["skipped"]
    took = sum(outcome.head.summary.duration_ms for outcome in invocation.outcomes)
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            _open("testsuites", {**totals, "time": _seconds(took)}),
            *lines,
            "</testsuites>",
            "",
        ]
    ).encode()


class _Part:
    """The test suite of one run."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self._impact = view.impact.lines if view.impact else []
        required = _requirements(view)
        self.cases = [
            *(_task(row, required.get(row.title, {}), ended=view.complete) for row in view.tasks),
            *self._others(),
        ]

    def _others(self) -> Iterator[JUnitCase]:
        """Yield the cases besides tasks: that all of these passed may not hide that the run did not."""
        known = {tasks_reason(self.view.head)}
        for gate in self.view.gates:
            yield self._gate(gate)
            known.add(reason_of(gate))
        for reason in self.view.verdict.reasons:
            if reason == UNGRADED:
                yield JUnitCase(name="verdict", tag="skipped", message=reason)
            elif reason not in known:
                yield JUnitCase(name="verdict", tag="error", type="NotComplete", message=reason)

    def _gate(self, gate: Gate) -> JUnitCase:
        name = f"gate {gate.name}"
        if gate.passed:
            return JUnitCase(name=name)
        body = (
            self._impact
            if gate.name == "baseline"
            else self.view.trigger_failures
            if gate.name.startswith("trigger_")
            else ()
        )
        return JUnitCase(
            name=name, tag="failure", type="GateFailure", message=reason_of(gate), body="\n".join(body)
        )

    def lines(self, classname: str) -> Iterator[str]:
        """Yield the test suite."""
        head = self.view.head
        fields = {
            "name": head.eval_name,
            **_counts(self.cases),
            "time": _seconds(head.summary.duration_ms),
            "timestamp": _moment(head.timestamp),
        }
        values = {
            "skill": head.skill,
            "model": head.config.model_id,
            "engine": head.config.engine_type,
            "score": decimal(head.summary.aggregate_score, 4),
            "verdict": self.view.verdict.word,
            **({} if head.config.pass_rule == ALL else {"pass_rule": rule_name(head.config.pass_rule)}),
        }
        output = [
            *(f"warning: {warning}" for warning in self.view.warnings),
            *(f"trigger test: {line}" for line in self.view.trigger_failures),
            *(f"skill impact: {line}" for line in self._impact if line),
        ]
        before = ["    <properties>", *_properties("      ", values), "    </properties>"]
        yield from _test_suite(fields, self.cases, classname, before, output)


def _requirements(view: RunView) -> dict[str, dict[str, str]]:
    """Return what was recorded of the requirements of each task, as properties of its case."""
    found: dict[str, dict[str, str]] = {}
    for line in view.requirements:
        name = f"requirement {line.outcome.id}" + (" without skills" if line.arm == "baseline" else "")
        found.setdefault(line.task, {})[name] = f"{line.recorded}: {line.meaning}"
    return found


def _task(row: TaskRow, requirements: Mapping[str, str], *, ended: bool) -> JUnitCase:
    """Return the case of a task. Where its run ended as it was to, what it left out was left out on purpose."""
    took = row.stats.avg_duration_ms if row.stats else 0
    case = JUnitCase(name=row.title, duration_ms=took, properties={"test_id": row.id, **requirements})
    tag, kind, message, body = "", "", "", ""
    if row.status == "error":
        tag, kind = "error", "ExecutionError"
        message = row.first_error or "the task did not run to its end"
        body = _body(row) or row.first_error
    elif row.status == "failed":
        tag, kind = "failure", "GraderFailure"
        message, body = f"{row.name}: score={decimal(row.score)}", _body(row)
    elif row.missing:
        tag, kind, message = "skipped" if ended else "error", "" if ended else "NotComplete", row.why_cut_off
    elif row.status == "skipped":
        tag, message = "skipped", "nothing was graded"
    return msgspec.structs.replace(case, tag=tag, type=kind, message=message, body=body)


def _body(row: TaskRow) -> str:
    """Return the lines of each trial that did not pass, headed by its number where there are several trials."""
    lines = list[str]()
    for trial in row.bad_trials:
        if row.planned > 1:
            lines.append(f"Trial {trial.number}/{row.planned} ({trial.status})")
        lines += _trial(trial)
    return "\n".join(lines)


def _trial(trial: BadTrial) -> Iterator[str]:
    """Yield why a trial did not pass: the error that it ended in, and each failing grader."""
    if trial.error:
        yield f"[ERROR] {trial.error}"
    for check in trial.misses:
        yield f"[FAIL] {check.label}: score={decimal(check.score)} — {check.feedback}"


def _absent(one: RunLine) -> JUnitCase:
    return JUnitCase(name=one.name, tag="error", type="NotStarted", message=one.why)


def _not_run(one: RunLine) -> JUnitCase:
    return JUnitCase(name=one.name, tag="skipped", message=one.why)


def _test_suite(
    fields: Mapping[str, object],
    cases: Sequence[JUnitCase],
    classname: str,
    before: Sequence[str],
    output: Sequence[str] = (),
) -> Iterator[str]:
    yield "  " + _open("testsuite", fields)
    yield from before
    for case in cases:
        yield from _case(case, classname)
    if output:
        yield f"    <system-out>{_text(chr(10).join(output))}</system-out>"
    yield "  </testsuite>"


def _case(case: JUnitCase, classname: str) -> Iterator[str]:
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


def _counts(cases: Sequence[JUnitCase]) -> dict[str, object]:
    tags = [case.tag for case in cases]
    return {"tests": len(cases), **{word: tags.count(tag) for tag, word in _COUNTED.items()}}


def _moment(timestamp: str) -> str:
    """Return a time to the second in UTC; the text itself if it is not a time."""
    moment = read_moment(timestamp)
    return timestamp if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _open(tag: str, fields: Mapping[str, object], *, close: bool = False) -> str:
    written = "".join(f' {name}="{_attribute(str(value))}"' for name, value in fields.items())
    return f"<{tag}{written}{'/' if close else ''}>"


def _text(value: str) -> str:
    return escape(escape_unsafe(value))


def _attribute(value: str) -> str:
    return _text(value).replace("\n", "&#10;").replace("\t", "&#9;")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
