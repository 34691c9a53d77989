"""The packages in examples/plugins: installed as they are, they do what the pages about them say."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.packages import install_package
from tests.support.program import Ended, mock_suite, waza, write_tree

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "examples" / "plugins"
PAGES = ROOT / "docs" / "extending"


@pytest.fixture(params=["executor", "grader", "reporter", "store"])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def run(tmp_path: Path, kind: str, *flags: str) -> tuple[Ended, Path]:
    """Install a package and run its suite; return how that ended, and the Python that has the package."""
    project = shutil.copytree(
        PLUGINS / kind, tmp_path / kind, ignore=shutil.ignore_patterns("__pycache__", ".waza")
    )
    python = install_package(project, tmp_path)
    return waza("run", "eval.yaml", *flags, cwd=project, python=python), python


def only_runs(ended: Ended) -> dict[str, dict[str, Any]]:
    return {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}


@pytest.mark.slow
def test_the_grader_is_installed_and_asked(tmp_path: Path):
    ended, python = run(tmp_path, "grader")
    assert (ended.code, "warning" in ended.err) == (1, False), ended.out + ended.err
    verdicts = {name: task["validations"]["short"] for name, task in only_runs(ended).items()}
    assert {name: one["passed"] for name, one in verdicts.items()} == {"short": True, "long": False}
    assert verdicts["long"]["feedback"] == (
        "a sentence of 11 words, at most 8 allowed: It repeats every task as ..."
    )
    assert verdicts["long"]["score"] == 0.5
    write_tree(ended.cwd, {"eval.yaml": (ended.cwd / "eval.yaml").read_text().replace("8", "8, ignore: ' '")})
    refused = waza("run", "eval.yaml", cwd=ended.cwd, python=python)
    assert refused.code == 2
    assert "ignore: must not be blank; leave it out" in refused.err
    shown = waza("grader", "show", "sentences", cwd=ended.cwd, python=python)
    assert (shown.code, "  longest (integer, at least 1, required)\n      Words that" in shown.out) == (
        0,
        True,
    )


@pytest.mark.slow
def test_the_executor_is_installed_and_answers(tmp_path: Path):
    ended, _ = run(tmp_path, "executor")
    assert (ended.code, "warning" in ended.err) == (1, False), ended.out + ended.err
    runs = only_runs(ended)
    assert (runs["known"]["status"], runs["known"]["final_output"]) == ("passed", "It tests skills.")
    assert (runs["unknown"]["status"], runs["unknown"]["error_msg"]) == (
        "error", "no word of the prompt is in the list of answers",
    )  # fmt: skip


@pytest.mark.slow
def test_the_reporter_is_installed_and_writes(tmp_path: Path):
    ended, _ = run(tmp_path, "reporter", "--reporter", "tap:results.tap")
    assert (ended.code, "warning" in ended.err) == (1, False), ended.out + ended.err
    assert (ended.cwd / "results.tap").read_text().splitlines()[:4] == [
        "TAP version 13", "1..3", "ok 1 - two-tasks: polite", "not ok 2 - two-tasks: rude # failed",
    ]  # fmt: skip
    assert (ended.cwd / "results.tap").read_text().splitlines()[4].startswith("not ok 3 - verdict # ")


@pytest.mark.slow
def test_the_store_is_installed_and_keeps_results(tmp_path: Path):
    ended, python = run(tmp_path, "store")
    assert (ended.code, "Uploaded to sqlite: hello/run-" in ended.err) == (0, True), ended.out + ended.err
    (file,) = ended.cwd.glob(".waza/runs/*/results.json")

    def again(*words: str) -> Ended:
        return waza(*words, cwd=ended.cwd, python=python)

    assert again("results", "push", file.parent.name).code == 0  # in place of itself
    listed = json.loads(again("results", "list", "--json").out)
    assert [(one["run_id"], one["pass_rate"]) for one in listed] == [(file.parent.name, 100)]
    got = again("results", "get", file.parent.name, "-o", "back.json")
    assert (got.code, (ended.cwd / "back.json").read_bytes()) == (0, file.read_bytes()), got.err
    settings = write_tree(
        ended.cwd, {".waza.yaml": "storage:\n  provider: sqlite\n  options: {file: a.db, table: b}\n"}
    )
    refused = again("results", "list")
    assert (refused.code, ".waza.yaml:3:25: storage.options.table: unknown key 'table'" in refused.err) == (
        2,
        True,
    )
    write_tree(settings, {".waza.yaml": "storage: {provider: sqlite, options: {file: nowhere/a.db}}\n"})
    kept = again("run", "eval.yaml")
    assert (kept.code, "cannot be used: unable to open database file" in kept.err) == (0, True), kept.err


@pytest.mark.parametrize(("script", "passed"), [("pass", True), ("fail", False)])
def test_the_grader_of_the_page_that_asks_a_judge_gets_its_answer(
    tmp_path: Path, script: str, *, passed: bool
):
    page = (PAGES / "grader.md").read_text(encoding="utf-8")
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "JudgeQuestion(" in one)
    package = write_tree(
        tmp_path / "package",
        {
            "judged.py": code,
            "judged-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: judged\nVersion: 1.0\n",
            "judged-1.0.dist-info/entry_points.txt": "[waza.graders]\nplausible = judged:Plausible\n",
        },
    )
    task = f"{{inputs: {{prompt: p}}, mock: {{judge: {{g: [{{{script}: for a reason}}]}}}}}}"
    suite = mock_suite(tmp_path, {"a": task}, "graders: [{type: plausible, name: g}]")
    path = os.pathsep.join(part for part in (str(package), os.environ.get("PYTHONPATH", "")) if part)
    ended = waza("run", suite, cwd=tmp_path, env={"PYTHONPATH": path})
    verdict = ended.results()["tasks"][0]["runs"][0]["validations"]["g"]
    assert (verdict["passed"], verdict["feedback"]) == (passed, "for a reason")
    refused = waza("run", suite, "--executor", "command:cat", cwd=tmp_path, env={"PYTHONPATH": path})
    assert (refused.code, "needs a judge, which the executor 'command' does not" in refused.err) == (2, True)


def test_a_page_shows_the_files_of_the_package(kind: str):
    page = (PAGES / f"{kind}.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert shown.keys() == {path.name for path in (PLUGINS / kind).iterdir() if path.is_file()}
    for name, text in shown.items():
        assert text == (PLUGINS / kind / name).read_text(encoding="utf-8")


def test_the_packages_use_public_names_alone(kind: str):
    (module,) = (PLUGINS / kind).glob("*.py")
    assert set(re.findall(r"^(?:from|import) (waza\S*)", module.read_text(), re.MULTILINE)) == {"waza"}
