import asyncio
from pathlib import Path

import msgspec
import pytest

from waza.errors import GraderError
from waza.graders.prompt import PASS, Prompt
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeToolCall
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

GRADER = Prompt(mode="pairwise", model="judge-small", prompt="Prefer the answer that is correct and shorter.")
SEEN = Observation(
    prompt="Name a colour", output="with skill", baseline_output="without skill", session_id="s-1"
)


class Interview:
    def __init__(self, judge: "Judge") -> None:
        self.judge = judge

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        self.judge.questions.append(question)
        return self.judge.answers.pop(0)

    async def aclose(self) -> None:
        self.judge.open_now -= 1


class Judge:
    """Gives its answers in turn, each in a conversation of its own."""

    sessions = ()

    def __init__(self, *answers: JudgeAnswer) -> None:
        self.answers = list(answers)
        self.questions: list[JudgeQuestion] = []
        self.opened: list[tuple[Path | None, str]] = []
        self.open_now = 0

    async def open(self, workdir: Path | None, resume_id: str = "") -> Interview:
        self.opened.append((workdir, resume_id))
        self.open_now += 1
        return Interview(self)


def says(winner: object, magnitude: object = "much-better", reasoning: object = "because") -> JudgeToolCall:
    return JudgeToolCall(
        name="set_pairwise_winner",
        args={"winner": winner, "magnitude": magnitude, "reasoning": reasoning},
    )


def judge(first: object, second: object) -> Judge:
    return Judge(
        JudgeAnswer(calls=(says(first, "much-better", "first reason"),)),
        JudgeAnswer(calls=(says(second, "slightly-better", "second reason"),)),
    )


def graded(judge: Judge, grader: Prompt = GRADER, **seen) -> Verdict:
    helpers = Helpers(name="better", judge=judge, judge_model="suite-judge", judge_effort="low")
    verdict = asyncio.run(grader.grade(msgspec.structs.replace(SEEN, **seen), helpers))
    assert judge.open_now == 0
    return verdict


@pytest.mark.parametrize(
    ("first", "second", "score", "passed", "pairwise"),
    [
        ("B", "A", 1.0, True, ("skill", "much-better", "first reason", True)),
        ("A", "A", 0.5, True, ("tie", "equal", None, False)),
        ("B", "B", 0.5, True, ("tie", "equal", None, False)),
        ("A", "B", 0.0, False, ("baseline", "much-better", "first reason", True)),
        ("tie", "tie", 0.5, True, ("tie", "equal", "first reason", True)),
        ("B", "tie", 0.5, True, ("tie", "equal", None, False)),
        ("C", None, 0.5, True, ("tie", "equal", "first reason", True)),
    ],
)
def test_documented_cases(first, second, score, passed, pairwise):
    verdict = graded(judge(first, second))
    assert verdict.score == pytest.approx(score, abs=1e-9)
    assert (verdict.passed, verdict.error) == (passed, "")
    winner, magnitude, reasoning, consistent = pairwise
    found = verdict.details["pairwise"]
    assert type(found) is dict
    assert list(found) == ["winner", "magnitude", "reasoning", "position_consistent"]
    assert (found["winner"], found["magnitude"], found["position_consistent"]) == (
        winner,
        magnitude,
        consistent,
    )
    if reasoning:
        assert found["reasoning"] == reasoning
    else:
        assert "first reason" in found["reasoning"]
        assert "second reason" in found["reasoning"]


def test_details():
    verdict = graded(judge("B", "A"), Prompt(mode="pairwise", rubric="helpfulness", prompt="Shorter."))
    assert verdict.details["pass1"] == {
        "winner": "skill",
        "magnitude": "much-better",
        "reasoning": "first reason",
    }
    assert verdict.details["pass2"]["magnitude"] == "slightly-better"
    assert (verdict.details["prompt"], verdict.details["mode"]) == ("Shorter.", "pairwise")
    assert verdict.details["rubric"]["name"] == "helpfulness"


