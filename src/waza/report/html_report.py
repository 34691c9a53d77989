"""Results as one HTML page (`--reporter html:FILE`): the verdict and what failed first, then all the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from waza.kit.share import decimal, percent
from waza.kit.text import pluralize
from waza.report import overview
from waza.report.html_page import (
    PageParts,
    element,
    escape_text,
    make_bar,
    make_facts,
    make_legend,
    make_row,
    make_select,
    make_table,
    make_text,
    make_titles,
    make_tools,
    make_wide_table,
)
from waza.report.html_sections import (
    MEANINGS,
    draw_attacks,
    draw_gates,
    draw_impact,
    draw_metrics,
    draw_requirements,
    draw_triggers,
    draw_usage,
    list_figures,
    make_badge,
    make_list,
    make_pairs,
)
from waza.report.reporter import Reporter
from waza.report.rows import OUTPUT, BadTrial, CheckRow, TaskRow
from waza.report.task_plots import TONES, plot_runs, plot_tasks
from waza.report.view import InvocationView, RunView, compare_outcomes
from waza.report.words import (
    LEFT_OUT,
    NO_SUITE,
    duration,
    grouped,
    moment,
    money,
    one_line,
    shortened,
    status_mark,
)
from waza.results.ending import CUT_OFF
from waza.results.invocation import InvocationResults
from waza.results.verdict import RunVerdict

_LONGEST_TITLE = 160
_MOST_OPEN = 20  # failed tasks; more would bury the list of all
_MOST_GRADERS = 100  # to choose from
_LINE_TONES = {
    "passed": "pass",
    "not graded": "partial",
    "not decided": "partial",
    NO_SUITE: "partial",
    LEFT_OUT: "partial",
}
_ALWAYS_SHOWN = ("passed", "failed", "error")


class HtmlReporter(Reporter):
    """`--reporter html:FILE`."""

    extension = ".html"
    needs_file = True

    def report(self, results: InvocationResults) -> str:
        """Return the HTML page. Goes through the tasks once."""
        return make_parts(results).draw()


def make_parts(results: InvocationResults, most: int = 0) -> PageParts:
    """Return the page of results in parts. Goes through the tasks once.

    `most` is how many tasks of a run are listed, those that did not pass first; 0: all of them.
    """
    return _Page(InvocationView(results), most).parts()


class _Page:
    """A page in the making; what the filters offer is counted while the runs pass by."""

    def __init__(self, view: InvocationView, most: int) -> None:
        self.view, self.most = view, most
        self.endings = Counter[str]()
        self.not_passed: dict[str, None] = {}  # graders, in the order in which they appear

    def parts(self) -> PageParts:
        view = self.view
        if view.single:
            (run,) = view.runs()
            name, verdict = run.head.eval_name, run.verdict
            header, main = list(_head_of_run(run)), list(self._parts(run, number=1, level=2))
        else:
            name, verdict = "Waza results", view.verdict
            header = [element("div", *_verdict(verdict), data_overview="")]
            main = [
                *_overview(view),
                *(part for number, run in enumerate(view.runs(), 1) for part in self._section(number, run)),
            ]
        return PageParts(
            title=f"{one_line(name)}: {verdict.word}",
            header=[element("h1", escape_text(one_line(name))), *header],
            tools=list(self._tools()),
            main=main,
            style=_read_style(),
        )

    def _section(self, number: int, run: RunView) -> Iterator[str]:
        yield f'<section class="run" aria-labelledby="run-{number}">'
        yield element("h2", escape_text(one_line(run.name)), id=f"run-{number}")
        yield from _head_of_run(run)
        yield from self._parts(run, number=number, level=3)
        yield "</section>"

    def _tools(self) -> Iterator[str]:
        if not self.endings:
            return
        buttons = [("", "all", self.endings.total())]
        buttons += [(TONES[ending], ending, self.endings[ending]) for ending in TONES]
        names = list(self.not_passed)[:_MOST_GRADERS]
        graders = {"": "Any grader", **{name: f"{shortened(name, 60)} not passed" for name in names}}
        yield make_tools("tasks", buttons, *([make_select("grader", "Grader", graders)] if names else []))

    def _parts(self, view: RunView, *, number: int, level: int) -> Iterator[str]:
        """Yield what there is to show of a run, each part under a heading of this level."""
        items = [(f"{number}-{i}", row) for i, row in enumerate(view.tasks, 1)]
        self.endings.update(row.ending for row in view.tasks)
        for row in view.failed:
            self.not_passed |= dict.fromkeys(
                check.grader for trial in row.bad_trials for check in trial.misses
            )
        failed, cut = _bounded([(key, row) for key, row in items if row.failed], self.most)
        shown, left_out = _bounded(sorted(items, key=lambda item: not item[1].failed), self.most)
        cards = [_card(key, row, level + 1, unfold=len(failed) <= _MOST_OPEN) for key, row in failed]
        parts: list[tuple[str, Iterable[str]]] = [
            ("Failures", [*cards, *_left_out(cut, "did not pass either")]),
            ("Warnings", make_list(view.warnings)),
            ("At a glance", plot_tasks(number, view.tasks)),
            ("Tasks", [*_tasks(shown if left_out else items), *_left_out(left_out, "are not listed here")]),
            ("Attacks", draw_attacks(view)),
            ("Requirements", draw_requirements(view)),
            ("Groups", make_list(view.groups)),
            ("Trigger tests", draw_triggers(view)),
            ("Skill impact", draw_impact(view)),
            ("Gates", draw_gates(view)),
            ("Metrics", draw_metrics(view)),
            ("Figures", make_pairs(list_figures(view))),
            ("Usage", draw_usage(view)),
        ]
        for title, part in parts:
            content = list(part)
            if content:
                yield element(f"h{level}", title)
                yield from content


def _bounded(items: list[tuple[str, TaskRow]], most: int) -> tuple[list[tuple[str, TaskRow]], int]:
    """Return as many of the items as are shown, and how many are not."""
    kept = items[: most or None]
    return kept, len(items) - len(kept)


def _left_out(count: int, what: str) -> list[str]:
    return [element("p", f"{grouped(count)} more {what}.", class_="quiet")] if count else []


@cache
def _read_style() -> str:
    return Path(__file__).with_name("suite.css").read_text(encoding="utf-8")


def _verdict(verdict: RunVerdict) -> Iterator[str]:
    tone, mark = TONES[verdict.status], status_mark(verdict.status)
    yield element("p", element("b", f"{mark} {verdict.word.capitalize()}"), class_=f"headline {tone}")
    if verdict.reasons:
        reasons = [element("li", escape_text(one_line(reason))) for reason in verdict.reasons]
        yield element("ul", *reasons, class_=f"reasons {tone}")


def _head_of_run(view: RunView) -> Iterator[str]:
    head = view.head
    yield make_facts(
        (name, one_line(value))
        for name, value in (
            ("Skill", head.skill),
            ("Model", view.model),
            ("Judge", head.config.judge_model),
            ("Engine", head.config.engine_type),
            ("Started", moment(head.timestamp)),
            ("Duration", duration(head.summary.duration_ms)),
            ("Run", head.eval_id),
        )
        if value
    )
    yield from _verdict(view.verdict)
    endings = [(ending, view.count(ending)) for ending in TONES]
    yield make_bar((TONES[ending], count) for ending, count in endings)
    yield make_legend(
        (TONES[ending], ending, count, MEANINGS[ending])
        for ending, count in endings
        if count or ending in _ALWAYS_SHOWN
    )


def _overview(view: InvocationView) -> Iterator[str]:
    """Yield what ran with its verdicts, what was not run and why, and comparisons of models."""
    runs, lines = len(view.results.outcomes), view.lines
    reasons = any(line.why for line in lines)
    rows = [
        make_row(
            element("a", escape_text(one_line(line.name)), href=f"#run-{number}")
            if number <= runs
            else escape_text(one_line(line.name)),
            element("td", line.word, class_="result"),
            element("td", line.passed, class_="number", data_label="tasks passed"),
            element("td", line.score, class_="number", data_label="score"),
            *([element("td", escape_text(one_line(line.why)), class_="reason")] if reasons else []),
            class_=_LINE_TONES.get(line.word, "fail"),
        )
        for number, line in enumerate(lines, 1)
    ]
    titles = ("Suite", "Verdict", "Tasks passed", "Score", *(["Why not"] if reasons else []))
    yield element("h2", "Runs")
    yield make_table(make_titles(titles, numbers=(2, 3)), rows, "framed stack")
    own = [plot_runs(view.results.named), *_models(view)]
    yield element("div", *own, data_overview="")


def _models(view: InvocationView) -> Iterator[str]:
    """Yield what the models of a suite are compared by."""
    for skill, outcomes in view.models:
        results = [one.head for one in outcomes]
        yield element("h2", escape_text(f"Models of {one_line(skill)}"))
        yield make_wide_table(overview.compare_models(results), f"Models of {one_line(skill)}")
        found = results[0].metadata.get("recommendation")
        sentences = found.get("comparisons", ()) if found else compare_outcomes(outcomes)
        yield from (element("p", escape_text(line)) for line in sentences)
        if found:
            yield element("h3", "Recommendation")
            yield from make_pairs(overview.recommendation(found))
            ranking = overview.rank_models(found)
            if ranking is not None:
                yield make_wide_table(ranking, f"Ranking of the models of {one_line(skill)}")
                yield element("p", escape_text(overview.recommendation_weights(found)), class_="quiet")


def _card(key: str, row: TaskRow, level: int, *, unfold: bool) -> str:
    """Return a task that failed or errored: each trial that did not pass, with what its graders found."""
    names = dict.fromkeys(check.grader for trial in row.bad_trials for check in trial.misses)
    summary = element(
        "summary",
        element(f"h{level}", escape_text(shortened(one_line(row.title), _LONGEST_TITLE)), class_="title"),
        element("span", escape_text(shortened(", ".join(names), _LONGEST_TITLE)), class_="gist"),
        make_badge(row.ending),
    )
    notes = []
    if row.never_passed:
        notes.append(f"None of its {row.trials} trials passed.")
    if row.impact:
        notes.append(
            f"Without the skills it passed in {percent(row.impact.pass_rate_baseline)} of its trials."
        )
    if row.missing:
        notes.append(f"{_missing(row)}.")
    error = []
    if row.error or not row.bad_trials:
        why = f": {row.error}" if row.error else ""
        error = [element("p", escape_text(f"it did not run{why}"), class_="problem")]
    return element(
        "details",
        summary,
        *([element("p", escape_text(" ".join(notes)), class_="quiet")] if notes else []),
        *error,
        *(_trial(trial, row, level + 1) for trial in row.bad_trials),
        class_=f"item {TONES[row.ending]}",
        data_item=key,
        data_status=row.ending,
        open="" if unfold else None,
    )


def _trial(trial: BadTrial, row: TaskRow, level: int) -> str:
    attempts = f" after {pluralize(trial.attempts, 'attempt')}" if trial.attempts > 1 else ""
    parts = [
        element(f"h{level}", f"Trial {trial.number} of {row.planned}{attempts} ", make_badge(trial.status))
    ]
    if trial.error:
        parts.append(element("p", escape_text(trial.error), class_="problem"))
    if trial.checks:
        ordered = sorted(trial.checks, key=lambda check: check.passed)
        parts.append(
            make_table(
                make_titles(("Grader", "Result", "Score", "What it found")),
                map(_check, ordered),
                "stack checks",
            )
        )
    label = "Output"
    if trial.output_length > OUTPUT:
        label = f"Output, without the middle of its {grouped(trial.output_length)} characters"
    parts.append(element("dl", make_text(label, trial.excerpt, "wide"), class_="texts"))
    return element("section", *parts, class_=f"part {TONES[trial.status]}")


def _check(check: CheckRow) -> str:
    step = f"after turn {check.after_turn}" if check.after_turn else ""
    kind = ", ".join(part for part in (check.type, step) if part)
    details = [
        element("dt", f"{name}: ") + element("dd", escape_text(value)) for name, value in check.details
    ]
    result = "passed" if check.passed else "failed"
    return make_row(
        escape_text(one_line(check.grader)) + element("div", escape_text(kind), class_="id"),
        element("td", result, class_="result"),
        element("td", decimal(check.score), data_label="score"),
        element(
            "td",
            escape_text(check.feedback),
            *([element("dl", *details)] if details else []),
            class_="reason",
        ),
        class_=TONES[result],
        data_grader=check.grader,
    )


def _tasks(items: Iterable[tuple[str, TaskRow]]) -> Iterator[str]:
    found = list(items)
    if found:
        columns = [c for c in _COLUMNS if any(c.value(row) not in ("", "0") for _, row in found)]
        titles = ("Task", "Status", "Score", "Trials passed", *(column.title for column in columns))
        numbers = (2, 3, *(i for i, column in enumerate(columns, 4) if column.number))
        rows = [_task(key, row, columns) for key, row in found]
        yield make_table(make_titles(titles, numbers), rows, "framed stack tasks")


class _Column(NamedTuple):
    """A column of the table of tasks that is left out where no task has a value other than 0."""

    title: str
    value: Callable[[TaskRow], str]
    number: bool = True


_COLUMNS = (
    _Column("Score CI95", lambda row: row.score_interval),
    _Column("Duration", lambda row: duration(row.stats.avg_duration_ms) if row.stats else ""),
    _Column("Tokens", lambda row: "" if row.tokens is None else grouped(row.tokens)),
    _Column("Cost", lambda row: "" if row.cost is None else money(row.cost)),
    _Column("Group", lambda row: row.group, number=False),
)


def _task(key: str, row: TaskRow, columns: Sequence[_Column]) -> str:
    title = escape_text(shortened(one_line(row.title), _LONGEST_TITLE))
    known = row.title != row.name or row.id == row.name  # a title that is not the name has the id
    own_id = "" if known else element("div", escape_text(row.id), class_="id")
    notes = [*row.tags, *([_missing(row)] if row.missing else [])]
    ran = row.stats is not None
    trials = f"{row.passed_trials} of {row.planned}{row.trials_note}"
    cells = [
        element(
            "td",
            escape_text(column.value(row) or ("-" if column.number else "")),
            class_="number" if column.number else None,
            data_label=column.title.lower().replace("ci95", "CI95"),
        )
        for column in columns
    ]
    return make_row(
        title + own_id,
        element("td", make_badge(row.ending), " ", escape_text(", ".join(notes)), class_="status"),
        element("td", decimal(row.score) if ran else "-", class_="number", data_label="score"),
        element("td", trials, class_="number", data_label="trials passed"),
        *cells,
        class_=TONES[row.ending],
        data_item=key,
        data_status=row.ending,
    )


def _missing(row: TaskRow) -> str:
    return row.why_cut_off.removeprefix(f"{CUT_OFF}: ")  # the badge says it
