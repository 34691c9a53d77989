"""Plots of reports as SVG: text alone, no script, no other file, coloured by the tones of `page.css`.

Lengths along a row are percentages, so that a plot fits its place on every screen while its texts keep their size.
What a mark means is its `title`, which browsers show on hovering. Each plot has a name and a summary for people
who cannot see it, and reports have its figures in tables besides. Colours are never alone: a status has its mark.

A plot is of bounded size: of more than `MOST_ROWS` rows it shows how all of them are distributed, and the worst few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from waza.kit.share import decimal
from waza.report.html_page import element, escape_text
from waza.report.words import grouped, one_line, shortened

MOST_ROWS = 24  # more are shown as a distribution
WORST = 10  # rows beside a distribution
MOST_CELLS = 16  # in a row; more are shown as shares
_MOST_POINTS = 20  # beside a bar; of more only the least and the greatest
_NAMED = 5  # rows in the summary of a plot
_BINS = 20
_LABEL = 60  # characters of the name of a row
_HEAD = 24  # characters of the name of a column
_ROW, _AXIS, _HISTOGRAM = 22, 18, 84  # heights in pixels
_LETTER = 6.5  # pixels that a character of an axis takes

MARKS = {"pass": "✓", "fail": "✗", "error": "!", "partial": "○", "none": "·"}
"""The mark of each tone; `none` is for what did not run."""

Write = Callable[[float], str]
"""Makes text of an amount."""


class ScoreMark(msgspec.Struct, frozen=True, kw_only=True):
    """A score from 0 to 1 with what it is of; `low` and `high` are the ends of its interval, where it has one."""

    label: str
    tone: str
    value: float
    low: float | None = None
    high: float | None = None


class Cell(msgspec.Struct, frozen=True):
    """One result in a row of cells: its tone, and in words what it is."""

    tone: str
    title: str


class CellRow(msgspec.Struct, frozen=True, kw_only=True):
    """Results side by side, such as the trials of a task; `value` is what they come to, in words."""

    label: str
    tone: str
    cells: tuple[Cell, ...]
    value: str

    @property
    def badness(self) -> tuple[bool, int]:
        """What the worst row is the greatest by: whether it did not pass, then how many of its cells did not."""
        return self.tone != "pass", sum(cell.tone in ("fail", "error", "partial") for cell in self.cells)


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """An amount that begins at 0: `parts` add up to it, `points` are what it is the mean of."""

    label: str
    tone: str
    parts: tuple[float, ...]
    points: tuple[float, ...] = ()

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(self.parts)


AnyRow = TypeVar("AnyRow", ScoreMark, CellRow, Amount)


def plot_scores(key: str, title: str, note: str, scores: Sequence[ScoreMark], noun: str) -> str:
    """Return scores with their intervals, the lowest first; "" without any. `key` is unique in its page."""
    if not scores:
        return ""
    shown = _bounded(sorted(scores, key=lambda one: one.value))
    whole = len(shown) == len(scores)
    spread = _histogram(f"{key}-all", title, [(one.tone, one.value) for one in scores], 1, decimal, noun)
    drawn = [*_grid((0, 0.5, 1), ("0", "0.5", "1"), len(shown)), *map(_score, range(len(shown)), shown)]
    lines = [(one.tone, one.label, decimal(one.value)) for one in shown]
    return _figure(
        title,
        note,
        *([] if whole else [spread]),
        _rows(key, _which(title, "lowest", len(shown), len(scores), noun), lines, drawn),
    )


def _score(place: int, one: ScoreMark) -> str:
    y, between, line = _ROW * (place + 0.5), "", ""
    if one.low is not None and one.high is not None:
        between = f", 95 % interval {decimal(one.low)} to {decimal(one.high)}"
        line = _range(one.low, one.high, y)
    dot = f'<circle class="mark" cx="{_percent(one.value)}" cy="{y:g}" r="4.5"/>'
    return _group(one.tone, f"{_label(one.label)}: {decimal(one.value)}{between}", line + dot)


def plot_cells(
    key: str,
    title: str,
    rows: Sequence[CellRow],
    words: Mapping[str, str],
    *,
    noun: str,
    columns: Sequence[str] = (),
) -> str:
    """Return rows of results side by side, the worst first; "" without any.

    `words` say what each tone means here. `columns` are the names of the columns; without them they are numbered. Of
    rows with more than `MOST_CELLS` cells the shares of the tones are drawn.
    """
    wide = max((len(row.cells) for row in rows), default=0)
    if not wide:
        return ""
    shown = _bounded(sorted(rows, key=lambda row: row.badness, reverse=True))
    counted = Counter(cell.tone for row in rows for cell in row.cells)
    each = wide <= MOST_CELLS
    if each:
        drawn = [
            _cell(cell, i, place, wide) for place, row in enumerate(shown) for i, cell in enumerate(row.cells)
        ]
        heads = [shortened(one_line(name), _HEAD) for name in columns] or [str(i) for i in range(1, wide + 1)]
        tall = _LETTER * max(map(len, heads)) + 6 if columns else _AXIS
        drawn += _heads(heads, len(shown), tilted=bool(columns))
    else:
        drawn, tall = [_shares(row, place, words) for place, row in enumerate(shown)], 0
    legend = [
        element("span", f"{MARKS[tone]} {grouped(counted[tone])} {words[tone]}", class_=tone)
        for tone in MARKS
        if counted[tone]
    ]
    return _figure(
        title,
        "",
        _rows(
            key,
            _which(title, "worst", len(shown), len(rows), noun),
            [(row.tone, row.label, row.value) for row in shown],
            drawn,
            foot=tall,
            width=wide * _ROW if each else 0,
        ),
        element("p", *legend, class_="key"),
    )


def _cell(cell: Cell, column: int, row: int, columns: int) -> str:
    step, y = 1 / columns, row * _ROW
    box = (
        f'<rect x="{_percent((column + 0.05) * step)}" y="{y + 2}"'
        f' width="{_percent(0.9 * step)}" height="{_ROW - 4}" rx="3"/>'
    )
    mark = f'<text x="{_percent((column + 0.5) * step)}" y="{y + 15.5}">{MARKS[cell.tone]}</text>'
    return _group(f"cell {cell.tone}", cell.title, box + mark)


def _heads(names: Sequence[str], rows: int, *, tilted: bool) -> Iterator[str]:
    for column, name in enumerate(names):
        x, y = _percent((column + 0.5) / len(names)), rows * _ROW + (5 if tilted else 13)
        yield f'<text class="{"axis down" if tilted else "axis"}" x="{x}" y="{y}">{escape_text(name)}</text>'


def _shares(row: CellRow, place: int, words: Mapping[str, str]) -> str:
    counted, parts, start = Counter(cell.tone for cell in row.cells), list[str](), 0
    for tone in MARKS:
        if counted[tone]:
            of = len(row.cells)
            box = _box("", start / of, counted[tone] / of, place * _ROW + 4, _ROW - 8)
            parts.append(
                _group(f"cell {tone}", f"{_label(row.label)}: {counted[tone]} of {of} {words[tone]}", box)
            )
            start += counted[tone]
    return "".join(parts)


def plot_amounts(
    key: str, title: str, note: str, amounts: Sequence[Amount], write: Write, *, names: Sequence[str] = ()
) -> str:
    """Return the amounts of tasks as bars, the greatest first; "" where all are 0.

    `names` are what the parts of an amount are called, where it has several.
    """
    top = max((max(one.total, *one.points, 0) for one in amounts), default=0)
    if top <= 0:
        return ""
    shown = _bounded(sorted(amounts, key=lambda one: one.total, reverse=True))
    whole = len(shown) == len(amounts)
    spread = _histogram(f"{key}-all", title, [("plain", one.total) for one in amounts], top, write, "task")
    drawn = [*_grid((0, 1), ("0", write(top)), len(shown))]
    drawn += [_bar(one, place, top, write, names) for place, one in enumerate(shown)]
    legend = [element("span", _swatch(i), name) for i, name in enumerate(names)]
    return _figure(
        title,
        note,
        *([] if whole else [spread]),
        _rows(
            key,
            _which(title, "greatest", len(shown), len(amounts), "task"),
            [(one.tone, one.label, write(one.total)) for one in shown],
            drawn,
        ),
        *([element("p", *legend, class_="key")] if legend else []),
    )


def _swatch(part: int) -> str:
    box = f'<rect class="part{part}" width="10" height="10" rx="2"/>'
    return element("svg", box, class_="swatch", aria_hidden="true")


def _bar(one: Amount, place: int, top: float, write: Write, names: Sequence[str]) -> str:
    y, start, parts, about = place * _ROW, 0.0, list[str](), ""
    for i, part in enumerate(one.parts):
        parts.append(_box(f"part{i}", start / top, part / top, y + 6, _ROW - 12))
        start += part
    if len(one.points) > 1:
        ends = min(one.points), max(one.points)
        about = f" ({write(ends[0])} to {write(ends[1])})"
        if len(one.points) > _MOST_POINTS:
            parts.append(_range(ends[0] / top, ends[1] / top, y + _ROW / 2))
        for point in one.points if len(one.points) <= _MOST_POINTS else ends:
            parts.append(f'<circle class="point" cx="{_percent(point / top)}" cy="{y + _ROW / 2:g}" r="2"/>')
    if names:
        about = (
            f" ({', '.join(f'{name} {write(part)}' for name, part in zip(names, one.parts, strict=True))})"
        )
    return _group("amount", f"{_label(one.label)}: {write(one.total)}{about}", "".join(parts))


def _histogram(
    key: str, title: str, values: Sequence[tuple[str, float]], top: float, write: Write, noun: str
) -> str:
    """Return how values from 0 to `top` are distributed, each with its tone. Only the last bin holds its upper end."""
    bins = [Counter[str]() for _ in range(_BINS)]
    for tone, value in values:
        bins[min(int(value / top * _BINS), _BINS - 1)][tone] += 1
    most = max(counted.total() for counted in bins)
    names = [f"{write(i * top / _BINS)} to {write((i + 1) * top / _BINS)}" for i in range(_BINS)]
    drawn = [f'<line class="grid" x1="0" x2="100%" y1="{_HISTOGRAM}" y2="{_HISTOGRAM}"/>']
    for place, counted in enumerate(bins):
        y, parts = float(_HISTOGRAM), list[str]()
        for tone in ("plain", *MARKS):
            if counted[tone]:
                height = counted[tone] / most * (_HISTOGRAM - 16)
                y -= height
                parts.append(_box(tone, (place + 0.06) / _BINS, 0.88 / _BINS, y, height))
        if parts:
            drawn.append(_group("bin", f"{names[place]}: {_count(counted.total(), noun)}", "".join(parts)))
    place = next(i for i, counted in enumerate(bins) if counted.total() == most)
    side, x = _at_end(place)
    drawn.append(f'<text class="axis {side}" x="{_percent(x)}" y="10">{grouped(most)}</text>')
    drawn += _ticks((0, 1), (write(0), write(top)), _HISTOGRAM)
    about = f"Of {_count(len(values), noun)}, most ({grouped(most)}) are from {names[place]}."
    name = f"{title}: all {_count(len(values), noun)}"
    return element("p", escape_text(name.partition(": ")[2].capitalize()), class_="which") + _svg(
        key, name, about, drawn, _HISTOGRAM + _AXIS
    )


def _at_end(place: int) -> tuple[str, float]:
    """Return how the text above a bin is aligned, and where: near the ends with the edge of the plot."""
    if place < 2:
        return "first", place / _BINS
    return ("last", (place + 1) / _BINS) if place > _BINS - 3 else ("", (place + 0.5) / _BINS)


def _count(count: int, noun: str) -> str:
    return f"{grouped(count)} {noun}" if count == 1 else f"{grouped(count)} {noun}s"


def _bounded(ordered: Sequence[AnyRow]) -> Sequence[AnyRow]:
    """Return the rows that are shown one by one."""
    return ordered if len(ordered) <= MOST_ROWS else ordered[:WORST]


def _which(title: str, order: str, shown: int, rows: int, noun: str) -> str:
    """Return the name of a plot with rows, which says what is left out."""
    return title if shown == rows else f"{title}: the {shown} {order} of {_count(rows, noun)}"


def _rows(
    key: str,
    name: str,
    lines: Sequence[tuple[str, str, str]],
    drawn: Iterable[str],
    *,
    foot: float = _AXIS,
    width: int = 0,
) -> str:
    """Return rows with their labels and values, which are a tone, a label and a text; `drawn` is between them.

    `foot` is the height of what is below the rows, `width` the greatest one of what is drawn; 0: as wide as possible.
    """
    labels = [
        element(
            "li",
            element("span", MARKS.get(tone, ""), class_=f"result {tone}"),
            " ",
            escape_text(_label(label)),
        )
        for tone, label, _ in lines
    ]
    values = [element("li", escape_text(value)) for _, _, value in lines]
    first = "; ".join(f"{shortened(_label(label), _NAMED * 8)} {value}" for _, label, value in lines[:_NAMED])
    rest = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
    part = name.partition(": ")[2]
    return (element("p", escape_text(part.capitalize()), class_="which") if part else "") + element(
        "div",
        element("ol", *labels, aria_hidden="true"),
        _svg(key, name, f"{first}{rest}. The tables have all figures.", drawn, len(lines) * _ROW + foot),
        element("ol", *values, class_="values", aria_hidden="true"),
        class_="rows",
        style=f"--widest:{width}px" if width else None,
    )


def _svg(key: str, name: str, about: str, drawn: Iterable[str], height: float) -> str:
    return element(
        "svg",
        element("title", escape_text(name), id=f"{key}-name"),
        element("desc", escape_text(about), id=f"{key}-about"),
        *drawn,
        role="img",
        aria_labelledby=f"{key}-name",
        aria_describedby=f"{key}-about",
        width="100%",
        height=f"{height:g}",
    )


def _figure(title: str, note: str, *content: str) -> str:
    caption = element("b", escape_text(title)) + (f" {escape_text(note)}" if note else "")
    return element("figure", element("figcaption", caption), *content, class_="plot")


def _grid(places: Sequence[float], names: Sequence[str], rows: int) -> Iterator[str]:
    """Yield upright lines behind rows at these places, with their names below."""
    for place in places:
        x = _percent(place)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{rows * _ROW}"/>'
    yield from _ticks(places, names, rows * _ROW)


def _ticks(places: Sequence[float], names: Sequence[str], y: int) -> Iterator[str]:
    sides = {0.0: "axis first", 1.0: "axis last"}
    for place, name in zip(places, names, strict=True):
        side = sides.get(place, "axis")
        yield f'<text class="{side}" x="{_percent(place)}" y="{y + 14}">{escape_text(name)}</text>'


def _group(tone: str, title: str, content: str) -> str:
    return f'<g class="{tone}"><title>{escape_text(title)}</title>{content}</g>'


def _range(low: float, high: float, y: float) -> str:
    return f'<line class="range" x1="{_percent(low)}" x2="{_percent(high)}" y1="{y:g}" y2="{y:g}"/>'


def _box(tone: str, start: float, width: float, y: float, height: float) -> str:
    own = f' class="{tone}"' if tone else ""
    return f'<rect{own} x="{_percent(start)}" y="{y:.4g}" width="{_percent(width)}" height="{height:.4g}"/>'


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _label(name: str) -> str:
    return shortened(one_line(name), _LABEL)
