"""The YAML reader: what scalars mean, where things stand, and what it says of text that is no YAML."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from waza.kit import yaml
from waza.kit.yaml import Mapping, Node, Scalar, Sequence, YamlError


def read(text: str | bytes, first_line: int = 1) -> Node:
    return yaml.load(text if isinstance(text, bytes) else text.encode(), first_line)


def value(text: str) -> Any:
    return yaml.to_plain(read(text))


def entry(text: str, key: str = "k") -> Node:
    root = read(text)
    assert isinstance(root, Mapping)
    return root.entries[key]


def fault(text: str | bytes, first_line: int = 1) -> str:
    with pytest.raises(YamlError) as found:
        read(text, first_line)
    error = found.value
    assert str(error) == error.message
    return f"{error.line}:{error.column}: {error.message}"


class TestScalars:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            *[(word, True) for word in ("true", "True", "TRUE")],
            *[(word, False) for word in ("false", "False", "FALSE")],
            *[(word, None) for word in ("null", "Null", "NULL", "~", "")],
            *[(word, math.inf) for word in (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")],
            *[(word, -math.inf) for word in ("-.inf", "-.Inf", "-.INF")],
            ("0", 0),
            ("12", 12),
            ("-12", -12),
            ("+12", 12),
            ("012", 12),
            ("-0", 0),
            ("0o17", 15),
            ("0x1F", 31),
            ("0xff", 255),
            ("123456789012345678901234567890", 123456789012345678901234567890),
            ("1.10", 1.1),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("+1.5e+2", 150.0),
            ("1e400", math.inf),
        ],
    )
    def test_plain_ones_follow_the_core_schema_and_keep_their_text(self, text, meant):
        scalar = entry(f"k: {text}\n")
        assert isinstance(scalar, Scalar)
        assert scalar.value == meant
        assert type(scalar.value) is type(meant)
        assert scalar.text == text

    @pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
    def test_not_a_number(self, text):
        scalar = entry(f"k: {text}")
        assert isinstance(scalar, Scalar)
        assert isinstance(scalar.value, float)
        assert math.isnan(scalar.value)

    @pytest.mark.parametrize(
        "text",
        [
            *["yes", "Yes", "no", "on", "off", "y", "n", "tRUE", "nULL", "None"],
            *[
                "1_000",
                "12:30:00",
                "0b11",
                "0o8",
                "0xg",
                "-0x1",
                "+0o7",
                "1e",
                "e1",
                ".",
                "+",
                "-.",
                "1.2.3",
                "v1",
            ],
            *["inf", "nan", "+.nan", "-.nan", "2026-01-31", "<<x", "١٢", "²", "1 2", "٣.٥"],
        ],
    )
    def test_all_others_are_texts(self, text):
        assert value(f"k: {text}") == {"k": text}

    @pytest.mark.parametrize("text", ["true", "12", "~", "1.10", ".inf", ""])
    @pytest.mark.parametrize("quote", ["'", '"'])
    def test_quotes_make_texts(self, text, quote):
        assert value(f"k: {quote}{text}{quote}") == {"k": text}

    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("!!str 12", "12"),
            ("!!str", ""),
            ("! 12", "12"),
            ("!!int '12'", 12),
            ("!!int 0x1F", 31),
            ("!!int abc", "abc"),
            ("!!float 5", 5.0),
            ("!!float true", True),
            ("!!bool 'true'", True),
            ("!!null ''", None),
            ("!!binary aGk=", "aGk="),
            ("!mine 12", "12"),
            ("!<tag:yaml.org,2002:int> '7'", 7),
        ],
    )
    def test_tags(self, text, meant):
        found = value(f"k: {text}")["k"]
        assert found == meant
        assert type(found) is type(meant)

    def test_numbers_of_absurd_length_are_refused_and_may_be_texts(self):
        long = "9" * 401
        wanted = "1:4: a number of more than 400 digits; put it in quotes if it is a text"
        assert fault(f"k: {long}") == wanted
        assert fault(f"k: 1.{long}") == wanted
        assert fault(f"k: !!int '{long}'") == wanted
        assert value(f"k: '{long}'") == {"k": long}
        assert value(f"k: !!str {long}") == {"k": long}
        assert value(f"k: {long[:400]}") == {"k": int(long[:400])}

    def test_block_texts(self):
        assert value("k: |\n  a\n   b\n\nj: >-\n  c\n  d\n") == {"k": "a\n b\n", "j": "c d"}

    def test_escapes_and_wide_characters(self):
        assert value(r'k: "\x41\u00e9\U0001F600\0\t\/\e"') == {"k": "Aé😀\0\t/\x1b"}
        assert value("k: 日本 😀\n") == {"k": "日本 😀"}

    @pytest.mark.parametrize(
        "written",
        [
            json.dumps({"k": ["😀 a", "b\\ud83d", 1, True, None, {"x": "😀🦀"}], "l": "é😀"}),
            json.dumps({"k": "😀" * 3, "none": "x"}, indent=2),
            'k: "\\ud83d\\ude00"\nplain: \\ud83d\\ude00\nsingle: \'\\ud83d\\ude00\'\nl: "\\uD83D\\uDE00"\n',
        ],
    )
    def test_two_escapes_of_json_are_one_character(self, written):
        joined = written.replace('"\\ud83d\\ude00"', '"😀"').replace('"\\uD83D\\uDE00"', '"😀"')
        wanted = json.loads(written) if written.startswith("{") else value(joined)
        assert value(written) == wanted

    def test_places_behind_such_escapes_are_those_of_the_file(self):
        text = '{"😀": [1, "\\ud83d\\ude00\\ud83d\\ude00", 2], "a": "\\ud83d\\ude00", "b": 3,\n "c": 4}\n'
        found = read(text)
        assert isinstance(found, Mapping)
        for key in ("a", "b"):
            assert found.keys[key].column == text.index(f'"{key}"') + 1
        assert (found.keys["c"].line, found.keys["c"].column) == (2, 2)
        text = 'a: ["\\ud83d\\ude00", {b: }}]'
        assert fault(text).startswith(f"1:{text.index('}}') + 2}: ")

    @pytest.mark.parametrize("lone", [r"\ud83d", r"\ude00\ud83d", r"\\ud83d\ude00", r"\ud83dx\ude00"])
    def test_half_of_such_a_pair_is_refused(self, lone):
        assert "does not stand for a character" in fault(f'k: "\\ud83d\\ude00{lone}"\n')


class TestDocuments:
    @pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "--- ~\n", "\ufeff"])
    def test_an_empty_one_is_a_scalar_of_none(self, text):
        found = read(text)
        assert isinstance(found, Scalar)
        assert found.value is None

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a: 1\n---\nb: 2\n", 2),
            ("a: 1\n...\n---\nb\n", 3),
            ("---\n---\na: 1\n", 2),
            ("a: 1\n---\n---\n", 2),
        ],
    )
    def test_a_second_one_is_refused(self, text, line):
        refused = "a second document starts here; a file holds one, so move it into a file of its own"
        assert fault(text) == f"{line}:1: {refused}"

    @pytest.mark.parametrize("end", ["---\n", "--- # nothing\n\n", "...\n", "...\n---\n"])
    def test_an_empty_last_one_is_ignored(self, end):
        assert value(f"a: 1\n{end}") == {"a": 1}

    def test_what_is_behind_the_end_is_read(self):
        assert "not valid YAML" in fault("a: 1\n...\nno yaml: : :\n")

    def test_directives(self):
        assert value("%YAML 1.2\n---\nk: yes\n") == {"k": "yes"}
        assert value("%YAML 1.1\n---\nk: yes\n") == {"k": "yes"}

    def test_a_byte_order_mark_and_line_ends_of_windows(self):
        data = "\ufeffa: 1\r\nb:\r\n  - c\r\n  - |\r\n    d\r\n    e\r\n".encode()
        assert yaml.to_plain(read(data)) == {"a": 1, "b": ["c", "d\ne\n"]}

    def test_json(self):
        assert value('{"a": [1, 1.5, true, null, "x"], "b": {}, "c": []}') == {
            "a": [1, 1.5, True, None, "x"],
            "b": {},
            "c": [],
        }

    def test_keys_are_their_texts(self):
        assert list(value("1: a\n1.10: b\ntrue: c\n~: d\n'': e\n? f\n: g\n")) == [
            "1",
            "1.10",
            "true",
            "~",
            "",
            "f",
        ]


class TestPlaces:
    def test_lines_and_columns_count_from_one_in_characters(self):
        root = read("é: 1\nb:\n  - {c: d}\n  - 日本: [x, y]\n")
        assert isinstance(root, Mapping)
        assert (root.line, root.column) == (1, 1)
        items = root.entries["b"]
        assert isinstance(items, Sequence)
        assert (items.line, items.column) == (3, 3)
        assert (root.keys["b"].line, root.keys["b"].column) == (2, 1)
        first, second = items.items
        assert (first.line, first.column) == (3, 5)
        assert isinstance(second, Mapping)
        inner = second.entries["日本"]
        assert isinstance(inner, Sequence)
        assert (inner.line, inner.column) == (4, 9)
        assert [(item.line, item.column) for item in inner.items] == [(4, 10), (4, 13)]

    def test_the_first_line_may_be_deeper_in_a_file(self):
        root = read("a: 1\nb: 2\n", first_line=10)
        assert isinstance(root, Mapping)
        assert [key.line for key in root.keys.values()] == [10, 11]
        assert fault("a: 1\na: 2\n", 10).startswith("11:1: duplicate key 'a', on lines 10 and 11")
        assert fault("a: 1\nb: [\n", 10).startswith("12:1: ")
        assert fault(b"a: 1\nb: \xff\n", 10).startswith("11:4: ")

    def test_an_alias_is_the_node_of_its_anchor(self):
        root = read("a: &x [1]\nb: *x\n")
        assert isinstance(root, Mapping)
        assert root.entries["b"] is root.entries["a"]


class TestAnchorsAndMerges:
    def test_anchors(self):
        assert value("a: &x 1\nb: &y {c: *x}\nd: [*y, *x]\n") == {"a": 1, "b": {"c": 1}, "d": [{"c": 1}, 1]}

    def test_an_anchor_may_be_set_again(self):
        assert value("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}

    def test_a_merge_fills_what_is_not_there(self):
        assert value("a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x}\nc: {<<: *x, q: 4}\n") == {
            "a": {"p": 1, "q": 2},
            "b": {"p": 1, "q": 3},
            "c": {"p": 1, "q": 4},
        }

    def test_of_several_merges_the_first_wins(self):
        assert value("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n")["c"] == {"p": 1, "q": 2}

    def test_in_quotes_it_is_a_key_like_any_other(self):
        assert value("a: {'<<': {b: 1}, c: <<}\n") == {"a": {"<<": {"b": 1}, "c": "<<"}}

    def test_what_cannot_be_merged(self):
        assert fault("a: {<<: text}") == "1:9: '<<' takes a mapping or a list of mappings"
        assert fault("a: {<<: [{b: 1}, c]}") == "1:9: '<<' takes a mapping or a list of mappings"

    def test_an_alias_without_anchor(self):
        assert fault("a: *x\n") == "1:4: the alias *x has no anchor &x before it"
        assert fault("a: &x\n  b: *x\n") == "2:6: the alias *x has no anchor &x before it"

    def test_aliases_do_not_grow_without_end(self):
        bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
        assert fault(bomb).endswith(": aliases make this file larger than 1,000,000 values")

    def test_depth_is_limited_through_aliases_too(self):
        assert fault("[" * 101 + "]" * 101) == "1:101: nested deeper than 100 levels"
        assert yaml.to_plain(read("[" * 100 + "]" * 100)) is not None
        chain = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 120))
        assert fault(chain) == "100:12: nested deeper than 100 levels"
        assert fault("- " * 2000 + "x").endswith("nested deeper than 100 levels")

    def test_many_aliases_of_a_flat_node_are_no_depth(self):
        text = "a: &x [1]\nb:\n" + "- *x\n" * 500
        assert len(value(text)["b"]) == 500


class TestMistakes:
    def test_duplicate_keys_name_both_lines(self):
        assert fault("a: 1\nb: 2\na: 3\n") == "3:1: duplicate key 'a', on lines 1 and 3; keep one of them"
        assert fault("x:\n  - {a: 1, a: 2}\n").startswith("2:12: duplicate key 'a', on lines 2 and 2")
        assert fault("1: a\n'1': b\n").startswith("2:1: duplicate key '1'")

    def test_a_key_may_repeat_in_another_mapping(self):
        assert value("a: {a: 1}\nb: {a: 2}\n") == {"a": {"a": 1}, "b": {"a": 2}}

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ('k: "a\nb: c\n', "1:4: not valid YAML: the quote that opens here is never closed"),
            ('"a\n--- b\n', "1:1: not valid YAML: the quote that opens here is never closed"),
            ("k: [a, b\nc: d\n", "2:2: not valid YAML: a list in [...] wants a ',' between its items and a ']' at its end"),
            ('k: ["a" "b"]\n', "1:9: not valid YAML: a list in [...] wants a ',' between its items and a ']' at its end"),
            ("k: {a: b\n", "1:4: not valid YAML: a mapping in {...} wants a ',' between its keys and a '}' at its end"),
            ("k: [a, , b]\n", "1:8: not valid YAML: a value is missing, or a bracket is not closed"),
            ("k: a: b\n", "1:5: not valid YAML: a ': ' is not allowed here; put the value in quotes, or correct the indentation"),
            ("a: b\n c: d\n", "2:3: not valid YAML: a ': ' is not allowed here; put the value in quotes, or correct the indentation"),
            ("a:\n  b: c\n d: e\n", "3:2: not valid YAML: this does not fit the keys above; correct the indentation, or the quotes"),
            ("a: 'it's'\n", "1:8: not valid YAML: this does not fit the keys above; correct the indentation, or the quotes"),
            ("x: y\na\nb: c\n", "2:1: not valid YAML: there is no ': ' behind this key"),
            ("{a: b}}\n", "1:7: not valid YAML: text after the end of the document; correct the brackets or the indentation"),
            ("- a\nb: c\n", "2:1: not valid YAML: this is no item of the list above; start it with '- ', or correct the indentation"),
            ("a: - b\n", "1:4: not valid YAML: a list cannot start here; start it on a line of its own, below its key"),
            ('a: "\\d"\n', "1:5: not valid YAML: write a backslash in double quotes as two, or use single quotes"),
            ('a: "\\ud800"\n', "1:7: not valid YAML: this escape does not stand for a character; write the character itself"),
            ("a: *.yaml\n", "1:4: not valid YAML: a text that starts with '*' or '&' must be put in quotes"),
            ("a: %x\n", "1:4: not valid YAML: a text that starts with this character must be put in quotes"),
            ("é: `x`\n", "1:4: not valid YAML: a text that starts with this character must be put in quotes"),
            ("a:\n\tb: c\n", "2:1: a tab cannot indent in YAML; indent with spaces"),
            ("日本: |\n\tb\n", "2:1: a tab cannot indent in YAML; indent with spaces"),
            ("a: {{ .x }}\n", "1:5: a key must be a plain text; put a value that starts with '{' or '[' in quotes"),
            ("? [a]\n: b\n", "1:3: a key must be a plain text; put a value that starts with '{' or '[' in quotes"),
        ],
    )  # fmt: skip
    def test_each_has_its_place_and_its_advice(self, text, wanted):
        assert fault(text) == wanted

    def test_what_has_no_words_of_ours_is_reported_in_those_of_the_parser(self):
        assert fault("%FOO x\n---\na: b\n") == "1:5: not valid YAML: found unknown directive name"

    @pytest.mark.parametrize(
        ("data", "place"),
        [(b"caf\xe9: 1\n", "1:4"), (b"a: 1\nb: \xff\n", "2:4"), (b"\xef\xbb\xbfa: \xff\n", "1:7"), ("a: 1".encode("utf-16"), "1:1")],
    )  # fmt: skip
    def test_other_encodings(self, data, place):
        assert fault(data) == f"{place}: the file is not UTF-8 text; save it as UTF-8"

    @pytest.mark.parametrize("char", ["\0", "\x07", "\x1b", "\x7f", "\x80", "\ufffe", "\uffff"])
    def test_control_characters(self, char):
        wanted = f"2:4: the control character U+{ord(char):04X} is not allowed in YAML; remove it, or write it as an escape in double quotes"
        assert fault(f"a: 1\nb: {char}\n") == wanted

    @pytest.mark.parametrize("char", ["\t", "\x85", "\u2028", "\ue000", "\U0001f600"])
    def test_others_may_stand_in_quotes(self, char):
        assert "x" in value(f"a: 'x{char}'")["a"]
