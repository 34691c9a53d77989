"""The plots of a run, made of its tasks: scores, trials, durations and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from waza.kit import stats
from waza.kit.share import decimal
from waza.report.html_page import element
from waza.report.plots import Amount, Cell, CellRow, ScoreMark, plot_amounts, plot_cells, plot_scores
from waza.report.rows import TaskRow, TrialSummary
from waza.report.words import duration, grouped
from waza.results.ending import CUT_OFF, IN_PROGRESS, UNSTARTED, came_to_its_end
from waza.results.outcome import Outcome

TONES = {
    "passed": "pass",
    "failed": "fail",
    "error": "error",
    "skipped": "partial",
    CUT_OFF: "partial",
    IN_PROGRESS: "partial",
    UNSTARTED: "partial",
}
"""The tone of each ending of a task or a trial."""
_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "error": "error",
    "partial": "not graded",
    "none": "did not run",
}


def plot_tasks(number: int, tasks: Sequence[TaskRow]) -> Iterator[str]:
    """Yield the plots of the tasks of a run; nothing for a single trial. `number` is that of the run in its page."""
    key = f"plot-{number}"
    ran = [row for row in tasks if row.stats is not None]
    if sum(len(row.trial_summaries) for row in ran) < 2:
        return
    several = any(len(row.trial_summaries) > 1 for row in ran)
    plots = (
        plot_scores(
            f"{key}-scores",
            "Scores",
            "Mean of the trials with its 95 % interval" if several else "",
            [_score(row) for row in ran],
            "task",
        ),
        plot_cells(f"{key}-trials", "Trials", [_cells(row) for row in tasks], _WORDS, noun="task"),
        plot_amounts(
            f"{key}-durations",
            "Durations",
            "Mean of the trials; a dot is one trial" if several else "",
            [_duration(row) for row in ran],
            _brief,
        ),
        plot_amounts(
            f"{key}-tokens",
            "Tokens",
            "Sum over the trials" if several else "",
            [_tokens(row) for row in ran if _has_tokens(row)],
            grouped,
            names=("read", "written"),
        ),
    )
    yield element("div", *plots, class_="plots", data_plots=str(number))


def plot_runs(runs: Iterable[tuple[str, Outcome]]) -> str:
    """Return the task success rates of runs with Wilson's intervals, those that came to their end; "" for fewer than two."""
    rates = []
    for name, outcome in runs:
        summary = outcome.head.summary
        if came_to_its_end(outcome.head) and summary.total_tests:
            low, high = stats.wilson(summary.succeeded, summary.total_tests)
            tone = TONES[outcome.verdict.status]
            rates.append(ScoreMark(label=name, tone=tone, value=summary.success_rate, low=low, high=high))
    if len(rates) < 2:
        return ""
    plot = plot_scores("plot-runs", "Task success rate", "With its 95 % interval (Wilson)", rates, "run")
    return element("div", plot, class_="plots")


def _brief(milliseconds: float) -> str:
    """Return a duration in few digits."""
    step = 1000 if milliseconds >= 60_000 else 100 if milliseconds >= 10_000 else 10
    return duration(round(milliseconds / step) * step if milliseconds >= 1000 else milliseconds)


def _score(row: TaskRow) -> ScoreMark:
    several = row.stats if len(row.trial_summaries) > 1 else None
    return ScoreMark(
        label=row.title,
        tone=TONES[row.ending],
        value=row.score,
        low=several.ci95_lo if several else None,
        high=several.ci95_hi if several else None,
    )


def _cells(row: TaskRow) -> CellRow:
    missing = [Cell("none", "did not run") for _ in range(row.missing)]
    return CellRow(
        label=row.title,
        tone=TONES[row.ending],
        cells=(*map(_cell, row.trial_summaries), *missing),
        value=f"{row.passed_trials} of {row.planned}{row.trials_note}",
    )


def _cell(trial: TrialSummary) -> Cell:
    return Cell(TONES[trial.status], f"trial {trial.number}: {trial.status}, {decimal(trial.score)}")


def _duration(row: TaskRow) -> Amount:
    points = tuple(float(trial.duration_ms) for trial in row.trial_summaries)
    mean = row.stats.avg_duration_ms if row.stats else 0
    return Amount(label=row.title, tone=TONES[row.ending], parts=(float(mean),), points=points)


def _tokens(row: TaskRow) -> Amount:
    read = sum(trial.input_tokens or 0 for trial in row.trial_summaries)
    written = sum(trial.output_tokens or 0 for trial in row.trial_summaries)
    return Amount(label=row.title, tone=TONES[row.ending], parts=(read, written))


def _has_tokens(row: TaskRow) -> bool:
    return any(trial.input_tokens is not None for trial in row.trial_summaries)
