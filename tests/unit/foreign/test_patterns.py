"""Patterns of JavaScript: what is translated finds the same in RE2 as in JavaScript itself."""

import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waza.foreign.plugin_evals.patterns import UntranslatableError, translate
from waza.kit.pattern import compile_pattern

TRANSLATED = [
    ("hello", "i", r"(?i)hello"),
    ("a\\.b", "", r"a\.b"),
    ('"skill"\\s*:', "", None),
    ("(?:[\\w-]+:)?price-sorter", "", r"(?:[\w\-]+:)?price-sorter"),
    ("^[\\W\\d]*mango", "im", r"(?i)(?:^|[\n\r\x{2028}\x{2029}])[\W\d]*mango"),
    ("a.b", "", r"a[^\n\r\x{2028}\x{2029}\x{10000}-\x{10ffff}]b"),
    ("a.*b", "s", r"a(?s:.)*b"),
    ("\\d{2,3}|x{2}", "", r"\d{2,3}|x{2}"),
    ("{x}", "", r"\{x\}"),
    ("(?<year>\\d+)", "", r"(\d+)"),
    ("ä😀", "", "ä😀"),
]
LEFT = [
    ("(?i)a", ""), ("a(?=b)", ""), ("(?<!a)b", ""), ("(a)\\1", ""), ("a**", ""), ("*a", ""), ("[", ""), ("(", ""), (")", ""),
    ("ä", "i"), ("a", "g"), ("a", "u"), ("a", "ii"), ("..", ""), (".{2}", ""), (".+.+", ""), ("(?:.+){2}", ""), ("(.)", ""),
    ("[]", ""), ("[^]", ""), ("\\p", ""), ("\\h", ""), ("a$b", "m"), ("(^a)", "m"), ("x{1001}", ""), ("a{2,1}", ""), ("\\", ""),
    ("^*", ""), ("", ""), ("\\B", ""), ("😀+", ""), ("[😀]", ""), ("\\ud83d", ""), ("\\cA", ""), ("[^\\W]", ""), ("[a-\\d]", ""),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "flags", "expected"), TRANSLATED)
def test_translated(pattern, flags, expected):
    assert expected is None or translate(pattern, flags) == expected
    translate(pattern, flags)


@pytest.mark.parametrize(("pattern", "flags"), LEFT)
def test_left_to_javascript(pattern, flags):
    with pytest.raises(UntranslatableError):
        translate(pattern, flags)


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "\\d",
        "\\s",
        "\\S",
        "\\W",
        "\\w",
        "[^a]",
        "[ab]",
        "[\\W\\d]",
        "^",
        "$",
        "\\b",
        "\\B",
        "\n",
        "\\r",
        "😀",
        "-",
        "\\.",
    ]
)
REPETITIONS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,}", "{0,2}"])
SEQUENCES = st.lists(st.tuples(ATOMS, REPETITIONS).map("".join), min_size=1, max_size=4).map("".join)
GROUPS = st.tuples(SEQUENCES, st.sampled_from(["", "|"]), SEQUENCES, REPETITIONS).map(
    lambda one: f"(?:{one[0]}{one[1]}{one[2] if one[1] else ''}){one[3]}"
)
PATTERNS = st.lists(SEQUENCES | GROUPS | st.just("|"), min_size=1, max_size=3).map("".join)
TEXTS = st.text(st.sampled_from("ab1 -.\n\r\u2028\u00a0\ufeff😀é"), max_size=6)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@settings(max_examples=1, deadline=None)
@given(st.data())
def test_translations_find_what_javascript_finds(data):
    """One process for many pairs, since starting Node takes long."""
    cases = data.draw(
        st.lists(
            st.tuples(
                PATTERNS, st.sampled_from(["", "i", "m", "s", "ims"]), st.lists(TEXTS, min_size=8, max_size=8)
            ),
            min_size=60,
            max_size=60,
        )
    )
    script = (
        "const cases = JSON.parse(require('fs').readFileSync(0));"
        "const found = cases.map(([p, f, ts]) => { try { const r = new RegExp(p, f); return ts.map((t) => r.test(t)); }"
        " catch { return null; } }); console.log(JSON.stringify(found));"
    )
    done = subprocess.run(
        ["node", "-e", script], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    for (pattern, flags, texts), found in zip(cases, json.loads(done.stdout), strict=True):
        try:
            translated = translate(pattern, flags)
        except UntranslatableError:
            continue
        compiled = compile_pattern(translated)
        assert [compiled.search(text) for text in texts] == found, (pattern, flags, texts, translated)
