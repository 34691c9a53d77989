"""Whatever people write, the decoder of suites and tasks answers with a value and a list of mistakes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waza.graders import TYPES
from waza.kit import yaml
from waza.kit.decode import Decoder, Document, fields_of
from waza.model.loaded import ProjectFile, TriggerTests
from waza.model.suite import SuiteFile
from waza.model.task import TaskFile
from waza.plugins import load_class as load_plugin
from waza.suite.read import UnknownKeyRule

STRUCTS: list[type[msgspec.Struct]] = [SuiteFile, TaskFile, ProjectFile, TriggerTests]


def keys_of(struct: type, seen: frozenset[type] = frozenset()) -> set[str]:
    """All keys of a struct and of the structs in it."""
    keys = {field.key for field in fields_of(struct)}
    for field in fields_of(struct):
        for nested in msgspec.inspect.multi_type_info([field.type]):
            keys |= nested_keys(nested, seen | {struct})
    return keys


def nested_keys(info: Any, seen: frozenset[type]) -> set[str]:
    found: set[str] = set()
    if isinstance(info, msgspec.inspect.StructType):
        return found if info.cls in seen else keys_of(info.cls, seen)
    for name in ("item_type", "value_type"):
        if hasattr(info, name):
            found |= nested_keys(getattr(info, name), seen)
    for option in getattr(info, "types", ()):
        found |= nested_keys(option, seen)
    return found


KEYS = sorted({key for struct in STRUCTS for key in keys_of(struct)} | {"graderz", "Name", "", "é"})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 100_000)
    | st.integers(10**25, 10**26)
    | st.sampled_from([0.5, -1.5, 1e300, "", " ", "text", "5m", "worktree", "continue", "A", "a\0b", "{{.Vars.x}}", "tasks/*"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


def document_of(value: Any) -> Document:
    return Document("f.yaml", yaml.load(json.dumps(value, ensure_ascii=False).encode()))


@settings(deadline=None)
@given(VALUES, st.sampled_from(STRUCTS), st.booleans())
def test_it_never_raises_and_says_why_there_is_no_value(
    value: Any, struct: type[msgspec.Struct], strict: bool
) -> None:
    document = document_of(value)
    decoder = Decoder(document, UnknownKeyRule(strict=strict).of(document, struct))
    found = decoder.read(struct)
    errors = [problem for problem in decoder.problems if problem.severity == "error"]
    assert (found is None) == bool(errors)
    assert found is None or isinstance(found, struct)
    for problem in decoder.problems:
        assert problem.line == 1
        assert problem.column >= 1
        assert problem.message
        assert str(problem).startswith("f.yaml:1:")


@settings(deadline=None)
@given(VALUES, st.sampled_from(STRUCTS))
def test_what_is_salvaged_is_what_is_read_where_there_is_no_mistake(
    value: Any, struct: type[msgspec.Struct]
) -> None:
    document = document_of(value)
    salvaged, marked = Decoder(document).read_partial(struct)
    found = Decoder(document).read(struct)
    assert (found is None) == bool(marked.error_paths)
    assert found is None or salvaged == found
    assert salvaged is None or isinstance(salvaged, struct)


@settings(deadline=None)
@given(VALUES, st.sampled_from(sorted(TYPES)))
def test_configs_of_graders_are_read_or_refused(value: Any, name: str) -> None:
    grader = load_plugin("waza.graders", name)
    assert grader is not None
    decoder = Decoder(document_of(value))
    found = decoder.read(grader)
    assert (found is None) == bool(decoder.problems)


@pytest.mark.parametrize("struct", STRUCTS)
def test_the_default_of_every_struct_is_valid(struct: type[msgspec.Struct]) -> None:
    required = {field.key: "x" for field in fields_of(struct) if field.required}
    decoder = Decoder(document_of(required))
    assert decoder.read(struct) == struct(**required)
