"""A result document as one HTML page: what the items come to, the evaluators, and the items with their turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from waza.kit.text import pluralize
from waza.m365.document.model import Status
from waza.m365.results.overview import STATUSES, ItemRow, Overview, Score, Totals, TurnRow, make_overview
from waza.report.html_page import (
    PageParts,
    element,
    escape_text,
    make_bar,
    make_facts,
    make_legend,
    make_select,
    make_table,
    make_text,
    make_tools,
)
from waza.report.plots import Cell, CellRow, plot_cells
from waza.report.words import shortened

_LONGEST_TITLE = 160
_MOMENT = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[:.\d]*Z$")
_BETWEEN_WORDS = re.compile(r"(?<=_)(?=[^_])|(?<=[a-z0-9])(?=[A-Z])")
_MOST_OPEN = 5  # items; more would bury the list of all
_MEANINGS: Mapping[Status, str] = {
    "pass": "all evaluators passed",
    "fail": "all evaluators ran, and at least one did not pass",
    "partial": "there is a response, but an evaluator gave no result",
    "error": "there is no response",
}
_TOTALS_HEAD = ("Asked", "Passed", "Failed", "Errors", "Mean")
_SCORE_HEAD = ("Evaluator", "Result", "Score", "Threshold", "Reason")
_NOT_PASSED = ("fail", "error")
_WORDS = {"pass": "pass", "fail": "fail", "error": "error", "none": "not asked"}
_ORDERS = {"": "Document order", "worst": "Worst first"}


def to_html(result: dict[str, Any], title: str = "") -> str:
    """Return a result document as an HTML page; `title` is that of one without a name of its own."""
    return make_parts(make_overview(result, title)).draw()


def make_parts(report: Overview) -> PageParts:
    """Return the page of a result document in parts."""
    not_passed = len(report.items) - report.counts["pass"]
    items = [_item(item, unfold=item.status != "pass" and not_passed <= _MOST_OPEN) for item in report.items]
    main = [
        *_totals(report),
        *_results(report),
        element("h2", "Items"),
        _tools(report),
        '<div id="items">',
        *items,
        "</div>",
    ]
    return PageParts(
        title=report.name, header=list(_header(report)), tools=[], main=main, style=_read_style()
    )


@cache
def _read_style() -> str:
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def _header(report: Overview) -> Iterator[str]:
    yield element("h1", escape_text(report.name))
    if report.description:
        yield element("p", escape_text(report.description), class_="quiet")
    yield make_facts((label, _MOMENT.sub(r"\1 \2 UTC", value)) for label, value in report.facts)
    passed, items = report.counts["pass"], len(report.items)
    more = f" ({report.turns} turns)" if report.turns > items else ""
    headline = [
        element("b", f"{100 * passed // items}%"),  # rounded down: 100% means all
        f" {passed} of {pluralize(items, 'item')}{more} {'passes' if passed == 1 else 'pass'}",
    ]
    yield element("p", *headline, class_="headline")
    yield make_bar(report.counts.items())
    yield make_legend(
        (status, status, report.counts[status], _meaning(report, status)) for status in STATUSES
    )


def _meaning(report: Overview, status: Status) -> str:
    later = status == "error" and any(item.thread for item in report.items)
    return _MEANINGS[status] + ("; later turns of the conversation are skipped" if later else "")


def _totals(report: Overview) -> Iterator[str]:
    if report.totals:
        worst = sorted(report.totals, key=lambda total: (total.passed - total.count, -total.errors))
        names = [element("th", "Evaluator", scope="col"), '<td class="shares"></td>']
        names += [element("th", name, scope="col", class_="number") for name in _TOTALS_HEAD]
        yield element("h2", "Evaluators")
        yield make_table(names, map(_total, worst), "framed totals")


def _total(total: Totals) -> str:
    mean = "" if total.mean is None else f"{total.mean:.3g}"
    tones = {"pass": total.passed, "fail": total.failed, "error": total.errors}
    cells = [
        element("td", str(count), class_=f"number {tone if count else 'quiet'}")
        for tone, count in tones.items()
    ]
    return element(
        "tr",
        element("th", _name(total.evaluator), scope="row"),
        element("td", make_bar(tones.items()), class_="shares"),
        element("td", str(total.count), class_="number"),
        *cells,
        element("td", mean, class_="number"),
    )


def _results(report: Overview) -> Iterator[str]:
    """Yield a plot of all items and evaluators; nothing for a single item or a single evaluator."""
    names = sorted({score.evaluator for item in report.items for turn in item.turns for score in turn.scores})
    if len(report.items) > 1 and len(names) > 1:
        rows = [_row(item, names) for item in report.items]
        plot = plot_cells("plot-results", "Results", rows, _WORDS, noun="item", columns=names)
        yield element("h2", "At a glance")
        yield element("div", plot, class_="plots")


def _row(item: ItemRow, names: Sequence[str]) -> CellRow:
    """Return the results of an item by evaluator: over the turns of a conversation, the worst one."""
    found: dict[str, list[str]] = {}
    for turn in item.turns:
        for score in turn.scores:
            found.setdefault(score.evaluator, []).append(score.result)
    cells = [_cell(name, found.get(name, [])) for name in names]
    passed = sum(cell.tone == "pass" for cell in cells)
    return CellRow(
        label=item.name,
        tone=item.status,
        cells=tuple(cells),
        value=f"{passed} of {len(found)}" if found else "-",
    )


def _cell(name: str, results: Sequence[str]) -> Cell:
    worst = next((tone for tone in ("error", "fail", "pass") if tone in results), "none")
    count = f" ({results.count(worst)} of {pluralize(len(results), 'turn')})" if len(results) > 1 else ""
    return Cell(worst, f"{name}: {_WORDS[worst]}{count}")


def _name(evaluator: str) -> str:
    """Return the name of an evaluator, which may go on in a new line between its words."""
    return "<wbr>".join(map(escape_text, _BETWEEN_WORDS.split(evaluator)))


def _tools(report: Overview) -> str:
    counts = {"all": len(report.items), **report.counts}
    names = [total.evaluator for total in report.totals if total.passed < total.count]
    evaluators = {"": "Any evaluator", **{name: f"{name} not passed" for name in names}}
    return make_tools(
        "items",
        [(name, name, count) for name, count in counts.items()],
        make_select("grader", "Evaluator", evaluators),
        make_select("order", "Order", _ORDERS),
    )


def _item(item: ItemRow, *, unfold: bool) -> str:
    summary = element(
        "summary",
        element("span", str(item.number), class_="quiet"),
        element("h3", *_id(item), escape_text(_shorten_title(item)), class_="title"),
        element("span", *_gist(item), class_="gist"),
        _badge(item.status),
    )
    described = item.data.get("description") if item.thread else ""
    return element(
        "details",
        summary,
        *([element("p", escape_text(described), class_="quiet")] if described else []),
        *(_turn(item, turn) for turn in item.turns),
        class_=f"item {item.status}",
        data_item=str(item.number),
        data_status=item.status,
        open="" if unfold else None,
    )


def _shorten_title(item: ItemRow) -> str:
    return shortened(item.name, _LONGEST_TITLE)


def _id(item: ItemRow) -> Iterator[str]:
    """Yield the id that the document gives an item; its number and title are shown anyway."""
    if item.named and item.id != _shorten_title(item):
        yield element("code", escape_text(item.id), class_="id")


def _gist(item: ItemRow) -> Iterator[str]:
    """Yield what a folded item shows: which evaluators did not pass, and the statuses of its turns."""
    scores = [score for turn in item.turns for score in turn.scores]
    yield escape_text(
        ", ".join(dict.fromkeys(score.evaluator for score in scores if score.result in _NOT_PASSED))
    )
    if item.thread:
        dots = [element("i", class_=turn.status) for turn in item.turns]
        yield element("span", pluralize(len(item.turns), "turn"), " ", *dots, class_="dots")


def _badge(status: Status) -> str:
    return element("span", status, class_=f"badge {status}", title=_MEANINGS[status])


def _turn(item: ItemRow, turn: TurnRow) -> str:
    head = [element("h4", f"Turn {turn.number} ", _badge(turn.status))] if item.thread else []
    error = [element("p", escape_text(turn.error), class_="problem")] if turn.error else []
    texts = element("dl", *_texts(item, turn), class_="texts")
    return element("section", *head, *error, texts, *_scores(turn.scores), class_=f"part {turn.status}")


def _texts(item: ItemRow, turn: TurnRow) -> Iterator[str]:
    """Yield the texts of a turn; a prompt that is the title of its item is not repeated."""
    data = turn.data
    if item.thread or data["prompt"] != _shorten_title(item):
        yield make_text("Prompt", data["prompt"], "wide")
    if data.get("response") or ("response" in data and turn.status != "error"):
        yield make_text("Response", data["response"])
    if data.get("expected_response"):
        yield make_text("Expected response", data["expected_response"])
    if data.get("context"):
        yield make_text("Context", data["context"], "wide")
    if data.get("citations"):
        yield make_text("Citations", "\n".join(map(_citation, data["citations"])), "wide")


def _citation(one: dict[str, Any]) -> str:
    """Return a source of a response. It is text, not a link: a page of results has no links."""
    return " ".join(str(part) for part in (f"[{one['index']}]", one.get("text"), one.get("source")) if part)


def _scores(scores: tuple[Score, ...]) -> Iterator[str]:
    if scores:
        yield make_table(
            [element("th", name, scope="col") for name in _SCORE_HEAD], map(_score, scores), "stack scores"
        )


def _score(score: Score) -> str:
    return element(
        "tr",
        element("th", _name(score.evaluator), scope="row"),
        element("td", escape_text(score.result), class_="result"),
        element("td", element("span", escape_text(score.value), class_="value"), _scale(score)),
        element("td", escape_text(score.threshold), data_label="threshold"),
        element("td", escape_text(score.reason), *_traceback(score), class_="reason"),
        class_=score.result,
        data_grader=score.evaluator,
    )


def _traceback(score: Score) -> Iterator[str]:
    if score.traceback:
        yield element(
            "details", element("summary", "Traceback"), element("pre", escape_text(score.traceback))
        )


def _scale(score: Score) -> str:
    """Return where on its scale a score is, and with a tick where it passes."""
    if score.share is None:
        return ""
    mark = "" if score.mark is None else f";--mark:{score.mark:.3f}"
    return element("i", class_="scale", style=f"--share:{score.share:.3f}{mark}", aria_hidden="true")
