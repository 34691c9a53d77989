"""`waza.run` in other people's programs, and waza where its directory is gone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.program import command, environment, mock_suite

import waza

TASKS = {
    "a": "inputs: {prompt: p}\nmock: {output: done}\ngraders: [{type: program, name: g, config: {command: 'true'}}]"
}


def test_a_suite_runs_inside_of_a_running_event_loop(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)

    async def cell_of_a_notebook() -> list[str]:
        return [task.status for task in waza.run(suite)[0].tasks]

    assert asyncio.run(cell_of_a_notebook()) == ["passed"]


def test_a_suite_runs_in_a_thread(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(task.status for task in waza.run(suite)[0].tasks))
    thread.start()
    thread.join()
    assert found == ["passed"]


def test_a_current_directory_that_was_deleted_is_told(tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(gone), *command("run", "eval.yaml")],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "the current directory was deleted; change to one that exists" in done.stderr
