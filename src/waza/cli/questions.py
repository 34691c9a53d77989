"""Questions to a person on a terminal. Elsewhere nobody is asked: flags and defaults decide."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from waza.cli.streams import ask, print_notice
from waza.errors import UsageError


def can_ask() -> bool:
    """Return whether somebody can be asked: input and messages are those of a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_text(question: str, default: str = "") -> str:
    """Return what was typed, or the default for an empty line. Raises click.Abort at the end of the input."""
    line = ask(f"{question} [{default}]:" if default else f"{question}:")
    if not line:
        raise click.Abort
    return line.strip() or default


def ask_yes(question: str, *, default: bool = False) -> bool:
    """Return whether the answer is yes; anything unclear is the default."""
    answer = ask_text(f"{question} {'[Y/n]' if default else '[y/N]'}").lower()
    return answer.startswith("y") if answer else default


def confirm(question: str) -> bool:
    """Return whether the answer is a clear yes; anything else is no, also the end of the input."""
    return ask(f"{question} [y/N]").strip().lower() in ("y", "yes")


def may_spend(question: str, *, yes: bool) -> bool:
    """Return whether to start what may cost: with `yes`, else if a person says so.

    Raises UsageError where nobody can be asked.
    """
    if yes:
        return True
    if not can_ask():
        raise UsageError(
            "nobody can be asked whether to start; --yes starts without asking, --dry-run runs nothing"
        )
    return confirm(question)


def ask_choice(question: str, choices: Sequence[str], default: str) -> str:
    """Return one of the choices; anything else is asked for again."""
    while True:
        answer = ask_text(f"{question} ({', '.join(choices)})", default)
        if answer in choices:
            return answer
        print_notice(f"{answer!r} is not one of them")
