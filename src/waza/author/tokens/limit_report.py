"""What `waza tokens check` reports: files and their limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from waza.author.tokens.count import TokenCounter, Tokenizer
from waza.author.tokens.count_report import ESTIMATED
from waza.author.tokens.files import MarkdownFile
from waza.author.tokens.limits import FileLimits
from waza.kit.moments import write_now
from waza.kit.text import pluralize
from waza.report.table import table
from waza.report.words import FAILED, PASSED, one_line


class LimitedFile(msgspec.Struct, frozen=True):
    """A file, its tokens, its limit, and the pattern that sets it (empty: none does)."""

    file: str
    tokens: int
    limit: int
    pattern: str

    @property
    def exceeded(self) -> bool:
        """Whether the file has more tokens than it may have."""
        return self.tokens > self.limit

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the JSON document."""
        return {**msgspec.to_builtins(self), "exceeded": self.exceeded}


class LimitedSkill(msgspec.Struct, frozen=True):
    """The files of a skill or agent, or of all that was named. `error`: why they could not be compared with limits."""

    name: str
    files: tuple[LimitedFile, ...] = ()
    error: str = ""

    @property
    def exceeded(self) -> tuple[LimitedFile, ...]:
        """The files over their limits."""
        return tuple(file for file in self.files if file.exceeded)

    def to_json(self, *, quiet: bool) -> dict[str, Any]:
        """Return the counts and results of the JSON document."""
        return {
            "totalFiles": len(self.files),
            "exceededCount": len(self.exceeded),
            "results": [file.to_json() for file in (self.exceeded if quiet else self.files)],
        }


class TokenLimitReport(msgspec.Struct, frozen=True, kw_only=True):
    """Files and their limits, skill by skill where several are looked at. `timestamp` is in UTC.

    `quiet`: only files over their limits are shown.
    """

    timestamp: str
    tokenizer: Tokenizer
    skills: tuple[LimitedSkill, ...]
    by_skill: bool = False
    quiet: bool = False

    @property
    def exceeded(self) -> int:
        """How many files are over their limits."""
        return sum(len(skill.exceeded) for skill in self.skills)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document."""
        head = {"timestamp": self.timestamp, "tokenizer": self.tokenizer}
        if not self.by_skill:
            return head | self.skills[0].to_json(quiet=self.quiet)
        skills = [
            {
                "skill": skill.name,
                **skill.to_json(quiet=self.quiet),
                **({"error": skill.error} if skill.error else {}),
            }
            for skill in self.skills
        ]
        return head | {"skills": skills}


def compare_with_limits(
    name: str, files: Sequence[MarkdownFile], counter: TokenCounter, limits: FileLimits
) -> LimitedSkill:
    """Return files with their limits, those over them first. Raises UsageError for limits that cannot be used."""
    found = []
    for file in files:
        limit = limits.of(file.path, file.root)
        found.append(LimitedFile(file.name, counter.count(file.text), limit.tokens, limit.pattern))
    return LimitedSkill(name, tuple(sorted(found, key=lambda one: (not one.exceeded, one.file))))


def make_limit_report(
    skills: Sequence[LimitedSkill], counter: TokenCounter, *, by_skill: bool, quiet: bool
) -> TokenLimitReport:
    """Return the report of skills, or of the one group that all files are in."""
    return TokenLimitReport(
        timestamp=write_now(), tokenizer=counter.name, skills=tuple(skills), by_skill=by_skill, quiet=quiet
    )


def limit_lines(report: TokenLimitReport, width: int) -> Iterator[str]:
    """Yield the report for people; nothing where it is quiet and nothing is over its limit."""
    total = sum(len(skill.files) for skill in report.skills)
    if report.quiet and not report.exceeded:
        return
    for skill in report.skills:
        shown = skill.exceeded if report.quiet else skill.files
        if report.by_skill and (shown or skill.error or not report.quiet):
            yield f"Skill: {one_line(skill.name)}"
        if skill.error:
            yield f"  {FAILED} {one_line(skill.error)}"
        elif shown:
            rows = [(one.file, f"{one.tokens:,}", f"{one.limit:,}", _mark(one)) for one in shown]
            yield from table(("File", "Tokens", "Limit", "Status"), rows, width)
        elif not report.quiet:
            yield "no Markdown files found"
        if report.by_skill and (shown or skill.error or not report.quiet):
            yield ""
    if not report.by_skill:
        yield ""
    yield f"{report.exceeded} of {pluralize(total, 'file')} over the limit"
    if report.tokenizer == "estimate":
        yield ESTIMATED


def _mark(file: LimitedFile) -> str:
    return f"{FAILED} {file.tokens - file.limit:,} over" if file.exceeded else PASSED
