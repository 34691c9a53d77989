"""Text from elsewhere: what steers terminals, CI servers and readers becomes text."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.foreign import harmless, harmless_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m\x07\x9b\r\x7f", "\\x1b[31m\\x07\\x9b\\x0d\\x7f"),
        ("\u202e \u2066 \u200f \u200e \u061c", "\\u202e \\u2066 \\u200f \\u200e \\u061c"),
        ("\ufeff \U000e0041 \u2028 \ud800", "\\ufeff \\U000e0041 \\u2028 \\ud800"),
        ("a\tb\r\nc", "a\tb\nc"),
    ],
)
def test_signs_that_steer_or_hide_become_escapes(text: str, shown: str):
    assert harmless(text) == shown


@pytest.mark.parametrize("text", ["", "plain", "日本語 é 👩‍👩‍👧 نص", "می‌خواهم", "a\tb\nc", "葛󠄀"])
def test_writing_of_all_scripts_stays(text: str):
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("a\n \t\u00a0\u3000::stop-commands::tok", "a\n \t\u00a0\u3000: :stop-commands::tok"),
        (":::error::", ": ::error::"),
        ("##vso[task.complete]x", "# #vso[task.complete]x"),
        ("a\n  ##[error]b", "a\n  # #[error]b"),
        ("said: ##vso[task.complete]", "said: # #vso[task.complete]"),
        ("###teamcity[x]", "## #teamcity[x]"),
        ("\r::error::x", "\\x0d::error::x"),
    ],
)
def test_commands_of_ci_servers_become_text(text: str, shown: str):
    assert harmless(text) == shown


@pytest.mark.parametrize(
    "text", ["std::vector", "a ::b::", "## Title", "#[derive(Debug)]", "# #[x]", "##", "a##b"]
)
def test_near_misses_of_commands_stay(text: str):
    assert harmless(text) == text


@given(st.text(st.sampled_from(":# \n\rvso[x\x1b\u202e\u00a0") | st.characters()))
def test_done_twice_it_changes_nothing_more(text: str):
    once = harmless(text)
    assert harmless(once) == once
    assert not any(line.lstrip().startswith("::") for line in once.split("\n"))
    assert {char for char in once if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} <= set("\t\n")


@given(
    st.text(st.sampled_from('#vso["\\\x1b\x9b\u202e\U000e0041') | st.characters(exclude_categories=["Cs"]))
)
def test_json_keeps_its_data(text: str):
    for ascii_only in (True, False):
        document = harmless_json(json.dumps({text: [text]}, ensure_ascii=ascii_only, indent=2))
        assert json.loads(document) == {text: [text]}
        assert "##vso[" not in document
        assert harmless(document) == document
