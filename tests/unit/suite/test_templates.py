"""Templates in checks are filled in for each task when a suite is loaded, and what comes of them is checked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.graders._interpreter import Interpreters
from waza.model.loaded import Suite
from waza.model.observation import Observation
from waza.model.verdict import Helpers, SharedResources
from waza.suite.load import load

HEAD = "name: s\nconfig: {executor: mock, model: m}\n"
ROWS = "id,prompt,answer,pattern\na,p,one,o.e\nb,q,two,^t\n"


def suite(root: Path, graders: str, csv: str = ROWS, **files: str) -> Suite:
    write_tree(root, {"eval.yaml": f"{HEAD}tasks_from: a.csv\ngraders:\n{graders}", "a.csv": csv, **files})
    return load(root / "eval.yaml")


def configs(found: Suite, key: str) -> list[Any]:
    return [getattr(task.graders[0].grader, key) for task in found.tasks]


def refused(root: Path, graders: str, csv: str = ROWS) -> list[str]:
    with pytest.raises(SuiteError) as error:
        suite(root, graders, csv)
    return [str(problem).removeprefix(f"{root}/eval.yaml:") for problem in error.value.problems]


def test_graders_of_a_dataset_compare_with_its_columns(tmp_path: Path) -> None:
    config = "{contains: ['<{{.Vars.answer}}>', '{{ .TaskName }}'], regex_match: ['{{.Vars.pattern}}'], not_contains: [x]}"
    found = suite(tmp_path, f"- {{type: text, name: g, config: {config}}}\n")
    assert configs(found, "contains") == [["<one>", "row-1"], ["<two>", "row-2"]]
    assert configs(found, "regex_match") == [["o.e"], ["^t"]]
    assert configs(found, "not_contains") == [["x"], ["x"]]
    assert found.tasks[0].graders[0].spec.config["contains"][0] == "<{{.Vars.answer}}>"


def test_nested_texts_are_filled_in_and_other_values_stay(tmp_path: Path) -> None:
    expect = "[{tool: '{{.Vars.answer}}', args: {path: {regex: '{{.Vars.pattern}}'}, n: {equals: 1}}}]"
    found = suite(tmp_path, f"- {{type: tool_calls, name: g, config: {{min_calls: 1, expect: {expect}}}}}\n")
    [first] = configs(found, "expect")[0]
    assert (first.tool, msgspec.to_builtins(first.args)) == (
        "one",
        {"path": {"regex": "o.e"}, "n": {"equals": 1}},
    )
    assert configs(found, "min_calls") == [1, 1]


def test_a_grader_without_references_is_one_for_all_tasks(tmp_path: Path) -> None:
    found = suite(
        tmp_path, "- {type: text, name: g, config: {contains: ['{{ .Values.x }} {% if %} ${{ y }}']}}\n"
    )
    assert found.tasks[0].graders[0] is found.tasks[1].graders[0]
    assert configs(found, "contains") == [["{{ .Values.x }} {% if %} ${{ y }}"]] * 2


def test_braces_are_written_by_a_reference_of_their_own(tmp_path: Path) -> None:
    text = '{{"{{"}}.Vars.answer}} {{`{{`}} {{.Vars.answer}}'
    found = suite(tmp_path, f"- {{type: text, name: g, config: {{contains: ['{text}']}}}}\n")
    assert configs(found, "contains")[0] == ["{{.Vars.answer}} {{ one"]


def test_values_are_never_rendered_again(tmp_path: Path) -> None:
    csv = "prompt,answer\np,{{.Vars.prompt}} {{.JobID}}\n"
    found = suite(tmp_path, "- {type: text, name: g, config: {contains: ['{{.Vars.answer}}']}}\n", csv)
    assert configs(found, "contains") == [["{{.Vars.prompt}} {{.JobID}}"]]


def test_files_that_come_of_it_are_found_and_enter_the_digest(tmp_path: Path) -> None:
    grader = "- {type: json_schema, name: g, config: {schema_file: '{{.Vars.answer}}.json'}}\n"
    schemas = {"one.json": '{"type": "object"}', "two.json": '{"type": "array"}'}
    before = suite(tmp_path, grader, ROWS, **schemas)
    after = suite(tmp_path, grader, ROWS, **{"two.json": '{"type": "string"}'})
    assert before.tasks[0].digest == after.tasks[0].digest
    assert before.tasks[1].digest != after.tasks[1].digest
    assert refused(tmp_path, grader.replace("answer", "pattern"))[0].startswith(
        "5:41: graders[0].config.schema_file: 'o.e.json' is not there"
    )


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (
            "contains: ['{{.Vars.anser}}']",
            "5:45: graders[0].config.contains[0]: there is no variable `Vars.anser`; did you mean `Vars.answer`?",
        ),
        (
            "contains: ['{{.Iteration}}']",
            (
                "5:45: graders[0].config.contains[0]: `Iteration` is not known before a run; checks may use .TaskName and"
                ' .Vars; {{"{{"}} writes two braces'
            ),
        ),
    ],
)
def test_unknown_references_are_refused_once(tmp_path: Path, config: str, wanted: str) -> None:
    assert refused(tmp_path, f"- {{type: text, name: g, config: {{{config}}}}}\n") == [wanted]


def test_what_comes_of_it_is_checked_for_each_task(tmp_path: Path) -> None:
    graders = (
        "- {type: text, name: g, config: {contains: ['{{.Vars.answer}}']}}\n"
        "- {type: tool_calls, name: h, config: {expect: [{tool: t, args: {a: {regex: '{{.Vars.pattern}}'}}}]}}\n"
    )
    told = refused(tmp_path, graders, "id,prompt,answer,pattern\na,p,,(\nb,q,two,(?=x)\n")
    assert [line.partition(": graders")[0] for line in told] == ["5:45", "6:70", "6:70"]
    assert "must not be empty (task 'a')" in told[0]
    assert told[1].endswith("(task 'a')")
    assert told[2].endswith("(task 'b')")


def test_a_mistake_that_is_no_matter_of_the_task_is_reported_once(tmp_path: Path) -> None:
    told = refused(tmp_path, "- {type: text, name: g, config: {contains: ['{{.Vars.answer}}', '']}}\n")
    assert told == ["5:65: graders[0].config.contains[1]: must not be empty; every text holds the empty one"]


def test_expectations_and_checkpoints_of_a_task_file(tmp_path: Path) -> None:
    task = (
        "name: n\ntriggers: [one, two]\nexpected: {output_contains: ['{{.Vars.who}} {{.TaskName}}']}\n"
        "checkpoints: [{after_turn: 1, graders: [{type: text, config: {contains: ['{{.Vars.who}}']}}]}]\n"
    )
    write_tree(tmp_path, {"eval.yaml": f"{HEAD}tasks: [t.yaml]\ninputs: {{who: me}}\n", "t.yaml": task})
    found = load(tmp_path / "eval.yaml")
    assert [one.expected.output_contains for one in found.tasks] == [["me n"], ["me n-2"]]
    assert [one.checkpoints[0].graders[0].grader.contains for one in found.tasks] == [["me"], ["me"]]  # type: ignore[attr-defined]  # a Text
    write_tree(tmp_path, {"eval.yaml": f"{HEAD}tasks: [t.yaml]\ninputs: {{who: ''}}\n"})
    with pytest.raises(SuiteError) as error:
        load(tmp_path / "eval.yaml")
    assert [problem.path for problem in error.value.problems] == [
        "checkpoints[0].graders[0].config.contains[0]"
    ] * 2
    write_tree(
        tmp_path,
        {"t.yaml": "inputs: {prompt: p}\nexpected: {output_contains: ['{{.Vars.no}}', '{{.Vars.who}}']}\n"},
    )
    with pytest.raises(SuiteError) as error:
        load(tmp_path / "eval.yaml")
    assert [problem.path for problem in error.value.problems] == ["expected.output_contains[0]"]


class TestNames:
    def test_graders_without_a_name_are_numbered_by_type(self, tmp_path: Path) -> None:
        own = "inputs: {prompt: p}\ngraders: [{type: text, config: {contains: [c]}}]\n"
        text = "{type: text, config: {contains: [a]}}"
        graders = f"graders: [{text}, {{type: text, name: text_2, config: {{contains: [b]}}}}, {text}]\n"
        write_tree(tmp_path, {"eval.yaml": f"{HEAD}tasks: [t.yaml]\n{graders}", "t.yaml": own})
        [task] = load(tmp_path / "eval.yaml").tasks
        assert [grader.spec.name for grader in task.graders] == ["text", "text_2", "text_3", "text_4"]

    def test_a_task_replaces_a_grader_of_the_suite_if_it_says_so(self, tmp_path: Path) -> None:
        graders = "graders: [{type: text, name: a, config: {contains: [a]}}, {type: text, name: b, config: {contains: [b]}}]\n"
        own = "inputs: {prompt: p}\ngraders: [{type: file, name: a, override: true, config: {must_exist: [x]}}]\n"
        files = {
            "eval.yaml": f"{HEAD}tasks: ['*.task']\n{graders}",
            "one.task": own,
            "two.task": "inputs: {prompt: p}\n",
        }
        write_tree(tmp_path, files)
        found = load(tmp_path / "eval.yaml")
        assert [[(one.spec.type, one.spec.name) for one in task.graders] for task in found.tasks] == [
            [("text", "b"), ("file", "a")],
            [("text", "a"), ("text", "b")],
        ]

    @pytest.mark.parametrize(
        ("own", "wanted"),
        [
            (
                "name: a",
                "name: the name 'a' is taken by a grader of the suite; give each grader its own name, or replace the suite's with override: true",
            ),
            (
                "name: aa, override: true",
                "override: there is no grader 'aa' of the suite to replace; did you mean 'a'?",
            ),
        ],
    )
    def test_two_of_one_name_are_refused_with_the_way_out(
        self, tmp_path: Path, own: str, wanted: str
    ) -> None:
        text = "type: text, config: {contains: [a]}"
        write_tree(
            tmp_path,
            {
                "eval.yaml": f"{HEAD}tasks: [t.yaml]\ngraders: [{{name: a, {text}}}]\n",
                "t.yaml": f"inputs: {{prompt: p}}\ngraders: [{{{own}, {text}}}]\n",
            },
        )
        with pytest.raises(SuiteError) as error:
            load(tmp_path / "eval.yaml")
        [problem] = error.value.problems
        assert str(problem).endswith(f"graders[0].{wanted}")


HOSTILE = 'id,prompt,answer\na,p,"x"" or True or """\nb,q,it\'s \\ 😀\n'


