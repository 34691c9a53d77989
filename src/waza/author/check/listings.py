"""What agents show of the descriptions of skills when they list them. What is over their limits is cut without a word.

The consequences were seen in the first request that each agent sends to its model, with descriptions of 3,000
characters, and with 80 skills of 450 characters each. Agents tell limits in their own units and change them, so that
the sums here are what was shown there, rounded down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waza.author.check.compliance import LONGEST
from waza.author.check.finding import Finding
from waza.author.check.report import Listing
from waza.author.check.source import Source


class Lister(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that lists skills, with the version that was measured.

    `of_one` is how many characters of a description over the limit are shown. `of_all` is how many characters the
    descriptions of all skills together may have before some are cut or left out; None where all are shown.
    """

    agent: str
    version: str
    of_one: int | None
    consequence: str
    of_all: int | None
    consequence_of_all: str = ""


LISTERS = (
    Lister(
        agent="Claude Code",
        version="2.1.327",
        of_one=LONGEST,
        consequence="the end is cut off",
        of_all=22_000,
        consequence_of_all="some skills are listed by their names alone",
    ),
    Lister(
        agent="Codex",
        version="0.163.0",
        of_one=LONGEST,
        consequence="the end is cut off",
        of_all=30_000,
        consequence_of_all="all descriptions are cut",
    ),
    Lister(
        agent="Copilot",
        version="1.0.102",
        of_one=0,
        consequence="the skill is not listed at all",
        of_all=12_000,
        consequence_of_all="some skills are listed by their names alone",
    ),
    Lister(
        agent="OpenCode",
        version="1.18.33",
        of_one=None,
        consequence="all of it is shown",
        of_all=None,
    ),
)


def list_cuts(source: Source) -> tuple[Listing, ...]:
    """Return what each agent shows of a description that is over the limit; nothing for one within it."""
    length = len(source.target.description)
    if length <= LONGEST or source.target.kind != "skill":
        return ()
    return tuple(
        Listing(one.agent, length if one.of_one is None else one.of_one, length, one.consequence)
        for one in LISTERS
    )


def check_sum(sources: Sequence[Source]) -> Iterator[tuple[Source, Finding]]:
    """Yield a finding for each agent to which the skills together are too much, at the longest description."""
    skills = [one for one in sources if one.target.kind == "skill" and one.target.model_invocable]
    total = sum(len(one.target.description) for one in skills)
    for lister in LISTERS:
        if lister.of_all is None or total <= lister.of_all:
            continue
        longest = max(skills, key=lambda one: len(one.target.description))
        yield (
            longest,
            longest.finding(
                "listing-limit",
                "warning",
                f"the descriptions of {len(skills)} skills have {total:,} characters; of more than about "
                f"{lister.of_all:,} {lister.agent} ({lister.version}) shows only a part: {lister.consequence_of_all}",
                "shorten descriptions, beginning with this one, which is the longest",
                longest.place_of_value("description"),
            ),
        )
