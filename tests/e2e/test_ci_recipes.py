"""The recipes for CI servers: their commands run in a repository with a skill and its suite, on the mock executor."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.github_action import Runner, has_bash, stand_in
from tests.support.program import environment, mock_suite, waza, write_tree

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples/ci"
SKILL = """---
name: greeter
description: >-
  Greets people by their names in the language that they speak, with a word that fits the time of day, and says goodbye
  when they leave. USE FOR: greeting people, saying goodbye. DO NOT USE FOR: writing letters.
---
# Greeter
"""
TASK = """id: {name}
inputs: {{prompt: Greet {name}.}}
mock: {{output: 'Hello {name}'}}
expected: {{output_contains: [Hello]}}
"""

pytestmark = [
    pytest.mark.skipif(not has_bash() or sys.platform == "win32", reason="the recipes are for bash"),
    pytest.mark.slow,
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a skill and a suite that passes, and `waza` and `pip` as CI servers have them."""
    root = write_tree(tmp_path / "repository", {"skills/greeter/SKILL.md": SKILL})
    tasks = {name: TASK.format(name=name) for name in ("Ada", "Bob")}
    mock_suite(root / "evals/greeter", tasks, head="skill: greeter", name="greeter")
    stand_in(tmp_path / "bin", "waza", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m waza "$@"\n')
    stand_in(tmp_path / "bin", "pip", f'#!/bin/sh\necho "$@" >> {tmp_path}/installed\n')
    return root


def fail_a_task(repository: Path) -> None:
    task = repository / "evals/greeter/tasks/Bob.yaml"
    task.write_text(task.read_text(encoding="utf-8").replace("'Hello", "'Go away,"))


def read(name: str) -> Any:
    return yaml.load((RECIPES / name).read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506  # texts only


@dataclass(frozen=True)
class Step:
    """A command of a recipe, and whether it runs after a command that failed."""

    command: str
    always: bool = False


def steps_of(name: str) -> Iterator[Step]:
    recipe = read(name)
    if name.startswith("gitlab"):
        yield from map(Step, recipe["waza"]["script"])
        return
    (job,) = recipe["jobs"].values() if isinstance(recipe["jobs"], dict) else recipe["jobs"]
    for step in job["steps"]:
        command = step.get("run", step.get("bash"))
        if command:
            yield Step(command, "if" in step)


def follow(name: str, repository: Path) -> int:
    """Run the commands of a recipe as its server does; return 0, or the exit code of the first one that failed."""
    recipe = read(name)
    variables = environment(
        {
            **recipe.get("variables", {}),
            **recipe.get("env", {}),
            "PATH": f"{repository.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(repository.parent / "summary.md"),
        }
    )
    code = 0
    for step in steps_of(name):
        if code and not step.always:
            continue
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.command]
        done = subprocess.run(words, cwd=repository, env=variables, stdin=subprocess.DEVNULL, check=False)
        code = code or done.returncode
    return code


@pytest.mark.parametrize("name", ["github-workflow.yml", "gitlab-ci.yml", "azure-pipelines.yml"])
def test_a_recipe_passes_and_fails_with_its_suites_and_leaves_its_reports(repository: Path, name: str):
    assert follow(name, repository) == 0
    installed = (repository.parent / "installed").read_text().split()
    assert installed == ["install", (read(name).get("variables") or read(name)["env"])["WAZA"]]
    fail_a_task(repository)
    assert follow(name, repository) == 1
    suites = ET.parse(repository / "reports/junit.xml").getroot()  # noqa: S314  # our own file
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    assert "Bob" in (repository / "reports/report.html").read_text(encoding="utf-8")
    (results,) = (repository / "reports/results").glob("*.json")
    assert json.loads(results.read_text())["summary"]["failed"] == 1
    if name.startswith("github"):
        assert "Bob" in (repository.parent / "summary.md").read_text(encoding="utf-8")
    (repository / "skills/greeter/SKILL.md").write_text(SKILL.replace("description", "descripton"))
    assert follow(name, repository) == 1


def test_servers_are_given_the_files_that_the_commands_write():
    azure, gitlab, github = read("azure-pipelines.yml"), read("gitlab-ci.yml"), read("github-workflow.yml")
    tests, reports = azure["jobs"][0]["steps"][-2:]
    assert tests["inputs"]["testResultsFiles"] == "reports/junit.xml"
    assert (reports["publish"], tests["condition"], reports["condition"]) == (
        "reports",
        *["succeededOrFailed()"] * 2,
    )
    artifacts = gitlab["waza"]["artifacts"]
    assert (artifacts["when"], artifacts["paths"]) == ("always", ["reports/"])
    assert artifacts["reports"] == {"junit": "reports/junit.xml"}
    upload = github["jobs"]["waza"]["steps"][-1]
    assert (upload["if"], upload["with"]["path"]) == ("always()", "reports")


def test_findings_for_code_scanning(repository: Path):
    assert follow("github-code-scanning.yml", repository) == 0
    (repository / "skills/greeter/SKILL.md").write_text(SKILL.replace("description", "descripton"))
    assert follow("github-code-scanning.yml", repository) == 0  # code scanning shows them
    steps = read("github-code-scanning.yml")["jobs"]["waza"]["steps"]
    assert (steps[-1]["if"], steps[-1]["with"]["sarif_file"]) == ("always()", "waza.sarif")
    found = json.loads((repository / "waza.sarif").read_text())["runs"][0]["results"]
    assert "error" in {one["level"] for one in found}


def test_the_recipe_with_the_action(repository: Path, tmp_path: Path):
    step = read("github-action.yml")["jobs"]["waza"]["steps"][-1]
    assert waza("run", "evals/greeter", "-o", "evals/greeter/baseline.json", cwd=repository).code == 0
    runner = Runner(tmp_path, repository, action=ROOT)
    runner.install_this_waza()
    ended = runner.run(step["with"], without=("install",))
    assert (ended.outcome, ended.outputs["gate-exit-code"]) == ("success", "0"), ended.log
    assert ended.used("actions/cache/restore")
    assert "this is not the run of a pull request" in ended.log
    fail_a_task(repository)
    ended = runner.run(step["with"], without=("install",))
    assert (ended.outcome, ended.outputs["gate-exit-code"]) == ("failure 1", "1"), ended.log


def shell(repository: Path, *words: str) -> int:
    variables = environment({"PATH": f"{repository.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    return subprocess.run(
        ["sh", str(RECIPES / "waza.sh"), *words], cwd=repository, env=variables, check=False
    ).returncode


def test_the_shell_script(repository: Path):
    suite = "evals/greeter/eval.yaml"
    assert shell(repository, suite, "out") == 0
    assert {path.name for path in (repository / "out").iterdir()} == {
        "junit.xml",
        "report.html",
        "results.json",
    }
    (repository / "out/results.json").rename(repository / "baseline.json")
    fail_a_task(repository)
    assert shell(repository, suite, "out") == 1
    assert shell(repository, suite, "out", "baseline.json") == 1
    (repository / "out/results.json").rename(repository / "baseline.json")
    assert shell(repository, suite, "out", "baseline.json") == 0
    (repository / "evals/greeter/tasks/Bob.yaml").write_text("id: [")
    assert shell(repository, suite, "out") == 1  # preflight
    assert shell(repository, suite) == 2  # no directory for reports


def run_script(command: str, place: Path, results: Path, **variables: str) -> int:
    """Run a command of a shard as its server does, with `/results` where the test has it."""
    command = re.sub(r"(?<![\w.])/results", str(results), command)
    path = f"{place.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    words = ["sh", "-c", command]
    found = environment({**variables, "PATH": path})
    return subprocess.run(words, cwd=place, env=found, stdin=subprocess.DEVNULL, check=False).returncode


def machines(repository: Path) -> list[Path]:
    """Three copies of a repository, in which one task fails."""
    fail_a_task(repository)
    places = [repository.parent / f"machine-{number}" for number in (1, 2, 3)]
    for place in places:
        shutil.copytree(repository, place)
    return places


def whole(file: Path) -> list[str]:
    return [task["status"] for task in json.loads(file.read_text())["tasks"]]


def test_the_matrix_of_github(repository: Path, tmp_path: Path):
    jobs = read("github-shards.yml")["jobs"]
    assert jobs["shard"]["strategy"]["matrix"]["shard"] == ["1", "2", "3"]
    *_, run, upload = jobs["shard"]["steps"]
    for number, place in enumerate(machines(repository), 1):
        assert run_script(run["run"], place, tmp_path / "r", SHARD=f"{number}/3") in (0, 1)
        shutil.copytree(place / upload["with"]["path"], tmp_path / f"job/shards/waza-shard-{number}")
    assert upload["with"]["include-hidden-files"] == "true"
    shutil.copytree(tmp_path / "bin", tmp_path / "job/bin")
    (tmp_path / "job/here").mkdir()
    (tmp_path / "job/shards").rename(tmp_path / "job/here/shards")
    merge, summary = (step["run"] for step in jobs["merge"]["steps"] if step.get("name"))
    assert run_script(merge, tmp_path / "job/here", tmp_path) == 1
    assert (
        run_script(summary, tmp_path / "job/here", tmp_path, GITHUB_STEP_SUMMARY=str(tmp_path / "s.md")) == 0
    )
    assert whole(tmp_path / "job/here/reports/results.json") == ["passed", "failed"]
    assert "Bob" in (tmp_path / "s.md").read_text(encoding="utf-8")


def test_the_indexed_job_of_kubernetes(repository: Path, tmp_path: Path):
    text = (RECIPES / "kubernetes-shards.yml").read_text(encoding="utf-8")
    shards, merge = (
        job["spec"]["template"]["spec"]["containers"][0]["args"][0] for job in yaml.safe_load_all(text)
    )
    for index, place in enumerate(machines(repository)):
        assert run_script(shards, place, tmp_path / "results", JOB_COMPLETION_INDEX=str(index)) == 0
    assert run_script(merge, repository, tmp_path / "results") == 1
    assert whole(tmp_path / "results/results.json") == ["passed", "failed"]


def test_the_array_of_slurm(repository: Path, tmp_path: Path):
    fail_a_task(repository)
    script = shlex.join(
        ["sh", str(RECIPES / "slurm-shards.sh"), "evals/greeter/eval.yaml", str(tmp_path / "out")]
    )
    codes = [
        run_script(script, repository, tmp_path, SLURM_ARRAY_TASK_ID=str(number), SLURM_ARRAY_TASK_COUNT="3")
        for number in (1, 2, 3)
    ]
    assert sorted(codes) == [0, 0, 1]
    assert not (repository / ".waza").exists()
    assert run_script(f"waza merge {tmp_path}/out --output results.json", repository, tmp_path) == 1
    assert whole(repository / "results.json") == ["passed", "failed"]
