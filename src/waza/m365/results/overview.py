"""A result document as reports show it: items with their turns and scores, counts, and totals by evaluator.

Results of other programs are read as well; what older ones lack follows from the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waza.m365.document.ids import declared_id, item_id
from waza.m365.document.model import Status
from waza.m365.document.scores import (
    SCORES,
    TRACEBACKS,
    JudgedScore,
    PartialMatchScore,
    RetrievalQueryScore,
    RetrievalResultScore,
)
from waza.m365.results.status import overall_status

STATUSES: tuple[Status, ...] = ("pass", "fail", "partial", "error")
FACTS = {
    "evaluatedAt": "Evaluated",
    "agentName": "Agent",
    "agentId": "Agent id",
    "judge": "Judge",
    "cliVersion": "Program",
    "createdAt": "Created",
    "createdBy": "Author",
}
_OF_SHARES = (PartialMatchScore, RetrievalQueryScore, RetrievalResultScore)


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """The score of one evaluator: `value` as text, and `number`, not rounded, where it is one.

    Where its scale has ends, `share` and `mark` are the places of number and threshold on it, from 0 to 1.
    """

    evaluator: str
    result: str
    value: str
    number: float | None
    share: float | None
    mark: float | None
    threshold: str
    reason: str
    traceback: str = ""


class TurnRow(msgspec.Struct, frozen=True, kw_only=True):
    """One turn; `data` is what the document has of it."""

    number: int
    status: Status
    data: Mapping[str, Any]
    scores: tuple[Score, ...]

    @property
    def error(self) -> str:
        """Why it has no response, or not every result; empty where it has both."""
        error = self.data.get("error", {})
        return f"{error['message']} ({error['code']})" if error else ""


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """One item; `thread` tells conversations from single questions, `named` whether the document has its `id`."""

    number: int
    id: str
    named: bool
    name: str
    status: Status
    thread: bool
    turns: tuple[TurnRow, ...]
    data: Mapping[str, Any]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of one evaluator over all turns. `mean`: None if its scores are not numbers."""

    evaluator: str
    passed: int
    failed: int
    errors: int
    mean: float | None

    @property
    def count(self) -> int:
        """How often it was asked."""
        return self.passed + self.failed + self.errors


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A result document: facts about it, its items, and counts of items by status."""

    name: str
    description: str
    facts: tuple[tuple[str, str], ...]
    items: tuple[ItemRow, ...]
    counts: Mapping[str, int]
    totals: tuple[Totals, ...]

    @property
    def turns(self) -> int:
        """The number of all turns."""
        return sum(len(item.turns) for item in self.items)


def make_overview(result: Mapping[str, Any], title: str = "") -> Overview:
    """Return the overview of a valid document with results; `title` is its name if it has none of its own."""
    metadata = result.get("metadata", {})
    taken = set[str]()
    items = tuple(_item(number, item, taken) for number, item in enumerate(result["items"], 1))
    counts = Counter(item.status for item in items)
    return Overview(
        name=metadata.get("name") or title or "Evaluation",
        description=metadata.get("description", ""),
        facts=tuple((label, str(metadata[key])) for key, label in FACTS.items() if metadata.get(key)),
        items=items,
        counts={status: counts[status] for status in STATUSES},
        totals=_totals(items),
    )


def _item(number: int, item: Mapping[str, Any], taken: set[str]) -> ItemRow:
    thread = "turns" in item
    turns = tuple(_turn(i, turn) for i, turn in enumerate(item["turns"] if thread else [item], 1))
    status = item.get("summary", {}).get("overall_status") or overall_status([turn.status for turn in turns])
    name = item.get("name") or turns[0].data["prompt"]
    return ItemRow(
        id=item_id(number, item, taken),
        named=bool(declared_id(item)),
        number=number,
        name=name,
        status=status,
        thread=thread,
        turns=turns,
        data=item,
    )


def _turn(number: int, turn: Mapping[str, Any]) -> TurnRow:
    traces = turn.get("diagnostics", {}).get(TRACEBACKS)
    known = traces if isinstance(traces, dict) else {}
    scores = tuple(
        _score(name, entry, str(known.get(name, ""))) for name, entry in turn.get("scores", {}).items()
    )
    return TurnRow(number=number, status=turn.get("status") or _status_by(scores), data=turn, scores=scores)


def _status_by(scores: Sequence[Score]) -> Status:
    """Return the status of a turn that has none, as documents before 1.4 have it."""
    results = {score.result for score in scores}
    return "partial" if "error" in results else "fail" if "fail" in results else "pass"


def _score(name: str, entry: object, traceback: str) -> Score:
    found: Mapping[str, Any] = entry if isinstance(entry, dict) else {}
    number = found.get("score", found.get("count"))
    if not isinstance(number, int | float) or isinstance(number, bool):
        number = None
    value = "" if number is None else format_number(number)
    if "match" in found:
        value = "equal" if found["match"] else "different"
    threshold = found.get("threshold")
    if not isinstance(threshold, int | float):
        threshold = None
    return Score(
        evaluator=name,
        result=str(found.get("result", "")),
        value=value,
        number=number,
        share=_share(name, number),
        mark=_share(name, threshold),
        threshold="" if threshold is None else format_number(threshold),
        reason=str(found.get("error") or found.get("reason") or ""),
        traceback=traceback,
    )


def format_number(number: float) -> str:
    """Return a number with four significant digits, or more if it is large."""
    return f"{number:.0f}" if 1000 <= abs(number) < 1e12 else f"{number:.4g}"


def _share(name: str, number: float | None) -> float | None:
    """Return where on its evaluator's scale a number is, from 0 to 1."""
    kind = SCORES.get(name)
    if number is None or kind is None:
        return None
    if kind is JudgedScore:
        return (number - 1) / 4
    return float(number) if kind in _OF_SHARES else None


def _totals(items: Sequence[ItemRow]) -> tuple[Totals, ...]:
    by_name: dict[str, list[Score]] = {}
    for item in items:
        for turn in item.turns:
            for score in turn.scores:
                by_name.setdefault(score.evaluator, []).append(score)
    return tuple(_total(name, scores) for name, scores in by_name.items())


def _total(name: str, scores: Sequence[Score]) -> Totals:
    results = Counter(score.result for score in scores)
    numbers = [score.number for score in scores if score.number is not None]
    return Totals(
        evaluator=name,
        passed=results["pass"],
        failed=results["fail"],
        errors=results["error"],
        mean=sum(numbers) / len(numbers) if numbers else None,
    )
