import asyncio
from typing import Any

import msgspec
import pytest

from waza.m365.document.objects import convert_object
from waza.m365.document.options import BUILT_IN
from waza.m365.document.scores import SCORE_KEYS, SCORES
from waza.m365.evaluators.builtin import make_built_in
from waza.m365.evaluators.protocols import EvaluatorInput
from waza.m365.evaluators.texts import find_citations, word_f1
from waza.m365.results.status import entry_of

CITE = "\ue200cite\ue202turn0search1\ue201"


def score(name: str, options: dict[str, Any], **texts: str) -> dict[str, Any]:
    """Return the entry of a built-in evaluator without a judge; it has the shape of its kind."""
    assert name in BUILT_IN
    case = msgspec.structs.replace(EvaluatorInput(prompt="Which form?", response="Form T-2"), **texts)
    entry = entry_of(asyncio.run(make_built_in(name, options, None)(case)))
    if entry["result"] != "error":
        convert_object(SCORES[SCORE_KEYS[name]], entry)
    return entry


@pytest.mark.parametrize(
    ("response", "options", "match"),
    [
        ("  form t-2\n", {}, True),
        ("form t-2", {"case_sensitive": True}, False),
        ("Form T-2", {"case_sensitive": True}, True),
        ("Form  T-2", {}, False),
        ("It is Form T-2", {}, False),
        ("", {}, False),
    ],
)
def test_an_exact_match_ignores_blanks_around_and_case(response, options, match):
    entry = score("ExactMatch", options, response=response, expected_response="Form T-2 ")
    assert entry["match"] is match
    assert entry["result"] == ("pass" if match else "fail")
    assert "threshold" not in entry


@pytest.mark.parametrize("name", ["ExactMatch", "PartialMatch"])
def test_without_an_expected_response_there_is_no_result(name):
    entry = score(name, {}, expected_response=" \n")
    assert entry.keys() == {"result", "error"}
    assert entry["result"] == "error"
    assert "expected_response" in entry["error"]


@pytest.mark.parametrize(
    ("response", "expected", "wanted"),
    [
        ("one two", "two, ONE!", 1.0),
        ("one", "two", 0.0),
        ("", "two", 0.0),
        ("!", "?", 1.0),
        ("a a b", "a b b", 2 / 3),
        ("a", "a b c", 0.5),
        ("grüße aus köln", "GRÜSSE aus Köln", 1.0),
        ("snake_case", "snake case", 1.0),
    ],
)
def test_a_partial_match_is_the_f1_score_of_words(response, expected, wanted):
    assert word_f1(response, expected) == pytest.approx(wanted)
    assert word_f1(expected, response) == word_f1(response, expected)


def test_a_score_at_the_threshold_passes():
    texts = {"response": "a", "expected_response": "a b c"}
    assert score("PartialMatch", {"threshold": 0.5}, **texts) == {
        "score": 0.5,
        "result": "pass",
        "threshold": 0.5,
        "reason": "Match score: 0.500",
    }
    assert score("PartialMatch", {"threshold": 0.51}, **texts)["result"] == "fail"
    assert score("PartialMatch", {"case_sensitive": True}, response="A", expected_response="a")["score"] == 0


@pytest.mark.parametrize(
    ("style", "text", "indices"),
    [
        ("oai_unicode", f"Yes.{CITE} No.{CITE}", [1]),
        ("oai_unicode", "\ue200cite\ue202turn0search1\ue202turn1file2\ue201", [1, 2]),
        ("oai_unicode", "\ue200filecite\ue202turn0file0\ue201 [1]", [1]),
        ("oai_unicode", "\ue200cite\ue202turn0search1 never closed", []),
        ("oai_unicode", "\ue200entity\ue202Berlin\ue201", []),
        ("bracket", "As [2] says, and [1]; also [2].", [2, 1]),
        ("bracket", "[0] [x] [1](http://a.example) ![3](b.png)", []),
        ("markdown", 'See [1](http://a.example/x_(y)) and [2](b.md#part "B").', [1, 2]),
        ("markdown", "See [1#top](http://a.example), [1](http://a.example), [3](u)#x", [1, 3]),
        ("markdown", "[1] ![2](b.png) [three](c) [4]()", []),
        ("mixed", f"[1] [1](u) [2](v) {CITE}", [1, 2, 1]),
        ("mixed", "", []),
    ],
)
def test_citations_are_counted_once_per_index(style, text, indices):
    assert [citation.index for citation in find_citations(text, style)] == indices


def test_the_count_decides():
    entry = score("Citations", {"citation_format": "markdown", "threshold": 2}, response="[1](u) [7](v)")
    assert entry == {
        "count": 2,
        "result": "pass",
        "threshold": 2,
        "format": "markdown",
        "citations": [
            {"index": 1, "text": "[1](u)", "source": "u"},
            {"index": 7, "text": "[7](v)", "source": "v"},
        ],
    }
    assert score("Citations", {}, response="[1]")["result"] == "fail"


def test_an_unknown_format_counts_as_the_default():
    entry = score("Citations", {"citation_format": "inline"}, response=CITE)
    assert (entry["count"], entry["format"]) == (1, "oai_unicode")
