import pytest
from tests.unit.graders._configs import called, errors, read, refused

from waza.graders.action_sequence import ActionSequence
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


def graded(mode, expected: str, actual: str) -> Verdict:
    """Grade tools with names of one letter each."""
    grader = ActionSequence(matching_mode=mode, expected_actions=list(expected))
    return grader.grade(called(*actual), Helpers())


def test_the_documented_example():
    grader = read(ActionSequence, "{matching_mode: in_order_match, expected_actions: [view, edit]}")
    assert errors(grader) == []
    verdict = grader.grade(called("view", "bash", "edit", "view"), Helpers())
    assert verdict.passed
    assert verdict.score == pytest.approx(2 / 3, abs=1e-9)
    assert verdict.details == {
        "matching_mode": "in_order_match",
        "expected_actions": ["view", "edit"],
        "actual_actions": ["view", "bash", "edit", "view"],
        "precision": 0.5,
        "recall": 1.0,
        "f1": verdict.score,
    }


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "passed", "score"),
    [
        ("exact_match", "ab", "ab", True, 1.0),
        ("exact_match", "ab", "ba", False, 1.0),  # the score does not depend on the mode
        ("exact_match", "ab", "abc", False, 0.8),
        ("exact_match", "ab", "a", False, 2 / 3),
        ("in_order_match", "ab", "ba", False, 1.0),
        ("in_order_match", "aa", "a", False, 2 / 3),
        ("in_order_match", "aba", "xaxbxa", True, 2 / 3),
        ("any_order_match", "ab", "ba", True, 1.0),
        ("any_order_match", "aab", "ab", False, 0.8),  # a name counts as often as it is listed
        ("any_order_match", "ab", "bxa", True, 0.8),
        ("any_order_match", "a", "", False, 0.0),
        ("any_order_match", "a", "A", False, 0.0),
    ],
)
def test_modes_and_scores(mode, expected, actual, passed, score):
    verdict = graded(mode, expected, actual)
    assert verdict.passed is passed
    assert verdict.score == pytest.approx(score, abs=1e-9)


def test_feedback_says_what_is_wrong():
    assert graded("any_order_match", "aabc", "c").feedback == "missing: a (2 times), b"
    assert "number 2" in graded("in_order_match", "ab", "ba").feedback
    assert graded("exact_match", "ab", "abc").feedback == "number 3 is 'c', expected no more"
    assert graded("exact_match", "ab", "ba").feedback == "number 1 is 'b', expected 'a'"


def test_without_a_session_it_fails():
    grader = ActionSequence(matching_mode="exact_match", expected_actions=["a"])
    verdict = grader.grade(Observation(has_session=False), Helpers())
    assert (verdict.passed, verdict.score) == (False, 0.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("expected_actions: [a]", "'matching_mode' is missing"),
        ("matching_mode: exact_match", "'expected_actions' is missing"),
        ("{matching_mode: exact_match, expected_actions: []}", "at least 1"),
        ("{matching_mode: exact_match, expected_actions: ['']}", "must not be empty"),
        ("{matching_mode: in_order, expected_actions: [a]}", "in_order_match"),
    ],
)
def test_configs_that_are_refused(text, problem):
    (found,) = refused(ActionSequence, text)
    assert problem in found
