"""The sections of a definition file, by its Markdown headings, and the file without one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from waza.kit import frontmatter
from waza.kit.markdown import Heading, Markdown, parse
from waza.kit.names import unused_name
from waza.kit.text import pluralize
from waza.report.words import one_line, shortened

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")  # the lines that Markdown counts, with their ends
_LONGEST = 80  # characters of a name


class SkillSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section: all from its heading to the next one of its level or above. `name` is unique in its file.

    `line` is that of the heading in the file. Between `start` and `end` it is among the lines of the body, counted from 0.
    """

    name: str
    level: int
    line: int
    start: int
    end: int


class Shortened(msgspec.Struct, frozen=True):
    """A file without a section, or why it cannot do without it. `notes`: what else of it changed."""

    text: str = ""
    why_not: str = ""
    notes: tuple[str, ...] = ()


class SectionedText:
    """The text of a definition file in sections. Its frontmatter is in none of them."""

    def __init__(self, text: str) -> None:
        parts = frontmatter.split(text)
        self._head = text[: len(text) - len(parts.body)]
        self.first_line = parts.body_line
        """The line of the file that the body starts on."""
        self._lines: list[str] = _LINE.findall(parts.body)
        self._markdown = parse(parts.body, self.first_line)
        self._headings = [one for one in self._markdown.headings if not one.nested]
        self.body = parts.body
        """The text below the frontmatter."""

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that its headings have, from the top."""
        return tuple(sorted({one.level for one in self._headings}))

    @property
    def top_level(self) -> int:
        """The level of the sections below the title, which is a heading above all others; 0 without sections."""
        headings = self._headings
        if len(headings) > 1 and headings[0].level < min(one.level for one in headings[1:]):
            headings = headings[1:]
        return min((one.level for one in headings), default=0)

    def sections(self, level: int) -> Iterator[SkillSection]:
        """Yield the sections whose headings have a level, in order. Those of the same name are numbered."""
        taken: set[str] = set()
        last = self.first_line + len(self._lines)
        for number, heading in enumerate(self._headings):
            if heading.level != level:
                continue
            following = self._headings[number + 1 :]
            end = next((one.line for one in following if one.level <= level), last)
            name = unused_name(shortened(one_line(heading.text), _LONGEST) or "(no title)", taken, " ")
            taken.add(name)
            yield SkillSection(
                name=name,
                level=level,
                line=heading.line,
                start=heading.line - self.first_line,
                end=end - self.first_line,
            )

    def without(self, section: SkillSection) -> Shortened:
        """Return the text without a section. All else must be what it was: one that would not be says why."""
        before, after = self._lines[: section.start], self._lines[section.end :]
        if before and after and before[-1].strip():
            before.append("\r\n" if before[-1].endswith("\r\n") else "\n")
        body = "".join([*before, *after])
        left = parse(body, self.first_line)
        if _outline(left.headings) != _outline(self._outside(section, self._markdown.headings)):
            return Shortened(why_not="the headings around it would not be the same without it")
        rest = [one.target for one in self._markdown.links if not self._holds(section, one.line)]
        return Shortened(self._head + body, notes=tuple(_notes(rest, left)))

    def _holds(self, section: SkillSection, line: int) -> bool:
        return section.start <= line - self.first_line < section.end

    def _outside(self, section: SkillSection, headings: Sequence[Heading]) -> list[Heading]:
        return [one for one in headings if not self._holds(section, one.line)]


def _outline(headings: Sequence[Heading]) -> list[tuple[int, str, bool]]:
    return [(one.level, one.text, one.nested) for one in headings]


def _notes(links: Sequence[str], left: Markdown) -> Iterator[str]:
    lost = len(links) - len(left.links)
    if lost > 0:
        yield f"without it {pluralize(lost, 'link')} elsewhere in the text {'has' if lost == 1 else 'have'} no address"
