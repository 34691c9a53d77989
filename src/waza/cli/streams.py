"""What commands write to standard output and standard error, which may be full.

Nothing else writes to them: what is printed here is made harmless, as `waza.kit.unsafe_text` explains.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import click

from waza.cli.std_streams import silence
from waza.errors import WazaError
from waza.kit.unsafe_text import escape_unsafe, escape_unsafe_json
from waza.problem import Problem
from waza.report.section import Draw, Part, plain_draw
from waza.report.table import WIDTH
from waza.report.terminal import has_colour, is_live
from waza.report.words import encodable, make_printer


def print_notice(message: str) -> None:
    """Print a message on standard error; errors of the stream are ignored."""
    try:
        make_printer(sys.stderr)(message)
    except OSError:
        silence(sys.stderr)  # else what it still holds would change the exit code


def print_problems(problems: Iterable[Problem]) -> None:
    """Print what is the matter with people's files on standard error, each with its place."""
    for problem in problems:
        print_notice(str(problem))


def make_progress(did: str, what: str, step: int) -> Callable[[int, int], None]:
    """Return what takes how much is done and of how much, and prints lines such as `judged 200 of 1000 cases`.

    There is a line after each `step` of them, and none at the end.
    """

    def show(done: int, of: int) -> None:
        if done % step == 0 and done < of:
            print_notice(f"{did} {done} of {of} {what}")

    return show


def ask(question: str) -> str:
    """Ask a person on standard error, and return the line that was typed."""
    sys.stderr.write(escape_unsafe(question) + " ")
    sys.stderr.flush()
    return sys.stdin.readline()


def print_line(text: str) -> None:
    """Print a line, or several joined by newlines, on standard output."""
    make_printer(sys.stdout)(text)


def print_commands(commands: Iterable[str]) -> None:
    """Print commands of GitHub Actions, whose values are escaped already (`report.gate.workflow_commands`)."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in commands:
        sys.stdout.write(encodable(line, encoding) + "\n")


def print_json(value: Any) -> None:
    """Print a value as an indented JSON document on standard output."""
    from waza.kit.indented_json import indented_json  # with msgspec, which few of those need who print

    _write_json([indented_json(value)])


def print_document(chunks: Iterable[bytes]) -> None:
    """Write a document, which comes in pieces and is harmless, on standard output."""
    _write_bytes(chunks)


def make_output_draw(stream: TextIO | None = None) -> Draw:
    """Return what draws sections on standard output, or on a stream as it would be drawn there."""
    colour = has_colour(sys.stdout, os.environ)
    if not is_live(sys.stdout, os.environ):
        return plain_draw(make_printer(stream or sys.stdout, colour=colour))
    from waza.report.on_terminal import terminal_draw  # it takes long to import

    return terminal_draw(stream or sys.stdout, colour=colour)


def output_width() -> int:
    """Return how many columns lines on standard output may have: those of its terminal, else 80."""
    return shutil.get_terminal_size((WIDTH, 0)).columns if is_live(sys.stdout, os.environ) else WIDTH


class _Screen(io.StringIO):
    """What is drawn before it is known whether it fits on the screen, in characters that standard output has."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # nobody sets it
        """The encoding of standard output."""
        return sys.stdout.encoding


def draw_paged(sections: Iterable[tuple[str, Sequence[Part]]], *, pager: bool | None) -> None:
    """Draw sections on standard output, through a pager where it is a terminal.

    `pager` None: only what does not fit on the screen. The pager is that of the variable PAGER, else `less`.
    """
    if pager is False or not is_live(sys.stdout, os.environ):
        draw = make_output_draw()
        for title, parts in sections:
            draw(title, parts)
        return
    text = _Screen()
    draw = make_output_draw(text)
    for title, parts in sections:
        draw(title, parts)
    if pager or text.getvalue().count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text.getvalue(), color=has_colour(sys.stdout, os.environ))
    else:
        sys.stdout.write(text.getvalue())


class Output:
    """Standard output for reports. Errors of the stream are kept for the end: they must not stop a run."""

    def __init__(self) -> None:
        self._print = make_printer(sys.stdout, colour=has_colour(sys.stdout, os.environ))
        self._drawing = make_output_draw()
        self._error: OSError | None = None

    def draw(self, title: str, parts: Sequence[Part]) -> None:
        """Draw a section of a report."""
        self._try(lambda: self._drawing(title, parts))

    def line(self, text: str) -> None:
        """Print a line, or several joined by newlines."""
        self._try(lambda: self._print(text))

    def json(self, chunks: Iterable[bytes]) -> None:
        """Write a JSON document that comes in pieces; the data in it stays the same."""
        self._try(lambda: _write_json(chunks))

    def document(self, content: str | bytes) -> None:
        """Print the document of a reporter: text as `line` does, bytes as they are."""
        if isinstance(content, str):
            self.line(content.removesuffix("\n"))
        else:
            self._try(lambda: _write_bytes([content]))

    def close(self) -> None:
        """Flush the output. Raises WazaError if anything could not be written."""
        self._try(sys.stdout.flush)
        if self._error is not None:
            raise WazaError(f"cannot write the output: {self._error.strerror}")

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._error = self._error or error
            silence(sys.stdout)


def _write_json(chunks: Iterable[bytes]) -> None:
    _write_bytes(escape_unsafe_json(chunk.decode()).encode() for chunk in chunks)


def _write_bytes(chunks: Iterable[bytes]) -> None:
    sys.stdout.flush()  # the lines before it
    sys.stdout.buffer.writelines(chunks)
