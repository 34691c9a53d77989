"""The judge of an executor, as evaluators ask it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from waza.errors import ExecutorError
from waza.m365.judges.executor_judge import ExecutorJudgeModel
from waza.m365.judges.judge_model import JudgeError, Message
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeSession

SETTINGS = JudgeQuestion(asker="evaluator", text="", model="gpt-x", effort="high", timeout=7)


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


def complete(judge: ExecutorJudge) -> str:
    messages = [Message("system", "Judge."), Message("user", "Is it good?")]
    try:
        return asyncio.run(ExecutorJudgeModel(judge, SETTINGS).complete(messages))
    finally:
        assert judge.open_now == 0


def test_the_messages_are_one_question_with_the_settings():
    judge = ExecutorJudge(JudgeAnswer(text='{"score": 4}'))
    assert complete(judge) == '{"score": 4}'
    assert judge.questions == [
        JudgeQuestion(
            asker="evaluator", text="Judge.\n\nIs it good?", model="gpt-x", effort="high", timeout=7
        )
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (JudgeAnswer(error="the turn timed out"), "the turn timed out"),
        (JudgeAnswer(text="half of", error="the turn timed out"), "the turn timed out"),
        (JudgeAnswer(text=" \n"), "the reply is empty"),
        (ExecutorError("the runtime is gone"), "the runtime is gone"),
    ],
)
def test_no_answer_is_an_error_and_the_conversation_ends(answer: JudgeAnswer | Exception, text: str):
    with pytest.raises(JudgeError) as caught:
        complete(ExecutorJudge(answer))
    assert str(caught.value) == f"the judge gave no judgement: {text}"
