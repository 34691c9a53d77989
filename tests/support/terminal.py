"""A terminal: a program whose input and messages are those of a pseudo-terminal, and what is typed there."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.program import LIMIT, command, environment

_READ = 65536


class Typed:
    """How a call on a terminal ended, and all that was on the screen."""

    def __init__(self, code: int, screen: str) -> None:
        self.code, self.screen = code, screen


def typed(
    *args: str | Path, answers: Sequence[tuple[str, str]], cwd: Path, env: Mapping[str, str] | None = None
) -> Typed:
    """Run `waza` on a terminal. Each answer, a line or `\\x04`, is typed when the text before it is on the screen."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command(*args),
            cwd=cwd,
            env=environment(env),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
    finally:
        os.close(theirs)
    left, screen, seen = list(answers), "", 0
    try:
        while chunk := _read(ours):
            screen += chunk
            while left and left[0][0] in screen[seen:]:
                question, answer = left.pop(0)
                seen = screen.index(question, seen) + len(question)
                os.write(ours, answer.encode() if answer.startswith("\x04") else f"{answer}\n".encode())
        code = process.wait(LIMIT)
    finally:
        process.kill()
        os.close(ours)
    assert not left, f"never asked: {left}\n{screen}"
    return Typed(code, screen.replace("\r\n", "\n"))


def _read(terminal: int) -> str:
    """Return what came on the screen; nothing at the end."""
    ready, _, _ = select.select([terminal], [], [], LIMIT)
    assert ready, "the program is silent"
    try:
        return os.read(terminal, _READ).decode("utf-8", "replace")
    except OSError:  # on Linux the end of a terminal is an error
        return ""
