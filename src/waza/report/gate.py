"""The decision of `waza gate` for people, for documents and for GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.share import percent
from waza.kit.text import list_first
from waza.kit.unsafe_text import escape_unsafe
from waza.report.markdown import text
from waza.report.table import columns, middle, table
from waza.report.words import FAILED, PASSED, one_line
from waza.report.workflow_command import workflow_command
from waza.report.wrap import wrap
from waza.results.gate import GateReport, GoldenFailure
from waza.results.gate_policy import LimitReport

WIDTH = 70  # columns of the box
_INSIDE = WIDTH - 4
_LISTED = 50  # tasks that a report lists
_WORDS = {
    "pass": "may ship",
    "regression": "does not pass",
    "golden_failure": "a golden task did not pass",
    "incomplete": "nothing can be concluded",
    "policy_failure": "a limit of the policy is broken",
    "doubtful": "the runs were not measured alike",
}


def verdict_line(report: GateReport) -> str:
    """Return the decision with its exit code, and what is against the run."""
    if report.passed:
        return "gate passed: the run keeps all rules"
    reasons = list(_reasons(report))
    return one_line(f"gate failed ({report.outcome}, exit code {report.exit_code}): {'; '.join(reasons)}")


def box_lines(report: GateReport) -> Iterator[str]:
    """Yield the decision as a box of 70 columns."""
    rule = "+" + "-" * (WIDTH - 2) + "+"
    yield rule
    for number, section in enumerate(_sections(report)):
        if number:
            yield rule
        for line in section:
            yield f"| {line}{' ' * (_INSIDE - columns(line))} |"
    yield rule


def markdown_document(report: GateReport) -> str:
    """Return the decision as Markdown, for a pull request or the summary of a job."""
    return "\n".join([*_markdown(report), ""])


def workflow_commands(report: GateReport) -> Iterator[str]:
    """Yield commands of GitHub Actions: one for the pass rate, and one for each finding.

    Values in them are escaped, so that no name of a task is a command of its own.
    """
    level = "error" if report.regression_exceeds_threshold else "notice"
    yield workflow_command(level, "waza gate: pass rate", f"{_rates(report)}; {_limit(report)}")
    level = "error" if report.golden_must_pass else "warning"
    for failure in report.golden_failures:
        yield workflow_command(level, "waza gate: golden task", _golden(failure))
    for warning in report.warnings:
        yield workflow_command("warning", "waza gate", warning)
    for error in report.errors:
        yield workflow_command("error", "waza gate", error)


def _reasons(report: GateReport) -> Iterator[str]:
    if report.golden_must_pass:
        yield from (f"golden task {_golden(one)}" for one in report.golden_failures[:_LISTED])
    if report.regression_exceeds_threshold:
        yield f"{_rates(report)}; {_limit(report)}"
    yield from report.errors


def _golden(failure: GoldenFailure) -> str:
    return f"{failure.test_id}: {failure.current_status}, in the baseline {failure.baseline_status}"


def _rates(report: GateReport) -> str:
    before, after = percent(report.baseline_pass_rate), percent(report.current_pass_rate)
    return f"pass rate {after}, baseline {before}, change {_change(report)}"


def _limit(report: GateReport) -> str:
    return f"it may fall by {_points(report.max_regression_pct)}"


def _change(report: GateReport) -> str:
    delta = report.pass_rate_delta
    return "n/a (not measured)" if delta is None else _points(delta * 100, sign=True)


def _optional_points(value: float | None) -> str:
    return "n/a" if value is None else _points(value)


def _points(value: float, *, sign: bool = False) -> str:
    """Return percentage points; a change is written as 0.0 only where there is no change."""
    digits = 1 if not value or abs(value) >= 0.05 else 4
    return f"{value:{'+' if sign and value else ''}.{digits}f} points"


def _sections(report: GateReport) -> Iterator[list[str]]:
    mark = PASSED if report.passed else FAILED
    yield [f"waza gate: {mark} {'PASSED' if report.passed else 'FAILED'}, {_WORDS[report.outcome]}"]
    yield [
        *wrap(f"baseline  {report.baseline_file}", _INSIDE),
        *wrap(f"current   {report.current_file}", _INSIDE),
        *wrap(
            f"the baseline itself: {_own(report.baseline_verdict.word, report.baseline_verdict.reasons)}",
            _INSIDE,
        ),
        *wrap(
            f"the current run itself: {_own(report.current_verdict.word, report.current_verdict.reasons)}",
            _INSIDE,
        ),
    ]
    exceeded = ", exceeded" if report.regression_exceeds_threshold else ""
    yield [
        f"Pass rate, baseline  {percent(report.baseline_pass_rate):>8}",
        f"Pass rate, current   {percent(report.current_pass_rate):>8}",
        f"Change               {_change(report)}",
        f"Regression           {_optional_points(report.regression_pct)} (limit {_points(report.max_regression_pct)}{exceeded})",
    ]
    yield list(_golden_lines(report))
    yield list(wrap(f"False alarms: {_alarm(report)}", _INSIDE))
    yield [
        *_set_lines("New tasks", report.new_tasks, report.on_new_tasks),
        *_set_lines("Removed tasks", report.removed_tasks, report.on_removed_tasks),
    ]
    if report.policy:
        yield [line for limit in report.policy for line in wrap(_limit_line(limit), _INSIDE, "", "    ")]
    findings = [
        *(line for error in report.errors for line in wrap(error, _INSIDE, f"{FAILED} ")),
        *(line for warning in report.warnings for line in wrap(warning, _INSIDE, "! ")),
    ]
    if findings:
        yield findings
    yield [f"{mark} exit code {report.exit_code} ({report.outcome})"]


def _limit_line(limit: LimitReport) -> str:
    return f"{PASSED if limit.passed else FAILED} {limit.name}: {limit.why}"


def _alarm(report: GateReport) -> str:
    """Return how often the gate would fail a run of the same agent."""
    if report.false_alarm_probability is None:
        return "not known, since the files have no trials of the same tasks"
    often = percent(report.false_alarm_probability)
    return f"a run of the same agent would fail in {often} of cases"


def _own(word: str, reasons: tuple[str, ...]) -> str:
    return f"{word}: {'; '.join(reasons)}" if reasons else word


def _golden_lines(report: GateReport) -> Iterator[str]:
    passed = report.golden_total - len(report.golden_failures)
    must = "" if report.golden_must_pass else " (they need not pass)"
    yield f"Golden tasks: {passed} of {report.golden_total} passed{must}"
    if report.golden_failures:
        rows = [(one.test_id, one.baseline_status, one.current_status) for one in report.golden_failures]
        yield from table(("Golden task", "Baseline", "Current"), rows[:_LISTED], _INSIDE)
        yield from _rest(rows)


def _set_lines(title: str, names: list[str], treatment: str) -> Iterator[str]:
    yield f"{title}: {len(names) or 'none'} ({treatment})"
    yield from (f"  {middle(escape_unsafe(one_line(name)), _INSIDE - 2)}" for name in names[:_LISTED])
    yield from _rest(names)


def _rest(rows: list[str] | list[tuple[str, str, str]]) -> Iterator[str]:
    if len(rows) > _LISTED:
        yield f"  and {len(rows) - _LISTED} more"


def _markdown(report: GateReport) -> Iterator[str]:
    yield f"## {'✅' if report.passed else '❌'} waza gate: {'passed' if report.passed else 'failed'}"
    yield ""
    yield "| | Baseline | Current | Change |"
    yield "|---|---:|---:|---:|"
    change = _change(report)
    yield f"| Pass rate | {percent(report.baseline_pass_rate)} | {percent(report.current_pass_rate)} | {change} |"
    yield f"| File | {text(report.baseline_file)} | {text(report.current_file)} | |"
    yield f"| The run itself | {report.baseline_verdict.word} | {report.current_verdict.word} | |"
    yield ""
    exceeded = " **exceeded**" if report.regression_exceeds_threshold else ""
    yield f"- Regression: {_optional_points(report.regression_pct)}, limit {_points(report.max_regression_pct)}{exceeded}"
    must = "" if report.golden_must_pass else " (they need not pass)"
    passed = report.golden_total - len(report.golden_failures)
    yield f"- Golden tasks: {passed} of {report.golden_total} passed{must}"
    yield f"- False alarms: {_alarm(report)}"
    yield f"- New tasks ({report.on_new_tasks}): {_names(report.new_tasks)}"
    yield f"- Removed tasks ({report.on_removed_tasks}): {_names(report.removed_tasks)}"
    if report.policy:
        yield from ("", "| Limit | Holds | Found |", "|---|---|---|")
        for limit in report.policy:
            yield f"| {text(limit.name)} | {'yes' if limit.passed else '**no**'} | {text(limit.why)} |"
    if report.golden_failures:
        yield from ("", "| Golden task | Baseline | Current |", "|---|---|---|")
        for one in report.golden_failures[:_LISTED]:
            yield f"| {text(one.test_id)} | {one.baseline_status} | {one.current_status} |"
    for title, findings in (("Errors", report.errors), ("Warnings", report.warnings)):
        if findings:
            yield from ("", f"### {title}", "")
            yield from (f"- {text(one, 500)}" for one in findings)
    yield ""
    yield f"Exit code: {report.exit_code} ({report.outcome.replace('_', ' ')})"


def _names(names: list[str]) -> str:
    return list_first([text(name) for name in names], _LISTED) or "none"
