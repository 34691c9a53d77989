"""The standard streams as every command finds them: open, and with patience for readers who leave early."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


def is_debug() -> bool:
    """Return whether a command was called with `--debug`, at any position."""
    return "--debug" in sys.argv


def prepare_streams() -> None:
    """Open streams that are closed (`2>&-`), and make the output patient.

    A closed one leads to nowhere, so that no other file gets its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # open to the end; one import less at the start
        elif mode == "w" and not stream.isatty():
            setattr(sys, name, patient(stream))


def patient(stream: TextIO) -> TextIO:
    """Return a stream to the same file for which a reader who left (`| head`) is no trouble.

    What is left is then dropped without a word, and the command goes on: its exit code says what it found,
    not who read it.
    """
    raw = _Patient(stream.fileno(), "w", closefd=False)
    at_once = getattr(stream, "write_through", False)  # as with `python -u`
    return io.TextIOWrapper(
        raw if at_once else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=getattr(stream, "line_buffering", False),
        write_through=at_once,
    )


def silence(stream: TextIO) -> None:
    """Point a stream to nowhere, so that what it still holds disturbs nobody when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        _lead_nowhere(stream.fileno())


class _Patient(io.FileIO):
    def write(self, data: Buffer, /) -> int:
        """Write, or do as if, once nobody reads any more."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _lead_nowhere(self.fileno())
            return super().write(data)


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
