"""What of a foreign file has no equal here, or becomes something else: listed, never passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not carried over as it was. `str()` returns the line that is shown.

    `file` is the file that it is in, as messages name it, and `line` its line from 1; 0 means the file as a whole.
    `what` names the key, the grader or the kind of record; `message` says what becomes of it.
    `count`: how often it occurs. `unchecked`: something is not checked because of it, or less strictly, so
    reports of runs say it as well.
    """

    file: str
    what: str
    message: str
    line: int = 0
    count: int = 1
    unchecked: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{place}: {self.what}: {self.message}{times}"


class Notes:
    """The notes on what is being read, in their order. Equal ones on the same file are counted, not repeated."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str, str], Note] = {}

    def add(
        self, file: str, what: str, message: str, *, line: int = 0, count: int = 1, unchecked: bool = False
    ) -> None:
        """Add a note; where there is one with the same file, subject and message, add to its count."""
        key = (file, what, message)
        known = self._notes.get(key)
        if known is not None:
            changes = {"count": known.count + count, "unchecked": known.unchecked or unchecked}
            self._notes[key] = msgspec.structs.replace(known, **changes)
            return
        self._notes[key] = Note(
            file=file, what=what, message=message, line=line, count=count, unchecked=unchecked
        )

    def extend(self, notes: Iterable[Note]) -> None:
        """Add all notes of others."""
        for note in notes:
            self.add(
                note.file, note.what, note.message, line=note.line, count=note.count, unchecked=note.unchecked
            )

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes.values())

    def __len__(self) -> int:
        return len(self._notes)
