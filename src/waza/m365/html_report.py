"""Results as one HTML page that needs nothing else: no network, no other file.

Whatever agents and evaluators said is text: it is escaped, and the page's own policy lets a browser run no
script but ours. Without scripts everything is there, too, but for the filters.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from waza.m365.overview import STATUSES, ItemRow, Overview, Score, TurnRow, overview
from waza.report.words import visible

_LONGEST_TITLE = 160
_TEXTS = {
    "prompt": "Prompt",
    "response": "Response",
    "expected_response": "Expected response",
    "context": "Context",
}
_SCORE_HEAD = ("Evaluator", "Result", "Score", "Threshold", "Reason")
_TOTALS_HEAD = ("Evaluator", "Asked", "Passed", "Failed", "Errors", "Mean")


def document(result: dict[str, Any]) -> str:
    """Return a result document as an HTML page."""
    seen = overview(result)
    main = [_header(seen), _cards(seen), *_totals(seen), _element("h2", "Items"), _tools(seen)]
    items = [_item(item) for item in seen.items]
    none = _element("p", "No item fits.", id="none", class_="quiet", hidden="")
    page = _element("div", *main, *items, none, class_="page")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            _head(seen.name),
            _element("body", page, f"<script>{_own('report.js')}</script>"),
            "</html>",
            "",
        ]
    )


def text(value: object) -> str:
    r"""Return any value as HTML that shows just its text; what cannot be seen becomes an escape such as \x1b."""
    return escape(visible(str(value)))


def _element(name: str, *content: str, **attributes: str | None) -> str:
    """Return an element. `content` is HTML; attributes are text (None: left out), a `_` at their end is cut."""
    own = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{own}>{''.join(content)}</{name}>"


@cache
def _own(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8")


def _head(title: str) -> str:
    digest = base64.b64encode(hashlib.sha256(_own("report.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return _element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        _element("title", text(title)),
        f"<style>{_own('report.css')}</style>",
    )


def _header(seen: Overview) -> str:
    facts = [_element("li", f"{text(label)} ", _element("b", text(value))) for label, value in seen.facts]
    described = _element("p", text(seen.description), class_="quiet") if seen.description else ""
    return _element(
        "header", _element("h1", text(seen.name)), described, _element("ul", *facts, class_="facts")
    )


def _cards(seen: Overview) -> str:
    items = len(seen.items)
    passed = seen.counts["pass"] / items if items else 0
    cards = [
        _card(f"{passed:.0%}", "of items pass"),
        _card(str(items), f"items, {seen.turns} turns"),
        *(_card(str(seen.counts[status]), status, status) for status in STATUSES),
    ]
    parts = [
        f'<i class="{status}" style="flex:{count}"></i>' for status, count in seen.counts.items() if count
    ]
    return _element("section", *cards, class_="cards") + _element("div", *parts, class_="share")


def _card(value: str, label: str, tone: str = "") -> str:
    return _element("div", _element("b", text(value)), text(label), class_=f"card {tone}".strip())


def _totals(seen: Overview) -> Iterator[str]:
    if not seen.totals:
        return
    rows = []
    for total in seen.totals:
        mean = "" if total.mean is None else f"{total.mean:.3g}"
        numbers = (total.count, total.passed, total.failed, total.errors, mean)
        cells = [_element("td", text(number), class_="number") for number in numbers]
        rows.append(_element("tr", _element("th", text(total.evaluator), scope="row"), *cells))
    yield _element("h2", "Evaluators")
    yield _table(_TOTALS_HEAD, rows, numbers=_TOTALS_HEAD[1:])


def _table(head: Iterable[str], rows: Iterable[str], numbers: Iterable[str] = ()) -> str:
    columns = [
        _element("th", text(name), scope="col", class_="number" if name in numbers else None) for name in head
    ]
    table = _element("table", _element("thead", _element("tr", *columns)), _element("tbody", *rows))
    return _element("div", table, class_="wide")


def _tools(seen: Overview) -> str:
    """Return what only the script can serve; it shows itself."""
    counts = {"all": len(seen.items), **seen.counts}
    buttons = [
        _element(
            "button",
            text(f"{name} {count}"),
            type="button",
            class_=name,
            data_show=name,
            aria_pressed=str(name == "all").lower(),
        )
        for name, count in counts.items()
        if count or name == "all"
    ]
    search = '<input id="search" type="search" placeholder="Search" aria-label="Search items">'
    fold = _element("button", "Fold or unfold", type="button", id="fold")
    theme = _element("button", "Dark or light", type="button", id="theme")
    return _element("nav", *buttons, search, fold, theme, class_="tools", hidden="")


def _item(item: ItemRow) -> str:
    title = item.name if len(item.name) <= _LONGEST_TITLE else item.name[: _LONGEST_TITLE - 1] + "…"
    summary = _element(
        "summary",
        _element("span", str(item.number), class_="quiet"),
        _element("span", text(title), class_="title"),
        *([_element("span", f"{len(item.turns)} turns", class_="quiet")] if item.thread else []),
        _badge(item.status),
    )
    described = item.data.get("description") if item.thread else ""
    body = [_element("p", text(described), class_="quiet")] if described else []
    body += [_turn(turn, numbered=item.thread) for turn in item.turns]
    return _element(
        "details",
        summary,
        _element("div", *body, class_="body"),
        class_=f"item {item.status}",
        data_status=item.status,
        open=None if item.status == "pass" else "",
    )


def _badge(status: str) -> str:
    return _element("span", text(status), class_=f"badge {status}")


def _turn(turn: TurnRow, *, numbered: bool) -> str:
    head = [_element("h3", f"Turn {turn.number}", _badge(turn.status))] if numbered else []
    texts = [
        _element("div", _element("h4", label), _element("pre", text(turn.data[key]), class_="text"))
        for key, label in _TEXTS.items()
        if turn.data.get(key)
    ]
    error = [_element("p", text(turn.error), class_=f"problem {turn.status}")] if turn.error else []
    return _element(
        "section",
        *head,
        *error,
        _element("div", *texts, class_="texts"),
        *_scores(turn.scores),
        *_citations(turn.data.get("citations", [])),
        class_="turn",
    )


def _scores(scores: tuple[Score, ...]) -> Iterator[str]:
    if scores:
        rows = [_score(score) for score in scores]
        yield _element("div", _table(_SCORE_HEAD, rows, numbers=("Score", "Threshold")), class_="scores")


def _score(score: Score) -> str:
    meter = "" if score.share is None else f'<meter min="0" max="1" value="{score.share:.3f}"></meter>'
    return _element(
        "tr",
        _element("th", text(score.evaluator), scope="row"),
        _element("td", text(score.result), class_=f"result {score.result}"),
        _element("td", text(score.value), meter, class_="number"),
        _element("td", text(score.threshold), class_="number"),
        _element("td", text(score.reason), class_="reason"),
    )


def _citations(citations: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the sources of a response. They are text, no links: a page of results leads nowhere."""
    if citations:
        lines = [
            " ".join(str(part) for part in (f"[{one['index']}]", one.get("text"), one.get("source")) if part)
            for one in citations
        ]
        yield _element("h3", "Citations")
        yield _element("pre", text("\n".join(lines)), class_="text")
