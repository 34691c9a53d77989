"""What `waza tokens suggest` reports: what in a file could be shorter, and about how many tokens that saves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import msgspec

from waza.author.tokens.count import TokenCounter, Tokenizer
from waza.author.tokens.count_report import ESTIMATED
from waza.author.tokens.files import MarkdownFile, TextSize, measure_text
from waza.author.tokens.limits import FileLimits
from waza.kit import frontmatter, yaml
from waza.kit.markdown import Markdown, parse
from waza.kit.moments import write_now
from waza.report.words import BULLET, one_line
from waza.suite.definition import SKILL_FILE, read_definition

_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff]")
_MOST_EMOJI, _PER_EMOJI = 2, 2
_MOST_CODE, _PER_CODE_LINE = 10, 16
_MOST_ROWS, _PER_ROW = 10, 12
_MOST_RULES, _PER_RULE = 3, 2
_REPEATED = 20  # characters of a text that counts as repeated


class Saving(msgspec.Struct, frozen=True, rename="camel"):
    """What could be shorter, from a line on, and how; None where nobody can say how many tokens that saves."""

    line: int
    issue: str
    suggestion: str
    estimated_savings: int | None = None


class SavingsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What could be shorter in a file. `skill` is the one that it belongs to, or empty. `advice` is what a model says, if any."""

    skill: str
    file: str
    size: TextSize
    savings: tuple[Saving, ...]
    advice: str | None = None

    @property
    def potential(self) -> int:
        """About how many tokens can be saved."""
        return sum(one.estimated_savings or 0 for one in self.savings)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the JSON document."""
        return {
            "skill": self.skill,
            "file": self.file,
            **msgspec.to_builtins(self.size),
            "suggestions": msgspec.to_builtins(self.savings),
            "potentialSavings": self.potential,
            **({} if self.advice is None else {"copilotSuggestions": self.advice}),
        }


def find_savings(
    files: Sequence[MarkdownFile], counter: TokenCounter, limits: FileLimits, least: int
) -> list[SavingsReport]:
    """Look for what could be shorter in files; what saves fewer tokens than `least` is left out."""
    skills = _SkillNames(limits)
    return [
        SavingsReport(
            skill=skills.of(file.path),
            file=file.name,
            size=measure_text(file.text, counter),
            savings=tuple(_find(file, counter, limits, least)),
        )
        for file in files
    ]


class _SkillNames:
    """The names of the skills that files are in."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._names: dict[Path | None, str] = {None: ""}

    def of(self, path: Path) -> str:
        directory = self._limits.skill_of(path)
        if directory not in self._names and directory is not None:
            self._names[directory] = read_definition(directory / SKILL_FILE).target.name
        return self._names[directory]


def _find(file: MarkdownFile, counter: TokenCounter, limits: FileLimits, least: int) -> Iterator[Saving]:
    body, first = _body_of(file.text)
    markdown = parse(body, first)
    found = [
        *_find_emoji(body, first),
        *_find_long(markdown),
        *_find_repeated(body, first, counter),
        *_find_rules(markdown),
    ]
    found.sort(key=lambda one: one.line)
    yield from (one for one in found if (one.estimated_savings or 0) >= least)
    tokens, limit = counter.count(file.text), limits.of(file.path, file.root).tokens
    if tokens > limit:
        yield Saving(
            1,
            f"the file has {tokens:,} tokens, and its limit is {limit:,}",
            "move what is seldom needed into files of their own",
        )


def _body_of(text: str) -> tuple[str, int]:
    """Return the text below the frontmatter, and the line that it starts on."""
    try:
        parts = frontmatter.split(text)
    except yaml.YamlError:
        return text, 1
    return parts.body, parts.body_line


def _find_emoji(body: str, first: int) -> Iterator[Saving]:
    found = [*_EMOJI.finditer(body)]
    if len(found) > _MOST_EMOJI:
        line = first + body.count("\n", 0, found[0].start())
        yield Saving(
            line,
            f"{len(found)} emoji",
            "leave out those that only decorate",
            _PER_EMOJI * len(found),
        )


def _find_long(markdown: Markdown) -> Iterator[Saving]:
    for block in markdown.code_blocks:
        if block.lines > _MOST_CODE:
            yield Saving(
                block.line,
                f"a code block of {block.lines} lines",
                "shorten it, or move it into a file that is read when it is needed",
                _PER_CODE_LINE * (block.lines - _MOST_CODE),
            )
    number = 0
    numbered = []
    for row in markdown.rows:
        number += row.header
        numbered.append((number, row))
    for _, group in groupby(numbered, key=lambda one: one[0]):
        rows = [row for _, row in group]
        count = sum(not row.header for row in rows)
        if count > _MOST_ROWS:
            yield Saving(
                rows[0].line,
                f"a table of {count} rows",
                "keep the rows that matter most, or move it into a file that is read when it is needed",
                _PER_ROW * (count - _MOST_ROWS),
            )


def _find_repeated(body: str, first: int, counter: TokenCounter) -> Iterator[Saving]:
    """Yield texts that follow directly upon themselves: lines, or paragraphs of several lines."""
    lines = [(first + number, line.strip()) for number, line in enumerate(body.split("\n"))]
    written = [(line, text) for line, text in lines if text]
    blocks = [
        (group[0][0], "\n".join(text for _, text in group))
        for is_text, group in (
            (key, list(group)) for key, group in groupby(lines, key=lambda one: bool(one[1]))
        )
        if is_text
    ]
    several = [(line, text) for line, text in blocks if "\n" in text]
    for units in (written, several):
        for (_, before), (line, text) in pairwise(units):
            if text == before and len(text) >= _REPEATED:
                yield Saving(line, "the text before is repeated", "leave it out", counter.count(text))


def _find_rules(markdown: Markdown) -> Iterator[Saving]:
    if len(markdown.rules) > _MOST_RULES:
        yield Saving(
            markdown.rules[0],
            f"{len(markdown.rules)} horizontal rules",
            "leave them out; headings divide the text",
            _PER_RULE * len(markdown.rules),
        )


def savings_to_json(reports: Sequence[SavingsReport], tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "timestamp": write_now(),
        "tokenizer": tokenizer,
        "analyses": [report.to_json() for report in reports],
        "totalPotentialSavings": sum(report.potential for report in reports),
    }


def savings_lines(reports: Sequence[SavingsReport], tokenizer: Tokenizer) -> Iterator[str]:
    """Yield the report for people; files without a suggestion are only counted."""
    shown = [report for report in reports if report.savings or report.advice]
    for report in shown:
        yield f"{one_line(report.file)} ({report.size.tokens:,} tokens)"
        for one in report.savings:
            saves = f" (saves about {one.estimated_savings:,})" if one.estimated_savings else ""
            yield f"  {BULLET} line {one.line}: {one.issue}: {one.suggestion}{saves}"
        if report.advice:
            yield from ("", *(f"  {line}".rstrip() for line in report.advice.splitlines()))
        yield ""
    total = sum(report.potential for report in reports)
    yield f"{len(shown)} of {len(reports)} files could be shorter, by about {total:,} tokens in all"
    if tokenizer == "estimate":
        yield ESTIMATED
