"""Refs, merging and editing, against whatever text there is."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from waza.errors import UsageError
from waza.kit import yaml
from waza.registry.edit import insert_grader
from waza.registry.preset import deep_merge
from waza.registry.ref import RefError, parse_ref
from waza.registry.scalar import format_scalar

REF_CHARACTERS = st.sampled_from([*"abz.-_/#@:\\ \n\0~?%", "..", "é", "日", "\u2028", "\udc80", "v1", "//"])
PART = st.text(st.sampled_from("abcXYZ019.-_é日~+"), min_size=1, max_size=8).filter(
    lambda part: part not in (".", "..") and not part.startswith("-")
)
KEYS = st.text(max_size=3) | st.sampled_from(["a", "b", "graders", "yes", "1", "a b", "#"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(KEYS, VALUES, max_size=4)
ENTRIES = st.fixed_dictionaries(
    {"ref": st.just("h/o/r#t@v1")}, optional={"name": st.text(max_size=8), "config": MAPPINGS}
)
# Lines of suites, in and out of order: most texts are broken in some way of people, some are whole.
LINES = st.sampled_from(
    ["name: s", "graders:", "graders: []", "graders: [ ] # c", "graders: ~", "  - type: text", "- type: file",
     "    config: {a: b}", "  config:", "      - x", "  text: |", "      literal", "  # inner", "# outer", "", "   ",
     "tasks: ['*.yaml']", 'a: "x', '  y"', "b: &b [1]", "graders: *b", "---", "...", "<<: {c: 1}", "é: \u2028",
     "graders: [{type: x}]", "graders: [", "  {type: y}]", "-", "\tq: 1", "%YAML 1.2", "\ufeffz: 1", "z: .nan"]
)  # fmt: skip
SUITES = st.builds(
    lambda lines, ends: "".join(line + end for line, end in zip(lines, ends, strict=False)),
    st.lists(LINES, max_size=9),
    st.lists(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\x85", ""]), min_size=9, max_size=9)
    | st.just(["\n"] * 9)
    | st.just(["\r\n"] * 9),
)


def node(value: dict[str, Any]) -> yaml.Mapping:
    found = yaml.load(format_scalar(value).encode())
    assert isinstance(found, yaml.Mapping)
    return found


@settings(deadline=None)
@given(st.lists(REF_CHARACTERS, max_size=20).map("".join) | st.text())
def test_a_text_is_a_ref_or_an_error(text: str) -> None:
    try:
        ref = parse_ref(text)
    except RefError:
        return
    assert parse_ref(str(ref)) == ref
    assert all(part and part not in (".", "..") for part in (ref.host, ref.owner, ref.repo))
    assert ".." not in ref.path.split("/")
    assert not ref.path.startswith("/")
    str(ref).encode()


@settings(deadline=None)
@given(PART, PART, PART, st.lists(PART, max_size=3), st.just("") | PART, PART)
def test_parts_are_found_again(
    host: str, owner: str, repo: str, path: list[str], export: str, version: str
) -> None:
    name = "/".join([host, owner, repo, *path]) + (f"#{export}" if export else "")
    ref = parse_ref(f"{name}@{version}")
    assert (ref.host, ref.owner, ref.repo) == (host, owner, repo)
    assert (ref.path, ref.export, ref.version) == ("/".join(path), export, version)
    assert str(ref) == f"{name}@{version}"


def merged(below: dict[str, Any], above: dict[str, Any]) -> object:
    return yaml.to_plain(deep_merge(node(below), node(above)))


def expected(below: Any, above: Any) -> Any:
    """Merging as the format has it, written down once more."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    keys = [*below, *(key for key in above if key not in below)]
    return {
        key: expected(below[key], above[key]) if key in below and key in above else {**below, **above}[key]
        for key in keys
    }


@settings(deadline=None)
@given(MAPPINGS, MAPPINGS)
def test_merging(below: dict[str, Any], above: dict[str, Any]) -> None:
    found = merged(below, above)
    assert found == expected(below, above)
    assert merged(below, {}) == below
    assert merged({}, below) == below
    assert merged(below, below) == below
    assert merged(expected(below, above), above) == found


@settings(deadline=None)
@given(VALUES)
def test_a_value_is_written_on_one_line_and_read_back(value: Any) -> None:
    text = format_scalar(value)
    assert not set(text) & set("\n\r\x85\u2028\u2029")
    assert yaml.to_plain(yaml.load(text.encode())) == value
    assert yaml.to_plain(yaml.load(f"k:\n  - a: {text} # c\n".encode())) == {"k": [{"a": value}]}


@settings(deadline=None, max_examples=300)
@given(SUITES | MAPPINGS.map(json.dumps) | st.text(max_size=30), ENTRIES)
def test_a_suite_gets_one_more_grader_or_stays_as_it_is(text: str, entry: dict[str, Any]) -> None:
    try:
        edited = insert_grader(text, entry)
    except UsageError:
        return
    before: Any = yaml.to_plain(yaml.load(text.encode()))
    after: Any = yaml.to_plain(yaml.load(edited.encode()))
    assert after["graders"] == [*(before.get("graders") or []), entry]
    assert {key: value for key, value in after.items() if key != "graders"} == {
        key: value for key, value in before.items() if key != "graders"
    }
    assert all(line in edited for line in text.split("\n") if "graders" not in line)
