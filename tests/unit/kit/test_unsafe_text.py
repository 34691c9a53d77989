"""Text from elsewhere: what steers terminals, CI servers and readers becomes text."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.unsafe_text import escape_unsafe, escape_unsafe_json


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
    assert escape_unsafe(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "日本語 é 👩‍👩‍👧 نص",
        "می‌خواهم",
        "a\tb\nc",
        "葛󠄀",
        "❤️‍🔥 ✔︎ 1️⃣ 🏳️‍🌈 👍🏽",
        "ക്‍ ශ්‍රී",
        "\u1820\u180b",
    ],
)
def test_writing_of_all_scripts_stays(text: str):
    assert escape_unsafe(text) == text


UNSEEN = "\u00ad\u034f\u115f\u17b4\u180b\u200b\u2060\u3164\ufe00\ufe0f\uffa0\ufff0\U0001bca0\U0001d173\U000e0100\U000e01ef"


@pytest.mark.parametrize("sign", UNSEEN, ids=ascii)
def test_what_nobody_sees_hides_nothing(sign: str):
    for before in ("", "a", " ", "葛" if sign == "\ufe0f" else "é", sign):
        assert sign not in escape_unsafe(f"{before}{sign}b")


def test_no_format_character_is_invisible_by_itself():
    # These are seen, or arrange what is: signs before Arabic, Kaithi and Syriac numbers, Egyptian quadrats.
    seen = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13440),
    }
    for code in range(0x110000):
        if unicodedata.category(chr(code)) == "Cf" and code not in seen:
            assert chr(code) not in escape_unsafe(f"a{chr(code)}b"), hex(code)


@pytest.mark.parametrize("selectors", ["\U000e0100" * 2, "\ufe00\U000e0100", "\u200d" * 2])
def test_only_one_selector_or_joiner_is_behind_a_character(selectors: str):
    assert set(escape_unsafe("葛" + selectors)) & set(selectors) <= {selectors[0]}
    assert sum(map(escape_unsafe("葛" + selectors).count, set(selectors))) <= 1


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
        ("--- Deploy", "- -- Deploy"),
        ("a\n+++ Open\n~~~\tMuted", "a\n+ ++ Open\n~ ~~\tMuted"),
        ("^^^ +++", "^ ^^ +++"),
    ],
)
def test_commands_of_ci_servers_become_text(text: str, shown: str):
    assert escape_unsafe(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "std::vector",
        "a ::b::",
        "## Title",
        "#[derive(Debug)]",
        "# #[x]",
        "##",
        "a##b",
        "---\ntext",
        "| --- | --- |",
        "a --- b",
        "~~~py",
        "++++ x",
    ],
)
def test_near_misses_of_commands_stay(text: str):
    assert escape_unsafe(text) == text


@given(
    st.text(
        st.sampled_from(":#-+~^ \n\rvso[x\x1b\u202e\u00a0葛❤\u1820\u180b\u200d\ufe0f\ufe00\U000e0100")
        | st.characters()
    )
)
def test_done_twice_it_changes_nothing_more(text: str):
    once = escape_unsafe(text)
    assert escape_unsafe(once) == once
    assert not any(line.lstrip().startswith("::") for line in once.split("\n"))
    assert not any(line.startswith(("--- ", "+++ ", "~~~ ", "^^^ +++")) for line in once.split("\n"))
    assert {char for char in once if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} <= set("\t\n")


@given(
    st.text(st.sampled_from('#vso["\\\x1b\x9b\u202e\U000e0041') | st.characters(exclude_categories=["Cs"]))
)
def test_json_keeps_its_data(text: str):
    for ascii_only in (True, False):
        document = escape_unsafe_json(json.dumps({text: [text]}, ensure_ascii=ascii_only, indent=2))
        assert json.loads(document) == {text: [text]}
        assert "##vso[" not in document
        assert escape_unsafe(document) == document
