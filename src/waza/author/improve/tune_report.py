"""The report of a tuning for people."""

from __future__ import annotations

from collections.abc import Iterator

from waza.author.improve.split import PARTS, Split
from waza.author.improve.tune import PartFigures, SealedFigures, TunedDescription, Tuning, part_sizes
from waza.kit.share import percent
from waza.kit.text import pluralize
from waza.report.table import table
from waza.report.words import ERROR, one_line
from waza.results.comparison.comparison import Comparison
from waza.results.comparison.sentence import amount, bounds, shown_p

_PURPOSES = {"train": "shown to the model", "validation": "to choose by", "sealed": "read once, at the end"}


def tuning_lines(tuning: Tuning, width: int) -> Iterator[str]:
    """Yield the report: the parts, what was tried, the choice, the sealed part, and the prompts of each part."""
    yield f"Tuning of {one_line(tuning.skill)}, {pluralize(tuning.trials, 'trial')} of each prompt"
    yield ""
    yield from split_lines(tuning.split, width)
    yield ""
    rows = [_row(one) for one in (tuning.present, *tuning.tried)]
    yield from table(("Description", "Train", "Validation", "Validation, against present"), rows, width)
    yield ""
    yield "These figures were used to choose, so that they flatter; those of the sealed part are not."
    yield f"{pluralize(len(tuning.tried), 'candidate')} tried. Stopped: {tuning.stopped}."
    yield from _choice(tuning)
    if tuning.sealed is not None:
        yield ""
        yield from _sealed(tuning.sealed)
    yield from (f"{ERROR} {one_line(note)}" for note in tuning.notes)
    yield ""
    yield from _prompts(tuning.split)


def split_lines(split: Split, width: int) -> Iterator[str]:
    """Yield the table of the parts."""
    rows = []
    for part, size in part_sizes(split).items():
        should = sum(one.should_trigger for one in split.of(part))
        rows.append((f"{part}, {_PURPOSES[part]}", str(size), str(should), str(size - should)))
    yield from table((f"Part (seed {split.seed})", "Prompts", "Should trigger", "Should not"), rows, width)


def _row(one: TunedDescription) -> tuple[str, ...]:
    name = f"candidate {one.number}" if one.number else "present"
    against = _difference(one.comparison) if one.comparison else "-"
    return name, _count(one.train), _count(one.validation), against


def _count(found: PartFigures) -> str:
    return f"{found.right} of {found.measured} right"


def _difference(found: Comparison) -> str:
    if found.mean_difference is None or found.p_adjusted is None:
        return "not measured"
    return f"{amount(found.mean_difference, 'score')}, {shown_p(found.p_adjusted)}"


def _choice(tuning: Tuning) -> Iterator[str]:
    if tuning.chosen is None:
        yield (
            "The present description stays: on the validation part no candidate was better by more than chance. "
            "The sealed part was not read."
        )
        return
    of = f", with p adjusted for {len(tuning.tried)}" if len(tuning.tried) > 1 else ""
    yield f"Candidate {tuning.chosen} was chosen on the validation part, where it was better by more than chance{of}."


def _sealed(sealed: SealedFigures) -> Iterator[str]:
    yield f"Sealed part, read once ({sealed.read_at}):"
    for name, found in (("present", sealed.present), ("chosen", sealed.chosen)):
        lower, upper = found.interval
        share = percent(found.right / found.measured) if found.measured else "-"
        yield f"  {name}: {_count(found)} ({share}, 95 % interval {percent(lower)} to {percent(upper)})"
    comparison = sealed.comparison
    if comparison.mean_difference is None or comparison.p_value is None:
        yield "  the two were not measured on a common prompt"
        return
    interval = f", 95 % interval {bounds(comparison)}" if comparison.interval else ""
    word = "more than chance explains" if comparison.is_significant() else "chance may explain it"
    yield f"  difference: {amount(comparison.mean_difference, 'score')}{interval}; {shown_p(comparison.p_value)}: {word}"


def _prompts(split: Split) -> Iterator[str]:
    for part in PARTS:
        yield f"Prompts of the {part} part:"
        for one in split.of(part):
            yield f"  {'should' if one.should_trigger else 'should not'}: {one_line(one.text, 200)}"
