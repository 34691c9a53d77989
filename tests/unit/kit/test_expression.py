"""Expressions over words, against Python's own `and`, `or` and `not`."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.expression import Expression


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("csv", ["read-csv"], True),
        ("CSV", ["read-csv"], True),
        ("csv", ["json", "a csv file"], True),
        ("csv", ["json"], False),
        ("csv and json", ["csv", "json"], True),
        ("csv and json", ["csv"], False),
        ("csv or json", ["json"], True),
        ("not csv", ["json"], True),
        ("not not csv", ["csv"], True),
        ("a or b and c", ["a"], True),
        ("(a or b) and c", ["a"], False),
        ("not (a or b)", ["c"], True),
        ("not a and not b", ["c"], True),
        ("NOT a OR b", ["b"], True),
        ("'not a' or 'and'", ["this and that"], True),
        ('"a (b)"', ["task a (b)"], True),
        ("a:1/x[0]", ["a:1/x[0]"], True),
        ("übung", ["ÜBUNG"], True),
        ("(((a)))", ["a"], True),
        ("a", [], False),
        ("not a", [], True),
    ],
)
def test_what_is_true(text: str, words: list[str], expected: bool):
    assert Expression(text).matches(words) is expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the end is where a text belongs"),
        ("  ", "the end is where a text belongs"),
        ("a and", "the end is where a text belongs"),
        ("not", "the end is where a text belongs"),
        ("or a", "'or' is where a text belongs"),
        ("()", "')' is where a text belongs"),
        ("a b", "'b' follows a text"),
        ("a (b)", "'(' follows a text"),
        ("a ''", "the end follows a text"),
        ("(a", "a parenthesis is opened and not closed"),
        ("a)", "')' closes a parenthesis that was not opened"),
        ("'a", "a quote is opened and not closed"),
        ("''", "an empty text is in everything"),
        ("(" * 10_000, "parentheses within each other"),
    ],
)
def test_what_is_wrong(text: str, why: str):
    with pytest.raises(ValueError, match=re.escape(why)):
        Expression(text)


def test_long_expressions_need_no_deep_stack():
    assert Expression(" or ".join(["a"] * 20_000)).matches(["a"])
    assert Expression("not " * 20_000 + "a").matches(["a"])


def test_the_terms_are_listed_once_as_they_are_written():
    assert Expression("Ab and (c or not Ab) and 'd e'").terms == ("Ab", "c", "d e")


expressions = st.recursive(
    st.sampled_from("abc"),
    lambda inner: st.one_of(
        inner.map("not {}".format),
        inner.map("({})".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
    ),
    max_leaves=8,
)


@given(expressions, st.sets(st.sampled_from("abc")))
def test_it_binds_as_python_does(text: str, words: set[str]):
    names = {name: name in words for name in "abc"}
    expected = eval(text, {"__builtins__": {}}, names)  # noqa: S307  # made of a, b, c and operators
    assert Expression(text).matches(sorted(words)) is expected
