"""Results as one HTML page that needs nothing else: no network, no other file.

Whatever agents and evaluators wrote is text: it is escaped, and the page's own policy lets a browser run no
script but ours. Without scripts everything is there, too, but for the filters.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from waza.kit.text import pluralize
from waza.kit.unsafe_text import escape_unsafe
from waza.m365.document.model import Status
from waza.m365.results.overview import STATUSES, ItemRow, Overview, Score, Totals, TurnRow, make_overview
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
_ORDERS = {"": "Document order", "worst": "Worst first"}


def to_html(result: dict[str, Any], title: str = "") -> str:
    """Return a result document as an HTML page; `title` is that of one without a name of its own."""
    report = make_overview(result, title)
    not_passed = len(report.items) - report.counts["pass"]
    items = [_item(item, unfold=item.status != "pass" and not_passed <= _MOST_OPEN) for item in report.items]
    parts = [*_totals(report), _element("h2", "Items"), _tools(report), _element("div", *items, id="items")]
    body = [_header(report), _element("main", *parts), f"<script>{_read_asset('report.js')}</script>"]
    return "\n".join(
        ["<!doctype html>", '<html lang="en">', _head(report.name), _element("body", *body), "</html>", ""]
    )


def escape_text(value: object) -> str:
    r"""Return any value as HTML that shows just its text; what cannot be seen becomes an escape such as \x1b."""
    return escape(escape_unsafe(str(value)))


def _element(name: str, *content: str, **attributes: str | None) -> str:
    """Return an element. `content` is HTML; attributes are text (None: left out), a `_` at their end is cut."""
    own = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{own}>{''.join(content)}</{name}>"


@cache
def _read_asset(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def _head(title: str) -> str:
    digest = base64.b64encode(hashlib.sha256(_read_asset("report.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return _element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        _element("title", escape_text(title)),
        f"<style>{_read_asset('report.css')}</style>",
    )


def _header(report: Overview) -> str:
    described = _element("p", escape_text(report.description), class_="quiet") if report.description else ""
    facts = [
        _element("li", f"{escape_text(label)} ", _element("b", escape_text(_MOMENT.sub(r"\1 \2 UTC", value))))
        for label, value in report.facts
    ]
    passed, items = report.counts["pass"], len(report.items)
    more = f" ({report.turns} turns)" if report.turns > items else ""
    headline = [
        _element("b", f"{100 * passed // items}%"),  # rounded down: 100% means all
        f" {passed} of {pluralize(items, 'item')}{more} {'passes' if passed == 1 else 'pass'}",
    ]
    theme = _element(
        "button", "◐", type="button", id="theme", aria_label="Dark or light", title="Dark or light", hidden=""
    )
    return _element(
        "header",
        _element("h1", escape_text(report.name)),
        described,
        _element("ul", *facts, class_="facts"),
        _element("p", *headline, class_="headline"),
        _bar(report.counts),
        _element("dl", *(_legend(report, status) for status in STATUSES), class_="legend"),
        theme,
    )


def _bar(counts: Mapping[str, int]) -> str:
    """Return a bar of the shares of statuses; the numbers are beside it."""
    parts = [_element("i", class_=status, style=f"flex:{count}") for status, count in counts.items() if count]
    return _element("div", *parts, class_="bar", aria_hidden="true")


def _legend(report: Overview, status: Status) -> str:
    count, meaning = report.counts[status], _MEANINGS[status]
    if status == "error" and any(item.thread for item in report.items):
        meaning += "; later turns of the conversation are skipped"
    name = _element("dt", _element("b", str(count)), f" {status}")
    return _element("div", name, _element("dd", meaning), class_=status if count else "none")


def _totals(report: Overview) -> Iterator[str]:
    if report.totals:
        worst = sorted(report.totals, key=lambda total: (total.passed - total.count, -total.errors))
        names = [_element("th", "Evaluator", scope="col"), '<td class="shares"></td>']
        names += [_element("th", name, scope="col", class_="number") for name in _TOTALS_HEAD]
        yield _element("h2", "Evaluators")
        yield _table(names, map(_total, worst), "totals")


def _total(total: Totals) -> str:
    mean = "" if total.mean is None else f"{total.mean:.3g}"
    tones = {"pass": total.passed, "fail": total.failed, "error": total.errors}
    cells = [
        _element("td", str(count), class_=f"number {tone if count else 'quiet'}")
        for tone, count in tones.items()
    ]
    return _element(
        "tr",
        _element("th", _name(total.evaluator), scope="row"),
        _element("td", _bar(tones), class_="shares"),
        _element("td", str(total.count), class_="number"),
        *cells,
        _element("td", mean, class_="number"),
    )


def _name(evaluator: str) -> str:
    """Return the name of an evaluator, which may go on in a new line between its words."""
    return "<wbr>".join(map(escape_text, _BETWEEN_WORDS.split(evaluator)))


def _table(head: Iterable[str], rows: Iterable[str], name: str) -> str:
    return _element("table", _element("thead", _element("tr", *head)), _element("tbody", *rows), class_=name)


def _tools(report: Overview) -> str:
    """Return what only the script can serve, which shows it."""
    counts = {"all": len(report.items), **report.counts}
    buttons = [
        _element(
            "button",
            f"{name} {count}",
            type="button",
            class_=name,
            data_show=name,
            aria_pressed=str(name == "all").lower(),
        )
        for name, count in counts.items()
        if count or name == "all"
    ]
    names = [total.evaluator for total in report.totals if total.passed < total.count]
    return _element(
        "search",
        _element("div", *buttons, role="group", aria_label="Status"),
        '<input id="words" type="search" placeholder="Search" autocomplete="off" aria-label="Search items">',
        _select(
            "evaluator", "Evaluator", {"": "Any evaluator", **{name: f"{name} not passed" for name in names}}
        ),
        _select("order", "Order", _ORDERS),
        _element("button", "Expand all", type="button", id="fold"),
        _element("output", id="shown"),
        id="tools",
        aria_label="Items",
        hidden="",
    )


def _select(name: str, label: str, options: Mapping[str, str]) -> str:
    choices = [_element("option", escape_text(shown), value=value) for value, shown in options.items()]
    return _element("select", *choices, id=name, aria_label=label, autocomplete="off")


def _item(item: ItemRow, *, unfold: bool) -> str:
    summary = _element(
        "summary",
        _element("span", str(item.number), class_="quiet"),
        _element("h3", *_id(item), escape_text(_title(item))),
        _element("span", *_gist(item), class_="gist"),
        _badge(item.status),
    )
    described = item.data.get("description") if item.thread else ""
    return _element(
        "details",
        summary,
        *([_element("p", escape_text(described), class_="quiet")] if described else []),
        *(_turn(item, turn) for turn in item.turns),
        class_=f"item {item.status}",
        data_status=item.status,
        open="" if unfold else None,
    )


def _title(item: ItemRow) -> str:
    return shortened(item.name, _LONGEST_TITLE)


def _id(item: ItemRow) -> Iterator[str]:
    """Yield the id that the document gives an item; its number and title are shown anyway."""
    if item.named and item.id != _title(item):
        yield _element("code", escape_text(item.id), class_="id")


def _gist(item: ItemRow) -> Iterator[str]:
    """Yield what a folded item shows: which evaluators did not pass, and the statuses of its turns."""
    scores = [score for turn in item.turns for score in turn.scores]
    yield escape_text(
        ", ".join(dict.fromkeys(score.evaluator for score in scores if score.result in _NOT_PASSED))
    )
    if item.thread:
        dots = [_element("i", class_=turn.status) for turn in item.turns]
        yield _element("span", pluralize(len(item.turns), "turn"), " ", *dots, class_="dots")


def _badge(status: Status) -> str:
    return _element("span", status, class_=f"badge {status}", title=_MEANINGS[status])


def _turn(item: ItemRow, turn: TurnRow) -> str:
    head = [_element("h4", f"Turn {turn.number} ", _badge(turn.status))] if item.thread else []
    error = [_element("p", escape_text(turn.error), class_="problem")] if turn.error else []
    texts = _element("dl", *_texts(item, turn), class_="texts")
    return _element("section", *head, *error, texts, *_scores(turn.scores), class_=f"turn {turn.status}")


def _texts(item: ItemRow, turn: TurnRow) -> Iterator[str]:
    """Yield the texts of a turn; a prompt that is the title of its item is not repeated."""
    data = turn.data
    if item.thread or data["prompt"] != _title(item):
        yield _text("Prompt", data["prompt"], "wide")
    if data.get("response") or ("response" in data and turn.status != "error"):
        yield _text("Response", data["response"])
    if data.get("expected_response"):
        yield _text("Expected response", data["expected_response"])
    if data.get("context"):
        yield _text("Context", data["context"], "wide")
    if data.get("citations"):
        yield _text("Citations", "\n".join(map(_citation, data["citations"])), "wide")


def _text(label: str, data: str, width: str | None = None) -> str:
    return _element("div", _element("dt", label), _element("dd", escape_text(data)), class_=width)


def _citation(one: dict[str, Any]) -> str:
    """Return a source of a response. It is text, not a link: a page of results has no links."""
    return " ".join(str(part) for part in (f"[{one['index']}]", one.get("text"), one.get("source")) if part)


def _scores(scores: tuple[Score, ...]) -> Iterator[str]:
    if scores:
        yield _table(
            [_element("th", name, scope="col") for name in _SCORE_HEAD], map(_score, scores), "scores"
        )


def _score(score: Score) -> str:
    return _element(
        "tr",
        _element("th", _name(score.evaluator), scope="row"),
        _element("td", escape_text(score.result), class_="result"),
        _element("td", _element("span", escape_text(score.value), class_="value"), _scale(score)),
        _element("td", escape_text(score.threshold)),
        _element("td", escape_text(score.reason), *_traceback(score), class_="reason"),
        class_=score.result,
        data_evaluator=score.evaluator,
    )


def _traceback(score: Score) -> Iterator[str]:
    if score.traceback:
        yield _element(
            "details", _element("summary", "Traceback"), _element("pre", escape_text(score.traceback))
        )


def _scale(score: Score) -> str:
    """Return where on its scale a score is, and with a tick where it passes."""
    if score.share is None:
        return ""
    mark = "" if score.mark is None else f";--mark:{score.mark:.3f}"
    return _element("i", class_="scale", style=f"--share:{score.share:.3f}{mark}", aria_hidden="true")
