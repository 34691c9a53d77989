"""The JSON Schema engine against the package `jsonschema`, and `extract_json` against the plain definition."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.schema import compile_schema, extract_json, strict_json

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 15),
    st.sampled_from([0.5, 1.0, 2.5, 1e300, -0.0]),
    st.text("ab1-é😀", max_size=5),
)
KEYS = st.sampled_from(["id", "tags", "name", "x-1", "ключ"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
SCHEMAS: list[dict[str, object]] = [
    {
        "type": "object",
        "required": ["id", "tags"],
        "properties": {"id": {"type": "integer", "minimum": 0}, "tags": {"type": "array", "minItems": 1}},
    },
    {"type": ["integer", "null"], "multipleOf": 0.5, "exclusiveMaximum": 10},
    {"items": {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[ab]+"}, "uniqueItems": True},
    {
        "patternProperties": {"^x-": {"type": "number"}},
        "additionalProperties": {"type": "string"},
        "maxProperties": 3,
    },
    {"anyOf": [{"const": 1}, {"enum": [None, "a", [1]]}, {"type": "array", "contains": {"type": "boolean"}}]},
    {"oneOf": [{"required": ["id"]}, {"required": ["name"]}], "not": {"type": "array"}},
    {"if": {"type": "object"}, "then": {"minProperties": 1}, "else": {"type": ["string", "number"]}},
    {"$ref": "#/$defs/tree", "$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}, "maxItems": 2}}},
    {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "integer"}],
        "additionalItems": False,
    },
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_verdicts_agree_with_jsonschema(schema: dict[str, object]) -> None:
    ours = compile_schema(schema)
    theirs = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)

    @given(VALUES)
    def agree(value: object) -> None:
        assert ours.valid(value) is theirs.is_valid(value)
        assert (ours.errors(value) == []) is ours.valid(value)

    agree()


@given(VALUES)
def test_what_python_writes_is_read_back(value: object) -> None:
    assert json.dumps(strict_json(json.dumps(value))) == json.dumps(value)


def by_definition(text: str) -> list[object]:
    """Return all values of a text: at each opening bracket the first end that makes strict JSON, then on behind it."""
    found: list[object] = []
    at = 0
    while at < len(text):
        if text[at] in "[{":
            for end in range(at + 1, len(text) + 1):
                try:
                    found.append(strict_json(text[at:end]))
                except ValueError:
                    continue
                at = end - 1
                break
        at += 1
    return found


FRAGMENTS = st.one_of(
    st.text('[]{}",:1 \\tx\n', max_size=10),
    st.sampled_from(["true", "-0.5e3", "NaN", "01", '"a":', "\\u00e9", "\\q"]),
    VALUES.map(json.dumps),
)


@given(st.lists(FRAGMENTS, max_size=5).map("".join))
def test_extraction_agrees_with_its_definition(text: str) -> None:
    values = by_definition(text)
    if len(values) == 1:
        assert extract_json(text) == values[0]
    else:
        with pytest.raises(ValueError, match="the text holds"):
            extract_json(text)
