"""What a task has of its own file, and what it inherits from its suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.model.task import Task
from waza.suite.load import load
from waza.suite.loading import LoadOptions

CHECK = "expected: {output_contains: [x]}"
PROMPT = f"inputs: {{prompt: p}}\n{CHECK}\n"


def suite(config: str = "", keys: str = "") -> str:
    return f"config: {{executor: mock, model: m{config}}}\ntasks: ['*.task']\n{keys}\n"


def load_task(root: Path, files: Mapping[str, str], request: LoadOptions | None = None) -> Task:
    write_tree(root, files)
    (task,) = load(root / "eval.yaml", request).tasks
    return task


def refusals(root: Path, files: Mapping[str, str]) -> list[str]:
    write_tree(root, files)
    with pytest.raises(SuiteError) as refused:
        load(root / "eval.yaml")
    return [str(problem).removeprefix(f"{root}/") for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("own", "option", "seconds"),
    [("", None, 40), ("timeout_seconds: 7\n", None, 7), ("timeout_seconds: 7\n", 3, 3)],
)
def test_the_time_limit_is_that_of_the_command_line_then_of_the_task_then_of_the_suite(
    tmp_path: Path, own: str, option: int | None, seconds: int
) -> None:
    files = {"eval.yaml": suite(", timeout_seconds: 40"), "a.task": own + PROMPT}
    assert load_task(tmp_path, files, LoadOptions(timeout=option)).timeout == seconds


def test_a_task_can_switch_the_limit_of_the_first_event_off(tmp_path: Path) -> None:
    files = {"eval.yaml": suite(", first_event_timeout_seconds: 9"), "a.task": PROMPT}
    assert load_task(tmp_path, files).first_event_timeout == 9
    files["a.task"] = "first_event_timeout_seconds: 0\n" + PROMPT
    assert load_task(tmp_path, files).first_event_timeout == 0


def test_instruction_files_of_a_task_follow_those_of_the_suite(tmp_path: Path) -> None:
    files = {
        "eval.yaml": suite(", instruction_files: [all.md]"),
        "a.task": "instruction_files: [own.md]\n" + PROMPT,
        "fixtures/all.md": "",
        "fixtures/own.md": "",
    }
    assert load_task(tmp_path, files).instruction_files == ("all.md", "own.md")


@pytest.mark.parametrize(
    ("own", "names"), [("", ["git"]), ("command_mocks: []\n", []), ("command_mocks: [%s]\n", ["make"])]
)
def test_mocked_programs_of_a_task_replace_those_of_the_suite(
    tmp_path: Path, own: str, names: list[str]
) -> None:
    mock = "{name: %s, responses: [{args: [], stdout: ok}]}"
    files = {
        "eval.yaml": 'schemaVersion: "1.3"\n' + suite(keys=f"command_mocks: [{mock % 'git'}]"),
        "a.task": own.replace("%s", mock % "make") + PROMPT,
    }
    request = LoadOptions(executor="mock")  # named there, it only warns of what it does not play
    assert [one.name for one in load_task(tmp_path, files, request).command_mocks] == names


def test_the_prompt_is_in_the_task_and_all_other_inputs_beside_it(tmp_path: Path) -> None:
    own = f"inputs: {{prompt_file: p.md, follow_up_prompts: [q], environment: {{A: b}}}}\n{CHECK}\n"
    task = load_task(tmp_path, {"eval.yaml": suite(), "a.task": own, "p.md": "\ufeffHello\n"})
    assert (task.prompt, task.follow_ups) == ("Hello\n", ("q",))
    assert task.inputs.environment == {"A": "b"}


def test_short_fixtures_come_behind_the_files_of_the_inputs(tmp_path: Path) -> None:
    own = f"fixtures: [b.txt]\ninputs: {{prompt: p, files: [{{path: a.txt}}]}}\n{CHECK}\n"
    files = {"eval.yaml": suite(), "a.task": own, "fixtures/a.txt": "", "fixtures/b.txt": ""}
    assert [file.path for file in load_task(tmp_path, files).inputs.files] == ["a.txt", "b.txt"]


def test_a_fixtures_directory_is_below_the_current_one_or_else_beside_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "s/eval.yaml": suite(),
        "s/a.task": "context_dir: data\n" + PROMPT,
        "s/data/a.txt": "",
        "here/x": "",
    }
    write_tree(tmp_path, files)
    monkeypatch.chdir(tmp_path / "here")
    (beside,) = load(tmp_path / "s/eval.yaml").tasks
    (tmp_path / "here/data").mkdir()
    (here,) = load(tmp_path / "s/eval.yaml").tasks
    assert (beside.fixtures, here.fixtures) == (tmp_path / "s/data", tmp_path / "here/data")


def test_checkpoints_have_graders_and_tell_whether_a_failure_ends_the_conversation(tmp_path: Path) -> None:
    grader = "{type: text, name: words, config: {contains: [x]}}"
    points = (
        f"[{{after_turn: 2, on_failure: stop, graders: [{grader}]}}, {{after_turn: 1, graders: [{grader}]}}]"
    )
    own = f"inputs: {{prompt: p, follow_up_prompts: [q, r]}}\n{CHECK}\ncheckpoints: {points}\n"
    task = load_task(tmp_path, {"eval.yaml": suite(), "a.task": own})
    assert [(point.after_turn, point.stop, len(point.graders)) for point in task.checkpoints] == [
        (2, True, 1),
        (1, False, 1),
    ]


def test_a_duplicate_id_is_refused_with_the_place_of_the_first(tmp_path: Path) -> None:
    files = {"eval.yaml": suite(), "a.task": "id: same\n" + PROMPT, "b.task": f"name: b\nid: same\n{PROMPT}"}
    (refusal,) = refusals(tmp_path, files)
    assert refusal.startswith("b.task:2:1: id: the task id 'same' is also used in ")
    assert refusal.endswith("a.task:1; give each task its own id")


def test_a_disabled_task_takes_no_id(tmp_path: Path) -> None:
    files = {
        "eval.yaml": suite(),
        "a.task": "id: same\n" + PROMPT,
        "b.task": f"id: same\nenabled: false\n{PROMPT}",
    }
    assert load_task(tmp_path, files).file.endswith("a.task")
