"""What chance does to a suite, for people (`waza noise`)."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.share import percent
from waza.report.section import Draw, Table, facts
from waza.report.table import WIDTH
from waza.report.words import BULLET, grouped, one_line
from waza.report.wrap import wrap
from waza.results.noise_report import NoiseReport


def print_noise(report: NoiseReport, draw: Draw) -> None:
    """Draw what the arms were made of, the false alarms of gates, and the tasks that a difference needs."""
    known = [
        ("Suite", one_line(report.suite)),
        ("Model", one_line(report.model) or "(default)"),
        ("Runs", str(len(report.runs))),
        ("Each arm", f"{report.tasks} tasks x {report.trials} trials, of {report.pooled_trials} trials"),
    ]
    draw("TWO IDENTICAL ARMS", facts(known))
    rows = [
        (one.gate, percent(one.false_alarm_probability), _bounds(one.lower, one.upper))
        for one in report.gates
    ]
    quiet = f"A limit of {report.quiet_limit_pct:.1f} points is exceeded in no more than 5 % of cases."
    draw("FALSE ALARMS", [Table(("Gate", "Trips", "95 % interval"), rows), quiet])
    draw(f"TO SHOW A DIFFERENCE OF {_points(report.difference).upper()} IN SCORE", list(_needs(report)))
    draw("NOTES", [line for note in report.notes for line in wrap(note, WIDTH, f"{BULLET} ")])


def _needs(report: NoiseReport) -> Iterator[str | Table]:
    if report.trial_std_dev is None:
        yield "Not known: no task has two trials with a verdict."
        return
    if not report.needed:
        yield "Not known: scores of trials of one task do not differ."
        return
    yield f"Standard deviation of a trial about its task: {_points(report.trial_std_dev)}"
    if report.smallest_detectable is not None:
        yield f"So much data as here shows a difference of {_points(report.smallest_detectable)} in four of five cases."
    needed = [
        (str(one.trials), "above a million" if one.tasks is None else grouped(one.tasks))
        for one in report.needed
    ]
    yield Table(("Trials a task", "Tasks needed"), needed)
    enough = "above 10,000" if report.trials_needed is None else grouped(report.trials_needed)
    yield f"With these {report.tasks} tasks: {enough} trials of each, in each of two runs."


def _bounds(lower: float, upper: float) -> str:
    return f"{percent(lower)} to {percent(upper)}"


def _points(share: float) -> str:
    return f"{share * 100:.1f} points"
