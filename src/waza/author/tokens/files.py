"""The Markdown files that agents read: finding them below directories, and measuring their texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from waza.author.tokens.count import TokenCounter
from waza.errors import UsageError, WazaError
from waza.kit.os_errors import describe_os_error
from waza.problem import display_path
from waza.suite.definition import make_absolute

SUFFIXES = (".md", ".mdx")
SKIPPED = frozenset(("node_modules", ".git", "dist", "coverage"))
"""Names of directories that hold no files of authors."""


class TextSize(msgspec.Struct, frozen=True):
    """How long a text is. A last line without an end counts as a line."""

    tokens: int = 0
    characters: int = 0
    lines: int = 0


class MarkdownFile(msgspec.Struct, frozen=True):
    """A file with its text, whose line ends are newlines.

    `name` is its path as reports show it, with slashes. `root` is the directory that it was found below.
    `is_whole` is false where bytes of it are not UTF-8.
    """

    path: Path
    name: str
    root: Path
    text: str
    is_whole: bool = True


def list_files(paths: Iterable[Path]) -> list[MarkdownFile]:
    """Return the files that paths name, and the Markdown files below directories, each once and by name.

    Links below directories are not followed. Raises UsageError for a path where nothing is, and WazaError for a file
    that cannot be read.
    """
    found: dict[Path, MarkdownFile] = {}
    for path in map(make_absolute, paths):
        # Not those of Path, which raise for names that are too long.
        if os.path.isdir(path):  # noqa: PTH112  # see above
            files = [(file, path) for file in _walk(path)]
        elif os.path.isfile(path):  # noqa: PTH113  # see above
            files = [(path, path.parent)]
        else:
            raise UsageError(f"there is no file or directory {display_path(path)}")
        for file, root in files:
            found.setdefault(file, _read(file, root))
    return sorted(found.values(), key=lambda file: file.name)


def measure_text(text: str, counter: TokenCounter) -> TextSize:
    """Return the size of a text whose line ends are newlines."""
    return TextSize(
        tokens=counter.count(text),
        characters=len(text),
        lines=text.count("\n") + (not text.endswith("\n") and bool(text)),
    )


def is_markdown(name: str) -> bool:
    """Return whether a path with slashes, relative to where files are looked for, is one of theirs."""
    *directories, last = name.split("/")
    return last.lower().endswith(SUFFIXES) and not SKIPPED.intersection(directories)


def decode_text(data: bytes) -> tuple[str, bool]:
    """Return the text of a file with newlines as line ends, and whether all of its bytes are UTF-8."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return text, "\ufffd" not in text or _is_utf8(data)


def shown_path(path: Path) -> str:
    """Return a path as reports show it: relative to the current directory if inside of it, with slashes, in UTF-8."""
    return Path(os.fsencode(display_path(path)).decode("utf-8", "backslashreplace")).as_posix()


def _walk(top: Path) -> Iterator[Path]:
    for base, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in files:
            path = Path(base, name)
            if is_markdown(name) and path.is_file() and not path.is_symlink():
                yield path


def _read(path: Path, root: Path) -> MarkdownFile:
    try:
        text, is_whole = decode_text(path.read_bytes())
    except OSError as error:
        raise WazaError(f"cannot read {display_path(path)}: {describe_os_error(error)}") from error
    return MarkdownFile(path, shown_path(path), root, text, is_whole)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
