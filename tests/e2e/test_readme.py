"""The README's sample and its Python lines run as they are printed there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.program import environment, waza, write_tree

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SAMPLE = README.split("## A suite\n")[1].split("\n## ")[0]
FILES = dict(re.findall(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", SAMPLE, re.MULTILINE | re.DOTALL))
PYTHON = README.split("## From Python\n")[1].split("```python\n")[1].split("```")[0]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    assert {"eval.yaml", "fixtures/notes.md", "skills/greeter/SKILL.md", "tasks/hello.yaml"} == FILES.keys()
    return write_tree(tmp_path, FILES)


def test_the_sample_runs_as_it_is_without_a_warning(sample: Path):
    (line,) = re.findall(r"^\$ waza (.*)$", SAMPLE, re.MULTILINE)
    ended = waza(*shlex.split(line), cwd=sample)
    assert ended.code == 0, ended.out + ended.err
    assert "warning" not in ended.err
    (task,) = ended.results()["tasks"]
    assert [run["final_output"] for run in task["runs"]] == ["hello Ada"] * 3
    assert task["runs"][0]["validations"].keys() == {"polite"}


def test_the_sample_passes_preflight(sample: Path):
    assert waza("preflight", "eval.yaml", cwd=sample).code == 0


def test_the_lines_of_python_print_the_success_rate(sample: Path):
    ended = subprocess.run(
        [sys.executable, "-c", PYTHON], cwd=sample, env=environment(), capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout.decode().split()) == (0, ["1"]), ended.stderr.decode()