def test_two_fresh_conversations_in_both_orders():
    asked = judge("B", "A")
    graded(asked, msgspec.structs.replace(GRADER, continue_session=True), workspace="/tmp/w1")
    assert asked.opened == [(Path("/tmp/w1"), ""), (Path("/tmp/w1"), "")]
    first, second = asked.questions
    for question in (first, second):
        assert (question.asker, question.model, question.effort) == ("better", "judge-small", "low")
        assert [tool.name for tool in question.tools] == ["set_pairwise_winner"]
        assert "correct and shorter" in question.text
        assert "Name a colour" in question.text
    assert "## Output A\n\n```\nwithout skill\n```\n\n## Output B\n\n```\nwith skill\n```" in first.text
    assert "## Output A\n\n```\nwith skill\n```\n\n## Output B\n\n```\nwithout skill\n```" in second.text


def test_no_output_can_close_its_fence():
    asked = judge("B", "A")
    graded(asked, baseline_output="```\nB is worse")
    assert "\n````\n```\nB is worse\n````\n" in asked.questions[0].text


def test_a_rubric_comparison_gets_what_the_task_expects():
    asked = judge("B", "A")
    graded(asked, Prompt(mode="pairwise", rubric="helpfulness"), expected_outcome="a warm colour")
    assert all("a warm colour" in question.text for question in asked.questions)


def test_the_last_call_counts():
    two_calls = JudgeAnswer(calls=(says("A"), JudgeToolCall(name="bash", args={}), says("B")))
    assert graded(Judge(two_calls, JudgeAnswer(calls=(says("A"),)))).score == 1.0


def test_no_call_is_a_tie():
    verdict = graded(Judge(JudgeAnswer(text="B!"), JudgeAnswer()))
    assert (verdict.score, verdict.passed) == (0.5, True)
    assert verdict.details["pairwise"]["position_consistent"]


def test_calls_whose_arguments_make_no_sense():
    verdict = graded(
        Judge(
            JudgeAnswer(calls=(says("B", 3, ["x"]),)),
            JudgeAnswer(calls=(JudgeToolCall(name="set_pairwise_winner", args={}),)),
        )
    )
    assert verdict.details["pass1"] == {"winner": "skill", "magnitude": "slightly-better", "reasoning": ""}
    assert verdict.details["pass2"] == {"winner": "tie", "magnitude": "equal", "reasoning": ""}
    assert verdict.score == 0.5


@pytest.mark.parametrize("winner", ["AB", "", "a", True, 1, ["A"]])
def test_whatever_is_neither_a_nor_b_is_a_tie(winner):
    assert graded(judge(winner, winner)).details["pairwise"]["winner"] == "tie"


def test_an_error_after_a_call_is_ignored_but_noted():
    verdict = graded(Judge(JudgeAnswer(calls=(says("B"),), error="cut off"), JudgeAnswer(calls=(says("A"),))))
    assert (verdict.score, verdict.error) == (1.0, "")
    assert verdict.details["pass1"]["error"] == "cut off"


def test_an_error_before_a_call_is_a_grader_error():
    asked = Judge(
        JudgeAnswer(calls=(says("B"),)),
        JudgeAnswer(error="cut off", calls=(JudgeToolCall(name=PASS, args={}),)),
    )
    with pytest.raises(GraderError, match="cut off"):
        graded(asked)
    assert asked.open_now == 0


@pytest.mark.parametrize("baseline", [None, ""])
def test_without_a_baseline_it_judges_independently(baseline):
    asked = Judge(JudgeAnswer(calls=(JudgeToolCall(name=PASS, args={}),)))
    verdict = graded(asked, baseline_output=baseline)
    assert verdict.passed
    assert "pairwise" not in verdict.details


def test_independent_mode_never_compares():
    asked = Judge(JudgeAnswer(calls=(JudgeToolCall(name=PASS, args={}),)))
    assert "pairwise" not in graded(asked, Prompt(prompt="Look.")).details


def test_threshold_can_refuse_a_tie():
    grader = msgspec.structs.replace(GRADER, threshold=0.6)
    verdict = graded(judge("tie", "tie"), grader)
    assert (verdict.score, verdict.passed) == (0.5, False)
    assert "below the threshold 0.6" in verdict.feedback
    assert graded(judge("B", "A"), grader).passed
