"""A limit on open files costs workers, or trials that are errors; it never is an agent's failure."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.live import Project
from tests.support.program import Ended, command, environment, mock_suite, newest_results

from waza.errors import GraderError
from waza.graders._workspace_files import path_exists, read_file
from waza.kit.process import run
from waza.workspace import snapshot

RUNS_A_PROGRAM = "graders: [{type: program, name: p, config: {command: 'true'}}]"
READS_A_FILE = "graders: [{type: file, name: f, config: {must_exist: [a.txt]}}]"
TASK = "inputs: {prompt: p}\nmock: {output: ok, files: [{path: a.txt, content: x}]}"


def run_limited(project: Project, files: int) -> Ended:
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command("run", "eval.yaml")],
        cwd=project.home,
        env=environment({"TMPDIR": str(project.temp)}),
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr, project.home)


@pytest.mark.slow
def test_workers_are_reduced_beforehand_and_the_limit_is_named_once(project: Project):
    tasks = {f"t{number}": TASK for number in range(85)}
    mock_suite(project.home, tasks, f"{RUNS_A_PROGRAM}\n", ["parallel: true", "workers: 60"])
    ended = run_limited(project, 64)
    assert ended.code == 0, ended.out + ended.err
    assert (ended.out + ended.err).count("3 of 60 workers are used: no more than 64 files may be open") == 1
    assert "Parallel: 3 workers" in ended.out + ended.err
    assert newest_results(project.home)["summary"]["succeeded"] == 85


@pytest.mark.parametrize("graders", [RUNS_A_PROGRAM, READS_A_FILE])
def test_running_out_of_descriptors_is_an_error_that_stops_the_run_and_never_a_failure(
    project: Project, graders: str
):
    """How many descriptors the program itself needs is not fixed here: some of these limits are too low."""
    mock_suite(project.home, {f"t{number}": TASK for number in range(8)}, f"{graders}\n")
    endings = set()
    for files in range(9, 34, 3):
        ended = run_limited(project, files)
        said = ended.out + ended.err
        assert "Traceback" not in said
        assert "✗ [" not in said, said
        endings.add(ended.code)
        if ended.code:
            assert f"Too many open files (this process may have {files}: ulimit -n)" in said
        if "[ERROR]" in said:
            assert "5 trials in a row broke for one cause" in said
    assert 0 in endings
    assert endings - {0}


@pytest.fixture
def exhausted(tmp_path: Path) -> Iterator[Path]:
    """A workspace in a process that may open nothing more."""
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.open(tmp_path, os.O_RDONLY)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        yield tmp_path
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_graders_do_not_take_a_lack_of_descriptors_for_a_missing_file(exhausted: Path):
    with pytest.raises(GraderError, match="Too many open files"):
        read_file(exhausted, "a.txt")
    assert path_exists(exhausted, "a.txt")


def test_a_workspace_that_cannot_be_looked_at_is_not_taken_for_an_empty_one(exhausted: Path):
    with pytest.raises(OSError, match="Too many open files"):
        snapshot.take_snapshot(exhausted)


def test_a_program_that_cannot_be_started_for_want_of_descriptors_names_their_limit():
    async def scenario() -> str:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = os.open(os.devnull, os.O_RDONLY)
        os.close(spare)
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
        try:
            return (await run(["true"])).start_error
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert "Too many open files (this process may have " in asyncio.run(scenario())
