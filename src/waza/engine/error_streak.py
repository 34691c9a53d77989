"""Whether one and the same fault breaks trial after trial, so that going on would only cost time."""

from __future__ import annotations

import re

_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|\d+")  # ids, ports and durations, which are others each time
_SHOWN = 300  # characters of a cause


class ErrorStreak:
    """Counts trials in a row that broke for one cause, in the executor or outside; `most` of them are enough, 0 never."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._cause, self._count = "", 0

    def add(self, broke: str) -> str:
        """Take a trial that ended, with the executor's error or an empty text; return why to stop, or nothing."""
        cause = _CHANGING.sub("#", broke)
        self._count = 0 if not cause else self._count + 1 if cause == self._cause else 1
        self._cause = cause
        if not self.most or self._count < self.most:
            return ""
        return (
            f"{self._count} trials in a row broke for one cause: {' '.join(broke.split())[:_SHOWN]}; mend it, and "
            "go on with --resume (config.stop_after_errors)"
        )
