"""Reports on exceptions of user code: one line, the place, and the traceback, without the frames of waza."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import NamedTuple

MAX_TRACEBACK = 16_000  # characters of a traceback, whose end counts
_OURS = (str(Path(__file__).parents[1]) + os.sep, "<frozen importlib")
_STANDARD = str(Path(os.__file__).parent) + os.sep


class SourceLocation(NamedTuple):
    """A place in a source file, with the code there; `function` is empty where the code does not even parse."""

    file: str
    line: int
    column: int
    code: str
    function: str = ""

    def __str__(self) -> str:
        """Return it as messages have it."""
        where = f", in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}{where}: {self.code}"


class ExceptionReport(NamedTuple):
    """An exception without the frames of waza: where it was raised in other code (or None), and its traceback."""

    error: BaseException
    place: SourceLocation | None
    traceback: str

    @property
    def text(self) -> str:
        """What kind of exception it is, what it says, and where it was raised; of our own mistakes the last line."""
        place = self.place or next(reversed(_places(self.error)), None)
        return f"{type(self.error).__name__}: {self.error}{f' ({place})' if place else ''}"


def describe_exception(error: BaseException, folder: str = "") -> ExceptionReport:
    """Return a report on an exception that user code raised.

    The place is the last one in `folder`, where that is given and has one, else the last one that is neither ours nor
    in the standard library, else the last one that is not ours.
    """
    frames = traceback.extract_tb(error.__traceback__)
    shown = traceback.TracebackException.from_exception(error)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    shown.stack = traceback.StackSummary.from_list(theirs or frames[-1:])
    places = [place for place in _places(error) if not place.file.startswith(_OURS)]
    inside = [place for place in places if folder and place.file.startswith(folder + os.sep)]
    theirs_alone = [place for place in places if not _is_standard(place.file)]
    return ExceptionReport(
        error,
        next(reversed(inside or theirs_alone or places), None),
        "".join(shown.format())[-MAX_TRACEBACK:],
    )


def _is_standard(file: str) -> bool:
    """Return whether a file is of the standard library, whose directory may hold that of installed packages."""
    return file.startswith(_STANDARD) and not {"site-packages", "dist-packages"} & {*Path(file).parts}


def _places(error: BaseException) -> list[SourceLocation]:
    """Return the places through which an exception came, its own one last."""
    places = [
        SourceLocation(
            frame.filename, frame.lineno or 0, (frame.colno or 0) + 1, frame.line or "", frame.name
        )
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        code = (error.text or "").strip()
        places.append(SourceLocation(error.filename, error.lineno or 0, error.offset or 1, code))
    return places
