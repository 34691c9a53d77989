"""The grader `evaluator`: what it refuses, what it depends on, and the verdicts that it makes of results."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import code_only, write_evaluator
from tests.unit.m365.scripted_judges import ExecutorJudge

from waza.errors import GraderError
from waza.graders.base import GraderLocation
from waza.m365.grader import EvaluatorGrader, evaluator_digest
from waza.m365.judges.choose import CHOICES, KEYS
from waza.model.agent import JudgeAnswer
from waza.model.observation import Observation
from waza.model.verdict import Helpers, SharedResources, Verdict


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current directory, and no judge in the environment."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in (*CHOICES, *KEYS):
        monkeypatch.delenv(name, raising=False)


def mistakes(grader: EvaluatorGrader, base: Path, *, judge: bool = True) -> list[str]:
    found = grader.check(GraderLocation(base=base, judge=judge))
    return [
        f"{'.'.join(map(str, one.path))}: {'warning: ' if one.warning else ''}{one.message}; {one.hint}"
        for one in found
    ]


def graded(grader: EvaluatorGrader, observation: Observation, judge: ExecutorJudge | None = None) -> Verdict:
    async def whole() -> Verdict:
        shared = SharedResources()
        try:
            helpers = Helpers(name="quality", judge_model="gpt-x", judge=judge, shared=shared)
            return await grader.grade(observation, helpers)
        finally:
            await shared.aclose()

    return asyncio.run(whole())


@pytest.mark.parametrize(
    ("grader", "expected"),
    [
        (EvaluatorGrader(name="ExactMatch"), []),
        (
            EvaluatorGrader(name="ExactMatch", threshold=1),
            ["threshold: ExactMatch has no option 'threshold'; known: case_sensitive"],
        ),
        (
            EvaluatorGrader(name="PartialMatch", options={"case_sensitiv": True}),
            [
                "options.case_sensitiv: PartialMatch has no option 'case_sensitiv'; did you mean 'case_sensitive'?"
            ],
        ),
        (
            EvaluatorGrader(name="PartialMatch", threshold=7),
            ["options: these options do not fit PartialMatch: Expected `float` <= 1.0 - at `$.threshold`; "],
        ),
        (
            EvaluatorGrader(name="exactmatch"),
            [
                (
                    "name: there is no evaluator 'exactmatch'; names are case-sensitive, and this one is reserved; "
                    "write 'ExactMatch', or name your custom evaluator domain_exactmatch"
                )
            ],
        ),
        (EvaluatorGrader(name="Relevance"), []),
    ],
)
def test_names_and_options_are_checked(tmp_path: Path, grader: EvaluatorGrader, expected: list[str]):
    assert mistakes(grader, tmp_path) == expected


def test_a_judge_is_asked_for_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    grader = EvaluatorGrader(name="Relevance")
    assert mistakes(grader, tmp_path, judge=False) == [
        (
            "name: warning: Relevance asks a judge, and none is configured, so it will not reach a verdict; "
            "set OPENAI_API_KEY or AZURE_AI_OPENAI_ENDPOINT, and what belongs to it"
        )
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert mistakes(grader, tmp_path, judge=False) == []


def test_custom_evaluators_are_looked_for_beside_the_suite_and_their_scale_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    write_evaluator(tmp_path, "tone", code_only("{'score': 4}"), prompty="---\nmodel: {}\n---\nsystem:\nA\n")
    assert mistakes(EvaluatorGrader(name="tone", threshold=4), tmp_path) == []
    (wrong,) = mistakes(EvaluatorGrader(name="tone", threshold=9), tmp_path)
    assert wrong.startswith("threshold: the threshold is 9, but a judge scores from 1 to 5")
    (unknown,) = mistakes(EvaluatorGrader(name="tome"), tmp_path)
    assert unknown == "name: Unknown evaluator 'tome'; did you mean 'tone'?"


def test_verdicts_that_depend_on_files_or_a_judge_say_so(tmp_path: Path):
    folder = write_evaluator(tmp_path, "check", code_only("{'score': 1}"))
    around = GraderLocation(base=tmp_path)
    custom = EvaluatorGrader(name="check").resolve_paths(around)
    judged = EvaluatorGrader(name="Coherence").resolve_paths(around)
    plain = EvaluatorGrader(name="ExactMatch").resolve_paths(around)
    assert [one.repeatable for one in (custom, judged, plain)] == [True, False, True]
    assert [one.extra_files() for one in (custom, judged, plain)] == [[folder], [], []]
    assert evaluator_digest(tmp_path, "check") in custom.extra_digest
    assert evaluator_digest(tmp_path, "check") != evaluator_digest(tmp_path, "other")


def test_the_digest_covers_the_files_of_an_evaluator_but_not_what_python_leaves_there(tmp_path: Path):
    folder = write_evaluator(tmp_path, "check", "a = 1", beside={"data/terms.txt": "x"})
    first = evaluator_digest(tmp_path, "check")
    for ignored in ("__pycache__/check.pyc", ".cache/x"):
        (folder / ignored).parent.mkdir(exist_ok=True)
        (folder / ignored).write_text("changed", encoding="utf-8")
    assert evaluator_digest(tmp_path, "check") == first
    (folder / "data/terms.txt").write_text("y", encoding="utf-8")
    second = evaluator_digest(tmp_path, "check")
    (folder / "data/terms.txt").rename(folder / "data/words.txt")
    assert len({first, second, evaluator_digest(tmp_path, "check")}) == 3
    assert evaluator_digest(tmp_path, "ExactMatch") == ""


@pytest.mark.parametrize(
    ("own", "output", "passed"), [("", "Lima", True), ("", "Quito", False), ("Quito", "Quito", True)]
)
def test_the_response_is_compared_with_what_the_task_or_the_grader_expects(
    own: str, output: str, passed: bool
):  # a parameter of the test
    grader = EvaluatorGrader(name="ExactMatch", expected_response=own)
    verdict = graded(grader, Observation(output=output, expected="Lima"))
    assert (verdict.passed, verdict.score) == (passed, float(passed))
    assert verdict.details["evaluator"] == "ExactMatch"


def test_a_judged_score_is_brought_to_the_scale_of_graders():
    judge = ExecutorJudge(JudgeAnswer(text='{"score": 4, "reason": "clear"}'))
    verdict = graded(
        EvaluatorGrader(name="Coherence", threshold=5), Observation(question="Q", output="A"), judge
    )
    assert (verdict.passed, verdict.score, verdict.feedback) == (False, 0.75, "clear")
    known = {key: verdict.details[key] for key in ("kind", "raw_score", "scale", "threshold", "reason")}
    assert known == {"kind": "built-in", "raw_score": 4, "scale": "1-5", "threshold": 5, "reason": "clear"}
    assert [(question.asker, question.model) for question in judge.questions] == [("quality", "gpt-x")]


def test_a_judge_that_fails_is_an_errored_verdict_and_never_a_pass():
    judge = ExecutorJudge(JudgeAnswer(error="the turn timed out"))
    verdict = graded(EvaluatorGrader(name="Coherence"), Observation(question="Q", output="A"), judge)
    assert (verdict.passed, verdict.score) == (False, 0)
    assert "the judge gave no judgement: the turn timed out" in verdict.feedback


@pytest.mark.parametrize(
    ("grader", "diagnostics", "text"),
    [
        (EvaluatorGrader(name="Coherence"), {}, "no judge is configured"),
        (EvaluatorGrader(name="unknown"), {}, "Unknown evaluator 'unknown'"),
        (EvaluatorGrader(name="ExactMatch"), {"retrieval_executions": 3}, "searches are not valid: Expected"),
    ],
)
def test_what_keeps_it_from_a_verdict_is_an_error(grader: EvaluatorGrader, diagnostics: Any, text: str):
    with pytest.raises(GraderError, match=text):
        graded(grader, Observation(output="A", diagnostics=diagnostics))
