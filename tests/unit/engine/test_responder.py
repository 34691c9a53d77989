import asyncio
from typing import Any

import pytest

from waza.engine.responder import ABSTAIN, REPLY, STOP, Decision, ResponderSession
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeToolCall
from waza.model.observation import Usage
from waza.model.task import Responder


class Interview:
    """Answers one after the other, and remembers what it was asked."""

    def __init__(self, *answers: JudgeAnswer) -> None:
        self.answers, self.asked = list(answers), list[JudgeQuestion]()

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked.append(question)
        return self.answers.pop(0)

    async def aclose(self) -> None:
        pass


def decide(*answers: JudgeAnswer, model: str = "") -> tuple[list[Decision], Interview, ResponderSession]:
    interview = Interview(*answers)
    brief = Responder(instructions="You want it blue.", max_followups=3, model=model)
    responding = ResponderSession(interview, brief, "agent-model", "low", 7)

    async def all_of_them() -> list[Decision]:
        return [await responding.decide(f"said {n}") for n in range(1, len(answers) + 1)]

    return asyncio.run(all_of_them()), interview, responding


def calls(*pairs: tuple[str, dict[str, Any]], error: str = "") -> JudgeAnswer:
    return JudgeAnswer(calls=tuple(JudgeToolCall(name=name, args=args) for name, args in pairs), error=error)


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (calls((REPLY, {"answer": "blue"})), Decision(reply="blue")),
        (calls((STOP, {})), Decision(stop=True)),
        (calls((ABSTAIN, {"reason": "unclear"})), Decision(abstain="unclear")),
        (calls((REPLY, {"answer": "blue"}), error="broke later"), Decision(reply="blue")),
        (calls(("view", {}), (STOP, {})), Decision(stop=True)),
    ],
)
def test_decisions(answer, decision):
    assert decide(answer)[0] == [decision]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (JudgeAnswer(text="just go on"), "none of the three tools"),
        (JudgeAnswer(error="no such model"), "no such model"),
        (calls((REPLY, {"answer": "a"}), (STOP, {})), "2 decisions instead of one"),
        (calls((STOP, {}), (STOP, {})), "2 decisions instead of one"),
        (calls((REPLY, {})), "without 'answer'"),
        (calls((REPLY, {"answer": " \n"})), "without 'answer'"),
        (calls((REPLY, {"answer": 3})), "without 'answer'"),
        (calls((ABSTAIN, {"reason": ""})), "without 'reason'"),
    ],
)
def test_what_is_no_decision_is_an_error(answer, why):
    (decision,), _, _ = decide(answer)
    assert why in decision.error
    assert (decision.reply, decision.stop, decision.abstain) == ("", False, "")


def test_the_brief_is_sent_once_and_each_question_shows_the_last_answer():
    _, interview, _ = decide(*(calls((STOP, {})) for _ in range(3)))
    texts = [question.text for question in interview.asked]
    assert [text.count("You want it blue.") for text in texts] == [1, 0, 0]
    assert ["You play the user" in text for text in texts] == [True, False, False]
    for number, text in enumerate(texts, 1):
        assert f"said {number}" in text
        assert all(name in text for name in (REPLY, STOP, ABSTAIN))
    assert {tool.name for tool in interview.asked[0].tools} == {REPLY, STOP, ABSTAIN}
    assert all(question.asker == "responder" for question in interview.asked)


@pytest.mark.parametrize(("model", "asked"), [("", "agent-model"), ("own", "own")])
def test_its_model_is_the_agents_unless_it_names_one(model, asked):
    _, interview, responding = decide(calls((STOP, {})), model=model)
    question = interview.asked[0]
    assert (question.model, question.effort, question.timeout) == (asked, "low", 7)
    assert responding.max_replies == 3


def test_what_it_costs_is_kept():
    usage = Usage(
        turns=1,
        input_tokens=2,
        output_tokens=3,
        cache_read_tokens=0,
        cache_write_tokens=0,
        premium_requests=0,
    )
    answers = [JudgeAnswer(calls=(JudgeToolCall(name=STOP, args={}),), usage=usage), calls((STOP, {}))]
    assert decide(*answers)[2].usages == [usage, None]
