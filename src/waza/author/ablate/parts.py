"""What can be left out of a skill: its sections, and the files of its references and scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote

import msgspec

from waza.author.ablate.sections import SectionedText
from waza.author.tokens.count import TokenCounter
from waza.errors import UsageError, WazaError
from waza.kit.glob import matches
from waza.kit.markdown import Link, parse
from waza.kit.names import did_you_mean
from waza.kit.os_errors import describe_os_error
from waza.model.skill import Target
from waza.problem import display_path
from waza.report.words import one_line
from waza.suite.discover import fold_name

FOLDERS = ("references", "scripts")
"""The folders of a skill whose files can be left out."""
NOT_COPIED = (".git", ".waza", ".venv", "node_modules", "__pycache__")
"""Names of what is no part of a skill, although it may be in its directory."""
_MARKDOWN = (".md", ".mdx")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a skill that can be left out.

    `text` is that of the definition file without a section, None for a file. `tokens` are those that the part costs whenever
    an agent reads it: a section with the skill, a file if it is opened; None: it is no text.
    """

    name: str
    kind: Literal["section", "file"]
    line: int | None = None
    """The line of its heading; null for a file."""
    tokens: int | None
    text: str | None = None
    notes: tuple[str, ...] = ()
    """What else changes without it, such as links that lead nowhere."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a skill, and those that cannot be left out, with the reason, by name. `level` is that of the sections."""

    parts: tuple[Part, ...]
    level: int
    tokens: int
    """Tokens of the whole text below the frontmatter."""
    fixed: dict[str, str] = {}


class _Document:
    """A Markdown text that may refer to files, by its path in the skill."""

    def __init__(self, name: str, text: str, first_line: int = 1) -> None:
        self.name, self.text = name, text
        self.links: tuple[Link, ...] = parse(text, first_line).links


def find_parts(target: Target, counter: TokenCounter, level: int | None = None) -> Parts:
    """Return the parts of a skill or custom agent; sections are those below its title, or of the level that is given.

    Raises UsageError if no heading has that level, and WazaError for a file that cannot be read.
    """
    whole = SectionedText(_read(target.path).decode("utf-8"))
    if level is not None and level not in whole.levels:
        known = ", ".join(map(str, whole.levels)) or "none"
        raise UsageError(
            f"{display_path(target.path)} has no heading of level {level}; levels that it has: {known}"
        )
    files = _list_files(target)
    texts = {name: _as_text(target.directory / name) for name in files}
    readable = {name: text for name, text in texts.items() if text and name.lower().endswith(_MARKDOWN)}
    documents = [
        _Document(target.path.name, whole.body, whole.first_line),
        *(_Document(name, text) for name, text in readable.items()),
    ]
    if target.kind == "agent":  # what is beside an agent may be of the project
        files = [name for name in files if any(_mentions(name, documents))]
    named = [name for name in files if any(_mentions(name, documents[:1]))]
    parts: list[Part] = []
    fixed: dict[str, str] = {}
    tokens = counter.count(whole.body)
    chosen = level or whole.top_level
    for section in whole.sections(chosen):
        left = whole.without(section)
        if left.why_not:
            fixed[section.name] = left.why_not
            continue
        body = SectionedText(left.text).body
        shorter = _Document(target.path.name, body)
        lost = [name for name in named if not any(_mentions(name, [shorter]))]
        alone = (f"only it names {', '.join(map(one_line, lost))}",) if lost else ()
        parts.append(
            Part(
                name=section.name,
                kind="section",
                line=section.line,
                tokens=tokens - counter.count(body),
                text=left.text,
                notes=(*left.notes, *alone),
            )
        )
    for name in files:
        text = texts[name]
        parts.append(
            Part(
                name=name,
                kind="file",
                tokens=None if text is None else counter.count(text),
                notes=tuple(_mentions(name, documents)),
            )
        )
    return Parts(parts=tuple(parts), level=chosen, tokens=tokens, fixed=fixed)


def choose_parts(parts: Parts, wanted: Sequence[str]) -> tuple[Part, ...]:
    """Return the parts of these names or patterns, all without any. Raises UsageError for a name that no part has."""
    if not wanted:
        return parts.parts
    chosen: dict[str, Part] = {}
    for name in wanted:
        exact = [one for one in parts.parts if fold_name(one.name) == fold_name(name)]
        found = exact or [one for one in parts.parts if matches(name, one.name)]
        if not found:
            why = parts.fixed.get(name) or did_you_mean(name, [one.name for one in parts.parts])
            raise UsageError(f"there is no section or file {name!r} to leave out; {why}")
        chosen |= {one.name: one for one in found}
    return tuple(one for one in parts.parts if one.name in chosen)


def _list_files(target: Target) -> list[str]:
    """Return the files of references and scripts, relative to the directory of the skill and with slashes."""
    found: list[str] = []
    for folder in FOLDERS:
        for base, folders, names in os.walk(target.directory / folder):
            folders[:] = sorted(name for name in folders if name not in NOT_COPIED)
            paths = (Path(base, name) for name in sorted(names))
            found += [path.relative_to(target.directory).as_posix() for path in paths if path.is_file()]
    return found


def _mentions(name: str, documents: Sequence[_Document]) -> Iterator[str]:
    """Yield what refers to a file: the links to it in other files, and texts that name its path."""
    for document in documents:
        if document.name == name:
            continue
        folder = PurePosixPath(document.name).parent
        links = [one for one in document.links if _leads_to(folder, one.target) == name]
        if links:
            numbers = ", ".join(dict.fromkeys(str(one.line) for one in links))
            where = "lines" if "," in numbers else "line"
            yield f"{one_line(document.name)} links to it in {where} {numbers}"
        elif name in document.text:
            yield f"{one_line(document.name)} names it"


def _leads_to(folder: PurePosixPath, target: str) -> str:
    address = unquote(target).partition("#")[0].partition("?")[0]
    return os.path.normpath(folder / address).replace(os.sep, "/") if address else ""


def _as_text(path: Path) -> str | None:
    try:
        return _read(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WazaError(f"cannot read {display_path(path)}: {describe_os_error(error)}") from error
