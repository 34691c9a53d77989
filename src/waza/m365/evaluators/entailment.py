"""Whether search results support a claim: an extract contains it, or a judge decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waza.m365.custom.custom_result import read_reason
from waza.m365.judges.judge_model import JudgeModel
from waza.m365.judges.judge_prompt import NoJudgementError, ask_judge, judge_prompt


class SearchHit(msgspec.Struct, frozen=True):
    """A search result: its rank, its address, and the texts of its extracts."""

    rank: int
    url: str
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of its extracts as one text, empty where none has any."""
        return "\n\n".join(text for text in self.texts if text.strip())


class ClaimResult(msgspec.Struct, frozen=True):
    """Whether a claim is supported: the reason, and the first result that supports it, if there is one."""

    claim: str
    reason: str
    hit: SearchHit | None = None

    def to_document(self) -> dict[str, Any]:
        """Return it as a document has it."""
        item: dict[str, Any] = {"extractMatch": self.claim, "reason": self.reason}
        if self.hit:
            item |= {"matchedHitUrl": self.hit.url, "matchedHitRank": self.hit.rank}
        return item


def find_text(claim: str, hits: Sequence[SearchHit]) -> ClaimResult:
    """Look for the claim as a text in the extracts; upper and lower case are the same."""
    for hit in hits:
        if any(contains(text, claim) for text in hit.texts):
            return ClaimResult(claim, "an extract contains this text", hit)
    reason = f"no extract of {len(hits)} results contains this text" if hits else "there are no results"
    return ClaimResult(claim, reason)


async def judge_support(claim: str, hits: Sequence[SearchHit], judge: JudgeModel) -> ClaimResult:
    """Ask the judge whether an extract supports the claim; results without a text are not shown.

    Raises NoJudgementError if the judge does not decide.
    """
    shown = dict(enumerate((hit for hit in hits if hit.text), 1))
    if not shown:
        reason = f"no extract of {len(hits)} results has a text" if hits else "there are no results"
        return ClaimResult(claim, reason)
    material = [("Claim", claim), *((f"Result {number}", hit.text) for number, hit in shown.items())]
    reply = await ask_judge(judge, judge_prompt(["entailment", "material"], material, "claim"), "supported")
    supported, number = reply["supported"], reply.get("hit")
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    hit = shown.get(number) if is_number else None  # type: ignore[call-overload]  # 2.0 is the key 2
    if (supported is True and hit) or (supported is False and number is None):
        return ClaimResult(claim, read_reason(reply), hit)
    raise NoJudgementError(
        "could not parse the judge's reply: 'supported' must be true and 'hit' the number of a result, or false "
        f"and null, but they are {supported!r:.50} and {number!r:.50}"
    )


def contains(text: str, term: str) -> bool:
    """Tell whether a text contains a term; upper and lower case are the same."""
    return term.casefold() in text.casefold()
