"""Runs that are not saved, and suites in directories with names that are no text."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from tests.support.live import Project, nap, survivors
from tests.support.program import mock_suite, waza

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_an_unsaved_run_that_was_killed_is_cleared_by_the_next_and_one_that_lasts_is_not(tmp_path: Path):
    project, duration = Project(tmp_path), nap()
    says = "graders: [{type: text, name: says, config: {contains: [ok]}}]"
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: ok}"}, says)
    asked = ("run", "eval.yaml", "--no-save", "--executor")
    with (
        project.started(*asked, f"command:sleep {duration}") as lasts,
        project.started(*asked, f"command:sleep {duration}") as killed,
    ):
        lasts.until(lambda: len(survivors(duration)) == 2)
        before = set(project.left)
        killed.kill()
        assert project.run(*asked, "mock").code == 0
        left = set(project.left)
    assert {name.split("-")[1] for name in before - left} == {"run", "system", "unsaved"}
    assert {name.split("-")[1] for name in left} == {"run", "system", "unsaved"}
    for process in survivors(duration):
        os.kill(process, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_run_below_a_name_that_is_no_text_goes_on(tmp_path: Path):
    root = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(EXAMPLES / "code-explainer", root)
    first = waza("run", "eval.yaml", cwd=root)
    again = waza("run", "eval.yaml", "--resume", cwd=root)
    assert (first.code, again.code) == (0, 0)
    assert "no earlier run" not in again.err
