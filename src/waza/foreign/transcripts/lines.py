"""The lines of a JSONL transcript, one after another: a file of any size is read in bounded memory."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, TypeVar

import msgspec

from waza.errors import WazaError
from waza.foreign.notes import Notes
from waza.kit.json_text import read_loose_json
from waza.kit.text import list_first, pluralize

MAX_LINE = 64 * 1024 * 1024  # bytes
MAX_HELD = 512 * 1024 * 1024  # bytes of all lines that say something of the session
_LISTED = 5  # names in a note
_SHOWN = 40  # characters of a name
_COUNTED, _OTHERS = 100, "others"  # how many types are counted by name

T = TypeVar("T")


class TranscriptLines:
    """Goes through a transcript once. What cannot be read is noted at the end, and never passed over in silence."""

    def __init__(self, file: BinaryIO, name: str, notes: Notes) -> None:
        self.name, self.notes = name, notes
        self.unread: list[int] = []  # numbers of lines that are damaged, or of a shape that is not known
        self._file = file
        self._unknown = Counter[str]()
        self._number = self._held = 0
        self._last_is_whole = True

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines that are not blank. Raises WazaError for one that is too large, and OSError."""
        while line := self._file.readline(MAX_LINE + 1):
            self._number += 1
            if len(line) > MAX_LINE:
                raise WazaError(
                    f"{self.name}:{self._number}: the line is longer than {MAX_LINE >> 20} MB, which no session "
                    "needs; remove what it holds, such as images, and try again"
                )
            if self._number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            self._last_is_whole = line.endswith(b"\n")
            if line := line.strip():
                yield line
        self._add_notes()

    def hold(self, line: bytes) -> None:
        """Count a line of which something is kept. Raises WazaError when that is too much to be kept."""
        self._held += len(line)
        if self._held > MAX_HELD:
            raise WazaError(
                f"{self.name}: the session holds more than {MAX_HELD >> 20} MB of messages and results, too much "
                "to be graded"
            )

    def decode(self, line: bytes, kind: type[T]) -> T | None:
        """Return a line as a value of a type; None for one that cannot be read so, which is noted."""
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.ValidationError:
            pass
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            # Other writers of JSON let halves of surrogate pairs, and numbers that are not finite, pass.
            found = self._decode_leniently(line, kind)
            if found is not None:
                return found
        self.unread.append(self._number)
        return None

    def _decode_leniently(self, line: bytes, kind: type[T]) -> T | None:
        try:
            return msgspec.convert(read_loose_json(line), kind)
        except (ValueError, RecursionError, msgspec.ValidationError):
            return None

    def unknown(self, kind: str) -> None:
        """Count a line of a type that is not known."""
        name = kind[:_SHOWN]
        self._unknown[name if name in self._unknown or len(self._unknown) < _COUNTED else _OTHERS] += 1

    @property
    def is_torn(self) -> bool:
        """Whether the last line has no end, and cannot be read."""
        return not self._last_is_whole and self._number in self.unread

    @property
    def damage(self) -> str:
        """What cannot be read besides a torn last line, in one sentence; empty: nothing."""
        lines = [number for number in self.unread if not (self.is_torn and number == self._number)]
        if not lines:
            return ""
        listed = list_first([str(number) for number in lines], _LISTED)
        return f"{pluralize(len(lines), 'line')} of the transcript cannot be read ({listed})"

    def _add_notes(self) -> None:
        self.unread = sorted(set(self.unread))
        if self.is_torn:
            self.notes.add(
                self.name,
                "the last line",
                "it is cut off, as it is when a program is killed; what came before was read",
                line=self._number,
                unchecked=True,
            )
        if damage := self.damage:
            self.notes.add(
                self.name, "damage", f"{damage}, so part of the session is not known", unchecked=True
            )
        if self._unknown:
            names = [f"{name!r} ({count})" for name, count in self._unknown.most_common()]
            self.notes.add(
                self.name, "types of lines that are not known", f"left out: {list_first(names, _LISTED)}"
            )
