"""`--judges`: graders that ask a judge are proved with that of the suite's executor, while scripts play agent and user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza import executors
from waza.author.assure.assure import assure
from waza.author.prove.options import ProveOptions
from waza.author.prove.suites import SuiteToProve, prove_suites
from waza.executors.mock import FAIL, PASS
from waza.model.agent import (
    AttemptWorkspace,
    JudgeAnswer,
    JudgeQuestion,
    JudgeSession,
    JudgeToolCall,
    Session,
    Setup,
)
from waza.model.capabilities import Capabilities
from waza.model.loaded import Project
from waza.model.task import Task
from waza.model.trial import Attempt

ASKED: list[str] = []  # who asked a judge
RUNNING: list[object] = []  # executors that are started


class JupiterJudge:
    """A judge, and its conversation: it passes what names Jupiter without a "not", and has no verdict on "silent"."""

    sessions: Sequence[JudgeSession] = ()

    async def open(self, workdir: Path | None, resume_id: str = "") -> JupiterJudge:
        assert (workdir, resume_id) == (None, "")
        return self

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        ASKED.append(question.asker)
        answer = question.text.partition("Candidate output")[2]
        if "silent" in answer:
            return JudgeAnswer(text="No comment")
        call = PASS if "Jupiter" in answer and " not " not in answer else FAIL
        return JudgeAnswer(calls=(JudgeToolCall(name=call, args={"reason": "by the word"}),))

    async def aclose(self) -> None:
        """Nothing to end."""


class JudgingExecutor:
    """An executor whose agent must never be asked."""

    def __init__(self, setup: Setup) -> None:
        del setup

    async def start(self) -> None:
        RUNNING.append(self)

    def works_in(self, task: Task) -> bool:
        raise AssertionError(f"the script says where the agent of {task.id} works")

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> Session:
        raise AssertionError(f"the agent of {attempt.task.id} is scripted, in {place}")

    def judge(self, attempt: Attempt) -> JupiterJudge:
        del attempt
        return JupiterJudge()

    async def aclose(self) -> None:
        RUNNING.remove(self)


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(executors.TYPES, "judging", f"{__name__}:JudgingExecutor")
    monkeypatch.setitem(
        executors.CAPABILITIES, "judging", Capabilities(judge=True, tool_calls=True, skills=True)
    )
    ASKED.clear()


@pytest.mark.usefixtures("judging")
def test_a_judge_is_asked_about_every_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(
        tmp_path,
        {
            "eval.yaml": "name: s\nconfig: {executor: judging}\ntasks: ['tasks/*.yaml']\n",
            "tasks/planet.yaml": """id: planet
inputs: {prompt: Which is the largest planet?, responder: {instructions: Be kind, max_followups: 1}}
graders:
  - {type: prompt, name: right, config: {prompt: Is it right?}}
  - {type: prompt, name: in_session, config: {prompt: Is it kind?, continue_session: true}}
solution: {output: It is Jupiter, responder: [{stop: true}]}
""",
        },
    )
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    options = ProveOptions(project=Project(directory=tmp_path), judges=True, say=said.append)
    [suite] = prove_suites(
        [SuiteToProve(tmp_path / "eval.yaml")], options, graders=True, secrets=False
    ).suites
    assert suite.prove is not None
    rows = {one.name: one for one in suite.prove.graders}
    assert rows["right"].proved
    assert rows["right"].agents["nothing"].caught == rows["right"].agents["strings"].caught == 1
    assert rows["right"].changes["negated"].caught == 1
    assert rows["right"].changes["shuffled"].caught == 0
    assert "session" in rows["in_session"].reason
    assert set(ASKED) == {"right"}
    assert len(ASKED) == suite.prove.runs
    assert RUNNING == []
    assert said[0] == "judges are asked up to 1 time in 1 run"
    ASKED.clear()
    without = ProveOptions(project=options.project)
    [suite] = prove_suites(
        [SuiteToProve(tmp_path / "eval.yaml")], without, graders=True, secrets=False
    ).suites
    assert suite.prove is not None
    assert not any(one.proved for one in suite.prove.graders)
    assert ASKED == []


CASES = """cases:
  - {id: right, task: planet, output: It is Jupiter, expect: pass, grader: right}
  - {id: wrong, task: planet, output: It is not Jupiter, expect: fail, grader: right}
  - {id: fooled, task: planet, output: Jupiter or Mars, expect: fail, grader: right}
  - {id: short, task: planet, output: Jupiter, expect: fail, grader: sentence}
  - {id: silent, task: planet, output: silent, expect: fail, grader: right}
  - {id: in session, task: planet, output: It is Jupiter, expect: fail, grader: in_session}
"""


@pytest.mark.usefixtures("judging")
def test_a_judge_is_asked_about_cases_that_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(
        tmp_path,
        {
            "eval.yaml": "name: s\nconfig: {executor: judging}\ntasks: ['tasks/*.yaml']\n",
            "tasks/planet.yaml": """id: planet
inputs: {prompt: Which is the largest planet?}
graders:
  - {type: prompt, name: right, config: {prompt: Is it right?}}
  - {type: prompt, name: in_session, config: {prompt: Is it kind?, continue_session: true}}
  - {type: text, name: sentence, config: {regex_match: [^It is]}}
""",
            "cases.yaml": CASES,
        },
    )
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    options = ProveOptions(project=Project(directory=tmp_path), programs=True, judges=True, say=said.append)
    report = assure(tmp_path / "eval.yaml", None, tmp_path / "cases.yaml", options)
    assert {one.id: one.state for one in report.cases} == {
        "right": "held",
        "wrong": "held",
        "fooled": "not_held",
        "short": "held",
        "silent": "not_judged",
        "in session": "not_judged",
    }
    assert report.cases[4].why.startswith("right reached no verdict: the judge gave no verdict")
    assert ASKED == ["right"] * 4
    assert said == ["judges are asked up to 4 times in 6 runs"]
    assert RUNNING == []
    assert any("asked once about a case" in sentence for sentence in report.shows)
    [right] = [one for one in report.graders if one.name == "right"]
    assert right.cases.lacks == "not all of its cases hold"
