"""Results of evaluation documents below the root: their items, turns and what evaluators said."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.dashboard.catalogue import Catalogue
from waza.dashboard.file_cache import FileCache
from waza.dashboard.pages import (
    DocumentPage,
    DocumentSummary,
    DocumentTurnPage,
    EvaluatorScore,
    EvaluatorTotals,
    ItemPage,
)
from waza.dashboard.run_pages import named_values
from waza.dashboard.summaries import matches
from waza.errors import WazaError
from waza.kit.os_errors import describe_error
from waza.m365.document.read import read_document
from waza.m365.results.overview import STATUSES, ItemRow, Overview, TurnRow, make_overview

_TITLE = 200  # characters
_WORST_FIRST = {status: place for place, status in enumerate(("error", "fail", "partial", "pass"))}


class Documents:
    """The documents below the root. What lists show of one is kept while its file does not change."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._known = FileCache[DocumentSummary]()

    def summaries(self) -> list[DocumentSummary]:
        """Return all documents with results, by their paths."""
        with self._lock:
            return [self._summary(path) for path in self._catalogue.files("document")]

    def page(
        self, name: str, *, limit: int, offset: int, status: str | None, q: str | None
    ) -> tuple[DocumentPage, int] | None:
        """Return a document with a slice of the items that are wanted, and how many these are; None: not there.

        Raises WazaError for a file that is no document, OSError.
        """
        path = next(
            (one for one in self._catalogue.files("document") if self._catalogue.name(one) == name), None
        )
        if path is None:
            return None
        report = read_overview(path)
        wanted = [
            item for item in worst_first(report) if status in (None, item.status) and (not q or _has(item, q))
        ]
        return make_document_page(name, report, wanted[offset : offset + limit]), len(wanted)

    def _summary(self, path: Path) -> DocumentSummary:
        name = self._catalogue.name(path)
        try:
            return self._known.get(path, lambda: _summarize(name, read_overview(path)))
        except (WazaError, OSError) as error:
            why = describe_error(error)
            return DocumentSummary(
                id=name,
                name=path.name,
                facts=[],
                items=0,
                turns=0,
                counts=dict.fromkeys(STATUSES, 0),
                error=why,
            )


def read_overview(path: Path) -> Overview:
    """Return what reports show of a document with results. Raises WazaError for a file that is no document, OSError."""
    return make_overview(read_document(path).data, path.stem)


def worst_first(report: Overview) -> list[ItemRow]:
    """Return the items of a document, those that went worst first."""
    return sorted(report.items, key=lambda item: _WORST_FIRST.get(item.status, 0))


def make_document_page(name: str, report: Overview, items: Sequence[ItemRow]) -> DocumentPage:
    """Return the page of a document with some of its items; `name` is its id."""
    return DocumentPage(
        document=_summarize(name, report),
        description=str(report.description),
        totals=[
            EvaluatorTotals(
                evaluator=one.evaluator,
                asked=one.count,
                passed=one.passed,
                failed=one.failed,
                errors=one.errors,
                mean=one.mean,
            )
            for one in report.totals
        ],
        items=[_item(item) for item in items],
    )


def _summarize(name: str, report: Overview) -> DocumentSummary:
    return DocumentSummary(
        id=name,
        name=str(report.name),
        facts=named_values(report.facts),
        items=len(report.items),
        turns=report.turns,
        counts=dict(report.counts),
        error="",
    )


def _has(item: ItemRow, q: str) -> bool:
    texts = [str(turn.data.get(key, "")) for turn in item.turns for key in ("prompt", "response")]
    return matches(q, item.id, item.name, *texts)


def _item(item: ItemRow) -> ItemPage:
    first = str(item.turns[0].data.get("prompt", "")) if item.turns else ""
    return ItemPage(
        number=item.number,
        title=(item.name or first)[:_TITLE],
        description=str(item.data.get("description", "")) if item.thread else "",
        conversation_id=str(item.data.get("conversation_id", "")),
        status=item.status,
        gist=_gist(item.turns),
        turns=[_turn(turn) for turn in item.turns],
    )


def _gist(turns: Sequence[TurnRow]) -> str:
    """Return why an item did not pass: the first error, else the evaluators that did not pass."""
    for turn in turns:
        if turn.error:
            return turn.error
        if bad := [score.evaluator for score in turn.scores if score.result != "pass"]:
            return f"not passed: {', '.join(bad)}"
    return ""


def _turn(turn: TurnRow) -> DocumentTurnPage:
    data = turn.data
    return DocumentTurnPage(
        prompt=str(data.get("prompt", "")),
        expected_response=str(data.get("expected_response", "")),
        response=str(data.get("response", "")),
        status=turn.status,
        error=turn.error,
        scores=[
            EvaluatorScore(
                evaluator=one.evaluator,
                result=one.result,
                score=one.value,
                threshold=one.threshold,
                reason=one.reason,
                details=_details(data, one.evaluator),
            )
            for one in turn.scores
        ],
        citations=data.get("citations"),
        diagnostics=data.get("diagnostics"),
    )


def _details(data: Any, evaluator: str) -> dict[str, Any]:
    found = data.get("scores", {}).get(evaluator)
    return found if isinstance(found, dict) else msgspec.to_builtins({"value": found})
