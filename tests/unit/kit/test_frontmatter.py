from __future__ import annotations

import re

import pytest

from waza.kit import yaml
from waza.kit.frontmatter import split


def meta(data: bytes | str) -> object:
    node = split(data).meta
    assert node is not None
    return yaml.to_plain(node)


def test_frontmatter_and_body():
    data = b"---\nname: x\ntags: [a, b]\n---\n# Title\n"
    parts = split(data)
    assert meta(data) == {"name": "x", "tags": ["a", "b"]}
    assert parts.body == "\n# Title\n"
    assert parts.body_line == 4


def test_bytes_and_text_read_alike():
    assert split("---\nname: é\n---\nb") == split("---\nname: é\n---\nb".encode())


@pytest.mark.parametrize(
    "text", ["", "# Title\n", "\n---\nname: x\n---\n", " ---\nname: x\n---\n", "--\na: 1\n"]
)
def test_no_frontmatter_unless_the_first_characters_open_it(text):
    parts = split(text)
    assert parts.meta is None
    assert parts.body == text
    assert parts.body_line == 1


@pytest.mark.parametrize("text", ["---\n---\nbody", "---\n\n---\nbody", "---\r\n---\r\nbody"])
def test_empty_frontmatter_is_not_the_same_as_none(text):
    parts = split(text)
    assert isinstance(parts.meta, yaml.Scalar)
    assert parts.meta.value is None
    assert parts.body.strip() == "body"


def test_the_first_closing_marker_ends_it():
    parts = split("---\na: 1\n---\none\n---\ntwo")
    assert parts.body == "\none\n---\ntwo"


def test_dashes_inside_a_value_do_not_close():
    assert meta("---\na: x --- y\nb: |\n  ---\n  z\n---\n") == {"a": "x --- y", "b": "---\nz\n"}


def test_what_follows_the_closing_dashes_is_body():
    assert split("---\na: 1\n--- rest\n").body == " rest\n"


def test_keys_may_start_on_the_line_of_the_opening_marker():
    assert meta("---a: 1\nb: 2\n---\n") == {"a": 1, "b": 2}


def test_byte_order_mark():
    for data in (b"\xef\xbb\xbf---\na: 1\n---\nb", "\ufeff---\na: 1\n---\nb"):
        assert meta(data) == {"a": 1}
        assert split(data).body == "\nb"


def test_crlf():
    data = b"---\r\nname: x\r\ntext: |\r\n  a\r\n  b\r\n---\r\nbody\r\n"
    parts = split(data)
    assert meta(data) == {"name": "x", "text": "a\nb\n"}
    assert parts.body == "\r\nbody\r\n"
    assert parts.body_line == 6


def test_nodes_know_their_line_in_the_file():
    root = split("---\na: 1\nb: 2\n---\n").meta
    assert isinstance(root, yaml.Mapping)
    assert (root.keys["b"].line, root.keys["b"].column) == (3, 1)


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"---\nname: x\n", 1, 1, "close it with a line '---'"),
        (b"---", 1, 1, "close it"),
        (b"---\nname: x\ntext: a: b\n---\n", 3, 8, "quotes"),
        (b"---\nname: x\nname: y\n---\n", 3, 1, "on lines 2 and 3"),
        (b"---\nname: x\nok: \x01\n---\n", 3, 5, "U+0001"),
        (b"---\r\nname: x\r\nname: y\r\n---\r\n", 3, 1, "duplicate key"),
        ("---\nname: \ud800\n---\n", 2, 7, "UTF-8"),
        (b"---\nname: x\n---\nok\n\xe9 and \xff\n", 5, 1, "UTF-8"),
        ("---\nname: é".encode() + b"\xff\n---\n", 2, 8, "UTF-8"),
        (b"\xef\xbb\xbf---\n\xff\n---\n", 2, 1, "UTF-8"),
    ],
)
def test_mistakes_are_placed_in_the_file(data, line, column, words):
    with pytest.raises(yaml.YamlError, match=re.escape(words)) as caught:
        split(data)
    assert (caught.value.line, caught.value.column) == (line, column)
