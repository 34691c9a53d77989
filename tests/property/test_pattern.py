"""RE2 against Python's `re`, on the part of the syntax that both read the same way."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from waza.kit.pattern import compile_alternatives, compile_pattern, literal, substitute

ALPHABET = "abAB01 _.\n-"

ATOMS = st.sampled_from(
    ["a", "b", "A", "0", " ", "_", r"\.", ".", "[ab]", "[^ab]", "[a-b0-1]", r"\d", r"\w", r"\b", "^", "(?:)"]
)
REPEATS = st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}?"])


def bigger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.lists(parts, min_size=1, max_size=3).map("".join)
    either = st.tuples(parts, parts).map("|".join)
    return st.tuples(st.one_of(joined, either), REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}")


PATTERNS = st.recursive(ATOMS, bigger, max_leaves=6)
TEXTS = st.text(ALPHABET, max_size=12)


@given(PATTERNS, TEXTS, st.booleans())
def test_search_and_fullmatch_agree_with_re(pattern: str, text: str, ignore_case: bool) -> None:
    ours = compile_pattern(pattern, ignore_case=ignore_case)
    theirs = re.compile(pattern, re.ASCII | (re.IGNORECASE if ignore_case else re.NOFLAG))

    assert ours.search(text) is bool(theirs.search(text))
    assert ours.fullmatch(text) is bool(theirs.fullmatch(text))


@given(st.text(), st.text())
def test_a_literal_is_found_exactly_where_the_text_is(part: str, text: str) -> None:
    assert compile_pattern(literal(part)).search(text) is (part in text)
    assert compile_pattern(literal(part)).search(f"{text}{part}{text}")


@given(st.text(st.characters(), min_size=1, max_size=3), st.text())
def test_substitute_agrees_with_replace(part: str, text: str) -> None:
    assert substitute(compile_alternatives([literal(part)]), lambda _: "<>", text) == text.replace(part, "<>")
