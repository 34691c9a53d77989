"""The JSON Schemas: valid themselves, as committed, and right about files that are good and files that are not."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.program import mock_suite, strict_json, waza, write_tree

from waza.kit import yaml
from waza.schemas import KINDS, schema_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind))


def complaints(kind: str, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(kind).iter_errors(value)]


def plain(text: str | bytes) -> Any:
    """YAML as the program reads it."""
    return yaml.to_plain(yaml.load(text.encode() if isinstance(text, str) else text))


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_valid_and_committed_as_it_is_printed(tmp_path: Path, kind: str):
    ended = waza("schema", kind, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (ROOT / "schemas" / f"{kind}.schema.json").read_text(encoding="utf-8")
    schema = strict_json(ended.out)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(references(schema)) == {f"#/$defs/{name}".replace(" ", "%20") for name in schema["$defs"]}


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(tmp_path: Path, kind: str):
    schema = strict_json(waza("schema", kind, cwd=tmp_path).out)
    keys = [
        (f"{name}.{key}", rules.get("description", ""))
        for name, definition in schema["$defs"].items()
        for key, rules in definition.get("properties", {}).items()
    ]
    assert keys
    assert [key for key, description in keys if not description.endswith((".", "`"))] == []


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


# --- files that are good ---

FILES = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.name != "trigger_tests.yaml")


def test_there_are_examples():
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_every_example_is_accepted(path: Path):
    value = plain(path.read_bytes())
    keys = {"tasks": "suite", "tasks_from": "suite", "cases": "references"}
    kind = (
        "config" if path.name == ".waza.yaml" else next((keys[key] for key in value if key in keys), "task")
    )
    assert complaints(kind, value) == []


SUITE = """
schemaVersion: 1.4
name: 12
version: 1.10
config: {executor: mock, trials_per_task: 2, model: null, group_by: null, executor_options: {anything: [1]}}
inputs: {key: 1, other: true}
hooks: {before_run: [{command: echo, exit_codes: [0, 1]}]}
metrics: [{name: m, threshold: 0.5}]
graders:
  - {type: text, name: t, config: {contains: [1, two]}}
  - {type: my_own, name: mine, config: {anything: goes}}
tasks: [a.yaml]
range: [1, 3]
"""
TASK = """
id: 7
inputs: {prompt: 5, environment: {A: 1}, files: [{path: a}]}
expected: {output_contains: [done], behavior: {max_tool_calls: 1}}
checkpoints: [{after_turn: 1, graders: [{type: code, name: c, config: {assertions: ["True"]}}]}]
mock: {turns: [{output: 3, tool_calls: [{name: t, args: {a: null}}]}], judge: {g: [{pass: ok}]}}
"""
POLICY = "{limits: [{metric: score, tag: 7, max_drop: 0.1}], require: significant, alpha: 0.01}"
REFERENCES = "cases: [{id: 1, task: 2, expect: fail, reason: null, turns: [{output: 3}], grader: g}]"
CONFIG = "paths: {results: out}\ndefaults: {parallel: true, workers: 2}\ncache: {enabled: true}\n"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("suite", SUITE),
        ("task", TASK),
        ("config", CONFIG),
        ("config", "{}"),
        ("policy", POLICY),
        ("references", REFERENCES),
    ],
)
def test_what_the_program_reads_the_schema_accepts(kind: str, text: str):
    assert complaints(kind, plain(text)) == []


# --- files that are not ---


def misspelt(value: Any, free: frozenset[str], place: str = "$") -> Iterator[tuple[str, Any]]:
    """Yield copies of a document in each of which one key has a letter more. `free` are maps of any keys."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            for where, changed in misspelt(item, free, f"{place}[{number}]"):
                yield where, [*value[:number], changed, *value[number + 1 :]]
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        others = {name: copy.deepcopy(other) for name, other in value.items() if name != key}
        yield f"{place}.{key}", {**others, f"{key}z": item}
        if key not in free:
            for where, changed in misspelt(item, free, f"{place}.{key}"):
                yield where, {**others, key: changed}


