"""The judge of an executor, as evaluators ask it."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.m365.scripted_judges import ExecutorJudge

from waza.errors import ExecutorError
from waza.m365.judges.executor_judge import ExecutorJudgeModel
from waza.m365.judges.judge_model import JudgeError, Message
from waza.model.agent import JudgeAnswer, JudgeQuestion

SETTINGS = JudgeQuestion(asker="evaluator", text="", model="gpt-x", effort="high", timeout=7)


def complete(judge: ExecutorJudge) -> str:
    messages = [Message("system", "Judge."), Message("user", "Is it good?")]
    try:
        return asyncio.run(ExecutorJudgeModel(judge, SETTINGS).complete(messages)).text
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
