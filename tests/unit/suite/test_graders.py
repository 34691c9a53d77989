"""The graders of suites and tasks: their names, their order, and which of a suite's a task replaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions


def words(more: str = "") -> str:
    return f"{{type: text, {more}config: {{contains: [x]}}}}"


def load_suite(
    root: Path,
    graders: str,
    task: str = "",
    request: LoadOptions | None = None,
) -> Suite:
    text = f"config: {{executor: mock, model: m}}\ntasks: [t.yaml]\ngraders: [{graders}]\n"
    write_tree(root, {"eval.yaml": text, "t.yaml": f"inputs: {{prompt: p}}\n{task}"})
    return load(root / "eval.yaml", request)


def names(suite: Suite) -> list[str]:
    return [grader.spec.name for grader in suite.tasks[0].graders]


def problems(root: Path, graders: str, task: str = "") -> list[tuple[str, str]]:
    with pytest.raises(SuiteError) as refused:
        load_suite(root, graders, task)
    return [(problem.code, problem.path) for problem in refused.value.problems if problem.severity == "error"]


def test_graders_without_a_name_are_numbered_around_names_that_are_taken(tmp_path: Path) -> None:
    suite = load_suite(tmp_path, f"{words()}, {words()}, {words('name: text_3, ')}, {words()}")
    assert names(suite) == ["text", "text_2", "text_3", "text_4"]


def test_graders_of_a_task_follow_those_of_the_suite_and_are_numbered_after_them(tmp_path: Path) -> None:
    suite = load_suite(
        tmp_path, f"{words()}, {words('name: b, ')}", f"graders: [{words()}, {words('name: a, ')}]"
    )
    assert names(suite) == ["text", "b", "text_2", "a"]


def test_an_override_takes_the_place_of_the_graders_of_the_suite_with_its_name(tmp_path: Path) -> None:
    own = "graders: [{type: file, name: a, override: true, config: {must_exist: [f]}}]"
    suite = load_suite(tmp_path, f"{words('name: a, ')}, {words('name: b, ')}", own)
    assert [(one.spec.name, one.spec.type) for one in suite.tasks[0].graders] == [
        ("b", "text"),
        ("a", "file"),
    ]


@pytest.mark.parametrize(
    ("task", "found"),
    [
        (f"graders: [{words('name: a, ')}]", [("duplicate-grader", "graders[0].name")]),
        (f"graders: [{words('name: c, override: true, ')}]", [("unknown-grader", "graders[0].override")]),
    ],
    ids=["the same name", "nothing to replace"],
)
def test_a_task_replaces_graders_only_on_purpose(
    tmp_path: Path, task: str, found: list[tuple[str, str]]
) -> None:
    assert problems(tmp_path, words("name: a, "), task) == found


def test_a_key_beside_the_config_is_an_error_where_the_grader_lacks_it(tmp_path: Path) -> None:
    assert problems(tmp_path, "{type: text, contains: [x]}") != []
    suite = load_suite(tmp_path, words("script: check.py, "))
    assert [(one.code, one.path) for one in suite.warnings] == [("no-effect", "graders[0].script")]


def test_a_grader_that_is_built_once_is_that_of_all_tasks(tmp_path: Path) -> None:
    text = f"config: {{executor: mock, model: m}}\ntasks: ['*.task']\ngraders: [{words()}]\n"
    write_tree(
        tmp_path, {"eval.yaml": text, "a.task": "inputs: {prompt: p}", "b.task": "inputs: {prompt: p}"}
    )
    first, second = load(tmp_path / "eval.yaml").tasks
    assert first.graders[0].grader is second.graders[0].grader


@pytest.mark.parametrize("baseline", [False, True])
def test_a_pairwise_grader_without_a_baseline_is_warned_of(tmp_path: Path, baseline: bool) -> None:
    grader = "{type: prompt, config: {mode: pairwise, prompt: Which is better?}}"
    suite = load_suite(tmp_path, grader, request=LoadOptions(baseline=baseline))
    paths = [one.path for one in suite.warnings]
    assert ("graders[0].config.mode" in paths) is not baseline