FREE = frozenset(
    {"inputs of a suite", "executor_options", "args", "judge", "environment", "schema", "arguments"}
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("suite", SUITE), ("task", TASK), ("config", CONFIG)]
    + [("task", (EXAMPLES / "grader-showcase/tasks" / name).read_text()) for name in ("answer.yaml", "files.yaml", "conduct.yaml")],
    ids=["suite", "task", "config", "answer", "files", "conduct"],
)  # fmt: skip
def test_a_misspelt_key_is_refused_wherever_it_is(kind: str, text: str):
    value = plain(text)
    if kind == "suite":
        value["graders"] = value["graders"][:1]  # the config of a type that is not ours is its own affair
        value["inputs"] = {}
    for grader in value.get("graders", ()):
        grader["config"].pop("config", None)  # what a grader by WGP/1 gets is its own affair
    checked = 0
    for place, changed in misspelt(value, FREE):
        assert complaints(kind, changed), place
        checked += 1
    assert checked > 5


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("suite", "config: {trials_per_task: 0}", "$.config.trials_per_task"),
        ("suite", "config: {parallel: 3}", "$.config.parallel"),
        ("suite", "tasks: a.yaml", "$.tasks"),
        ("suite", "graders: [{type: text, config: {contains: x}}]", "$.graders[0].config.contains"),
        ("suite", "graders: [{type: code, config: {}}]", "$.graders[0].config"),
        ("task", "inputs: [prompt]", "$.inputs"),
        ("task", "checkpoints: [{after_turn: 0, graders: []}]", "$.checkpoints[0].after_turn"),
        ("config", "defaults: {workers: many}", "$.defaults.workers"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(kind: str, text: str, place: str):
    assert any(complaint.startswith(f"{place}: ") for complaint in complaints(kind, plain(text)))


# --- results ---


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Results files of every kind: all of the examples, and suites with all that can happen."""
    root = tmp_path_factory.mktemp("written")
    shutil.copytree(EXAMPLES, root / "examples")
    suites = [path for path in (root / "examples").rglob("*.yaml") if b"\ntasks" in path.read_bytes()]
    for number, path in enumerate(suites):
        waza(
            "run",
            path.name,
            "--executor",
            "mock",
            "--no-save",
            "-o",
            root / f"example-{number}.json",
            cwd=path.parent,
        )
    tasks = {
        "passes": "golden: true\ntags: [x]\ninputs: {prompt: p}\nmock: {output: hello}",
        "retried": "inputs: {prompt: p}\nmock: {executions: [{output: x}, {output: hello}]}",
        "fails": "inputs: {prompt: p}\nmock: {output: no, tool_calls: [{name: t, args: {n: null}, result: null, success: false}], skills: [s]}",
        "breaks": "inputs: {prompt: p}\nmock: {error: gone}",
        "unjudged": "inputs: {prompt: p}\ngraders: [{type: prompt, name: j, config: {prompt: ok?}}]\nmock: {output: hello}",
        "stops": "inputs: {prompt: p, follow_up_prompts: [q]}\nmock: {turns: [{output: a}]}\n"
        "checkpoints: [{after_turn: 1, on_failure: stop, graders: [{type: text, name: e, config: {contains: [b]}}]}]",
    }
    head = (
        "graders: [{type: text, name: says, config: {contains: [hello]}}]\n"
        "metrics: [{name: task_completion, threshold: 0.1}, {name: trigger_accuracy, threshold: 0.1}]\n"
        "hooks: {before_task: [{command: 'test {{.TaskName}} != retried', error_on_fail: true}]}"
    )
    mock_suite(
        root,
        tasks,
        f"{head}\nmock: {{triggers: {{p: true, q: false}}}}",
        ["trials_per_task: 2", "max_attempts: 2", "group_by: tags", "skill_directories: [s]"],
    )
    write_tree(root, {
        "s/SKILL.md": "---\nname: s\ndescription: d\n---\nb\n",
        "trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: p}]\nshould_not_trigger_prompts: [{prompt: q}]\n",
    })  # fmt: skip
    for name, *more in (
        ("all.json",), ("baseline.json", "--baseline"), ("skipped.json", "--skip-graders"),
        ("one.json", "--trials", "1", "--task", "passes"), ("models.json", "-m", "a", "-m", "b", "--recommend"),
    ):  # fmt: skip
        waza("run", "eval.yaml", "-o", name, "--no-save", *more, cwd=root)
    waza("grade", "eval.yaml", "--results", "all.json", "-o", "graded.json", cwd=root)
    return sorted(root.glob("*.json"))


@pytest.mark.slow
def test_every_results_file_is_accepted(written: list[Path]):
    names = {path.name for path in written}
    assert {"all.json", "baseline.json", "skipped.json", "one.json", "models_a.json", "graded.json"} <= names
    assert len(names) > 12
    check = validator("results")
    for path in written:
        errors = [
            f"{error.json_path}: {error.message[:200]}"
            for error in check.iter_errors(strict_json(path.read_bytes()))
        ]
        assert errors == [], path.name


def test_a_results_file_without_what_it_must_have_is_refused(tmp_path: Path):
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}"})
    whole = waza("run", "eval.yaml", cwd=tmp_path).results()
    assert complaints("results", whole) == []
    assert complaints("results", {**whole, "added_by_others": 1}) == []
    for key in ("eval_id", "summary", "tasks", "config", "metrics"):
        assert complaints("results", {name: value for name, value in whole.items() if name != key}), key
    assert complaints("results", {**whole, "tasks": None})
    whole["tasks"][0]["status"] = "fine"
    assert any("'fine'" in complaint for complaint in complaints("results", whole))
