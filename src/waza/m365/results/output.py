"""The result document: the input with its results. It is valid, and can be an input again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.kit.files import write_atomic
from waza.kit.json_nodes import dump
from waza.m365.document.read import EvalDocument
from waza.m365.document.scores import TRACEBACKS
from waza.m365.results import csv_report, html_report
from waza.m365.results.status import TurnOutcome, error_of, scores_of, status_of, summary_of, tracebacks_of
from waza.version import __version__

_OF_TURN = frozenset({"response", "citations", "scores", "diagnostics", "status", "error"})

_FORMATS: Mapping[str, Callable[[dict[str, Any], str], str]] = {
    ".json": lambda result, _: dump(result),
    ".csv": csv_report.to_csv,
    ".html": html_report.to_html,
}


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """When, by which agent and judge, the document was evaluated; empty names are left out.

    `recorded`: the responses are those of the document, and so are the conversations.
    """

    evaluated_at: datetime
    agent_name: str = ""
    judge: str = ""
    recorded: bool = False


def result_document(
    document: EvalDocument, outcomes: Sequence[Sequence[TurnOutcome]], facts: RunFacts
) -> dict[str, Any]:
    """Return the document with its results; those that it came with are replaced.

    `outcomes` has an entry for every item, and in it one for every turn (else ValueError).
    """
    items = document.data["items"]
    if facts.recorded:
        outcomes = [[msgspec.structs.replace(one, session_id="") for one in turns] for turns in outcomes]
    results = [_item(item, turns) for item, turns in zip(items, outcomes, strict=True)]
    metadata = {**document.data.get("metadata", {}), **_metadata(facts)}
    rest = {key: value for key, value in document.data.items() if key != "items"}
    return {**rest, "metadata": metadata, "items": results}


def check_format(path: Path) -> None:
    """Raise UsageError unless results can be written to a file of this name."""
    if path.suffix.lower() not in _FORMATS:
        names = ", ".join(_FORMATS)
        raise UsageError(f"{path} has no known format; end its name with one of {names}")


def write_result(path: Path, result: dict[str, Any], title: str = "") -> None:
    """Write a result document in the format of the file's name. Raises UsageError, or WazaError for trouble.

    `title` is that of reports on documents without a name of their own.
    """
    check_format(path)
    write_atomic(path, _FORMATS[path.suffix.lower()](result, title).encode("utf-8", "replace"))


def _metadata(facts: RunFacts) -> dict[str, str]:
    moment = facts.evaluated_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    given = {"agentName": facts.agent_name, "judge": facts.judge}
    named = {key: value for key, value in given.items() if value}
    return {"evaluatedAt": moment, **named, "cliVersion": f"waza {__version__}"}


def _item(item: dict[str, Any], outcomes: Sequence[TurnOutcome]) -> dict[str, Any]:
    if "turns" not in item:
        (only,) = outcomes
        return _turn(item, only)
    turns = [_turn(turn, outcome) for turn, outcome in zip(item["turns"], outcomes, strict=True)]
    rest = {key: value for key, value in item.items() if key != "summary"}
    if known := next((outcome.session_id for outcome in outcomes if outcome.session_id), ""):
        rest["conversation_id"] = known
    return {**rest, "turns": turns, "summary": summary_of([status_of(outcome) for outcome in outcomes])}


def _turn(turn: dict[str, Any], outcome: TurnOutcome) -> dict[str, Any]:
    result = {key: value for key, value in turn.items() if key not in _OF_TURN}
    result["response"] = outcome.response if outcome.answered else ""
    if outcome.citations:
        result["citations"] = outcome.citations
    result["scores"] = scores_of(outcome)
    traces = tracebacks_of(outcome)  # entries of `scores` are closed, `diagnostics` is open
    if outcome.diagnostics or traces:
        result["diagnostics"] = {**outcome.diagnostics, **({TRACEBACKS: traces} if traces else {})}
    result["status"] = status_of(outcome)
    error = error_of(outcome)
    return result | {"error": error} if error else result
