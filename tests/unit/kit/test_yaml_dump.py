"""Data that is written as YAML reads as the same data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit import yaml

TEXTS = [
    "", " ", "no", "on", "0o17", "1_000", "0b1", "12:30:00", "1.10", "~", "null", ".inf", "-", "- a", "a: b", "#",
    "{{.Vars.x}}", "'", '"', "\t", "a\tb", " lead", "trail ", "two\nlines", "end\n", "end\n\n", "\nstart", "  in\nout",
    "trail \nblank", "tab\t\n\tx", "cr\r\nlf", "\u0085\u2028", "\ufeff", "😀", "ä\n😀", "\x00\x1b", "---", "...", "a\n---\nb",
    "&a", "*a", "!x", "%x", "@x", "`x", "=", "<<", "2026-01-15", "0x1F", "long " * 60, "long\n" * 3 + "x " * 90,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text):
    data = {"key": text, "list": [text, {text: 1}] if text else [text]}
    assert yaml.to_plain(yaml.load(yaml.dump(data).encode())) == data


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_any_data(value):
    assert yaml.to_plain(yaml.load(yaml.dump({"key": value}).encode())) == {"key": value}


def test_how_it_looks():
    data = {
        "name": "x",
        "inputs": {"prompt": "One\nTwo\n"},
        "graders": [{"type": "text", "config": {"contains": ["ä"]}}],
    }
    assert yaml.dump(data) == (
        "name: x\ninputs:\n  prompt: |\n    One\n    Two\n"
        "graders:\n  - type: text\n    config:\n      contains:\n        - ä\n"
    )


def test_halves_of_pairs_are_replaced():
    assert yaml.to_plain(yaml.load(yaml.dump(["a\ud800"]).encode())) == ["a\ufffd"]
