"""A calibration as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from waza.author.assure.calibration import (
    AskedAnswer,
    Calibration,
    JudgeCalibration,
    KappaFigure,
    PassRate,
    ShareFigure,
    UnusedLabel,
)
from waza.kit.share import decimal, percent
from waza.kit.text import pluralize
from waza.report.section import facts
from waza.report.words import one_line
from waza.report.wrap import wrap

_SHOWN = 10  # answers and labels that are listed
_LONGEST = 200  # characters of an error
_NO_KAPPA = "cannot be computed, since both always gave the same label"


def calibration_lines(found: Calibration, width: int) -> list[str]:
    """Return the lines of a report, at most so many columns wide."""
    lines = [
        f"{one_line(found.suite)}, {one_line(found.run)}: {pluralize(len(found.judges), 'judge')}, asked {found.times} times about each answer"
    ]
    for judge in found.judges:
        lines += ["", *_judge_lines(judge, width)]
    if found.left_out:
        lines += ["", f"{pluralize(len(found.left_out), 'label')} not used:"]
        lines += _listed([_describe_left_out(one) for one in found.left_out])
    for warning in found.warnings:
        lines += ["", *wrap(f"warning: {warning}", width)]
    return lines


def _judge_lines(judge: JudgeCalibration, width: int) -> Iterator[str]:
    yield f"== {one_line(judge.grader)} (judge: {one_line(judge.model) or 'the default model'})"
    yield from facts(list(_facts(judge)))
    if judge.pass_rate and judge.pass_rate.why:
        yield from wrap(f"The pass rate cannot be corrected: {judge.pass_rate.why}", width)
    for warning in judge.warnings:
        yield from wrap(f"warning: {warning}", width)
    changing = [one for one in judge.answers if one.same is False]
    if changing:
        yield "The verdict changes:"
        yield from _listed([f"{_name(one)}: {', '.join(one.verdicts)}" for one in changing])
    broken = [one for one in judge.answers if one.same is None]
    if broken:
        yield "No verdict at least once:"
        yield from _listed([f"{_name(one)}: {one_line(one.error, _LONGEST)}" for one in broken])


def _facts(judge: JudgeCalibration) -> Iterator[tuple[str, str]]:
    yield "same verdict each time", _share(judge.consistency.equal)
    if judge.consistency.without_verdict:
        yield "no verdict at least once", pluralize(judge.consistency.without_verdict, "answer")
    if agreement := judge.agreement:
        yield from _kappa_facts("kappa with people", "people pass", "the judge passes", agreement.figures)
        yield "sensitivity", f"{_share(agreement.sensitivity)} of what people pass"
        yield "specificity", f"{_share(agreement.specificity)} of what people fail"
        left_out = (
            (agreement.unsure, "nobody is sure"),
            (agreement.disputed, "people disagree"),
            (agreement.without_verdict, "the judge gave no verdict"),
        )
        if texts := [f"{count} ({why})" for count, why in left_out if count]:
            yield "answers left out", ", ".join(texts)
    elif not judge.pairwise:
        yield "kappa with people", "not measured: there are no labels"
    if judge.pass_rate:
        yield from _rate_facts(judge.pass_rate)
    for raters in judge.raters:
        first, second = raters.raters
        yield from _kappa_facts(
            f"kappa of {first} and {second}", f"{first} passes", f"{second} passes", raters.figures
        )
    if position := judge.position:
        yield "winner changes with the order", _share(position.changed)
        if position.first_preferred.total:
            yield "of these, what came first won", f"{_share(position.first_preferred)}; 50% without a bias"
        if position.without_verdict:
            yield "comparisons without a winner", str(position.without_verdict)


def _kappa_facts(title: str, first: str, second: str, figures: KappaFigure) -> Iterator[tuple[str, str]]:
    if figures.kappa is None or figures.lower is None or figures.upper is None:
        yield (
            title,
            _NO_KAPPA if figures.answers else "not measured: no answer has both a label and a verdict",
        )
    else:
        interval = f"{_decimal(figures.lower)} to {_decimal(figures.upper)}"
        yield title, f"{_decimal(figures.kappa)} ({interval}), on {pluralize(figures.answers, 'answer')}"
    if figures.agreement is not None and figures.by_chance is not None:
        yield (
            "  they agree on",
            f"{percent(figures.agreement)}, by chance it would be {percent(figures.by_chance)}",
        )
        yield f"  {first}", _share(figures.first_passes)
        yield f"  {second}", _share(figures.second_passes)


def _rate_facts(rate: PassRate) -> Iterator[tuple[str, str]]:
    yield "pass rate of the run", _share(rate.measured)
    if rate.corrected is not None and rate.lower is not None and rate.upper is not None:
        clipped = ", clipped: it came out beyond 0 to 100%" if rate.clipped else ""
        yield (
            "  corrected",
            f"{percent(rate.corrected)} ({percent(rate.lower)} to {percent(rate.upper)}){clipped}",
        )


def _share(one: ShareFigure) -> str:
    if one.share is None:
        return "0 of 0"
    return f"{percent(one.share)}, {one.part} of {one.total} ({percent(one.lower)} to {percent(one.upper)})"


def _decimal(kappa: float) -> str:
    """Return a kappa, which may be negative, with two decimals."""
    return f"-{decimal(-kappa)}" if kappa < 0 else decimal(kappa)


def _name(one: AskedAnswer | UnusedLabel) -> str:
    return f"{one.task}, trial {one.trial}{' of the baseline' if one.arm == 'baseline' else ''}"


def _describe_left_out(one: UnusedLabel) -> str:
    return f"{one.rater} on {_name(one)} by {one.grader}: {one.why}"


def _listed(texts: list[str]) -> list[str]:
    rest = len(texts) - _SHOWN
    more = [f"  and {rest} more; --json lists all"] if rest > 0 else []
    return [*(f"  {one_line(text)}" for text in texts[:_SHOWN]), *more]
