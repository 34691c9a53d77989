"""Results as JUnit XML, for CI servers."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from waza.kit.foreign import harmless
from waza.model.result import SuiteResult, TaskResult
from waza.report.rows import Row, row
from waza.results.outcome import Outcome


def document(outcome: Outcome) -> bytes:
    r"""Return the JUnit document: one test case a task. Goes through the tasks once.

    Texts are made harmless, which leaves no character in them that XML 1.0 forbids. `time` is in seconds.
    """
    cases: list[str] = []
    counts = {"passed": 0, "failed": 0, "error": 0, "skipped": 0}
    for task in outcome.tasks():
        cases += _case(task, row(task), outcome.head)
        counts[task.status] += 1
    head = outcome.head
    totals = {
        "tests": sum(counts.values()),
        "failures": counts["failed"],
        "errors": counts["error"],
        "time": _seconds(head.summary.duration_ms),
    }
    suite = {
        "name": head.eval_name,
        **totals,
        "skipped": counts["skipped"],
        "timestamp": head.timestamp,
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _open("testsuites", totals),
        "  " + _open("testsuite", suite),
        *_properties(head),
        *cases,
        "  </testsuite>",
        "</testsuites>",
        "",
    ]
    return "\n".join(lines).encode()


def _properties(head: SuiteResult) -> list[str]:
    values = {
        "skill": head.skill,
        "model": head.config.model_id,
        "engine": head.config.engine_type,
        "score": f"{head.summary.aggregate_score:.4f}",
    }
    inside = [
        "      " + _open("property", {"name": name, "value": value}, close=True)
        for name, value in values.items()
    ]
    return ["    <properties>", *inside, "    </properties>"]


def _case(task: TaskResult, found: Row, head: SuiteResult) -> list[str]:
    mean = task.stats.avg_duration_ms if task.stats else 0
    fields = {"name": found.name, "classname": head.skill or head.eval_name, "time": _seconds(mean)}
    inside = _verdict(found)
    if not inside:
        return ["    " + _open("testcase", fields, close=True)]
    return ["    " + _open("testcase", fields), inside, "    </testcase>"]


def _verdict(found: Row) -> str:
    if found.status == "skipped":
        return "      <skipped/>"
    if not found.failed:
        return ""
    first_error = next((run.error for run in found.bad_runs if run.error), "")
    if found.status == "error":
        tag, kind = "error", "ExecutionError"
        message = first_error or "the task did not run to its end"
    else:
        tag, kind = "failure", "GraderFailure"
        message = f"{found.name}: score={found.score:.2f}"
    opening = _open(tag, {"type": kind, "message": message})
    return f"      {opening}{_text(_body(found) or first_error)}</{tag}>"


def _body(found: Row) -> str:
    """Return a line for each failing grader of the first run that did not pass."""
    if not found.bad_runs:
        return ""
    misses = sorted(found.bad_runs[0].misses, key=lambda check: (check.grader, check.after_turn))
    return "\n".join(f"[FAIL] {check.label}: score={check.score:.2f} — {check.feedback}" for check in misses)


def _open(tag: str, fields: Mapping[str, object], *, close: bool = False) -> str:
    written = "".join(f' {name}="{_attribute(str(value))}"' for name, value in fields.items())
    return f"<{tag}{written}{'/' if close else ''}>"


def _text(value: str) -> str:
    return escape(harmless(value))


def _attribute(value: str) -> str:
    return _text(value).replace("\n", "&#10;").replace("\t", "&#9;")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"
