"""The links in the Markdown files of a skill: where they lead on the disk, and which files no link leads to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import msgspec

from waza.author.check.finding import Finding
from waza.author.check.report import BadLink, Links
from waza.author.check.source import Source
from waza.kit import frontmatter, yaml
from waza.kit.files import is_inside
from waza.kit.markdown import Link, parse
from waza.problem import Code, display_path
from waza.suite.definition import SKILL_FILE
from waza.suite.discover import is_searched, project_directories

_MARKDOWN = (".md", ".mdx")
_SKIPPED = ("mailto:", "mdc:", "tel:", "data:")
_WEB = ("http://", "https://")
_SUITES = ("eval.yaml", "eval.yml")  # a directory with one is not part of what an agent reads
_ORPHANAGE = "references"
CODES: tuple[Code, ...] = ("broken-link", "directory-link", "link-outside", "dead-link", "orphaned-file")


class PlacedLink(msgspec.Struct, frozen=True):
    """A link with its file, by its path and as it is shown."""

    path: Path
    file: str
    link: Link

    @property
    def address(self) -> str:
        """Where the link leads, without the place in the document there."""
        return self.link.target.partition("#")[0]


class LinkCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The links of a skill, and what is wrong with them as findings with what they are about.

    `external` are still to be asked for; `broken` lead to files that are not there.
    """

    total: int
    external: tuple[PlacedLink, ...]
    broken: tuple[PlacedLink, ...]
    bad: tuple[tuple[Finding, BadLink], ...]

    def with_dead(self, reasons: dict[str, str], *, checked: bool) -> tuple[Links, tuple[Finding, ...]]:
        """Return the group of the report and all findings. `reasons` says by address why it is dead."""
        dead = [
            (
                Finding(
                    code="dead-link",
                    severity="error",
                    file=one.file,
                    line=one.link.line,
                    column=one.link.column,
                    message=f"{one.link.target}: {reasons[one.address]}",
                    remedy="correct the address, or remove the link; --offline leaves such links unchecked",
                ),
                BadLink(one.file, one.link.target, reasons[one.address]),
            )
            for one in self.external
            if one.address in reasons
        ]
        bad = [*self.bad, *dead]
        unchecked = 0 if checked else len(self.external)
        of: dict[Code, tuple[BadLink, ...]] = {
            code: tuple(link for finding, link in bad if finding.code == code) for code in CODES
        }
        orphans = of["orphaned-file"]
        return Links(
            valid=self.total - len(bad) + len(orphans) - unchecked,
            total=self.total,
            passed=not bad,
            broken_links=of["broken-link"],
            directory_links=of["directory-link"],
            scope_escapes=of["link-outside"],
            dead_urls=of["dead-link"],
            orphaned_files=tuple(one.source for one in orphans),
            unchecked=unchecked,
        ), tuple(finding for finding, _ in bad)


def check_links(source: Source) -> LinkCheck:
    """Look at all links in the Markdown files of a skill, or in the file of an agent."""
    files = _list_files(source)
    scope = _scope(source)
    links = {path: tuple(_read_links(path)) for path in files}
    external, broken, bad = list[PlacedLink](), list[PlacedLink](), list[tuple[Finding, BadLink]]()
    total = 0
    for path, found in links.items():
        for one in found:
            if one.target.startswith(_SKIPPED) or not _local_part(one.target):
                continue
            total += 1
            placed = PlacedLink(path, display_path(path), one)
            if one.target.lower().startswith(_WEB):
                external.append(placed)
            elif wrong := _examine(placed, scope):
                bad.append(wrong)
                broken += [placed] if wrong[0].code == "broken-link" else []
    if source.target.kind == "skill":
        bad += _find_orphans(source, links)
    return LinkCheck(total=total, external=tuple(external), broken=tuple(broken), bad=tuple(bad))


def resolve_link(path: Path, target: str) -> Path:
    """Return the file that a local link in a file leads to, whether or not it is there."""
    local = unquote(_local_part(target))
    return Path(os.path.normpath(path.parent / local))


def find_similar(path: Path) -> Path | None:
    r"""Return the file that a link to one that is not there probably means: in another case, or with `\` for `/`."""
    parts = PurePosixPath(str(path).replace("\\", "/")).parts
    place = Path(parts[0])
    for part in parts[1:]:
        if (place / part).exists():
            place /= part
            continue
        try:
            same = [entry for entry in place.iterdir() if entry.name.casefold() == part.casefold()]
        except (OSError, ValueError):
            return None
        if len(same) != 1:
            return None
        place = same[0]
    return place