@pytest.mark.parametrize(
    ("assertion", "language", "hold"),
    [
        ('"{{.Vars.answer}}" in output', "python", [False, True]),
        ("'{{.Vars.answer}}' in output", "python", [False, True]),
        ("{{.Vars.answer}} in output", "python", [False, True]),
        ('output.includes("{{.Vars.answer}}")', "javascript", [False, True]),
        ("output.includes({{.Vars.answer}})", "javascript", [False, True]),
    ],
)
def test_a_value_in_an_assertion_is_a_string_and_no_code(
    tmp_path: Path, assertion: str, language: str, hold: list[bool]
) -> None:
    config = json.dumps({"assertions": [assertion], "language": language})
    found = suite(tmp_path, f"- {{type: code, name: g, config: {config}}}\n", HOSTILE)

    async def scenario() -> list[bool]:
        interpreters = Interpreters(1)
        helpers, seen = Helpers(shared=SharedResources(interpreters)), Observation(output="it's \\ 😀")
        try:
            graders = [task.graders[0].grader for task in found.tasks]
            return [(await grader.grade(seen, helpers)).passed for grader in graders]  # type: ignore[misc]
        finally:
            await interpreters.aclose()

    assert asyncio.run(scenario()) == hold


@pytest.mark.parametrize(
    ("assertion", "language"),
    [
        ("f'{{.Vars.answer}}' in output", "python"),
        ("r'{{.Vars.answer}}' in output", "python"),
        ("'''{{.Vars.answer}}''' in output", "python"),
        ("'\\{{.Vars.answer}}' in output", "python"),
        ("output # {{.Vars.answer}}", "python"),
        ("/{{.Vars.answer}}/.test(output)", "javascript"),
        ("output.includes(`{{.Vars.answer}}`)", "javascript"),
    ],
)
def test_a_value_at_a_place_that_could_be_code_is_refused(
    tmp_path: Path, assertion: str, language: str
) -> None:
    config = json.dumps({"assertions": [assertion], "language": language})
    [told] = refused(tmp_path, f"- {{type: code, name: g, config: {config}}}\n", HOSTILE)
    assert "graders[0].config.assertions[0]: {{.Vars.answer}} is at a place where its value could" in told


