"""Highlights are the places of the judged text that the details of a verdict name, as JavaScript counts them."""

from __future__ import annotations

import pytest

from waza.dashboard.highlights import MOST, highlights_of


def found(details, text, *, passed=True):
    """The parts of a text in UTF-16, as a browser would cut them out, and whether each is good."""
    units = text.encode("utf-16-le", "surrogatepass")
    return [
        (units[2 * one.start : 2 * one.end].decode("utf-16-le", "surrogatepass"), one.good)
        for one in highlights_of(details, text, passed=passed)
    ]


@pytest.mark.parametrize(
    ("details", "parts"),
    [
        ({"contains": ["STRASSE", "gone"]}, [("Strasse", True)]),
        ({"not_contains": ["💡"]}, [("💡", False), ("💡", False)]),
        ({"contains_cs": ["strasse"], "not_contains_cs": ["Strasse"]}, [("Strasse", False)]),
        ({"regex_match": ["S[a-z]+", "x*"], "regex_not_match": ["(unclosed"]}, [("Strasse", True)]),
        (
            {"evidence": [{"ref": "agent.output[2..9]"}, {"ref": "agent.output[5..900]"}, 3]},
            [("Strasse", True)],
        ),
        ({"contains": "no list", "evidence": "none"}, []),
    ],
)
def test_parts_are_those_that_details_name(details, parts):
    assert found(details, "💡 Strasse é💡") == parts


def test_evidence_of_a_verdict_that_did_not_pass_is_not_good():
    assert found({"evidence": [{"ref": "agent.output[0..1]"}]}, "ab", passed=False) == [("a", False)]


def test_there_are_at_most_so_many():
    assert len(found({"contains": ["a"], "regex_match": ["a"]}, "a" * 10_000)) == MOST
