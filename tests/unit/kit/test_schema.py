from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from waza.kit.schema import SchemaError, compile_schema, extract_json, strict_json

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


# compile_schema


def test_errors_name_the_place_and_the_reason() -> None:
    schema = compile_schema(
        {
            "type": "object",
            "required": ["id"],
            "properties": {"tags": {"items": {"type": "string"}}, "a/b~c": {"type": "null"}},
        }
    )

    assert schema.errors({"id": 7, "tags": ["x"]}) == []
    assert sorted(schema.errors({"tags": ["x", 1], "a/b~c": 0})) == [
        '/: "id" is a required property',
        '/a~1b~0c: 0 is not of type "null"',
        '/tags/1: 1 is not of type "string"',
    ]


def test_valid_agrees_with_errors() -> None:
    schema = compile_schema({"type": "integer"})

    assert schema.valid(1)
    assert not schema.valid("1")


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"const": 1}, 1.0, True),
        ({"const": 1}, True, False),
        ({"const": 2**53}, 2**53 + 1, True),  # the same double
        ({"const": 2**53 + 1}, 2**53 + 1, True),
        ({"enum": [0, False]}, False, True),
        ({"maximum": 5}, 10**400, False),
        ({"minLength": 2}, "😀", False),
        ({"pattern": r"^\d$"}, "٣", False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": "^(a+)+$"}, "a" * 50_000 + "!", False),
        ({"prefixItems": [{"type": "string"}]}, [1], False),  # 2020-12 is the default
        ({"type": "string"}, "\ud800", True),
        (True, {"any": 1}, True),
        (False, None, False),
    ],
)
def test_verdicts(schema: object, value: object, valid: bool) -> None:
    assert compile_schema(schema).valid(value) is valid


@pytest.mark.parametrize(
    ("dialect", "asserted"),
    [
        (None, False),
        ("https://json-schema.org/draft/2020-12/schema", False),
        ("https://json-schema.org/draft/2019-09/schema", False),
        (DRAFT_7, True),
        ("http://json-schema.org/draft-06/schema#", True),
        ("http://json-schema.org/draft-04/schema#", True),
    ],
)
def test_format_is_asserted_for_draft_7_and_older_only(dialect: str | None, asserted: bool) -> None:
    schema = {"format": "ipv4"} | ({"$schema": dialect} if dialect else {})

    assert compile_schema(schema).valid("not an address") is not asserted


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "not a list"),
        ("{}", "not text"),
        (None, "not null"),
        ({"type": "nope"}, "/type"),
        ({"properties": {"a": {"minimum": "x"}}}, "/properties/a/minimum"),
        ({"pattern": "(?=a)"}, "look-around"),
        ({"$ref": "#/nope"}, "/nope"),
        ({"$ref": "other.json"}, "keep the schema in a file"),
        ({"$schema": "http://example.com/mine"}, "leave \\$schema out"),
        ({1: 2}, "key"),
        (json.loads("[" * 201 + "]" * 201), "a list"),
        ({"not": json.loads('{"not":' * 200 + "{}" + "}" * 200)}, "deeper than 200"),
    ],
)
def test_a_schema_that_cannot_be_used_is_a_sentence(schema: object, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        compile_schema(schema)


def test_no_reference_goes_to_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        with pytest.raises(
            SchemaError, match=rf"http://127\.0\.0\.1:{port}/x\.json leads out of the file system"
        ):
            compile_schema({"$ref": f"http://127.0.0.1:{port}/x.json"})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_references_into_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "größe x.json").write_text('{"$defs": {"size": {"type": "integer"}}}', encoding="utf-8")
    uri = (tmp_path / "größe x.json").as_uri()

    schema = compile_schema({"$ref": f"{uri}#/$defs/size"})

    assert schema.valid(1)
    assert not schema.valid("1")


def test_relative_references_are_read_beside_the_schema_file(tmp_path: Path) -> None:
    (tmp_path / "size.json").write_text('{"type": "integer"}', encoding="utf-8")

    schema = compile_schema({"items": {"$ref": "size.json"}}, file=tmp_path / "main.json")

    assert schema.errors(["x"]) == ['/0: "x" is not of type "integer"']


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), ("{nope", "Expecting")])
def test_a_reference_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "size.json").write_text(content, encoding="utf-8")

    with pytest.raises(SchemaError, match=words):
        compile_schema({"$ref": (tmp_path / "size.json").as_uri()})


