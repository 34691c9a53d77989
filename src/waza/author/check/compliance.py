"""Whether the description of a skill says when to use it, when not, and what it hands work to.

Agents choose skills by their descriptions. The level follows the marks that the reference program looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from waza.author.check.finding import Finding
from waza.author.check.report import Compliance, GroupIssue, Level
from waza.author.check.source import Source

SHORTEST = 150  # characters; less hardly says what a skill is for
LONGEST = 1024  # characters, by the format of skills

_TRIGGERS = ("use for:", "use this skill", "triggers:", "trigger phrases include")
_ANTI_TRIGGERS = ("do not use for:", "not for:", "don't use this skill", "instead use")
_ROUTING = (
    "invokes:",
    "for single operations:",
    "**workflow skill**",
    "**utility skill**",
    "**analysis skill**",
)
_QUOTES = "\"'`\u201c\u201d\u2018\u2019 "
# Behind these a list of phrases ends.
_MARKERS = re.compile(
    r"do not use for:|use for:|not for:|triggers:|invokes:|for single operations:|\*\*\w+ skill\*\*|\n\s*\n",
    re.IGNORECASE,
)

CODES = frozenset(
    (
        "description-length",
        "description-too-long",
        "missing-triggers",
        "missing-anti-triggers",
        "missing-routing",
        "name-missing",
        "name-format",
        "token-limit",
        "token-hard-limit",
        "token-warning",
    )
)
"""The codes of findings that are issues of this group."""


def check_description(source: Source) -> Iterator[Finding]:
    """Yield what the description of a skill lacks."""
    text = source.target.description
    if not text:
        return  # a problem of the definition
    place = source.place_of_value("description")
    if len(text) < SHORTEST:
        yield source.finding(
            "description-length",
            "error",
            f"the description has {len(text)} characters, and agents choose skills by it alone",
            f"say in at least {SHORTEST} characters what the skill does, when to use it, and when not",
            place,
        )
    yield from check_longest(source)
    if not has_triggers(text):
        yield source.finding(
            "missing-triggers",
            "error",
            "the description does not say what the skill is used for",
            "add 'USE FOR:' and phrases that people write when they need it",
            place,
        )
    if not has_anti_triggers(text):
        yield source.finding(
            "missing-anti-triggers",
            "error",
            "the description does not say what the skill is not for, so that agents use it for similar requests",
            "add 'DO NOT USE FOR:' and phrases that belong to other skills",
            place,
        )
    if not has_routing(text):
        yield source.finding(
            "missing-routing",
            "note",
            "the description does not say which tools or skills it hands work to",
            "add 'INVOKES:' with their names, or 'FOR SINGLE OPERATIONS:' with what to use instead",
            place,
        )


def check_longest(source: Source) -> Iterator[Finding]:
    """Yield a finding for a description that the format of skills and agents does not allow."""
    length = len(source.target.description)
    if length > LONGEST:
        yield source.finding(
            "description-too-long",
            "error",
            f"the description has {length:,} characters; {LONGEST:,} are allowed, and agents cut or drop longer ones",
            "move details into the text below the frontmatter",
            source.place_of_value("description"),
        )


def assess(source: Source, findings: list[Finding]) -> Compliance:
    """Return the level of a skill, and which of the findings are issues of it."""
    text = source.target.description
    return Compliance(
        level=_level(text),
        issues=tuple(GroupIssue(one.severity, one.message) for one in findings if one.code in CODES),
        triggers=len(list_triggers(text)),
        anti_triggers=len(list_anti_triggers(text)),
    )


def has_triggers(text: str) -> bool:
    """Return whether a description says what the skill is for; what says the contrary does not count."""
    lowered = text.lower()
    for mark in _ANTI_TRIGGERS:
        lowered = lowered.replace(mark, " ")
    return any(mark in lowered for mark in _TRIGGERS)


def has_anti_triggers(text: str) -> bool:
    """Return whether a description says what the skill is not for."""
    return _has_any(text, _ANTI_TRIGGERS)


def has_routing(text: str) -> bool:
    """Return whether a description says what the skill hands work to."""
    return _has_any(text, _ROUTING)


def list_triggers(text: str) -> list[str]:
    """Return the phrases behind `USE FOR:`."""
    return [phrase for phrase, negative in _phrases(text) if not negative]


def list_anti_triggers(text: str) -> list[str]:
    """Return the phrases behind `DO NOT USE FOR:`."""
    return [phrase for phrase, negative in _phrases(text) if negative]


def leading_text(text: str) -> str:
    """Return a description up to its first mark: what it says the skill does."""
    found = _MARKERS.search(text)
    return (text[: found.start()] if found else text).strip()


def _phrases(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the phrases of both lists, and whether each is one of what the skill is not for."""
    marks = [*_MARKERS.finditer(text)]
    ends = [*(mark.start() for mark in marks), len(text)]
    for mark, end in zip(marks, ends[1:], strict=True):
        kind = mark.group().lower()
        if kind not in ("use for:", "do not use for:"):
            continue
        for part in text[mark.end() : end].split(","):
            phrase = " ".join(part.split()).strip(_QUOTES).rstrip(".").strip(_QUOTES)
            if phrase:
                yield phrase, kind != "use for:"


def _level(text: str) -> Level:
    if len(text) < SHORTEST or not has_triggers(text):
        return "Low"
    if not has_anti_triggers(text):
        return "Medium"
    return "High" if has_routing(text) else "Medium-High"


def _has_any(text: str, marks: tuple[str, ...]) -> bool:
    lowered = text.lower()
    return any(mark in lowered for mark in marks)
