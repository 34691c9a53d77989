"""Glob patterns by Go's rules: what matches a name, and which paths a pattern finds."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.kit.glob import expand, matches


class TestMatching:
    @pytest.mark.parametrize(
        ("pattern", "name"),
        [
            ("a.yaml", "a.yaml"),
            ("*.yaml", "a.yaml"),
            ("*.yaml", ".yaml"),
            ("*", ".hidden"),
            ("*", ""),
            ("**", "ab"),
            ("a**b", "ab"),
            ("a?c", "abc"),
            ("?", "é"),
            ("é*", "éa"),
            ("[abc]x", "bx"),
            ("[a-c]x", "bx"),
            ("[^a-c]x", "dx"),
            ("[a-cx-z]", "y"),
            ("[!a]", "!"),
            ("[à-ü]", "é"),
            ("[]a]", "]"),
            ("[-a]", "-"),
            ("[a-]", "-"),
            (r"[a\-z]", "-"),
            (r"[\]]", "]"),
            (r"[\^a]", "^"),
            ("[a^]", "^"),
            ("[[]", "["),
            ("[*?]", "?"),
            (r"\*", "*"),
            (r"\**", "*abc"),
            (r"\[a", "[a"),
            (r"\a", "a"),
            ("a.b", "a.b"),
            ("(a|b)", "(a|b)"),
            ("{a,b}", "{a,b}"),
            ("a:*", "a:1"),
            ("a\n*", "a\nb"),
            ("a/*", "a/b"),
        ],
    )
    def test_a_match(self, pattern, name):
        assert matches(pattern, name)

    @pytest.mark.parametrize(
        ("pattern", "name"),
        [
            ("a.yaml", "A.yaml"),
            ("a.yaml", "a.yaml\n"),
            ("*.yaml", "a.yml"),
            ("*", "a/b"),
            ("**", "a/b"),
            ("a?c", "a/c"),
            ("?", ""),
            ("[a-c]x", "dx"),
            ("[^a-c]x", "bx"),
            ("[!a]", "b"),
            ("[^]x]", "]"),
            (r"[a\-z]", "m"),
            (r"\*", "a"),
            (r"\**", "abc"),
            ("a.b", "axb"),
            ("{a,b}", "a"),
            ("a", "ab"),
        ],
    )
    def test_no_match(self, pattern, name):
        assert not matches(pattern, name)

    @pytest.mark.parametrize("pattern", ["[", "[a", "[]", "[^]", "[^", "x[a-"])
    def test_open_classes(self, pattern):
        with pytest.raises(ValueError, match=r"opens '\[' and never closes it") as mistake:
            matches(pattern, "a")
        assert repr(pattern) in str(mistake.value)

    @pytest.mark.parametrize("pattern", ["\\", "a\\", "[\\"])
    def test_backslashes_at_the_end(self, pattern):
        with pytest.raises(ValueError, match="ends in a backslash"):
            matches(pattern, "a")

    @pytest.mark.parametrize("pattern", ["[z-a]", r"[\z-\a]"])
    def test_ranges_from_high_to_low(self, pattern):
        with pytest.raises(ValueError, match="from high to low"):
            matches(pattern, "a")

    @pytest.mark.parametrize("pattern", ["[[a]", "[+--]", "[a&&b]", "[a||b]", "[~~]", r"[\w]", "[--a]"])
    def test_signs_that_mean_more_to_python_mean_nothing_here(self, pattern):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not matches(pattern, "é")

    def test_many_stars_are_quick(self):
        assert not matches("*a" * 12 + "b", "a" * 60)
        assert not matches("*" * 60 + "b", "a" * 2000)


class TestPaths:
    def found(self, root: Path, pattern: str) -> list[str]:
        return [path.relative_to(root).as_posix() for path in expand(root, pattern)]

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        files = [
            "b.yaml",
            "a.yaml",
            ".h.yaml",
            "a.txt",
            "s/one/t.yaml",
            "s/two/t.yaml",
            "s/x.yaml",
            "[a].yaml",
            "é.yaml",
        ]
        return write_tree(tmp_path, dict.fromkeys(files, ""))

    @pytest.mark.parametrize(
        ("pattern", "names"),
        [
            ("a.yaml", ["a.yaml"]),
            ("./a.yaml", ["a.yaml"]),
            ("*.yaml", [".h.yaml", "[a].yaml", "a.yaml", "b.yaml", "é.yaml"]),
            ("[ab].yaml", ["a.yaml", "b.yaml"]),
            (r"\[a\].yaml", ["[a].yaml"]),
            ("s/*/t.yaml", ["s/one/t.yaml", "s/two/t.yaml"]),
            ("s/**/*.yaml", ["s/one/t.yaml", "s/two/t.yaml"]),
            ("*/x.yaml", ["s/x.yaml"]),
            ("s//x.yaml", ["s/x.yaml"]),
            ("s", ["s"]),
            ("s/", ["s"]),
            ("s/one/../x.yaml", ["s/one/../x.yaml"]),
            ("none/*.yaml", []),
            ("none.yaml", []),
            ("a.yaml/*", []),
            ("x\0/*", []),
            ("x\0", []),
        ],
    )
    def test_they_are_sorted(self, root, pattern, names):
        assert self.found(root, pattern) == names

    def test_an_absolute_pattern_does_not_start_at_the_root_that_is_given(self, root):
        assert expand(Path("/none"), f"{root}/s/*.yaml") == [root / "s/x.yaml"]

    def test_links_that_lead_nowhere_are_found(self, root):
        (root / "c.yaml").symlink_to("gone")
        (root / "d.yaml").symlink_to("d.yaml")
        assert self.found(root, "[cd].yaml") == ["c.yaml", "d.yaml"]
        assert self.found(root, "c.yaml") == ["c.yaml"]

    def test_malformed_patterns_are_reported(self, root):
        with pytest.raises(ValueError, match="never closes it"):
            expand(root, "s/[x")
