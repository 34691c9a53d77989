"""Sections of a run in HTML reports, and the small parts that they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from waza.kit.share import decimal
from waza.report.attacks import ATTACKS_NOTE, attack_lines, attack_table
from waza.report.html_page import (
    element,
    escape_text,
    make_row,
    make_table,
    make_titles,
    make_wide_table,
)
from waza.report.impact import UNCOMPARED
from waza.report.requirements import NOTE, count_requirements
from waza.report.section import Table
from waza.report.task_plots import TONES
from waza.report.view import Pairs, RunView
from waza.report.words import one_line
from waza.results.ending import CUT_OFF, IN_PROGRESS, UNSTARTED

MEANINGS = {
    "passed": "every grader passed, in every trial",
    "failed": "at least one grader did not pass",
    "error": "no verdict was reached, because of something other than the answer",
    "skipped": "not graded, on purpose",
    CUT_OFF: "some trials did not run, so it has not passed",
    IN_PROGRESS: "some trials have not run yet",
    UNSTARTED: "no trial has ended yet",
}
"""What each status means."""


def draw_triggers(view: RunView) -> Iterator[str]:
    """Yield how the trigger tests ended."""
    if view.trigger_figures:
        yield from make_pairs([*view.trigger_figures, ("Counts", view.trigger_counts)])
        if matrix := view.trigger_matrix:
            yield make_wide_table(matrix, "Skills invoked, by the skill expected")
        yield from make_list(view.trigger_failures)


def draw_impact(view: RunView) -> Iterator[str]:
    """Yield what the skills changed."""
    found = view.impact
    if found is None:
        return
    if found.uncompared:
        yield element("p", escape_text(f"{UNCOMPARED}: {found.uncompared}"), class_="problem fail")
        yield from make_list(found.misses)
        return
    if found.contradiction:
        yield element("p", escape_text(found.refusal), class_="problem fail")
        return
    doubt = [("Doubt", found.doubt)] if found.doubt else []
    yield from make_pairs([*found.overall, ("Verdict", found.conclusion), ("Scores", found.scores), *doubt])
    cells = [
        (row.title, row.word, row.without, row.with_skills, row.delta, row.judged) for row in found.tasks
    ]
    titles = ("Task", "Change", "Without skills", "With skills", "Difference", "Judged")
    if cells:
        yield make_wide_table(Table(titles, cells), "Skill impact by task")


def draw_attacks(view: RunView) -> Iterator[str]:
    """Yield what packs of attacks show, and a line for each of their tasks that is not safe."""
    found = view.attacks
    if found is None:
        return
    yield make_wide_table(attack_table(found), "Attacks by family")
    yield from make_list(attack_lines(found))
    yield element("p", ATTACKS_NOTE, class_="quiet")


def draw_requirements(view: RunView) -> Iterator[str]:
    """Yield the requirements of tasks, with what was recorded of each."""
    rows = [
        make_row(
            escape_text(one_line(line.outcome.id))
            + element("div", escape_text(one_line(line.title)), class_="id"),
            element("td", escape_text(line.outcome.category), data_label="category"),
            element("td", escape_text(line.recorded), class_="result"),
            element(
                "td",
                escape_text(line.outcome.description),
                element("div", escape_text(line.meaning), class_="id"),
            ),
            class_=TONES[line.status],
        )
        for line in view.requirements
    ]
    if rows:
        yield element("p", escape_text(f"{count_requirements(view.requirements)}."))
        titles = ("Requirement", "Category", "Recorded", "What is required, and what the record rests on")
        yield make_table(make_titles(titles), rows, "framed stack")
        yield element("p", NOTE, class_="quiet")


def draw_gates(view: RunView) -> Iterator[str]:
    """Yield the gates."""
    rows = [
        make_row(
            escape_text(one_line(gate.name)),
            element("td", word, class_="result"),
            element("td", escape_text(gate.found), class_="reason"),
            class_=TONES[word],
        )
        for gate in view.gates
        for word in ("passed" if gate.passed else "failed",)
    ]
    if rows:
        yield make_table(make_titles(("Gate", "Result", "What was measured")), rows, "framed stack")


def draw_metrics(view: RunView) -> Iterator[str]:
    """Yield the metrics that are no gates."""
    gates = {gate.name for gate in view.gates}
    cells = [
        (name, "passed" if metric.passed else "failed", decimal(metric.value), decimal(metric.threshold))
        for name, metric in sorted(view.head.metrics.items())
        if name not in gates
    ]
    if cells:
        yield make_wide_table(Table(("Metric", "Result", "Value", "Threshold"), cells), "Metrics")


def list_figures(view: RunView) -> Pairs:
    """Return the figures over all tasks."""
    return [
        ("Tasks", f"{view.head.summary.total_tests}: {view.counts}"),
        *view.rates,
        *view.scores,
        ("Weighted score", decimal(view.head.summary.weighted_score)),
        *view.statistics,
    ]


def draw_usage(view: RunView) -> Iterator[str]:
    """Yield what agents and judges used."""
    yield from make_pairs(view.usage_figures)
    if models := view.usage_by_model:
        yield make_wide_table(models, "Usage by model")


def make_badge(status: str) -> str:
    """Return a status with its meaning."""
    return element("span", status, class_=f"badge {TONES[status]}", title=MEANINGS[status])


def make_list(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as a list; nothing without any."""
    items = [element("li", escape_text(line)) for line in lines]
    if items:
        yield element("ul", *items)


def make_pairs(pairs: Pairs) -> Iterator[str]:
    """Yield names and values as a table; nothing without any."""
    rows = [make_row(escape_text(name), element("td", escape_text(value))) for name, value in pairs]
    if rows:
        yield element("table", element("tbody", *rows), class_="framed pairs")
