import pytest
from tests.unit.graders._configs import errors, findings, read, refused, warnings

from waza.graders.text import Text
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


def graded(grader: Text, output: str) -> Verdict:
    return grader.grade(Observation(output=output), Helpers())


def passes(output: str, **lists: list[str]) -> bool:
    verdict = graded(Text(**lists), output)
    assert verdict.score == (1.0 if verdict.passed else 0.0)
    return verdict.passed


BUILD_LOG = """
contains: ["build ok", "coverage"]
not_contains: ["panic"]
contains_cs: ["Build OK"]
regex_match: ["(?m)^Tests: \\\\d+ passed$"]
regex_not_match: ["(?=x)"]
"""


def test_the_documented_example():
    grader = read(Text, BUILD_LOG)
    verdict = graded(grader, "Build OK\nTests: 41 passed\n")
    assert verdict.score == pytest.approx(4 / 6, abs=1e-9)
    assert not verdict.passed
    first, second = verdict.details["failures"]
    assert "'coverage'" in first
    assert "(?=x)" in second
    assert verdict.feedback == f"{first}; {second}"
    assert {key: value for key, value in verdict.details.items() if key != "failures"} == {
        "contains": ["build ok", "coverage"],
        "not_contains": ["panic"],
        "contains_cs": ["Build OK"],
        "not_contains_cs": [],
        "regex_match": ["(?m)^Tests: \\d+ passed$"],
        "regex_not_match": ["(?=x)"],
    }


def test_failures_stand_in_the_order_of_the_keys():
    grader = Text(
        regex_not_match=["out"],
        regex_match=["nope"],
        not_contains_cs=["put"],
        contains_cs=["OUT"],
        not_contains=["OUT"],
        contains=["missing"],
    )
    verdict = graded(grader, "output")
    assert verdict.score == 0
    named = verdict.details["failures"]
    entries = [
        "'missing'",
        "'OUT'",
        "'OUT'",
        "'put'",
        "`nope`",
        "`out`",
    ]  # texts in quotes, patterns in backticks
    for note, entry in zip(named, entries, strict=True):
        assert entry in note


def test_case_matters_only_where_the_key_says_so():
    assert passes("ÄPFEL und Birnen", contains=["äpfel"])
    assert not passes("ÄPFEL", not_contains=["äpfel"])
    assert not passes("ÄPFEL", contains_cs=["äpfel"])
    assert passes("ÄPFEL", not_contains_cs=["äpfel"])
    assert not passes("error", regex_match=["ERROR"])
    assert passes("error", regex_match=["(?i)ERROR"])


def test_patterns_are_searched_and_end_at_the_very_end():
    assert passes("one\ntwo", regex_match=["o.?e"])
    assert not passes("done\n", regex_match=["done$"])
    assert passes("done\n", regex_match=["(?m)done$"])
    assert passes("a.c", regex_not_match=["^abc$"])


def test_an_empty_output_is_an_ordinary_text():
    assert not passes("", contains=["x"])
    assert passes("", not_contains=["x"])
    assert passes("", regex_match=["^$"])


def test_a_pattern_that_does_not_compile_fails_its_check_either_way():
    assert not passes("aa", regex_match=[r"(a)\1"])
    assert not passes("b", regex_not_match=[r"(a)\1"])


def test_a_pattern_that_would_backtrack_for_ever_elsewhere_is_answered():
    assert not passes("a" * 40 + "!", regex_match=["^(a+)+$"])


def test_a_pattern_that_does_not_compile_is_a_warning_at_load():
    grader = Text(regex_match=["fine", "("], regex_not_match=["(?!x)"])
    assert errors(grader) == []
    assert warnings(grader) == [("regex_match", 1), ("regex_not_match", 0)]
    assert all("fails" in finding.message for finding in findings(grader))


def test_nothing_to_check_is_an_error():
    assert errors(Text()) == [()]
    assert errors(read(Text, "contains: []")) == [()]


@pytest.mark.parametrize(
    "key", ["contains", "not_contains", "contains_cs", "not_contains_cs", "regex_match", "regex_not_match"]
)
def test_an_empty_entry_is_an_error(key):
    assert errors(Text(**{key: ["x", ""]})) == [(key, 1)]
    assert errors(Text(**{key: [" "]})) == []


def test_an_unknown_key_is_refused():
    (problem,) = refused(Text, "contain: [x]")
    assert "unknown key 'contain'" in problem


def test_numbers_in_lists_keep_their_spelling():
    assert read(Text, "contains: [1.10, yes]").contains == ["1.10", "yes"]


@pytest.mark.parametrize(
    ("output", "entry"),
    [
        ("Willkommen in İstanbul", "istanbul"),
        ("istanbul", "İSTANBUL"),
        ("Ὀδυσσεύς ΟΔΟΣ", "οδοσ"),
        ("ΟΔΟΣ", "οδος"),
        ("\N{KELVIN SIGN}elvin", "kelvin"),
        ("GROẞ", "groß"),
    ],
)
def test_case_is_folded_alike_in_the_output_and_in_an_entry(output, entry):
    assert passes(output, contains=[entry])
    assert not passes(output, not_contains=[entry])


def test_folding_never_changes_the_number_of_characters():
    assert not passes("strasse", contains=["straße"])
