"""The command that resumes what was cut off, as it is printed.

It can be copied as it is, unless a secret was typed in it: secrets are not shown.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from itertools import pairwise
from pathlib import Path

from waza.cli.streams import print_notice
from waza.kit.redact import PLACEHOLDER, Redactor


class ResumeHint:
    """Prints how to resume an invocation: at its start, since a killed program cannot, and again after an interrupt."""

    def __init__(self) -> None:
        self._how = ""

    def start(self, invocation: str) -> None:
        """Take the id of the invocation that has started; it is empty if nothing is kept."""
        if invocation:
            words = resume_command(sys.argv[1:], invocation)
            redact = Redactor.for_environment(os.environ, words).text
            shown = [redact(word) for word in _without_headers(words)]
            hidden = "" if shown == words else f" (write your own secrets in place of {PLACEHOLDER})"
            self._how = shlex.join(shown) + hidden
            print_notice(f"If this is cut off, go on with: {self._how}")

    def repeat(self) -> None:
        """Print it again, if there is anything to resume."""
        if self._how:
            print_notice(f"Go on with: {self._how}")


def resume_command(words: list[str], invocation: str) -> list[str]:
    """Return the command line that goes on with an invocation, from the words behind the program's name."""
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != "--resume" and not word.startswith("--resume=")]
    return [*_program(), *options, f"--resume={invocation}", *words[end:]]


def _without_headers(words: list[str]) -> list[str]:
    """Return the words without the headers for a collector: these are keys, whatever they look like."""
    flag = "--otel-headers"
    return [
        PLACEHOLDER if before == flag else f"{flag}={PLACEHOLDER}" if word.startswith(f"{flag}=") else word
        for before, word in pairwise(["", *words])
    ]


def _program() -> list[str]:
    """Return how this program is called: by its name, where the shell finds this one by it."""
    found = shutil.which("waza")
    own = Path(sys.executable).parent
    return ["waza"] if found and Path(found).parent == own else [sys.executable, "-m", "waza"]
