"""Correcting what is mechanical in the files of skills and agents: marks, keys, names and the spelling of paths.

No sentence is touched. Corrections of a file are repeated until there is nothing left to correct, and then written at
once, so that a second time changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from waza.author.check.links import LinkCheck, check_links, find_similar, relative_link, resolve_link
from waza.author.check.source import Source
from waza.author.check.spec_checks import ALLOWED, NAME, suggest_name
from waza.errors import WazaError
from waza.kit import frontmatter, yaml
from waza.kit.decode import fields_of
from waza.kit.files import is_inside, rewrite_file
from waza.kit.markdown import Link, spellings
from waza.kit.names import nearest_name
from waza.problem import display_path
from waza.suite.definition import AGENT_SUFFIX, AgentKeys

_ROUNDS = 20  # corrections of a file, one after another
_BOM = "\ufeff"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.:/*-]*")


class Correction(msgspec.Struct, frozen=True):
    """One correction: the file, the line it was on, and what was done."""

    file: str
    line: int
    what: str


class _Edit(msgspec.Struct, frozen=True):
    """The text of a file after a correction."""

    text: str
    line: int
    what: str


def fix_files(path: Path) -> tuple[Correction, ...]:
    """Correct the definition file of a skill or agent, and the links in the files beside it. Returns what was changed.

    Raises WazaError for a file that cannot be read or written; others are as they were then, or corrected as a whole.
    """
    changes = list(_fix_file(path, _fix_definition))
    links = check_links(Source(path))
    changes += _fix_links(links, path.parent)
    return tuple(changes)


def _fix_file(path: Path, correct: Callable[[Path, str], _Edit | None]) -> Iterator[Correction]:
    text = original = _read(path)
    if original is None or text is None:
        return
    done: list[Correction] = []
    for _ in range(_ROUNDS):
        edit = correct(path, text)
        if edit is None:
            break
        text = edit.text
        done.append(Correction(display_path(path), edit.line, edit.what))
    if text != original:
        rewrite_file(path, text.encode())
        yield from done


def _read(path: Path) -> str | None:
    """Return the text of a file, a byte order mark included; None for one that is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None  # a finding says so
    except OSError as error:
        raise WazaError(f"cannot read {path}: {error.strerror}") from error


def _fix_definition(path: Path, text: str) -> _Edit | None:
    """Return the first correction that a definition file needs."""
    if edit := _fix_beginning(text):
        return edit
    try:
        parts = frontmatter.split(text)
    except yaml.YamlError:
        return None
    if not isinstance(parts.meta, yaml.Mapping):
        return None
    is_agent = path.name.endswith(AGENT_SUFFIX)
    known = [field.key for field in fields_of(AgentKeys)] if is_agent else list(ALLOWED)
    return (
        _fix_key(text, parts.meta, known)
        or (_fix_tools(text, parts.meta) if is_agent else None)
        or _fix_name(path, text, parts.meta)
    )


def _fix_beginning(text: str) -> _Edit | None:
    """Remove what is before the frontmatter and keeps it from being one: a byte order mark, and blank lines."""
    rest = text.removeprefix(_BOM).lstrip(" \t\r\n" + _BOM)
    if rest == text or not rest.startswith("---"):
        return None
    if text.startswith(_BOM) and text.removeprefix(_BOM) == rest:
        return _Edit(rest, 1, "removed the byte order mark before the frontmatter")
    return _Edit(rest, 1, "removed what was before the frontmatter")


def _fix_key(text: str, meta: yaml.Mapping, known: Sequence[str]) -> _Edit | None:
    """Correct a misspelt key where the right one is missing: `allowed_tools`, `descripton`."""
    for key, node in meta.keys.items():
        if key in known:
            continue
        meant = nearest_name(key, known, 0.85)
        if meant and meant not in meta.entries and not node.quoted:
            edited = _replace(text, node.line, node.column, key, meant)
            if edited is not None:
                return _Edit(edited, node.line, f"{key}: is now {meant}:")
    return None


