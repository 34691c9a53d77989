"""A judge for tests, and what its questions look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from waza.m365.judges.judge_model import JudgeError, Message

FENCE = re.compile("^(`{3,})\n(.*?)\n\\1$", re.MULTILINE | re.DOTALL)


class ScriptedJudge:
    """Gives its replies in their order, the last one again and again, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[list[Message]]()
        self.name = "a script"
        self.model_config: Mapping[str, str] = {}

    async def check(self) -> None:
        pass

    async def complete(self, messages: Sequence[Message]) -> str:
        self.asked.append(list(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if not reply:
            raise JudgeError("the judge is away")
        return reply

    async def aclose(self) -> None:
        pass

    def shown(self) -> list[list[str]]:
        """The texts in fences of each question."""
        return [[text for _, text in FENCE.findall(asked[1].content)] for asked in self.asked]
