"""Suites and tasks of any content: they load, or are refused in words. Nothing else may happen."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.graders import TYPES
from waza.kit.decode import fields_of
from waza.model.suite import GraderEntry, SuiteFile
from waza.model.task import TaskFile
from waza.plugins import load_class as load_plugin
from waza.suite.load import load
from waza.suite.loading import LoadOptions

WORDS = st.sampled_from(
    ["", " ", "a", "a.txt", "dir", "../x", "/etc/passwd", "~nobody/x", "a\0b", "(", "{{.Vars.x}}", "{{.TaskName}}",
     "none", "*", "[", "t.json", "eval.yaml", "1.4", "2.0", "m", "mock", "copilot-sdk", "trigger_accuracy", "é"]
)  # fmt: skip
NUMBERS = st.sampled_from([0, 1, 2, -1, 5, 10**30, 0.5, 1e300])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def mostly(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value that fits, and now and then any other."""
    return st.integers(0, 24).flatmap(lambda dice: strategy if dice else ANYTHING)


def values(wanted: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values for a key of this type."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return values(args[0], depth)
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of(*(values(option, depth) for option in args))
    if origin in (list, tuple):
        return st.lists(mostly(values(args[0], depth)), max_size=2)
    if origin is dict:
        return st.dictionaries(WORDS, mostly(values(args[1], depth)), max_size=2)
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return keys(wanted, depth + 1)
    simple = {str: WORDS, int: NUMBERS, float: NUMBERS, bool: st.booleans(), NoneType: st.none()}
    return simple.get(wanted, ANYTHING)


def keys(struct: type, depth: int = 0) -> st.SearchStrategy[Any]:
    """A mapping with some of the keys of a struct, and at times one that it does not have."""
    if depth > 5:
        return st.just({})
    fields = {field.key: field for field in fields_of(struct)}
    if struct is GraderEntry:
        return st.one_of(*(grader(kind, depth) for kind in sorted(TYPES)))
    needed = {key: mostly(values(field.type, depth)) for key, field in fields.items() if field.required}
    others = {key: mostly(values(field.type, depth)) for key, field in fields.items() if not field.required}
    chosen = st.lists(st.sampled_from(sorted(others)), max_size=5) if others else st.just([])
    return chosen.flatmap(
        lambda some: st.fixed_dictionaries({**needed, **{key: others[key] for key in some}})
    )


def grader(kind: str, depth: int) -> st.SearchStrategy[Any]:
    config = keys(load_plugin("waza.graders", kind) or NoneType, depth + 1)
    return st.fixed_dictionaries({"type": mostly(st.just(kind)), "name": WORDS, "config": mostly(config)})


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(suite=keys(SuiteFile), task=keys(TaskFile), executor=st.sampled_from(["", "mock"]))
def test_a_suite_of_any_content_loads_or_is_refused(
    tmp_path_factory: Any, suite: Any, task: Any, executor: str
) -> None:
    root: Path = tmp_path_factory.mktemp("suite")
    suite = {"tasks": ["t.json"], **suite}
    files = {"eval.yaml": suite, "t.json": task, "fixtures/a.txt": "hi", "dir/SKILL.md": "hi"}
    write_tree(root, {name: json.dumps(value, ensure_ascii=False) for name, value in files.items()})
    try:
        loaded = load(root / "eval.yaml", LoadOptions(executor=executor))
    except SuiteError as refused:
        lines = [str(problem) for problem in refused.problems]
    else:
        lines = [str(problem) for problem in loaded.warnings]
        assert loaded.tasks
        assert loaded.digest
    assert len(lines) == len(set(lines)), lines
