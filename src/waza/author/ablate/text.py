"""The report of an ablation for people, and what is announced before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.ablate.ablation import Ablation, NeededData, PartResult
from waza.author.ablate.judge_part import bounds_of
from waza.author.ablate.parts import Part
from waza.author.tokens.count_report import ESTIMATED
from waza.kit.text import pluralize
from waza.report.section import Draw, Table, wrapped
from waza.report.table import WIDTH
from waza.report.words import grouped, one_line
from waza.report.wrap import wrap
from waza.results.comparison.sentence import amount

_NONE = "n/a"
_GROUPS = (
    ("helps", "SEEM TO HELP"),
    ("harms", "DO HARM: THE SKILL IS BETTER WITHOUT THEM"),
    ("no-gain", "COST MORE THAN THEY GIVE"),
    ("cannot-tell", "THE DATA CANNOT TELL"),
    ("not-measured", "NOT MEASURED"),
)


def print_parts(parts: Sequence[Part], fixed: dict[str, str], draw: Draw, tokenizer: str) -> None:
    """Draw what would be left out, and what of the skill cannot be."""
    rows = [(one.name, "" if one.line is None else str(one.line), _tokens(one.tokens)) for one in parts]
    draw("PARTS OF THE SKILL", [Table(("Part", "Line", "Tokens"), rows), *_legend(tokenizer)])
    notes = [(one.name, note) for one in parts for note in one.notes]
    lines = [line for name, note in [*notes, *fixed.items()] for line in _bullet(name, note)]
    draw("WITHOUT THEM", lines)


def print_ablation(found: Ablation, draw: Draw) -> None:
    """Draw the table of all parts, and what can be said of each, by verdict."""
    rows = [_row(one) for one in found.parts]
    titles = ("Part", "Tokens", "Gives", "Interval", "Verdict")
    draw(f"ABLATION OF {one_line(found.skill)}", [Table(titles, rows), *_explain(found)])
    for verdict, title in _GROUPS:
        of_it = [one for one in found.parts if one.verdict == verdict]
        draw(title, [line for one in of_it for line in _lines(one, found.margin)])
    notes = [line for note in found.notes for line in wrap(one_line(note), WIDTH, "- ", "  ")]
    fixed = [line for name, why in found.fixed.items() for line in _bullet(name, why)]
    draw("NOTES", [*notes, *fixed])


def _row(one: PartResult) -> tuple[str, ...]:
    gain = _NONE if one.gain is None else amount(one.gain, "score")
    interval = bounds_of(one.interval) if one.interval else _NONE
    return one.name, _tokens(one.tokens), gain, interval, one.verdict


def _tokens(count: int | None) -> str:
    return _NONE if count is None else grouped(count)


def _legend(tokenizer: str) -> Iterator[str]:
    if tokenizer == "estimate":
        yield ESTIMATED


def _explain(found: Ablation) -> Iterator[str]:
    if any(one.interval for one in found.parts):
        yield wrapped(
            "Gives: points of score, of the whole skill against the skill without the part. All intervals hold together in "
            "19 of 20 such ablations."
        )
    yield from _legend(found.tokenizer)


def _lines(one: PartResult, margin: float) -> Iterator[str]:
    yield from _bullet(one.name, one.why)
    if one.needed is not None:
        yield from wrap(_describe_needed(one.needed, margin), WIDTH, "  ", "  ")
    for note in one.notes:
        yield from wrap(f"note: {one_line(note)}", WIDTH, "  ", "  ")


def _describe_needed(needed: NeededData, margin: float) -> str:
    size = amount(margin, "score").removeprefix("+")
    if needed.tasks is None or needed.trials is None:
        return f"No number of tasks that is worth naming shows a gain of {size}."
    return f"A gain of {size} would show with {pluralize(needed.tasks, 'task')} of {pluralize(needed.trials, 'trial')}."


def _bullet(name: str, text: str) -> Iterator[str]:
    yield from wrap(f"{one_line(name)}: {one_line(text)}", WIDTH, "- ", "  ")
