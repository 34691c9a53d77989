"""Runs that are not saved, and suites in directories with names that are no text."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.program import waza

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_run_that_is_being_made_by_another_process_is_left_alone(tmp_path: Path):
    journal = tmp_path / "waza-unsaved-x" / "run-1" / "journal.ndjson"
    journal.parent.mkdir(parents=True)
    journal.touch()
    killed = tmp_path / "waza-unsaved-y" / "run-1" / "journal.ndjson"
    killed.parent.mkdir(parents=True)
    killed.write_text("{}\n", encoding="utf-8")
    suite = EXAMPLES / "code-explainer" / "eval.yaml"
    assert waza("run", suite, "--no-save", cwd=tmp_path, env={"TMPDIR": str(tmp_path)}).code == 0
    assert journal.exists()
    assert not killed.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_run_below_a_name_that_is_no_text_goes_on(tmp_path: Path):
    root = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(EXAMPLES / "code-explainer", root)
    first = waza("run", "eval.yaml", cwd=root)
    again = waza("run", "eval.yaml", "--resume", cwd=root)
    assert (first.code, again.code) == (0, 0)
    assert "no earlier run" not in again.err
