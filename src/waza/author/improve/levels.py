"""`waza dev`: raising the level of a skill's description step by step, by words that its own files have.

No model is asked. Each step proposes one change, the first that applies: a longer description, phrases that the skill is for,
phrases that it is not for, and what it hands work to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, get_args

import msgspec

from waza.author.check.compliance import (
    LONGEST,
    SHORTEST,
    has_anti_triggers,
    has_routing,
    has_triggers,
)
from waza.author.check.report import Level, TargetReport
from waza.author.check.source import Source
from waza.author.improve.description import write_description
from waza.errors import UsageError
from waza.kit.text import pluralize
from waza.report.table import table
from waza.report.words import one_line, shortened

LEVELS: tuple[Level, ...] = get_args(Level)
"""From lowest to highest."""

_PHRASES = 5  # in a list of phrases
_SENTENCE = 200  # characters that are taken from the text
_WORKFLOW = 3  # numbered steps of a workflow


class Proposal(msgspec.Struct, frozen=True):
    """A change of a description: what it does, and the whole new text."""

    what: str
    description: str


def reaches(level: Level, target: Level) -> bool:
    """Return whether a level is at least another one."""
    return LEVELS.index(level) >= LEVELS.index(target)


def propose(source: Source, others: Sequence[str]) -> Proposal | None:
    """Return the first change that applies; None without one. `others` are the names of the other skills around."""
    text = source.target.description
    for proposal in _list_proposals(source, text, others):
        if proposal.description != text and len(proposal.description) <= LONGEST:
            return proposal
    return None


def _list_proposals(source: Source, text: str, others: Sequence[str]) -> Iterator[Proposal]:
    if len(text) < SHORTEST:
        yield Proposal("say more about what it does", _lengthen(source, text))
    if not has_triggers(text):
        phrases = [_words(source.target.name), *_headings(source)]
        yield Proposal("list what it is for", _append(text, _phrases("USE FOR", phrases)))
    if not has_anti_triggers(text):
        name = _words(source.target.name)
        phrases = [*map(_words, others), "general questions", f"requests that do not need {name}"]
        yield Proposal("list what it is not for", _append(text, _phrases("DO NOT USE FOR", phrases)))
    if not has_routing(text):
        yield Proposal("say what it hands work to", _append(text, _route(source)))


def _lengthen(source: Source, text: str) -> str:
    """Return the description with the first sentence of the text, and with its sections while it is short."""
    for more in (_first_sentences(source), _name_sections(source)):
        if len(text) < SHORTEST and more and more.lower() not in text.lower():
            text = _append(text, more)
    return text


def _first_sentences(source: Source) -> str:
    """Return how the text below the frontmatter begins, without its headings and lists; empty where that is no sentence."""
    paragraphs = re.split(r"\n\s*\n", source.body.strip())
    plain = (one_line(part) for part in paragraphs if re.match(r"\s*[A-Z]", part))
    found = re.match(rf".{{20,{_SENTENCE}}}[.!?](?=\s|$)", next(plain, ""))
    return re.sub(r"[`*_]", "", found.group()) if found else ""


def _name_sections(source: Source) -> str:
    found = _headings(source)
    return f"It covers {', '.join(found)}." if found else ""


def _headings(source: Source) -> list[str]:
    """Return the sections of the text as phrases."""
    found = (heading.text for heading in source.markdown.headings if heading.level > 1)
    plain = (re.sub(r"[`*_,:;.]", "", text).strip().lower() for text in found)
    return [shortened(text, 60) for text in dict.fromkeys(plain) if text][:_PHRASES]


def _phrases(mark: str, phrases: Sequence[str]) -> str:
    return f"{mark}: {', '.join([*dict.fromkeys(filter(None, phrases))][:_PHRASES])}."


def _route(source: Source) -> str:
    """Return what the skill says of its tools, or what kind of skill it is."""
    tools = [tool for tool in re.split(r"[\s,]+", source.text_of("allowed-tools")) if tool]
    if tools:
        return f"INVOKES: {', '.join(tools)}."
    steps = sum(item.ordered for item in source.markdown.items)
    return "**WORKFLOW SKILL**" if steps >= _WORKFLOW else "**UTILITY SKILL**"


def _words(name: str) -> str:
    return re.sub(r"[-_]+", " ", name).strip()


def _append(text: str, more: str) -> str:
    if not text:
        return more
    ended = text if text[-1] in ".!?*" else f"{text}."
    return f"{ended}\n{more}" if "\n" in text else f"{ended} {more}"


class RaisedLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A skill before and after, which changes were made, and why there were no more."""

    name: str
    before: TargetReport
    after: TargetReport
    applied: tuple[str, ...]
    reason: str

    @property
    def level_before(self) -> Level:
        """The level before."""
        return level_of(self.before)

    @property
    def level_after(self) -> Level:
        """The level now."""
        return level_of(self.after)


class Loop(Protocol):
    """What the loop asks and shows."""

    def check(self) -> TargetReport:
        """Check the skill as it is now."""
        ...

    def show(self, report: TargetReport) -> None:
        """Show what was found."""
        ...

    def confirm(self, proposal: Proposal, before: str) -> bool:
        """Show a proposal, and return whether it is to be written."""
        ...


def raise_level(definition: Path, others: Sequence[str], target: Level, most: int, loop: Loop) -> RaisedLevel:
    """Propose changes until the level is reached, nobody wants one, none applies, or there were `most` of them.

    Raises UsageError for what has no level, and WazaError for a file that cannot be written.
    """
    before = report = loop.check()
    if report.compliance is None:
        raise UsageError(f"{report.name} is no skill that can be read, and only skills have levels")
    applied: list[str] = []
    while True:
        loop.show(report)
        source = Source(definition)
        reason = f"the level is {level_of(report)}"
        if reaches(level_of(report), target):
            break
        reason = f"it was to be {pluralize(most, 'change')} at most"
        if len(applied) == most:
            break
        proposal = propose(source, others)
        reason = "there is nothing more to propose without a model"
        if proposal is None:
            break
        reason = "the change was declined"
        if not loop.confirm(proposal, source.target.description):
            break
        write_description(definition, proposal.description)
        applied.append(proposal.what)
        report = loop.check()
    return RaisedLevel(name=before.name, before=before, after=report, applied=tuple(applied), reason=reason)


def level_of(report: TargetReport) -> Level:
    """Return the level of a skill that was checked."""
    return report.compliance.level if report.compliance else "Low"


def change_lines(change: RaisedLevel, width: int) -> list[str]:
    """Return the table of before and after."""
    titles = ("Level", "Tokens", "Phrases it is for", "Phrases it is not for", "Ready")
    rows = list(zip(titles, _figures(change.before), _figures(change.after), strict=True))
    return [*table((one_line(change.name), "Before", "After"), rows, width), "", f"Stopped: {change.reason}"]


def _figures(report: TargetReport) -> tuple[str, ...]:
    tokens = report.token_budget.count if report.token_budget else 0
    found = report.compliance
    counts = (str(found.triggers), str(found.anti_triggers)) if found else ("-", "-")
    return level_of(report), f"{tokens:,}", *counts, "yes" if report.ready else "no"


def summary_lines(changes: Sequence[RaisedLevel], failures: Mapping[str, str], width: int) -> list[str]:
    """Return the table of several skills; `failures` are the reasons of those that could not be changed, by name."""
    rows: list[tuple[str, ...]] = [
        (change.name, change.level_before, change.level_after, "changed" if change.applied else "as before")
        for change in changes
    ]
    rows += [(name, "-", "-", "error") for name in failures]
    return list(table(("Skill", "Before", "After", "Status"), rows, width))
