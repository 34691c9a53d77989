"""Counting tokens, and the limits of files."""

from __future__ import annotations

import msgspec
import pytest

from waza.author.tokens.count import EstimatedCounter, ExactCounter, choose_counter
from waza.author.tokens.limits import TokenLimits, read_limits
from waza.errors import UsageError
from waza.model.loaded import Project, ProjectFile


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("äöü", 2), ("a\r\nb\r\n", 1), ("\ud800ab", 1)],
)
def test_the_estimate_is_a_quarter_of_the_bytes(text, tokens):
    assert EstimatedCounter().count(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("\ud800", 1), ("日本語", 2)]
)
def test_the_exact_count(text, tokens):
    assert ExactCounter().count(text) == tokens


def test_line_ends_count_alike():
    assert ExactCounter().count("a\r\nb\r\n") == ExactCounter().count("a\nb\n")


def test_very_long_texts_are_counted_in_parts():
    line = "The quick brown fox jumps over the lazy dog.\n"
    one = ExactCounter().count(line)
    assert ExactCounter().count(line * 60_000) == 60_000 * one


def test_the_counter_that_is_wanted(monkeypatch):
    assert choose_counter("estimate").name == "estimate"
    assert choose_counter().name == choose_counter("bpe").name == "bpe"
    monkeypatch.setattr("waza.author.tokens.count.find_spec", lambda _name: None)
    assert choose_counter().name == "estimate"
    with pytest.raises(UsageError, match=r"waza\[tokens\]"):
        choose_counter("bpe")


@pytest.mark.parametrize(
    ("paths", "tokens", "pattern"),
    [
        (("SKILL.md", "skills/x/SKILL.md"), 500, "SKILL.md"),
        (("references/a.md",), 1000, "references/**/*.md"),
        (("references/deep/er/a.md",), 1000, "references/**/*.md"),
        (("docs/a.md",), 1500, "docs/**/*.md"),
        (("x/other.md",), 2000, "*.md"),
        (("README.md",), 3000, "README.md"),
        (("deep/README.md",), 3000, "README.md"),
        (("a.txt",), 2000, ""),
        (("notSKILL.md",), 2000, "*.md"),
    ],
)
def test_the_built_in_limits(paths, tokens, pattern):
    limit = TokenLimits().of(*paths)
    assert (limit.tokens, limit.pattern) == (tokens, pattern)


def test_the_most_specific_pattern_counts_and_overrides_come_first():
    limits = TokenLimits(
        defaults={"*.md": 1, "a/*.md": 2, "a/**/*.md": 3, "a/b.md": 4}, overrides={"c/d.md": 5}, fallback=6
    )
    assert [limits.of(path).tokens for path in ("x.md", "a/x.md", "a/y/x.md", "a/b.md", "z/c/d.md", "x.txt")] == [
        1, 3, 3, 4, 5, 6,
    ]  # fmt: skip
    assert limits.of("xc/d.md").tokens == 1


def project(tmp_path, tokens):
    return Project(directory=tmp_path, keys=msgspec.convert({"tokens": tokens}, ProjectFile))


def test_limits_come_from_the_project_then_from_the_older_file(tmp_path):
    (tmp_path / ".token-limits.json").write_text('{"defaults": {"*.md": 7}, "more": 1}')
    legacy = read_limits(project(tmp_path, {"fallbackLimit": 9}), tmp_path)
    assert (legacy.of("SKILL.md").tokens, legacy.of("x").tokens) == (7, 9)
    assert legacy.legacy == tmp_path / ".token-limits.json"
    ours = read_limits(project(tmp_path, {"limits": {"defaults": {"*.md": 8}}}), tmp_path)
    assert (ours.of("SKILL.md").tokens, ours.legacy) == (8, None)
    assert read_limits(project(tmp_path, {}), tmp_path / "elsewhere").of("SKILL.md").tokens == 500


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"defaults": {"a": "b"}}', '{"defaults": {"%s": 1}}' % ("a" * 501)]
)
def test_limits_that_cannot_be_used(tmp_path, text):
    (tmp_path / ".token-limits.json").write_text(text)
    with pytest.raises(UsageError, match="token-limits"):
        read_limits(project(tmp_path, {}), tmp_path)
