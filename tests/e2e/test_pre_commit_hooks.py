"""The hooks for pre-commit, which builds and installs them from a git repository, in a repository of skills."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.program import mock_suite, write_tree

ROOT = Path(__file__).parents[2]
SOURCES = (
    "hatch_build.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ".pre-commit-hooks.yaml",
)
SKILL = """---
name: greeter
description: >-
  Greets people by their names in the language that they speak, with a word that fits the time of day, and says goodbye
  when they leave. USE FOR: greeting people, saying goodbye. DO NOT USE FOR: writing letters.
---
# Greeter

See [the words](references/words.md).
"""
TASK = (
    "id: hello\ninputs: {prompt: Greet Ada.}\nmock: {output: Hello Ada}\nexpected: {output_contains: [Ada]}\n"
)

pytestmark = pytest.mark.slow


def git(directory: Path, *words: str) -> str:
    settings = (
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.invalid",
        "-c",
        "init.defaultBranch=main",
    )
    done = subprocess.run(
        ["git", *settings, *words], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """A repository with this version of waza, as a git server has it: without what is built."""
    root = tmp_path / "waza"
    ignored = shutil.ignore_patterns("static", "__pycache__")
    shutil.copytree(ROOT / "src", root / "src", ignore=ignored)
    for name in SOURCES:
        shutil.copy(ROOT / name, root / name)
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "waza")
    return root


@pytest.fixture
def skills(tmp_path: Path, hooks: Path) -> Path:
    """A repository with a skill and its suite, both in order, that uses the hooks."""
    root = tmp_path / "skills"
    config = f"repos:\n  - repo: {hooks}\n    rev: {git(hooks, 'rev-parse', 'HEAD')}\n"
    config += "    hooks:\n      - id: waza-check\n      - id: waza-preflight\n"
    write_tree(
        root,
        {
            ".pre-commit-config.yaml": config,
            "skills/greeter/SKILL.md": SKILL,
            "skills/greeter/references/words.md": "Hello, goodbye.\n",
            "notes.txt": "Nothing about skills.\n",
        },
    )
    mock_suite(root / "evals/greeter", {"hello": TASK}, head="skill: greeter", name="greeter")
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", "-A")
    return root


def test_commits_are_checked_and_refused(skills: Path, tmp_path: Path):
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }

    def commit(message: str) -> tuple[int, str]:
        git(skills, "add", "-A")
        words = ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", message]
        done = subprocess.run(words, cwd=skills, env=variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    subprocess.run([sys.executable, "-m", "pre_commit", "install"], cwd=skills, env=variables, check=True)
    code, text = commit("All in order")
    assert code == 0, text
    assert text.count("Passed") == 2
    assert "waza check" in text
    assert "waza preflight" in text

    (
        skills / "skills/greeter/references/words.md"
    ).unlink()  # and SKILL.md, which links to it, stays as it is
    (skills / "notes.txt").write_text("Changed.\n")
    code, text = commit("A link leads nowhere")
    assert code == 1
    assert "references/words.md" in text
    assert text.count("Passed") == 1

    write_tree(skills, {"skills/greeter/references/words.md": "Hello.\n"})
    task = skills / "evals/greeter/tasks/hello.yaml"
    task.write_text(TASK.replace("output_contains", "output_contain"))
    code, text = commit("A task that cannot be loaded")
    assert code == 1
    assert "output_contain" in text
    assert "evals/greeter/tasks/hello.yaml:4" in text
    assert git(skills, "rev-list", "--count", "HEAD") == "1"
