"""The YAML reader against two oracles: JSON, which is YAML, and PyYAML's reader without types."""

from __future__ import annotations

import json
from typing import Any

import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from waza.kit import yaml

# What may stand in a YAML file: no control characters, no halves of characters.
TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff\x85"), max_size=12
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
# Lines that look like YAML, so that broken files are broken in the ways of people.
LINES = st.lists(
    st.sampled_from(
        ["a: 1", "b:", "  c: [x, y]", "  - d", "- e: {f: g}", "&x h: *x", "<<: *x", "\tz: 1", "? k", ": v", "'q", '"r', "# s",
         "---", "...", "t: |", "    u", "!!int v: '3'", "{", "]", "w: x: y", "a: 2", "é: ü", ""]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


class Oracle(pyyaml.BaseLoader):
    """The reader of PyYAML for which every scalar is a text."""


def read(text: str) -> object:
    return yaml.to_plain(yaml.load(text.encode()))


def without_types(node: yaml.Node) -> object:
    """Return the node as the oracle has it: each scalar is its text."""
    if isinstance(node, yaml.Scalar):
        return node.text
    if isinstance(node, yaml.Sequence):
        return [without_types(item) for item in node.items]
    return {key: without_types(value) for key, value in node.entries.items()}


@settings(deadline=None)
@given(VALUES)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    assert read(json.dumps(value, ensure_ascii=False)) == value
    assert read(json.dumps(value, ensure_ascii=False, indent=2)) == value


@settings(deadline=None)
@given(VALUES)
def test_tagged_yaml_of_the_other_library_is_read_as_it_was_meant(value: Any) -> None:
    """With a tag on all that is no text, the two versions of YAML do not differ."""
    assert read(pyyaml.safe_dump(value, default_style='"', allow_unicode=True)) == value
    assert read(pyyaml.safe_dump(value, default_style="'", default_flow_style=True)) == value


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_the_structure_is_that_of_the_other_library(value: Any, flow: bool) -> None:
    text = pyyaml.safe_dump(value, default_flow_style=flow)
    assert without_types(yaml.load(text.encode())) == next(pyyaml.load_all(text, Loader=Oracle))


def read_or_refused(data: bytes) -> yaml.Node | yaml.YamlError:
    try:
        return yaml.load(data)
    except yaml.YamlError as error:
        return error


@settings(deadline=None)
@given(LINES)
def test_any_lines_are_read_like_the_other_library_does_or_refused(text: str) -> None:
    found = read_or_refused(text.encode())
    if isinstance(found, yaml.YamlError):
        assert found.message
        assert 1 <= found.line <= text.count("\n") + 2
        assert found.column >= 1
    elif "<<" not in text and "!!" not in text:  # the oracle leaves both as they are
        assert without_types(found) == next(iter(pyyaml.load_all(text, Loader=Oracle)), "")


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    found = read_or_refused(data)
    assert not isinstance(found, yaml.YamlError) or found.message
