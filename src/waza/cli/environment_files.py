"""Variables from files, as `runevals` reads them: only on request; messages show their names, never their values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from waza.cli.streams import print_notice
from waza.errors import UsageError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"\s+#.*")


def load_variables(name: str) -> None:
    """Set the variables of `.env`, `.env.local`, `.env.local.user` and `env/.env.NAME` of the current directory.

    A variable that is set already stays, and of several files the first one counts. UsageError: there is no such
    file, or one cannot be read.
    """
    if not name:
        return
    files = [Path(".env"), Path(".env.local"), Path(".env.local.user"), Path("env", f".env.{name}")]
    there = [file for file in files if file.is_file()]
    if not there:
        raise UsageError(f"--env {name}: none of these files exists here: {', '.join(map(str, files))}")
    for file in there:
        new = {key: value for key, value in _variables(file) if not os.environ.get(key)}
        os.environ.update(new)
        print_notice(f"Variables from {file}: {', '.join(new) or 'none that are not set already'}")


def _variables(file: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {type(error).__name__}") from error
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None or "\0" in line:
            raise UsageError(f"{file}:{number}: this line is not NAME=value")
        yield match[1], _value(match[2])


def _value(text: str) -> str:
    """Return a value without the quotes around it, or without a comment behind it."""
    quote = text[:1]
    if quote in ("'", '"') and (end := text.find(quote, 1)) > 0:
        return text[1:end]
    return _COMMENT.sub("", text, count=1)
