from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from waza.errors import WazaError
from waza.kit import pattern as module
from waza.kit.pattern import PatternError, compile_alternatives, compile_pattern, literal, substitute


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b+", "abbc", True),
        ("^abc$", "abc\n", False),  # `$` is the very end
        (r"\d", "٣", False),  # classes are ASCII
        ("a(?i)B", "ab", True),  # flags in mid-pattern
        (r"\pL", "é", True),
        ("[[:alpha:]]", "x", True),
        (r"\Qa.b\E", "axb", False),
        ("(?<year>[0-9]{4})", "in 2026", True),
        ("a{,2}", "a{,2}", True),  # literal text
        (r"x\z", "x", True),
        ("", "", True),
        ("ключ", "где ключ?", True),
    ],
)
def test_search_follows_re2(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern).search(text) is found


def test_fullmatch_takes_the_whole_text_and_every_alternative() -> None:
    pattern = compile_pattern("a|ab")

    assert pattern.search("xaby")
    assert pattern.fullmatch("ab")
    assert not pattern.fullmatch("abc")


def test_anchored_search_is_a_fullmatch() -> None:
    pattern = compile_pattern("a|ab", anchored=True)

    assert pattern.search("ab")
    assert not pattern.search("xab")


def test_ignore_case_folds_unicode() -> None:
    assert compile_pattern("straße", ignore_case=True).search("STRAßE")
    assert not compile_pattern("a").search("A")


@pytest.mark.parametrize("text", ["\ud800", "before \udfff after", "ok \x00"])
def test_matching_never_raises(text: str) -> None:
    assert compile_pattern("zzz").search(text) is False
    assert compile_pattern("^.").search(text) is True


def test_a_lone_surrogate_counts_as_one_character() -> None:
    assert compile_pattern("a.b").fullmatch("a\ud800b")


def test_a_pattern_with_a_lone_surrogate_finds_it() -> None:
    assert compile_pattern("\ud800").search("x\ud800")


def test_a_hostile_pattern_takes_linear_time() -> None:
    assert not compile_pattern("^(a+)+$").search("a" * 100_000 + "!")


def test_equal_patterns_are_compiled_once() -> None:
    assert compile_pattern("once") is compile_pattern("once")
    assert compile_pattern("once") is not compile_pattern("once", ignore_case=True)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(?=a)b", ["look-ahead", "two patterns"]),
        ("(?!a)", ["negative look-ahead"]),
        ("(?<=a)b", ["look-behind"]),
        ("(?<!a)b", ["negative look-behind"]),
        (r"(a)\1", ["back-reference"]),
        ("(?P<q>a)(?P=q)", ["back-reference"]),
        ("(?>a)", ["atomic", "(?:"]),
        ("a++", ["possessive"]),
        ("a**", ["two repetitions"]),
        ("(?(1)a|b)", ["conditional"]),
        ("(?#c)a", ["comment"]),
        ("(?x) a", ["flag `x`"]),
        ("(?a)a", ["i, m, s, U"]),
        (r"\Z", [r"\z"]),
        (r"\u0041", [r"\x{"]),
        (r"\N{DASH}", [r"\x{"]),
        (r"\h", ["escape"]),
        ("a{1001}", ["1000"]),
        ("*a", ["nothing to repeat"]),
        ("(a", ["not closed"]),
        ("a)", ["closes no group"]),
        ("[a", ["not closed"]),
        ("[b-a]", ["low to high"]),
        ("a\\", ["backslash"]),
        (r"a\C", [r"\C", "`.`"]),
    ],
)
def test_a_refusal_is_a_sentence_with_the_way_out(pattern: str, words: list[str]) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)

    message = str(caught.value)
    assert message.startswith("the pattern '")
    assert "b'" not in message.replace(repr(pattern), "")
    assert all(word in message for word in words), message


def test_every_message_of_re2_that_we_do_not_know_is_passed_on() -> None:
    with pytest.raises(PatternError, match="invalid named capture group"):
        compile_pattern("(?P<>a)")


def test_a_long_pattern_is_cut_in_the_message() -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern("x" * 5000 + "(")

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("pattern", [r"\Qa\C\E", r"a\\C", r"\Q\C", r"\\\\C"])
def test_any_byte_is_accepted_where_it_is_plain_text(pattern: str) -> None:
    compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"\C", r"\\\C", r"\Qa\E\C", r"\d\C"])
def test_any_byte_is_refused_elsewhere(pattern: str) -> None:
    with pytest.raises(PatternError, match="any byte"):
        compile_pattern(pattern)


def test_re2_writes_nothing_to_standard_error() -> None:
    script = (
        "from waza.kit.pattern import compile_pattern\n"
        "try:\n    compile_pattern('(?=a)')\n"
        "except ValueError as error:\n    print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "PatternError\n"
    assert done.stderr == ""


def test_without_the_package_the_message_names_it_and_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    spec = importlib.util.spec_from_file_location("pattern_without_re2", Path(module.__file__))
    assert spec is not None
    assert spec.loader is not None

    with pytest.raises(WazaError, match=r"google-re2.*musl"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_substitute_replaces_every_match() -> None:
    pattern = compile_alternatives(["a+", "é"])

    assert substitute(pattern, lambda found: f"<{found}>", "aaébaü") == "<aa><é>b<a>ü"


def test_substitute_returns_the_same_object_where_nothing_matches() -> None:
    text = "nothing here \ud800"

    assert substitute(compile_alternatives(["zzz"]), str.upper, text) is text


def test_the_longest_alternative_counts() -> None:
    pattern = compile_alternatives(["ab", "abcd", "abc"])

    assert substitute(pattern, lambda _: "X", "abcde") == "Xe"


def test_matches_of_nothing_are_left_alone() -> None:
    assert substitute(compile_alternatives(["x*"]), lambda _: "Y", "aéxb") == "aéYb"


def test_literal_matches_itself_only() -> None:
    text = r"a.b*(c) \d é"

    assert compile_pattern(literal(text)).fullmatch(text)
    assert not compile_pattern(literal("a.b")).search("axb")
