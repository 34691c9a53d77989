"""What commands write to standard output and standard error, which may be full."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

from waza.cli.standard import silence
from waza.errors import WazaError
from waza.report.terminal import has_colour
from waza.report.words import printer


def tell(message: str) -> None:
    """Say something on standard error; nothing happens where nobody can hear it."""
    try:
        printer(sys.stderr)(message)
    except OSError:
        silence(sys.stderr)  # else what it still holds would change the exit code


class Output:
    """Standard output for reports. Trouble with it is kept for the end: a run must not stop for it."""

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
        if self._trouble is not None:
            raise WazaError(f"cannot write the output: {self._trouble.strerror}")

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._trouble = self._trouble or error
            silence(sys.stdout)
