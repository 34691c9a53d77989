"""Diagnoses for people: a table over all skills, then of each what the verdict rests on and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.diagnose.diagnosis import ASSUMPTION, PERCENT, TOKENS, Diagnosis, Figure
from waza.kit.share import percent
from waza.report.section import Draw, Part, Table, facts, wrapped
from waza.report.table import WIDTH
from waza.report.words import one_line
from waza.report.wrap import wrap
from waza.results.verdict import run_name

_TITLES = ("Skill", "Verdict", "Lift", "Invoked", "When invoked", "Tokens/point")
_NONE = "n/a"
_CEILING = 100.0  # no rate differs from another one by more points


def print_diagnoses(found: Sequence[Diagnosis], draw: Draw) -> None:
    """Draw the table, and a section for each skill."""
    names = _names(found)
    rows = [_row(name, one) for name, one in zip(names, found, strict=True)]
    draw("DIAGNOSIS", [Table(_TITLES, rows), *_legend(found)])
    for name, one in zip(names, found, strict=True):
        draw(one_line(name), list(_parts(one)))


def _names(found: Sequence[Diagnosis]) -> list[str]:
    """Return what skills on their models are called, with their executors where these differ."""
    names = [run_name(one.skill, one.model) for one in found]
    if len({one.executor for one in found}) < 2:
        return names
    return [f"{name} ({one.executor})" for name, one in zip(names, found, strict=True)]


def _row(name: str, one: Diagnosis) -> tuple[str, ...]:
    return (
        name,
        one.verdict,
        *(_value(figure) for figure in (one.lift, one.invocation_rate, one.effect_when_invoked)),
        f"{one.tokens_per_point.value:,.0f}" if one.tokens_per_point else _NONE,
    )


def _legend(found: Sequence[Diagnosis]) -> Iterator[Part]:
    if any(one.lift for one in found):
        yield wrapped("Lift: percentage points of the trial pass rate.")
    if any(one.effect_when_invoked for one in found):
        yield wrapped(f"When invoked: lift over invocation rate, if {ASSUMPTION}.")


def _parts(one: Diagnosis) -> Iterator[str]:
    yield from wrap(f"{one.verdict}: {one.why}", WIDTH, "", "  ")
    yield from wrap(f"next: {one.next}", WIDTH, "", "  ")
    yield from facts(
        [
            (name, f"{_value(figure)}{_interval(figure)}")
            for name, figure in (
                ("Lift", one.lift),
                ("Invoked", one.invocation_rate),
                ("When invoked", one.effect_when_invoked),
                ("Extra tokens", one.extra_tokens),
            )
            if figure
        ]
    )
    for note in one.notes:
        yield from wrap(f"note: {note}", WIDTH, "", "  ")


def _value(figure: Figure | None) -> str:
    if figure is None:
        return _NONE
    if figure.unit == TOKENS:
        return f"{figure.value:+,.0f} {figure.unit}"
    return percent(figure.value / 100, 0) if figure.unit == PERCENT else f"{figure.value:+.1f}"


def _interval(figure: Figure) -> str:
    if figure.lower is None or figure.upper is None:
        return ", without an interval"
    ends = figure.lower, figure.upper
    if figure.unit == PERCENT:
        shown = [percent(end / 100) for end in ends]
    elif figure.unit == TOKENS:
        shown = [f"{end:+,.0f}" for end in ends]
    else:
        shown = [f"{max(-_CEILING, min(_CEILING, end)):+.1f}" for end in ends]
    return f" (95 % interval {shown[0]} to {shown[1]})"
