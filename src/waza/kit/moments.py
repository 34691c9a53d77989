"""Moments as files have them, in RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime

EARLIEST = datetime.min.replace(tzinfo=UTC)
"""Before all others: where what has no moment is sorted."""


def read_moment(text: str) -> datetime | None:
    """Return the moment that a text names, in UTC where it names no time zone; None where it is not a moment."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def write_now() -> str:
    """Return the present moment in UTC, to the second: `2026-01-31T12:00:00Z`."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