def _fix_tools(text: str, meta: yaml.Mapping) -> _Edit | None:
    """Make a list of tools that are written as a text with commas."""
    node = meta.entries.get("tools")
    if not isinstance(node, yaml.Scalar) or not isinstance(node.value, str) or node.quoted:
        return None
    names = [name.strip() for name in node.text.split(",")]
    if not all(_PLAIN.fullmatch(name) for name in names):
        return None
    listed = f"[{', '.join(names)}]"
    edited = _replace(text, node.line, node.column, node.text, listed)
    return None if edited is None else _Edit(edited, node.line, f"tools: is now the list {listed}")


def _fix_name(path: Path, text: str, meta: yaml.Mapping) -> _Edit | None:
    """Write a missing name, or the same words in the form of the directory's or file's name."""
    is_agent = path.name.endswith(AGENT_SUFFIX)
    wanted = path.name.removesuffix(AGENT_SUFFIX) if is_agent else path.parent.name
    if not NAME.fullmatch(wanted):
        return None
    node = meta.entries.get("name")
    if node is None:
        first = next(iter(meta.keys.values()), None)
        if first is None or first.column != 1:
            return None
        lines = text.splitlines(keepends=True)
        end = "\r\n" if lines[0].endswith("\r\n") else "\n"
        lines.insert(first.line - 1, f"name: {wanted}{end}")
        return _Edit("".join(lines), first.line, f"added name: {wanted}")
    if not isinstance(node, yaml.Scalar) or not isinstance(node.value, str):
        return None
    written = node.text
    if written.strip() == wanted or suggest_name(written) != wanted:
        return None  # other words: only the author knows which of the two is right
    edited = _replace(text, node.line, node.column, written, wanted, quotes=True)
    return None if edited is None else _Edit(edited, node.line, f"name: {written} is now {wanted}")


def _replace(text: str, line: int, column: int, old: str, new: str, *, quotes: bool = False) -> str | None:
    """Return the text with `old` at a place replaced; None where something else is written there.

    `quotes`: it may be written in quotes, which go as well.
    """
    lines = text.split("\n")
    row = lines[line - 1]
    start = column - 1
    for written in (old, *((f'"{old}"', f"'{old}'") if quotes else ())):
        if row.startswith(written, start):
            lines[line - 1] = row[:start] + new + row[start + len(written) :]
            return "\n".join(lines)
    return None


def _fix_links(check: LinkCheck, directory: Path) -> Iterator[Correction]:
    """Correct links to files that are there under another case, or that are written with backslashes."""
    files = dict.fromkeys(placed.path for placed in check.broken)
    for path in (one for one in files if is_inside(directory, one)):  # no link to a file of somebody else
        meant = [
            (placed.link, right)
            for placed in check.broken
            if placed.path == path and (right := _find_meant(path, placed.link.target))
        ]
        yield from _fix_file(path, lambda _, text, meant=meant: _fix_link(text, meant))  # type: ignore[misc]  # mypy knows no defaults of lambdas


def _find_meant(path: Path, target: str) -> str:
    similar = find_similar(resolve_link(path, target))
    if similar is None or not similar.is_file():
        return ""
    rest = re.search(r"[?#].*", target)
    return quote(relative_link(path, similar), safe="/!$&'()+,;=@:~") + (rest.group() if rest else "")


def _fix_link(text: str, meant: Sequence[tuple[Link, str]]) -> _Edit | None:
    """Correct the first link of those in its line, or in the definition that it refers to."""
    lines = text.split("\n")
    for link, right in meant:
        for written in spellings(link.target):
            new = unquote(right) if written != link.target and " " not in unquote(right) else right
            inline = re.compile(rf"(\]\(\s*<?){re.escape(written)}(?=[\s>)]|$)")
            defined = re.compile(rf"(^\s*\[[^\]]+\]:\s*<?){re.escape(written)}(?=[\s>]|$)")
            for number, line in enumerate(lines):
                found = defined.search(line) or (inline.search(line) if number == link.line - 1 else None)
                if found and written != new:
                    lines[number] = line[: found.end(1)] + new + line[found.end() :]
                    what = f"the link {unquote(link.target)} is now {unquote(right)}"
                    return _Edit("\n".join(lines), number + 1, what)
    return None
