"""What of a suite judges, and what is said where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.program import mock_suite

from waza.errors import SuiteError
from waza.suite.load import load
from waza.suite.loading import LoadOptions

PROMPT = "inputs: {prompt: p}\n"
MARKED = "graders: [{type: text, config: {contains: [a]}}]\n"


def warnings(suite: Path) -> list[str]:
    return [f"{one.path}: {one.message}" for one in load(suite).warnings]


def test_tasks_that_nothing_judges_are_named_in_one_warning(tmp_path: Path) -> None:
    tasks = {f"t{i:02}": PROMPT for i in range(12)} | {"own": PROMPT + MARKED}
    [told] = warnings(mock_suite(tmp_path, tasks))
    names = ", ".join(f"t{i:02}" for i in range(10))
    assert (
        told
        == f"graders: 12 tasks have no check: {names} and 2 more; without one a task passes whatever the agent does"
    )
    assert warnings(mock_suite(tmp_path, tasks, MARKED)) == []


@pytest.mark.parametrize(
    ("keys", "checked"),
    [
        ("expected: {output_contains_any: [a]}", True),
        ("expected: {behavior: {forbidden_tools: [rm]}}\nmock: {output: o}", True),
        ("expected: {behavior: {forbidden_tools: [rm]}}", False),  # the script says nothing of what is done
        ("expected: {behavior: {}, outcomes: [{type: x}], tool_calls: {a: 1}}", False),
        ("expected: {should_trigger: true}", False),  # an injected body needs no invocation
        ("checkpoints: [{after_turn: 1, graders: [{type: text, config: {contains: [a]}}]}]", True),
        ("requirements: [{id: r, category: quality, description: d}]", False),
    ],
)
def test_what_counts_as_a_check(tmp_path: Path, keys: str, checked: bool) -> None:
    told = warnings(mock_suite(tmp_path, {"t": f"{PROMPT}{keys}\n"}))
    assert any("1 task has no check: t" in line for line in told) is not checked


@pytest.mark.parametrize(
    ("config", "checked"), [("inject_skill_body: false", True), ("enforce_expected: false", False)]
)
def test_expectations_count_where_they_are_enforced(tmp_path: Path, config: str, checked: bool) -> None:
    task = f"{PROMPT}expected: {{should_trigger: true}}\nmock: {{skills: []}}\n"
    told = warnings(mock_suite(tmp_path, {"t": task}, config=[config]))
    assert any("no check" in line for line in told) is not checked


def test_a_task_that_is_not_selected_is_not_missed(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": PROMPT, "b": PROMPT + MARKED})
    assert load(suite, LoadOptions(tasks=("b",))).warnings == ()


@pytest.mark.parametrize("weight", ["0", "-1.5"])
def test_a_weight_that_cannot_count_is_reported(tmp_path: Path, weight: str) -> None:
    suite = mock_suite(
        tmp_path, {"t": PROMPT}, f"graders: [{{type: text, weight: {weight}, config: {{contains: [a]}}}}]"
    )
    assert warnings(suite) == [f"graders[0].weight: {weight} counts as 1"]
    assert load(suite).tasks[0].graders[0].spec.weight == 1


def test_a_limit_of_no_calls_is_reported_to_have_no_effect(tmp_path: Path) -> None:
    grader = "graders: [{type: behavior, config: {max_tool_calls: 0, max_tokens: 9}}]"
    task = (
        f"{PROMPT}expected: {{behavior: {{max_tool_calls: 0, required_tools: [a]}}}}\nmock: {{output: o}}\n"
    )
    assert warnings(mock_suite(tmp_path, {"t": task}, grader)) == [
        "graders[0].config.max_tool_calls: 0 is no limit",
        "expected.behavior.max_tool_calls: 0 is no limit",
    ]


def test_metrics_are_known_by_the_names_of_graders_anywhere(tmp_path: Path) -> None:
    tasks = {
        "a": PROMPT + "graders: [{type: text, name: mine, config: {contains: [a]}}]\n",
        "b": PROMPT + "expected: {output_contains: [a]}\n",
    }
    names = ("mine", "_output_contains", "task_completion", "min", "behavior_quality")
    head = f"metrics: [{', '.join(f'{{name: {name}}}' for name in names)}, {{name: off, enabled: no}}]"
    found = load(mock_suite(tmp_path, tasks, head))
    assert [metric.name for metric in found.file.metrics] == ["mine", "_output_contains", "task_completion"]
    assert [(one.path, one.hint.partition(" of")[0]) for one in found.warnings] == [
        ("metrics[3].name", "did you mean 'mine'?"),
        ("metrics[4].name", "it is the mean"),
    ]


def test_warnings_are_errors_where_that_is_asked_for(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"t": PROMPT})
    with pytest.raises(SuiteError) as error:
        load(suite, LoadOptions(warnings_as_errors=True))
    assert [problem.severity for problem in error.value.problems] == ["error"]
    assert (
        load(mock_suite(tmp_path, {"t": PROMPT + MARKED}), LoadOptions(warnings_as_errors=True)).warnings
        == ()
    )


def test_an_expected_invocation_is_warned_of_where_the_body_is_injected(tmp_path: Path) -> None:
    task = f"{PROMPT}expected: {{should_trigger: true, output_contains: [a]}}\nmock: {{skills: []}}\n"
    suite = mock_suite(tmp_path, {"a": task})
    (warning,) = load(suite).warnings
    assert (warning.path, "is not checked" in warning.message) == ("expected.should_trigger", True)
    for line in ("inject_skill_body: false", "enforce_expected: false"):
        assert load(mock_suite(tmp_path, {"a": task}, config=[line])).warnings == ()


@pytest.mark.parametrize(
    ("expected", "mock", "told"),
    [
        ("should_trigger: true", "{output: o}", "does not say which skills are invoked"),
        ("should_trigger: false", "{skills: []}", ""),
        ("behavior: {max_tool_calls: 1}", "{judge: {}}", "the script has no turn"),
        ("behavior: {max_tool_calls: 1}", "{executions: [{output: o}]}", ""),
    ],
)
def test_what_the_script_says_nothing_of_is_not_checked_and_no_check(
    tmp_path: Path, expected: str, mock: str, told: str
) -> None:
    task = f"{PROMPT}expected: {{{expected}}}\nmock: {mock}\n"
    lines = warnings(mock_suite(tmp_path, {"t": task}, config=["inject_skill_body: false"]))
    assert any("is not checked: " in line and told in line for line in lines) is bool(told)
    assert any("1 task has no check: t" in line for line in lines) is bool(told)


def test_disabled_tasks_are_counted_and_named_where_they_alone_are_asked_for(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": PROMPT + MARKED, "off": f"enabled: false\n{PROMPT}"})
    assert warnings(suite) == ["tasks: 1 task is disabled: off"]
    with pytest.raises(SuiteError) as error:
        load(suite, LoadOptions(tasks=("of*",)))
    [problem] = [one for one in error.value.problems if one.severity == "error"]
    assert problem.message == "0 tasks selected: none matches --task 'of*'; off is disabled (enabled: false)"


@pytest.mark.parametrize(
    ("line", "severity"), [("should_triger_prompts: [{prompt: q}]", "error"), ("owner: me", "warning")]
)
def test_a_misspelt_key_of_trigger_tests_is_a_mistake(tmp_path: Path, line: str, severity: str) -> None:
    suite = mock_suite(tmp_path, {"a": PROMPT + MARKED}, "mock: {triggers: {p: true}}")
    text = f"skill: s\nshould_trigger_prompts: [{{prompt: p}}]\n{line}\n"
    (tmp_path / "trigger_tests.yaml").write_text(text, encoding="utf-8")
    assert _severity(suite, line.partition(":")[0]) == severity


def test_trigger_tests_of_another_skill_than_the_suite_are_refused(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": PROMPT + MARKED}, "skill: unitconv\nmock: {triggers: {p: true}}")
    text = "skill: other\nshould_trigger_prompts: [{prompt: p}]\n"
    (tmp_path / "trigger_tests.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match="names 'other', but the suite tests 'unitconv'"):
        load(suite)


def _severity(suite: Path, path: str) -> str:
    try:
        problems = load(suite).warnings
    except SuiteError as error:
        problems = tuple(error.problems)
    return next(one.severity for one in problems if one.path == path)
