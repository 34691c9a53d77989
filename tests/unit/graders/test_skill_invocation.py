import pytest
from tests.unit.graders._configs import errors, findings, read, refused

from waza.graders.skill_invocation import SkillInvocationGrader
from waza.model.observation import Observation
from waza.model.observation import SkillInvocation as Invoked
from waza.model.verdict import Helpers, Verdict


def graded(grader: SkillInvocationGrader, *skills: str) -> Verdict:
    invoked = tuple(Invoked(name=name) for name in skills)
    return grader.grade(Observation(skill_invocations=invoked), Helpers())


ROUTING = "{required_skills: [plan, deploy], mode: in_order, allow_extra: false"


def test_the_documented_example():
    grader = read(SkillInvocationGrader, ROUTING + "}")
    assert errors(grader) == []
    verdict = graded(grader, "plan", "lint", "deploy")
    assert verdict.passed
    assert verdict.score == pytest.approx(0.64, abs=1e-9)
    assert verdict.details.pop("f1") == pytest.approx(0.8, abs=1e-9)
    assert verdict.details.pop("precision") == pytest.approx(2 / 3, abs=1e-9)
    assert verdict.details == {
        "mode": "in_order",
        "required_skills": ["plan", "deploy"],
        "forbidden_skills": [],
        "forbidden_violations": [],
        "actual_skills": ["plan", "lint", "deploy"],
        "allow_extra": False,
        "recall": 1.0,
    }


def test_a_forbidden_skill_takes_the_whole_score():
    grader = read(SkillInvocationGrader, ROUTING + ", forbidden_skills: [lint]}")
    verdict = graded(grader, "plan", "lint", "deploy", "lint")
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.details["forbidden_violations"] == ["lint"]
    assert "lint" in verdict.feedback


@pytest.mark.parametrize(
    ("mode", "skills", "passed", "score"),
    [
        ("exact_match", "ab", True, 1.0),
        ("exact_match", "ba", False, 1.0),
        ("exact_match", "abc", False, 0.8),
        ("in_order", "axb", True, 0.8),
        ("in_order", "ba", False, 1.0),
        ("any_order", "ba", True, 1.0),
        ("any_order", "a", False, 2 / 3),
        ("any_order", "", False, 0.0),
    ],
)
def test_modes(mode, skills, passed, score):
    verdict = graded(SkillInvocationGrader(required_skills=["a", "b"], mode=mode), *skills)
    assert verdict.passed is passed
    assert verdict.score == pytest.approx(score, abs=1e-9)


def test_extra_skills_cost_score_but_no_verdict():
    strict = SkillInvocationGrader(required_skills=["a"], mode="any_order", allow_extra=False)
    verdict = graded(strict, "a", "b", "c")
    assert verdict.passed
    assert verdict.score == pytest.approx(0.5 * (1 - 0.6 * 2 / 3), abs=1e-9)
    assert graded(strict, "a").score == 1.0
    assert graded(strict).score == 0.0


def test_only_forbidden_skills_need_no_mode():
    grader = read(SkillInvocationGrader, "forbidden_skills: [lint]")
    assert errors(grader) == []
    verdict = graded(grader)
    assert (verdict.passed, verdict.score, verdict.details["mode"]) == (True, 1.0, "any_order")
    assert graded(grader, "plan").passed
    assert not graded(grader, "plan", "lint").passed


def test_no_session_is_a_list_without_skills():
    grader = SkillInvocationGrader(forbidden_skills=["lint"])
    assert grader.grade(Observation(has_session=False), Helpers()).passed


def test_configs_that_are_refused():
    assert errors(SkillInvocationGrader()) == [()]
    (finding,) = findings(SkillInvocationGrader(required_skills=["a"]))
    assert "'mode' is missing" in finding.message
    assert refused(SkillInvocationGrader, "{required_skills: [a], mode: in_order_match}")
    assert refused(SkillInvocationGrader, "{required_skills: [' '], mode: in_order}")
