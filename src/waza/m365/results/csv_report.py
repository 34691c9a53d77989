"""Results as CSV, for spreadsheets: facts about the run, totals, single questions, conversations."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from waza.kit.csv_text import csv_cell
from waza.kit.unsafe_text import escape_unsafe, escape_unsafe_json
from waza.m365.results.overview import ItemRow, Overview, Score, TurnRow, make_overview

_BYTE_ORDER_MARK = "\ufeff"  # without it, spreadsheets take UTF-8 for an older encoding

_TURN = ("status", "prompt", "response", "expected_response", "context", "error")


def to_csv(result: dict[str, Any], title: str = "") -> str:
    """Return a result document as CSV: lines that begin with `#`, then up to three tables with heads of their own.

    Besides the `scores` as JSON, every evaluator has a column with its value. A cell that a spreadsheet
    would compute begins with an apostrophe. Texts are made harmless.
    """
    report = make_overview(result, title)
    names = [total.evaluator for total in report.totals]
    singles = [item for item in report.items if not item.thread]
    threads = [item for item in report.items if item.thread]
    file = io.StringIO(newline="")
    file.write(_BYTE_ORDER_MARK)
    for line in _facts(report):
        file.write(f"# {line}\r\n")
    writer = csv.writer(file)
    if report.totals:
        _table(writer, ["evaluator", "evaluated", "passed", "failed", "errors", "mean"], _totals(report))
    if singles:
        _table(writer, ["item", "id", *_TURN, *names, "scores"], _singles(singles, names))
    if threads:
        head = ["item", "id", "conversation", "conversation_status", "turn", *_TURN, *names, "scores"]
        _table(writer, head, _threads(threads, names))
    return file.getvalue()


def _table(writer: Any, head: list[str], rows: Iterable[list[str]]) -> None:
    """Write a table, parted from what is before it by an empty line."""
    writer.writerow([])
    writer.writerow([csv_cell(name) for name in head])
    writer.writerows([csv_cell(value) for value in row] for row in rows)


def _facts(report: Overview) -> Iterator[str]:
    counts = ", ".join(f"{count} {status}" for status, count in report.counts.items())
    facts = [("Name", report.name), ("Description", report.description), *report.facts]
    for label, value in [*facts, ("Items", f"{len(report.items)} ({counts})"), ("Turns", str(report.turns))]:
        if value:
            yield escape_unsafe(f"{label}: {' '.join(value.split())}")


def _totals(report: Overview) -> Iterator[list[str]]:
    for total in report.totals:
        mean = "" if total.mean is None else f"{total.mean:.4g}"
        counts = (total.count, total.passed, total.failed, total.errors)
        yield [total.evaluator, *map(str, counts), mean]


def _singles(items: list[ItemRow], names: list[str]) -> Iterator[list[str]]:
    for item in items:
        yield [str(item.number), item.id, *_turn(item.turns[0], names)]


def _threads(items: list[ItemRow], names: list[str]) -> Iterator[list[str]]:
    for item in items:
        for turn in item.turns:
            yield [str(item.number), item.id, item.name, item.status, str(turn.number), *_turn(turn, names)]


def _turn(turn: TurnRow, names: list[str]) -> list[str]:
    texts = [str(turn.data.get(key, "")) for key in ("prompt", "response", "expected_response", "context")]
    values = {score.evaluator: _value(score) for score in turn.scores}
    scores = escape_unsafe_json(json.dumps(turn.data.get("scores", {}), ensure_ascii=False))
    return [turn.status, *texts, turn.error, *(values.get(name, "") for name in names), scores]


def _value(score: Score) -> str:
    return score.value or score.result if score.number is None else f"{score.number:g}"