@pytest.mark.parametrize(
    ("command", "args", "fault"),
    [
        ("sh", ["-c", "echo {{.Vars.answer}}"], 1),
        ("/usr/bin/env", ["bash", "-ec", "echo {{.Vars.answer}}"], 2),
        ("python3", ["-c", "print('{{.Vars.answer}}')"], 1),
        ("node", ["--eval={{.Vars.answer}}"], 0),
        ("sh", ["-c", 'echo "$1"', "sh", "{{.Vars.answer}}"], None),
        ("grep", ["-e", "{{.Vars.answer}}"], None),
    ],
)
def test_a_value_in_the_text_of_a_program_is_refused(
    tmp_path: Path, command: str, args: list[str], fault: int | None
) -> None:
    grader = f"- {{type: program, name: g, config: {json.dumps({'command': command, 'args': args})}}}\n"
    if fault is None:
        assert configs(suite(tmp_path, grader, HOSTILE), "args")[1][-1] == "it's \\ 😀"
        return
    [told] = refused(tmp_path, grader, HOSTILE)
    assert f"graders[0].config.args[{fault}]: a variable in the text of a program would be read" in told


@pytest.mark.parametrize(
    "grader",
    [
        "{type: code, name: g, config: {assertions: ['\"{{.Vars.answer}}\" in output']}}",
        "{type: text, name: g, config: {regex_match: ['(?i)({{.Vars.answer}})']}}",
    ],
)
def test_an_empty_value_in_a_check_is_refused_with_its_task(tmp_path: Path, grader: str) -> None:
    [told] = refused(tmp_path, f"- {grader}\n", "id,prompt,answer\na,p,one\nb,q,\n")
    assert "{{.Vars.answer}} is empty (task 'b')" in told
