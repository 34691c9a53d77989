"""What an agent says besides its answer: its citations, and diagnostics such as the searches that it ran.

The form is that of evaluation documents: `citations` is a list of objects, `diagnostics` an object, which may hold
`retrieval_executions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

CITATIONS, DIAGNOSTICS, SEARCHES = "citations", "diagnostics", "retrieval_executions"


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer and what came with it."""

    response: str = ""
    citations: list[dict[str, Any]] = []
    diagnostics: dict[str, Any] = {}


def answer_from_metadata(metadata: Mapping[str, Any]) -> AgentAnswer:
    """Return what the metadata of an answer say; keys without a meaning of their own are diagnostics.

    Whole numbers may come as 1.0, since some protocols know no others.
    """
    plain = {key: _whole(value) for key, value in metadata.items()}
    citations, own = plain.pop(CITATIONS, None), plain.pop(DIAGNOSTICS, None)
    return AgentAnswer(
        citations=[one for one in citations if isinstance(one, dict)] if isinstance(citations, list) else [],
        diagnostics={**plain, **(own if isinstance(own, dict) else {})},
    )


def answer_from_json(text: str) -> AgentAnswer:
    """Return what an answer in JSON says: an object with `response` and perhaps `citations` and `diagnostics`.

    Any other text is the answer itself, also an object with other keys. Raises ValueError for
    an object that is nearly one of these.
    """
    found = _object(text)
    others = found.keys() - {"response", CITATIONS, DIAGNOSTICS}
    if not isinstance(found.get("response"), str) or (others and not {CITATIONS, DIAGNOSTICS} & found.keys()):
        return AgentAnswer(response=text)
    if others:
        raise ValueError(f"unknown key {min(others)!r} beside 'response'; put it into '{DIAGNOSTICS}'")
    try:
        return msgspec.convert(found, AgentAnswer)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _object(text: str) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
