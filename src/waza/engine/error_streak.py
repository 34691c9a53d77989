"""Whether the same fault breaks trial after trial, so that continuing would only cost time."""

from __future__ import annotations

import re

_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|\d+")  # ids, ports and durations, which are others each time
_BETWEEN = re.compile(r"""[\s=:,;/"'()<>{}\[\]]+""")  # words
_SHOWN = 300  # characters of a cause


class ErrorStreak:
    """Counts trials that broke for one cause since one did not; `limit` of them are a reason to stop, 0: never.

    Causes are the same if their messages are, but for a third of the words: an id may be made of letters alone.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._counts: list[
            tuple[list[str], int]
        ] = []  # the words of each cause, and how often it broke a trial

    def add(self, error: str) -> str:
        """Add a finished trial by the error that broke it, "" if none did; return why to stop, or ""."""
        if not error:
            self._counts.clear()
            return ""
        count = self._count(_BETWEEN.split(_CHANGING.sub("#", error)))
        if not self.limit or count < self.limit:
            return ""
        return (
            f"{count} trials in a row broke for one cause: {' '.join(error.split())[:_SHOWN]}; mend it, and "
            "go on with --resume (config.stop_after_errors)"
        )

    def _count(self, words: list[str]) -> int:
        """Count a cause, and return how often it occurred."""
        for index, (known, count) in enumerate(self._counts):
            if _similar(known, words):
                self._counts[index] = (known, count + 1)
                return count + 1
        self._counts.append((words, 1))
        return 1


def _similar(one: list[str], other: list[str]) -> bool:
    differing = sum(a != b for a, b in zip(one, other, strict=False))
    return len(one) == len(other) and differing * 3 <= len(one)
