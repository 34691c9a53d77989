"""Standard output and standard error, which may be full, closed, or read by somebody who had enough."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from waza.errors import WazaError
from waza.report.terminal import has_colour
from waza.report.words import printer


def tell(message: str) -> None:
    """Say something on standard error; nothing happens where nobody can hear it."""
    try:
        printer(sys.stderr)(message)
    except OSError:
        silence(sys.stderr)  # else what it still holds would change the exit code


def silence(stream: TextIO) -> None:
    """Point a stream to nowhere, so that what it still holds disturbs nobody when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Output:
    """Standard output for reports. Trouble with it is kept for the end: a run must not stop for it.

    A reader who leaves early (`| head`) is no trouble: what is left is dropped without a word.
    """

    def __init__(self) -> None:
        self._print = printer(sys.stdout, colour=has_colour(sys.stdout, os.environ))
        self._trouble: OSError | None = None

    def line(self, text: str) -> None:
        """Print a line, or several joined by newlines."""
        self._try(lambda: self._print(text))

    def write(self, chunks: Iterable[bytes]) -> None:
        """Write a document as it is."""
        self._try(lambda: sys.stdout.buffer.writelines(chunks))

    def close(self) -> None:
        """Show what is still held back. Raises WazaError if anything could not be written."""
        self._try(sys.stdout.flush)
        if self._trouble is not None and not isinstance(self._trouble, BrokenPipeError):
            raise WazaError(f"cannot write the output: {self._trouble.strerror}")

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._trouble = self._trouble or error
            silence(sys.stdout)
