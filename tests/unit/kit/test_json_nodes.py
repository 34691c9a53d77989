"""JSON text with places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.json_nodes import JsonError, dump, load
from waza.kit.yaml import Mapping, to_plain


def test_nodes_know_their_places() -> None:
    root = load(b'\xef\xbb\xbf{\r\n  "a": [1,\n\t"\xc3\xa9", null],\n  "b": {"c": -1.5e2}}')
    assert to_plain(root) == {"a": [1, "é", None], "b": {"c": -150.0}}
    assert isinstance(root, Mapping)
    items: Any = root.entries["a"]
    assert [(node.line, node.column) for node in items.items] == [(2, 9), (3, 2), (3, 7)]
    assert (root.keys["b"].line, root.keys["b"].column) == (4, 3)


def test_escapes_are_those_of_json() -> None:
    text = r'"\ud83d\ude00 \u00e9 \/ \n \" \\ \u0000 \ud800"'
    assert to_plain(load(text.encode())) == '😀 é / \n " \\ \0 \ufffd'
    assert to_plain(load('"a\u2028b\u0085c\x7f"'.encode())) == "a\u2028b\u0085c\x7f"
    assert to_plain(load(b'{"<<": 1, "a b": 2}')) == {"<<": 1, "a b": 2}


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"a": 1,\n}', 1, 8, "a comma before a closing bracket; remove it"),
        ("[1,]", 1, 3, "a comma before a closing bracket; remove it"),
        ("[1\n 2]", 2, 2, "a ',' or ']' is missing here"),
        ('{"a": 1 "b": 2}', 1, 9, "a ',' or '}' is missing here"),
        ('{"a" 1}', 1, 6, "a ':' is missing behind the key"),
        ("{a: 1}", 1, 2, "a key in double quotes belongs here"),
        ("{'a': 1}", 1, 2, "write a text in double quotes"),
        ('{"a": }', 1, 7, "a value is missing here"),
        ("[,]", 1, 2, "a value is missing before this comma"),
        ("[1 // one\n]", 1, 4, "JSON has no comments; remove it"),
        ("# x\n[]", 1, 1, "JSON has no comments; remove it"),
        ('{"a": [1', 1, 9, "the document ends here, but a bracket is still open"),
        ('["abc]', 1, 2, "the text that begins here is never closed; a '\"' is missing"),
        ('["a\nb"]', 1, 4, "a text may not go on in the next line; write \\n there, or close it with '\"'"),
        ('["a\tb"]', 1, 4, "a control character in a text; write \\u0009"),
        (r'["C:\dir"]', 1, 5, "this backslash begins no escape of JSON; write it as two"),
        ("[True]", 1, 2, "True is not a JSON value; write true"),
        ("[None]", 1, 2, "None is not a JSON value; write null"),
        ("[NaN]", 1, 2, "NaN is not a JSON value; write a number, or leave it out"),
        ("[yes]", 1, 2, "yes is not a JSON value; write a text in double quotes"),
        ("[01]", 1, 3, "a ',' or ']' is missing here"),
        ("[]\n[]", 2, 1, "text after the end of the document; remove it"),
        ("[" * 200, 1, 102, "nested deeper than 100 levels"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(JsonError) as refused:
        load(text.encode())
    error = refused.value
    assert (error.message, error.line, error.column) == (f"not valid JSON: {said}", line, column)


@pytest.mark.parametrize(
    ("data", "line", "column", "said"),
    [
        (b"", 0, 0, "the file is empty"),
        (b" \n", 0, 0, "the file is empty"),
        (b'{"a": 1,\n "a": 2}', 2, 2, "duplicate key 'a', on lines 1 and 2; keep one of them"),
        (b'{"a":\n "\xff"}', 2, 3, "the file is not UTF-8 text; save it as UTF-8"),
        ("[]".encode("utf-16"), 1, 1, "the file is not UTF-8 text; save it as UTF-8"),
        (b"[1e999]", 1, 2, "the number 1e999 is too large"),
        (b"[" + b"9" * 309 + b"]", 1, 2, f"the number {'9' * 40} is too large"),
        (b"[" + b"9" * 500 + b"]", 1, 2, "a number of more than 400 digits"),
    ],
)
def test_other_faults_of_a_file(data: bytes, line: int, column: int, said: str) -> None:
    with pytest.raises(JsonError) as refused:
        load(data)
    assert (refused.value.message, refused.value.line, refused.value.column) == (said, line, column)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2, "\t"]))
def test_what_json_writes_is_read_back(value: Any, ascii_only: bool, indent: Any) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert to_plain(load(text.encode())) == value
    assert json.loads(dump(value)) == value


@given(st.text("{}[]\",:\\u0aé 1-e.\n'", max_size=30))
def test_any_text_is_json_or_is_refused_as_json_is(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonError):
            load(text.encode())
        return
    try:
        assert to_plain(load(text.encode())) == expected
    except JsonError as error:
        assert "twice" in error.message or "too large" in error.message  # noqa: PT017  # the only two more


def test_what_is_written_any_reader_can_read() -> None:
    data = {"a": "\ud800 😀", "b": [float("nan"), float("inf"), 1.5], "c": ({"d": "</script>"},)}
    assert json.loads(dump(data).encode()) == {
        "a": "\ufffd 😀",
        "b": [None, None, 1.5],
        "c": [{"d": "</script>"}],
    }
