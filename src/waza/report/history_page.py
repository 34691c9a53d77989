"""Runs over time as sections (`waza history`), and as rows of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.csv_text import csv_lines
from waza.kit.share import decimal, percent
from waza.kit.text import pluralize
from waza.report.section import Draw, Part, Table, wrapped
from waza.report.words import LEAVES_OUT_BROKEN, duration, grouped, money, one_line
from waza.results.trend import ENOUGH_RUNS, METRICS, Flip, Level, LevelChange, MetricName, RunEntry, Series

SHOWN = 20  # runs of a table, and lines of a list
_NAMES: dict[MetricName, str] = {
    "graded_success_rate": "graded success rate",
    "score": "score",
    "tokens": "tokens",
    "ai_credits": "AI credits",
    "premium_requests": "premium requests",
    "duration_ms": "duration",
}
_HEAD = (
    "run", "suite", "skill", "model", "started", "status", "commit", "branch", "dirty", "flaw", "error",
    "tasks", "passed", "failed", "errors", "skipped", "missing_trials",
)  # fmt: skip


def print_history(found: Sequence[Series], draw: Draw) -> None:
    """Draw each series: its newest runs, what changed, the tasks that flip, and the runs left out of both."""
    for one in found:
        skill = f", skill {one_line(one.skill)}" if one.skill else ""
        draw(
            f"{one_line(one.suite or one.path)} on {one_line(one.model) or 'the default model'}{skill}",
            list(_runs(one)),
        )
        draw("CHANGES", [wrapped(_change(change)) for change in one.changes] or list(_too_few(one)))
        draw("TASKS THAT FLIP", list(_flips(one.flips)))
        flawed = [run for run in one.runs if run.flaw]
        draw("LEFT OUT OF CHANGES AND FLIPS", list(_flaws(flawed)))


def _runs(series: Series) -> Iterator[Part]:
    hidden = series.older + max(0, len(series.runs) - SHOWN)
    if hidden:
        yield f"{pluralize(hidden, 'older run')} not shown"
    charged = any("ai_credits" in run.figures for run in series.runs)
    cost: MetricName = "ai_credits" if charged else "tokens"
    titles = ["run", "", "passed", "of graded", "score", _NAMES[cost], "duration"]
    lines = [_line(run, cost) for run in series.runs[-SHOWN:]]
    if any(run.cost is not None for run in series.runs[-SHOWN:]):
        titles.append("cost")
        costs = ("" if run.cost is None else money(run.cost) for run in series.runs[-SHOWN:])
        lines = [(*line, shown) for line, shown in zip(lines, costs, strict=True)]
    yield Table(titles, lines)
    if any(run.count("error") for run in series.runs[-SHOWN:]):
        yield f"Figures are over measured trials: {LEAVES_OUT_BROKEN}"


def _line(run: RunEntry, cost: MetricName) -> tuple[str, ...]:
    tasks = f"{run.count('passed')}/{len(run.tasks)}" if run.tasks else ""
    rate = run.figures.get("graded_success_rate")
    shown = [_shown(run.figures.get(metric), metric) for metric in ("score", cost, "duration_ms")]
    return (run.run.removeprefix("run-"), "!" if run.flaw else "", tasks, _rate(rate), *shown)


def _rate(level: Level | None) -> str:
    if level is None or level.lower is None or level.upper is None:
        return ""
    return f"{percent(level.value, 0)} {percent(level.lower, 0)[:-1]}-{percent(level.upper, 0)[:-1]}"


def _shown(level: Level | None, metric: MetricName) -> str:
    """Return a figure with the half of its interval, which is symmetric but for where figures end."""
    if level is None:
        return ""
    shown = _amount(level.value, metric)
    if level.lower is None or level.upper is None or level.lower == level.upper:
        return shown
    return f"{shown}±{_amount(max(level.upper - level.value, level.value - level.lower), metric)}"


def _amount(value: float, metric: MetricName) -> str:
    match metric:
        case "graded_success_rate":
            return percent(value)
        case "score":
            return decimal(value)
        case "duration_ms":
            return duration(value)
        case "tokens":
            return grouped(value)
        case _:
            return f"{value:.4g}"


def _change(change: LevelChange) -> str:
    before, after = (_amount(value, change.metric) for value in (change.before, change.after))
    text = f"{_NAMES[change.metric]} from {before} to {after} since {change.run} (p = {change.p_value:.3f})"
    if change.commit:
        text += f", commit {change.commit[:12]}"
    tasks = [
        f"{count} {what}" for count, what in ((change.new_tasks, "new"), (change.gone_tasks, "gone")) if count
    ]
    return text + (f"; its tasks are others: {', '.join(tasks)}" if tasks else "")


def _too_few(series: Series) -> Iterator[str]:
    """Yield why no change is shown, where even a clear one might not be."""
    whole = sum(not run.flaw for run in series.runs)
    if 1 < whole < ENOUGH_RUNS:
        yield f"{whole} runs can hardly show a change: even a clear one takes about {ENOUGH_RUNS}"


def _flips(flips: Sequence[Flip]) -> Iterator[Part]:
    if flips:
        lines = [
            (
                flip.task,
                str(flip.flips),
                f"{flip.passed}/{flip.runs}",
                flip.now,
                flip.last_flip.removeprefix("run-"),
            )
            for flip in flips[:SHOWN]
        ]
        yield Table(("task", "flips", "passed", "now", "last flip"), lines)
    yield from _more(len(flips), "task")


def _flaws(runs: Sequence[RunEntry]) -> Iterator[Part]:
    for run in runs[-SHOWN:]:
        yield wrapped(f"{run.run}: {run.flaw}{f': {one_line(run.error)}' if run.error else ''}")
    yield from _more(len(runs), "run")


def _more(count: int, noun: str) -> Iterator[str]:
    if count > SHOWN:
        yield f"and {pluralize(count - SHOWN, f'more {noun}')}"


def history_csv(found: Sequence[Series]) -> Iterator[str]:
    """Yield the lines of a table with a row for each run."""
    parts = [(metric, part) for metric in METRICS for part in ("value", "lower", "upper")]
    titles = [*_HEAD, *(metric if part == "value" else f"{metric}_{part}" for metric, part in parts)]
    yield from csv_lines(titles, ([*_facts(run, one), *_figures(run)] for one in found for run in one.runs))


def _facts(run: RunEntry, series: Series) -> list[object]:
    return [
        run.run, series.suite, series.skill, run.model, run.started, run.status, run.commit, run.branch, run.dirty,
        run.flaw, run.error, len(run.tasks), run.count("passed"), run.count("failed"), run.count("error"),
        run.count("skipped"), run.missing_trials,
    ]  # fmt: skip


def _figures(run: RunEntry) -> Iterator[float | None]:
    for metric in METRICS:
        level = run.figures.get(metric)
        yield from (level.value, level.lower, level.upper) if level else (None, None, None)
