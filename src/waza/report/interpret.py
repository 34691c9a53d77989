"""What the figures mean, in plain language (`--interpret`)."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.share import TOLERANCE, percent, reaches
from waza.kit.text import pluralize
from waza.report.rows import TaskRow
from waza.report.view import RunView
from waza.report.words import BULLET, duration, one_line, status_mark
from waza.results.ending import CUT_OFF

MEANINGS = (
    ("score", "the mean over a trial's verdicts; of a task over its trials, of a run over its tasks"),
    (
        "task success rate",
        "the share of tasks that passed, in every trial unless the pass rule says otherwise; errors did not",
    ),
    ("graded success rate", "the same among the tasks that reached a verdict"),
    ("trial pass rate", "the share of the trials of one task that passed"),
    ("pass@1", "the share of trials that passed at their first attempt"),
    ("any of k passes", "how likely at least one of k trials passes, with their retries"),
    ("all of k pass", "how likely all of k trials pass, with their retries"),
    ("flaky", "passed in some trials and not in others, or only at a later attempt"),
    (CUT_OFF, "some of its trials did not run, since the run ended before; it has not passed"),
    ("CI95", "where the true figure lies with a confidence of 95 %"),
)


def interpretation(view: RunView) -> Iterator[str]:
    """Yield the lines of the plain-language section: the suite as a whole, then each task."""
    summary, verdict = view.head.summary, view.verdict
    yield f"The run: {verdict.word}"
    yield from (f"  {BULLET} {one_line(reason)}" for reason in verdict.reasons)
    if not verdict.passed:
        note = f" ({view.score_note})" if view.score_note else ""
        yield f"Mean score of what ran: {percent(summary.aggregate_score)}{note}"
    elif view.tasks:
        yield f"Overall score: {percent(summary.aggregate_score)}, {label(summary.aggregate_score)}"
        if abs(summary.weighted_score - summary.aggregate_score) > 1e-9:
            yield f"Weighted score: {percent(summary.weighted_score)}, {label(summary.weighted_score)}"
        yield f"{_share(summary.success_rate)} ({percent(summary.success_rate)}), in {duration(summary.duration_ms)}."
    yield f"{pluralize(len(view.tasks), 'task')}: {view.counts}."
    for row in view.tasks:
        yield f"{status_mark(row.ending)} {one_line(row.title)} [{row.ending}]: score {_score(row)}"
        yield f"    {_steadiness(row)}"
    yield "What the words mean:"
    yield from (f"  {word}: {meaning}" for word, meaning in MEANINGS)


def label(score: float) -> str:
    """Return the word for a score: above 0.9 Excellent, from 0.7 Good, from 0.5 Needs Work, below Poor."""
    if score > 0.9 + TOLERANCE:
        return "Excellent"
    if reaches(score, 0.7):
        return "Good"
    return "Needs Work" if reaches(score, 0.5) else "Poor"


def _share(rate: float) -> str:
    if reaches(rate, 1):
        return "All tasks passed"
    if reaches(rate, 0.8):
        return "Most tasks passed"
    return "About half of the tasks passed" if reaches(rate, 0.5) else "Few tasks passed"


def _score(row: TaskRow) -> str:
    return f"{percent(row.score)}, {label(row.score)}" if row.stats else "none, it did not run"


def _steadiness(row: TaskRow) -> str:
    if row.missing:
        return f"{row.why_cut_off.capitalize()}; nothing can be said of its steadiness."
    if row.retried and not (row.stats and row.stats.flaky):
        rate = percent(row.first_tries / row.trials)
        return f"Flaky: it passed only after a retry (pass@1 {rate}); run more trials before you trust it."
    if row.flaky and row.stats:
        rate = percent(row.stats.pass_rate)
        return f"Flaky: it passed in {rate} of its trials; run more trials to see how it really does."
    if row.trials > 1:
        return f"Steady: {'every one' if row.passed_trials else 'none'} of its {row.trials} trials passed."
    return "One trial says nothing about steadiness." if row.trials else "Nothing can be said of it."
