"""The skill about waza: it is ready, what it says is so, and its suite passes good answers and fails wrong ones."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.program import Ended, strict_json, waza, write_tree

from waza.cli.app import COMMANDS
from waza.reference import grader_page

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills/waza"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in SKILL.rglob("*.md")}
# The graders of its suite start `waza`, as users have it on PATH.
ON_PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
GOOD_SKILL = "skills/csv-tidy/SKILL.md"
SUITE = "name: csv-tidy\nskill: csv-tidy\nconfig: {executor: copilot-sdk}\ntasks: ['tasks/*.yaml']\n"
# Passes whatever the agent says, also what it was asked.
TASK = "id: trim\ninputs: {prompt: Tidy prices.csv.}\nexpected: {output_contains: [prices]}\nmock: {output: prices}\n"
FILES = {"eval": "evals/csv-tidy/eval.yaml", "task": "evals/csv-tidy/tasks/trim.yaml"}
# By task: wrong answers, each with the graders that must not pass it.
Answer = tuple[dict[str, Any], set[str]]
WRONG: dict[str, list[Answer]] = {
    "write-suite": [
        (
            {
                "output": "The suite works.",
                "files": [
                    {"path": FILES["eval"], "content": SUITE},
                    {"path": FILES["task"], "content": TASK},
                    {"path": "evals/csv-tidy/tasks/two.yaml", "content": TASK.replace("trim", "two")},
                    {"path": GOOD_SKILL, "content": "---\nname: csv-tidy\n---\n"},
                ],
            },
            {"suite_works", "skill_is_ready_with_it", "was_tried", "skill_is_as_it_was"},
        ),
        (
            {
                "output": "The suite works.",
                "tool_calls": [{"name": "bash", "args": {"command": "waza run x --executor mock"}}],
                "files": [
                    {"path": FILES["eval"], "content": SUITE},
                    {"path": FILES["task"], "content": TASK.replace("[prices]", "[tidied]")},
                ],
            },
            {"suite_works"},  # one task, whose own answer does not pass
        ),
    ],
    "mend-suite": [
        (
            {
                "output": "It runs now.",
                "files": [
                    {"path": FILES["eval"], "content": SUITE},
                    {
                        "path": FILES["task"],
                        "content": "id: trim\ninputs: {prompt: Tidy it.}\nmock: {output: ok}\n",
                    },
                ],
            },
            {"suite_works", "checks_are_kept"},
        ),
        ({"output": "There was nothing to mend."}, {"suite_works", "checks_are_kept"}),
    ],
    "trigger-tests": [
        ({"output": "There are trigger tests now."}, {"prompts_of_both_kinds", "suite_works"}),
        (
            {
                "files": [
                    {
                        "path": FILES["eval"],
                        "content": SUITE + "mock: {triggers: {a: true, b: true, c: true}}\n",
                    },
                    {
                        "path": FILES["task"],
                        "content": TASK.replace("[prices]", "[tidied]").replace(
                            "{output: prices}", "{output: tidied}"
                        ),
                    },
                    {
                        "path": "evals/csv-tidy/trigger_tests.yaml",
                        "content": "skill: csv-tidy\nshould_trigger_prompts: [{prompt: a}, {prompt: b}, {prompt: c}]\n",
                    },
                ],
            },
            {"prompts_of_both_kinds"},
        ),
    ],
    "read-results": [
        (
            {"output": "Two tasks failed.", "files": [{"path": "results.json", "content": "{}"}]},
            {
                "names_what_failed",
                "blames_the_agent_for_no_error",
                "looked_at_the_run",
                "results_are_as_they_were",
            },
        ),
        (
            {
                "output": "duplicates failed its check every_row_once. big-file failed, too, by an error of the agent.",
                "tool_calls": [{"name": "bash", "args": {"command": "waza show results.json"}}],
            },
            {"blames_the_agent_for_no_error"},
        ),
    ],
    "make-ready": [
        ({"output": "The skill is ready."}, {"skill_is_ready", "instructions_are_kept"}),
        (
            {
                "output": "The skill is ready.",
                "delete": ["skills/csv-tidy/references/rules.md"],
                "files": [
                    {
                        "path": GOOD_SKILL,
                        "content": (ROOT / "evals/waza/fixtures/csv-tidy" / GOOD_SKILL).read_text(
                            encoding="utf-8"
                        ),
                    }
                ],
            },
            {"instructions_are_kept"},
        ),
    ],
}


def tasks_of(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in (folder / "evals/waza/tasks").glob("*.yaml")}


def run(folder: Path, *words: str) -> Ended:
    return waza("run", "waza", "--warnings-as-errors", "--no-cache", *words, cwd=folder, env=ON_PATH)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("skills", "evals"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def failed_graders(ended: Ended) -> dict[str, set[str]]:
    return {
        task["test_id"]: {
            name for name, verdict in task["runs"][0]["validations"].items() if not verdict["passed"]
        }
        for task in ended.results()["tasks"]
    }


@pytest.mark.parametrize("tokenizer", ["bpe", "estimate"])
def test_the_skill_is_ready_and_nothing_is_found(tokenizer: str):
    words = ("skills/waza", "--offline", "--tokenizer", tokenizer, "--format", "json")
    (skill,) = strict_json(waza("check", *words, cwd=ROOT).out)["skills"]
    assert (skill["ready"], skill["findings"], skill["compliance"]["level"]) == (True, [], "High")
    assert skill["eval"]["path"].endswith("evals/waza/eval.yaml")


@pytest.mark.slow
def test_good_answers_pass(copy: Path):
    ended = run(copy)
    assert ended.code == 0, ended.out + ended.err
    results = ended.results()
    assert {task["test_id"] for task in results["tasks"]} == set(WRONG)
    assert results["metrics"]["trigger_accuracy"]["value"] == 1
    asked = [one["should_trigger"] for one in results["trigger_results"]]
    assert (asked.count(True), asked.count(False)) == (5, 4)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_each_wrong_answer_fails_by_the_grader_that_is_for_it(copy: Path, number: int):
    for name, path in tasks_of(copy).items():
        task = yaml.safe_load(path.read_text(encoding="utf-8"))
        task["mock"], _ = WRONG[name][number]
        path.write_text(yaml.safe_dump(task), encoding="utf-8")
    ended = run(copy)
    assert ended.code == 1, ended.err
    assert failed_graders(ended) == {name: WRONG[name][number][1] for name in WRONG}


def test_every_grader_of_the_suite_fails_for_a_wrong_answer():
    for name, path in tasks_of(ROOT).items():
        graders = {grader["name"] for grader in yaml.safe_load(path.read_text(encoding="utf-8"))["graders"]}
        assert graders == set().union(*(failing for _, failing in WRONG[name])), name


@pytest.mark.slow
def test_an_agent_that_does_nothing_passes_nothing(copy: Path):
    for path in tasks_of(copy).values():
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: text.index("\nmock:") + 1], encoding="utf-8")
    ended = run(copy)
    assert ended.code == 1
    assert {task["status"] for task in ended.results()["tasks"]} == {"failed"}


def test_the_suite_that_it_shows_works(tmp_path: Path):
    """As its instructions say: preflight, a run of good answers, and a run of a wrong one."""
    shown = re.findall(r"`([^`\n]+)`:\n\n```yaml\n(.*?)^```$", PAGES["suites.md"], re.MULTILINE | re.DOTALL)
    files = dict(shown)
    assert len(files) == 3
    fixture = ROOT / "evals/waza/fixtures/csv-tidy" / GOOD_SKILL
    write_tree(tmp_path, {GOOD_SKILL: fixture.read_bytes()})
    assert waza("new", "eval", "csv-tidy", "--yes", cwd=tmp_path).code == 0
    for task in (tmp_path / "evals/csv-tidy/tasks").iterdir():
        task.unlink()
    write_tree(tmp_path, files)
    commands = re.search(r"```sh\n(.*?)```", PAGES["SKILL.md"], re.DOTALL)
    assert commands
    lines = commands[1].replace("NAME", "csv-tidy").splitlines()
    assert len(lines) == 3
    for line in lines:
        ended = waza(*line.split()[1:], cwd=tmp_path)
        assert (ended.code, "warning" in ended.err) == (0, False), f"{line}\n{ended.out}{ended.err}"
    trim = "evals/csv-tidy/tasks/trim.yaml"
    wrong = files[trim].replace('content: "name,price\\nPear,2\\n"', 'content: "name,price\\nPear, 2\\n"')
    assert wrong != files[trim]
    write_tree(tmp_path, {trim: wrong})
    assert waza("run", "csv-tidy", "--executor", "mock", cwd=tmp_path).code == 1


def test_commands_and_graders_that_it_names_are_there():
    for name, text in PAGES.items():
        for command in re.findall(r"(?:`|^\$ |^)waza ([a-z]+)", text, re.MULTILINE):
            assert command in COMMANDS, f"{name}: waza {command}"
    rows = re.findall(r"^\| [^|]+ \| (`[^|]+) \| (.+) \|$", PAGES["graders.md"], re.MULTILINE)
    assert len(rows) == 11
    for types, keys in rows:
        known = [keys_of(kind) for kind in re.findall(r"`(\w+)`", types)]
        for named, allowed in zip(keys.split("; ")[: len(known)], known, strict=True):
            wanted = set(re.findall(r"`([a-z_]+)`", named))
            assert wanted
            assert wanted <= allowed, (types, wanted - allowed)


def keys_of(kind: str) -> set[str]:
    return {key.name for key in grader_page(kind).sections[0].keys}
