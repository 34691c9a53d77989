"""Judges for tests, and what their questions look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from waza.m365.judges.judge_model import JudgeError, JudgeReply, Message
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeSession

FENCE = re.compile("^(`{3,})\n(.*?)\n\\1$", re.MULTILINE | re.DOTALL)


class ScriptedJudge:
    """Gives its replies in their order, the last one again and again, and keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[list[Message]]()
        self.name = self.provider = self.model = "a script"
        self.model_config: Mapping[str, str] = {}

    async def check(self) -> None:
        pass

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        self.asked.append(list(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if not reply:
            raise JudgeError("the judge is away")
        return JudgeReply(reply)

    async def aclose(self) -> None:
        pass

    def shown(self) -> list[list[str]]:
        """The texts in fences of each question."""
        return [[text for _, text in FENCE.findall(asked[1].content)] for asked in self.asked]


class ExecutorJudge:
    """Gives one answer, or breaks; it is its own conversation, and counts those that are open."""

    sessions: tuple[JudgeSession, ...] = ()

    def __init__(self, answer: JudgeAnswer | Exception) -> None:
        self.answer, self.questions, self.open_now = answer, list[JudgeQuestion](), 0

    async def open(self, workdir: Path | None, resume_id: str = "") -> ExecutorJudge:
        assert (workdir, resume_id) == (None, "")
        self.open_now += 1
        return self

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        self.questions.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def aclose(self) -> None:
        self.open_now -= 1