def _scope(source: Source) -> Path:
    """Return the directory that links may not lead out of: that of a skill, the project of an agent, or any."""
    if source.target.kind == "skill":
        return source.path.parent
    *below, top = project_directories(source.path.parent)
    return top if below else Path(source.path.anchor)


def _local_part(target: str) -> str:
    return target if target.lower().startswith(_WEB) else target.partition("#")[0].partition("?")[0]


def _list_files(source: Source) -> list[Path]:
    """Return the Markdown files that belong to a skill: none of its suites, and of no skill below it."""
    if source.target.kind == "agent":
        return [source.path]
    found = [source.path]
    for base, folders, names in os.walk(source.path.parent):
        top = Path(base) == source.path.parent
        if not top and (SKILL_FILE in names or any(name in names for name in _SUITES)):
            folders[:] = []
            continue
        folders[:] = sorted(filter(is_searched, folders))
        found += [
            Path(base, name)
            for name in sorted(names)
            if name.lower().endswith(_MARKDOWN) and Path(base, name) != source.path
        ]
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace") if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _read_links(path: Path) -> Iterator[Link]:
    text = _read(path)
    line = 1
    with suppress(yaml.YamlError):
        parts = frontmatter.split(text)
        text, line = parts.body, parts.body_line
    yield from parse(text, line).links


def _examine(placed: PlacedLink, scope: Path) -> tuple[Finding, BadLink] | None:
    """Return what is wrong with a link to a file."""
    target = placed.link.target
    shown = unquote(target)
    if "\0" in shown:
        return _bad(placed, "broken-link", "no path can have a NUL character", "correct the link")
    path = resolve_link(placed.path, target)
    climbs = shown.startswith(("/", "\\\\")) or not path.is_relative_to(scope)
    if climbs or not is_inside(scope, path):
        reason = f"leads out of {display_path(scope) if scope != Path.cwd() else 'the directory'}"
        return _bad(placed, "link-outside", reason, "copy what it needs into the directory of the skill")
    try:
        if path.is_dir():
            reason = "leads to a directory, which agents cannot read as a file"
            return _bad(placed, "directory-link", reason, "link a file in it")
        if path.is_file():
            return None
    except (OSError, ValueError):
        return _bad(placed, "broken-link", "no file can have this name", "correct the link")
    similar = find_similar(path)
    hint = f"did you mean {relative_link(placed.path, similar)!r}?" if similar else ""
    return _bad(placed, "broken-link", "there is no such file", hint or "correct the link, or add the file")


def relative_link(source: Path, target: Path) -> str:
    """Return the path of a file as a link in another one has it."""
    return Path(os.path.relpath(target, source.parent)).as_posix()


def _bad(placed: PlacedLink, code: Code, reason: str, remedy: str) -> tuple[Finding, BadLink]:
    target = unquote(placed.link.target)
    finding = Finding(
        code=code,
        severity="error",
        file=placed.file,
        line=placed.link.line,
        column=placed.link.column,
        message=f"{target}: {reason}",
        remedy=remedy,
    )
    return finding, BadLink(placed.file, target, reason)


def _find_orphans(source: Source, links: dict[Path, tuple[Link, ...]]) -> Iterator[tuple[Finding, BadLink]]:
    """Yield the files below `references` that neither a link nor a mention such as `references/a.md` leads to."""
    folder = source.path.parent / _ORPHANAGE
    wanted = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    reached = _reach(source.path, links, wanted)
    for path in wanted:
        if path not in reached:
            relative = path.relative_to(source.path.parent).as_posix()
            finding = Finding(
                code="orphaned-file",
                severity="error",
                file=display_path(path),
                message=f"no link leads from {SKILL_FILE} to {relative}, so that no agent reads it",
                remedy="link it where it is needed, or remove it",
            )
            yield finding, BadLink(relative, relative, "no link leads here")


def _reach(start: Path, links: dict[Path, tuple[Link, ...]], wanted: Iterable[Path]) -> set[Path]:
    reached, ahead = {start}, [start]
    while ahead:
        path = ahead.pop()
        found = {resolve_link(path, one.target) for one in links.get(path, ()) if _is_local(one.target)}
        text = _read(path) if path.suffix.lower() in _MARKDOWN else ""
        found |= {one for one in wanted if one not in reached and relative_link(start, one) in text}
        new = found - reached
        reached |= new
        ahead += new
    return reached


def _is_local(target: str) -> bool:
    return not target.lower().startswith((*_WEB, *_SKIPPED)) and "\0" not in unquote(target)
