"""What `waza tokens profile` reports: how a skill or agent is built, and how detailed it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.author.check.source import Source
from waza.author.tokens.count import TokenCounter, Tokenizer
from waza.author.tokens.count_report import ESTIMATED
from waza.author.tokens.files import shown_path
from waza.kit.text import pluralize
from waza.report.words import ERROR, one_line

DetailLevel = Literal["minimal", "standard", "detailed"]

_STANDARD, _DETAILED = 3, 5  # sections
_EXAMPLES = 2  # code blocks of a detailed one
_SECTION = 2  # level of the headings that begin sections


class Profile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The structure of a definition file. `workflow_steps` are items of numbered lists."""

    name: str
    path: str
    tokens: int
    tokenizer: Tokenizer
    sections: int
    code_blocks: int
    workflow_steps: int
    detail_level: DetailLevel
    warnings: tuple[str, ...]


def profile(path: Path, counter: TokenCounter, threshold: int) -> Profile:
    """Return the structure of a SKILL.md or `.agent.md`; `threshold`: from so many tokens on it is large."""
    source = Source(path)
    markdown = source.markdown
    tokens = counter.count(source.text)
    sections = sum(heading.level == _SECTION for heading in markdown.headings)
    steps = sum(item.ordered for item in markdown.items)
    return Profile(
        name=source.target.name,
        path=shown_path(source.path),
        tokens=tokens,
        tokenizer=counter.name,
        sections=sections,
        code_blocks=len(markdown.code_blocks),
        workflow_steps=steps,
        detail_level=_detail_level(sections, len(markdown.code_blocks)),
        warnings=tuple(_warn(tokens, threshold, sections, steps)),
    )


def _detail_level(sections: int, code_blocks: int) -> DetailLevel:
    if sections >= _DETAILED and code_blocks >= _EXAMPLES:
        return "detailed"
    return "standard" if sections >= _STANDARD else "minimal"


def _warn(tokens: int, threshold: int, sections: int, steps: int) -> Iterator[str]:
    if not steps:
        yield "it has no numbered steps"
    if tokens > threshold:
        yield f"it has {tokens:,} tokens; above {threshold:,} it is large"
    if sections < _STANDARD:
        yield f"it has {pluralize(sections, 'section')}; fewer than {_STANDARD} say little"


def profiles_to_json(profiles: Sequence[Profile]) -> Any:
    """Return the JSON document: an object for one file, a list for several."""
    documents = [msgspec.to_builtins(one) for one in profiles]
    return documents[0] if len(documents) == 1 else documents


def profile_lines(profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield the report for people."""
    for number, one in enumerate(profiles):
        if number:
            yield ""
        yield f"{one_line(one.name)}: {one.detail_level} ({one_line(one.path)})"
        parts = (
            pluralize(one.sections, "section"),
            pluralize(one.code_blocks, "code block"),
            pluralize(one.workflow_steps, "numbered step"),
        )
        yield f"  {one.tokens:,} tokens, {', '.join(parts)}"
        yield from (f"  {ERROR} {warning}" for warning in one.warnings)
    if profiles and profiles[0].tokenizer == "estimate":
        yield ESTIMATED
