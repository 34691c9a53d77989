"""`waza init`: settings, directories and suites that are missing; what is there stays, and a second time changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.e2e.test_new_eval import AGENT, SKILL
from tests.e2e.test_new_skill import plain
from tests.support.program import strict_json, waza, write_tree
from tests.unit.registry._upstream import files_below

from waza.schemas import schema_of
from waza.suite.project import find_project

PROGRAMS = Path(sys.executable).parent
SOURCE = "https://github.com/acme/waza"


def contents(root: Path) -> dict[str, bytes]:
    """The files of a project, but for what git and runs keep."""
    return {
        name: (root / name).read_bytes()
        for name in files_below(root)
        if not name.startswith((".git/", ".waza/runs", ".waza/invocations"))
    }


@pytest.mark.parametrize("git", [True, False])
def test_an_empty_directory_becomes_a_project_in_which_all_commands_work(tmp_path: Path, git: bool):
    root = tmp_path / "new project"
    if git:
        subprocess.run(["git", "init", "-q", root], check=True)
    ended = waza("init", "new project", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "executor of new suites: mock" in ended.err
    assert (root / "skills").is_dir()
    assert (root / "evals").is_dir()
    jsonschema.validate(plain(root / ".waza.yaml"), schema_of("config"))
    assert find_project(root).warnings == ()
    text = (root / ".waza.yaml").read_text(encoding="utf-8")
    head, paths, rest = text.partition("paths:")
    shown = rest.replace("\n# ", "\n").replace("\n  # ", "\n  ")
    (root / ".waza.yaml").write_text(head + paths + shown, encoding="utf-8")
    assert find_project(root).warnings == ()  # what is commented out is right, too
    assert find_project(root).keys.defaults.engine == "copilot-sdk"
    (root / ".waza.yaml").write_text(text, encoding="utf-8")
    if git:
        status = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=all"]
        assert subprocess.run(status, capture_output=True, text=True, check=True).stdout.split("\n")[:-1] == [
            "?? .gitignore",
            "?? .waza.yaml",
            "?? README.md",
        ]
    before = contents(root)
    again = waza("init", cwd=root)
    assert (again.code, "the project is there already; no file was changed" in again.out) == (0, True)
    assert contents(root) == before
    for words in (["new", "skill", "greeter"], ["check", "--offline", "--fail-on", "error"], ["run"]):
        assert waza(*words, cwd=root).code == 0, words


def test_skills_that_are_there_keep_their_places_and_get_suites(tmp_path: Path):
    tree = {
        "plugins/skills/greeter/SKILL.md": SKILL,
        "plugins/skills/tested/SKILL.md": SKILL.replace("greeter", "tested"),
        "plugins/skills/broken/SKILL.md": "---\nname: broken\n---\nx\n",
        "agents/prüfer.agent.md": AGENT,
        "checks/evals/tested/eval.yaml": "{name: t, skill: tested, config: {executor: mock}, tasks: ['*.task.yaml']}",
        "checks/evals/tested/a.task.yaml": "{inputs: {prompt: p}, expected: {output_contains: [p]}}",
        ".gitignore": "node_modules\nresults\n",
        "README.md": "mine\n",
    }
    write_tree(tmp_path, tree)
    ended = waza("init", cwd=tmp_path)
    assert (ended.code, "still without a suite: broken" in ended.err) == (1, True), ended.err
    assert plain(tmp_path / ".waza.yaml")["paths"] == {
        "skills": "plugins/skills/",
        "evals": "checks/evals/",
        "results": "results/",
    }
    for name, content in tree.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == content
    assert "tested: checks/evals/tested/eval.yaml" in ended.out
    assert "note: no suite for broken: plugins/skills/broken/SKILL.md" in ended.err
    assert "add to .gitignore what waza writes: .waza/, .waza-cache/" in ended.err
    assert {path.name for path in (tmp_path / "checks/evals").iterdir()} == {"greeter", "tested", "prüfer"}
    report = strict_json(waza("check", "--offline", "--format", "json", cwd=tmp_path).out)
    assert {one["name"]: one["eval"]["found"] for one in report["skills"]} == {
        "greeter": True, "tested": True, "broken": False, "prüfer": True,
    }  # fmt: skip
    assert waza("run", cwd=tmp_path).code == 0
    before = contents(tmp_path)
    assert waza("init", cwd=tmp_path).code == 1  # the broken skill still has none
    assert contents(tmp_path) == before
    only = write_tree(tmp_path / "only", {"skills/greeter/SKILL.md": SKILL})
    assert waza("init", "--no-evals", "--engine", "copilot-sdk", "--model", "gpt-x", cwd=only).code == 0
    assert not [*(only / "evals").iterdir()]
    assert waza("new", "eval", "greeter", cwd=only).code == 0
    config = plain(only / "evals/greeter/eval.yaml")["config"]
    assert (config["executor"], config["model"]) == ("copilot-sdk", "gpt-x")


def test_workflow_and_hooks_are_written_on_request(tmp_path: Path):
    ended = waza("init", "--workflow", "--hooks", "--source", SOURCE, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "your-organization" not in ended.err
    workflow = (tmp_path / ".github/workflows/eval.yml").read_text(encoding="utf-8")
    assert "uses: acme/waza@v" in workflow
    (repository,) = plain(tmp_path / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == SOURCE
    hooks = {one["id"] for one in plain(Path(__file__).parents[2] / ".pre-commit-hooks.yaml")}
    assert {one["id"] for one in repository["hooks"]} == hooks
    other = write_tree(
        tmp_path / "other", {".pre-commit-config.yaml": "repos: []\n", ".github/workflows/eval.yml": "x"}
    )
    ended = waza("init", "--workflow", "--hooks", cwd=other)
    assert ended.code == 0
    assert (other / ".pre-commit-config.yaml").read_text(encoding="utf-8") == "repos: []\n"
    assert (other / ".github/workflows/eval.yml").read_text(encoding="utf-8") == "x"
    assert "- id: waza-check" in ended.err
    third = write_tree(tmp_path / "third", {})
    assert "replace your-organization" in waza("init", third, "--hooks", cwd=tmp_path).err


@pytest.mark.slow
def test_workflow_and_hooks_keep_the_rules_of_those_who_read_them(tmp_path: Path):
    assert waza("init", "--workflow", "--hooks", cwd=tmp_path).code == 0
    workflow = tmp_path / ".github/workflows/eval.yml"
    programs: list[list[str | Path]] = [
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", workflow],
        [
            "zizmor",
            "--offline",
            "--quiet",
            "--config",
            Path(__file__).parents[2] / ".github/zizmor.yml",
            workflow,
        ],
        ["pre-commit", "validate-config", tmp_path / ".pre-commit-config.yaml"],
    ]
    if (PROGRAMS / "actionlint").exists():
        programs.append(["actionlint", workflow])
    for name, *words in programs:
        done = subprocess.run(
            [PROGRAMS / str(name), *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


MISTAKES = {
    ("--skills-dir", "/abs"): "is not a directory of the project",
    ("--evals-dir", "../up"): "is not a directory of the project",
    ("--results-dir", "a:b"): "is not a directory of the project",
    ("--skills-dir", "a#b"): "is not a directory of the project",
    ("--engine", "mokc"): "did you mean 'mock'?",
    ("--workflow", "--source", "nowhere"): "is not the address of a repository",
    ("--workflow", "--source", "https://github.com/a/b@v1 # x"): "is not the address of a repository",
    ("--workflow", "--source", "https://github.com/a/b\nrun: x"): "is not the address of a repository",
    ("file.txt",): "is not a directory",
}


def test_mistakes_are_refused_and_nothing_is_written(tmp_path: Path):
    write_tree(tmp_path, {"file.txt": "x"})
    for words, advice in MISTAKES.items():
        ended = waza("init", *words, cwd=tmp_path)
        assert (ended.code, advice in ended.err) == (2, True), (words, ended.err)
    assert files_below(tmp_path) == ["file.txt"]
    assert waza("init", cwd=tmp_path).code == 0
    ended = waza("init", "--skills-dir", "other", cwd=tmp_path)
    assert (ended.code, "change the paths in it" in ended.err) == (2, True)
    write_tree(tmp_path, {".waza.yaml": "paths: [1]"})
    assert waza("init", cwd=tmp_path).code == 2


def test_a_suite_that_lacks_files_gets_them_and_keeps_those_that_were_edited(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert waza("init", cwd=tmp_path).code == 0
    suite = tmp_path / "evals/greeter"
    edited = suite / "tasks/positive-trigger-1.yaml"
    edited.write_text(edited.read_text(encoding="utf-8").replace("Say hello.", "Say moin."), encoding="utf-8")
    before = contents(tmp_path)
    (suite / "eval.yaml").unlink()
    (suite / "tasks/negative-trigger-1.yaml").unlink()
    ended = waza("init", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert contents(tmp_path) == before
    assert "  kept      evals/greeter/tasks/positive-trigger-1.yaml" in ended.out
    assert "  new       evals/greeter/eval.yaml" in ended.out
    assert "the suite of greeter was completed by 2 files" in ended.out
    assert waza("run", "greeter", cwd=tmp_path).code == 0


def test_a_suite_that_cannot_be_written_is_named_and_ends_with_1(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL, "evals/greeter/eval.yaml/keep": ""})
    ended = waza("init", cwd=tmp_path)
    assert (ended.code, "still without a suite: greeter" in ended.err) == (1, True), ended.err
    assert "evals/greeter/eval.yaml is there already and is not its suite" in ended.err
    assert "complete" not in ended.out
    assert files_below(tmp_path / "evals") == ["greeter/eval.yaml/keep"]


def test_options_that_come_too_late_are_named(tmp_path: Path):
    words = ("init", "--workflow", "--hooks", "--source")
    assert waza(*words, SOURCE, cwd=tmp_path).code == 0
    assert "--source" not in waza(*words, SOURCE, cwd=tmp_path).err
    before = contents(tmp_path)
    ended = waza(*words, "https://github.com/other/waza", "--engine", "copilot-sdk", cwd=tmp_path)
    assert (ended.code, contents(tmp_path)) == (0, before)
    for name in (".github/workflows/eval.yml", ".pre-commit-config.yaml"):
        assert (
            f"{name} is there already and was kept, without --source https://github.com/other/waza"
            in ended.err
        )
    assert ".waza.yaml is there already and was kept, without --engine and --model" in ended.err
    alone = waza("init", "--source", SOURCE, cwd=tmp_path)
    assert "--source has no effect without --workflow or --hooks" in alone.err
