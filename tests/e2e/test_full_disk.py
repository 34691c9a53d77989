"""A run goes on where its own folder cannot be written, and a disk that fills loses no result that can be written."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.live import Project
from tests.support.program import mock_suite

TASK = f"inputs: {{prompt: p}}\nmock: {{output: {'long ' * 500}}}"
GRADER = "graders: [{type: text, name: fine, config: {contains: [long]}}]"
TRIALS = 60

Mount = Callable[[int], Path]


def suite(project: Project) -> None:
    mock_suite(project.home, {"a": TASK, "b": TASK}, GRADER, [f"trials_per_task: {TRIALS // 2}"])


def trials_in(results: Path) -> list[Any]:
    return [run for task in json.loads(results.read_bytes())["tasks"] for run in task["runs"]]


@pytest.fixture
def small_disk(project: Project) -> Iterator[Mount]:
    """Put a file system of so many kB in the place of `.waza`."""
    place = project.home / ".waza"
    place.mkdir()

    def mount(size: int) -> Path:
        if shutil.which("mount") is None:
            pytest.skip("there is no mount")
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], check=False
        ).returncode:
            pytest.skip("file systems can only be mounted by root")
        return place

    yield mount
    subprocess.run(["umount", place], check=False, stderr=subprocess.DEVNULL)


def test_a_run_whose_folder_cannot_be_written_goes_on_in_a_temporary_one_and_says_so_once(project: Project):
    suite(project)
    (project.home / ".waza").touch()
    results = project.temp.parent / "r.json"
    ended = project.run("run", "eval.yaml", "-o", results)
    assert ended.code == 0, ended.err
    assert ended.err.count("this run is kept in a temporary directory, and cannot be resumed") == 1
    assert f"Written: {results}" in ended.err
    assert "Results saved" not in ended.err
    assert len(trials_in(results)) == TRIALS
    assert project.left == []


def test_a_disk_that_is_full_from_the_start_does_not_keep_a_run_from_its_results(
    project: Project, small_disk: Mount
):
    suite(project)
    small_disk(8)  # room for what is planned, and no more
    results = project.temp.parent / "r.json"
    ended = project.run("run", "eval.yaml", "-o", results)
    assert ended.code == 0, ended.err
    assert ended.err.count("No space left on device") == 1
    assert "this run is kept in a temporary directory, and cannot be resumed" in ended.err
    assert "Results saved" not in ended.err
    assert len(trials_in(results)) == TRIALS
    assert project.left == []


def test_a_disk_that_fills_stops_the_run_and_what_finished_is_written_elsewhere(
    project: Project, small_disk: Mount
):
    suite(project)
    disk = small_disk(64)
    results = project.temp.parent / "r.json"
    ended = project.run("run", "eval.yaml", "-o", results)
    assert ended.code == 2
    assert "stopped: cannot write" in ended.err
    assert "No space left on device; make room there" in ended.err
    assert "then go on with --resume" in ended.err
    assert "Go on with: " in ended.err
    assert f"Written: {results}" in ended.err
    assert "Results saved" not in ended.err
    assert "✓ PASSED" not in ended.out
    assert "Traceback" not in ended.err
    kept = len(project.finished())
    assert 0 < kept < TRIALS
    assert len(trials_in(results)) == kept

    subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
    again = project.run("run", "eval.yaml", "-o", results, "--resume")
    assert again.code == 0, again.err
    assert f"{kept} finished runs kept" in again.err
    assert len(trials_in(results)) == TRIALS