def test_a_value_nested_too_deep_does_not_fit() -> None:
    schema = compile_schema({"items": {"$ref": "#"}})
    value: list[object] = []
    for _ in range(100_000):
        value = [value]

    assert not schema.valid(value)
    assert schema.errors(value) == ["/: the value is nested deeper than 200 levels"]
    assert schema.valid(json.loads(nested(200)))
    assert not schema.valid(json.loads(nested(201)))


def test_many_and_long_errors_are_cut() -> None:
    errors = compile_schema({"items": {"type": "integer"}}).errors(["x" * 10_000] * 1000)

    assert len(errors) == 50
    assert all(len(error) < 400 and error.endswith('is not of type "integer"') for error in errors)


# strict_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' \t\r\n{"a": [1, 1.0, -0, 1e3, true, null, "é"]}\n', {"a": [1, 1.0, 0, 1000.0, True, None, "é"]}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        (b"\xef\xbb\xbf[1]", [1]),
        ('"\\u00e9\\ud83d\\ude00"', "é😀"),
        ('["\\ud800x", {"\\uDC00": 1}]', ["\ufffdx", {"\ufffd": 1}]),
        ('"\ud800"', "\ufffd"),
        ('"\\\\ud800"', "\\ud800"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        (nested(200), json.loads(nested(200))),
        ("7", 7),
    ],
)
def test_json_is_decoded(text: str | bytes, value: object) -> None:
    found = strict_json(text)

    assert found == value
    assert json.dumps(found) == json.dumps(value)  # 1 is not 1.0 here


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "NaN", "[Infinity]", '{"x": -Infinity}', "[1] x", "[1][2]", "[1,]", "{'a': 1}", "// c\n1", "01", "1.", '"\n"',
        '"\\x"', "\ufeff1", b"\xff", b"\xff\xfe1\x00", "1e999", "-1e999", "9" * 400, "9" * 10_000, "[" * 100_000, nested(201),
        nested(100_000), '{"a":' * 100_000, "True", "\u00a01",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|line 1|not UTF-8"):
        strict_json(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "NaN is not"),
        ("9" * 10_000, "too large"),
        (nested(201), "200 levels"),
        (b"a\xff", "byte 1"),
        ("x", "line 1"),
    ],
)
def test_the_refusal_says_why(text: str | bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        strict_json(text)

    assert len(str(caught.value)) < 400


# extract_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Here you go: {"id": 7, "tags": ["x"]} thanks', {"id": 7, "tags": ["x"]}),
        ("```json\n[1, 2]\n```", [1, 2]),
        ('{broken {"a": 1}', {"a": 1}),
        ('[1, {"a": 1}, oops', {"a": 1}),
        ('"quoted [1]"', [1]),
        ('["[1]" oops', [1]),
        ('["[1, " oops ", 2]', [1, " oops ", 2]),
        ('{"a": "}"} }', {"a": "}"}),
        ("[NaN] {}", {}),
        ("[01] [ ]", []),
        ('{"a" 1} {"a": 1 "b"} [1 2] [,] {,} {1: 2} {"a": 1,} [1}] [2]', [2]),
    ],
)
def test_the_one_value_in_a_text_is_found(text: str, value: object) -> None:
    assert extract_json(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('See [1]. {"id": 7, "tags": ["x"]}', "more than one"),
        ("no value, 7 and true", "no JSON object"),
        ("", "no JSON object"),
        ("[1e999]", "too large"),
        ("[" * 201 + "]" * 201, "200 levels"),
    ],
)
def test_none_or_several_values_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        extract_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "[x" * 100_000,
        "[1x" * 100_000,
        '["' * 100_000,
        '["\\"[' * 50_000,
        "[" * 150 + "1," * 50_000 + "x" + "]" * 150,
        '"' * 100_000 + "[",
    ],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        extract_json(text)
