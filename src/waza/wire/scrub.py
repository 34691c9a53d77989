"""What differs in requests from run to run, though agent and suite are the same: it is taken out before they are compared.

The list is short on purpose, since whatever is taken out is not compared: keys of requests that only say who asks, paths of
workspaces and temporary directories, UUIDs, ports of this machine, and times and dates of the day on which the request was
made. A path of the suite becomes one relative to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_WHO = frozenset({"client_metadata", "metadata", "prompt_cache_key", "safety_identifier", "user"})
_DEEPEST = 200  # levels; no agent nests so deep
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
# The directories that waza makes: their place, process and random end, and the numbers in the order in which they were made.
_TEMPORARY = re.compile(
    r"(?:[A-Za-z]:)?[^\s\"'<>`=:]*?[/\\]waza-([a-z]+)-\d+-[A-Za-z0-9_]{8}\b(?:([/\\])(?:\d{5}-|([a-z]+)-\d+\b))?"
)
_PORT = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b")
_TIME = re.compile(r"\b(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d)\b)?)?")


class Scrubber:
    """Scrubs the requests of an attempt. `places` are directories by the words that stand for them."""

    def __init__(self, places: Mapping[str, str]) -> None:
        found = sorted(
            ((path, word) for word, path in places.items() if len(path) > 1), key=lambda one: -len(one[0])
        )
        self._places = {path: f"<{word}>" for path, word in found}
        self._place = re.compile(
            "|".join(rf"{re.escape(path)}(?![\w.-])" for path in self._places) or r"(?!)"
        )
        now = datetime.now(UTC)
        # Whatever time zone the agent is in.
        self._days = {(now + timedelta(days=days)).date().isoformat() for days in (-1, 0, 1)}

    def request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request without what differs from run to run."""
        return {key: self._value(value, 0) for key, value in request.items() if key not in _WHO}

    def text(self, text: str) -> str:
        """Return a text without what differs from run to run."""
        text = self._place.sub(lambda found: self._places[found[0]], text)
        text = _TEMPORARY.sub(_temporary, text)
        text = _UUID.sub("<uuid>", text)
        text = _PORT.sub(r"\1:<port>", text)
        return _TIME.sub(self._moment, text)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth >= _DEEPEST:
            return "<too deep>"
        if isinstance(value, dict):
            return {key: self._value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, depth + 1) for item in value]
        return value

    def _moment(self, found: re.Match[str]) -> str:
        if found[1] not in self._days:
            return found[0]
        return "<time>" if found[2] else "<date>"


def _temporary(found: re.Match[str]) -> str:
    kind, separator, part = found.groups()
    below = "" if separator is None else f"{separator}{part}-N" if part else f"{separator}N-"
    return f"<temporary {kind}>{below}"


def first_difference(recorded: Any, asked: Any) -> tuple[str, str, str] | None:
    """Return the path of the first place where two requests differ, and both texts there; None: they are the same."""
    return next(_differences(recorded, asked, ""), None)


def _differences(one: Any, other: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _differences(
                one.get(key, _ABSENT), other.get(key, _ABSENT), f"{path}.{key}".lstrip(".")
            )
    elif isinstance(one, list) and isinstance(other, list):
        for index in range(max(len(one), len(other))):
            pair = [items[index] if index < len(items) else _ABSENT for items in (one, other)]
            yield from _differences(pair[0], pair[1], f"{path}[{index}]")
    elif type(one) is not type(other) or one != other:
        yield path, *_around(_shown(one), _shown(other))


_ABSENT = object()
_AROUND = 60  # characters before and behind the first that differs


def _shown(value: Any) -> str:
    return "(nothing)" if value is _ABSENT else value if isinstance(value, str) else repr(value)


def _around(one: str, other: str) -> tuple[str, str]:
    """Return both texts around the first character that differs."""
    start = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    begin = max(0, start - _AROUND)
    return _piece(one, begin, start), _piece(other, begin, start)


def _piece(text: str, begin: int, start: int) -> str:
    end = start + _AROUND
    return f"{'...' if begin else ''}{text[begin:end]}{'...' if end < len(text) else ''}"
