"""Runs that are killed, torn, and resumed."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.support.live import Project, lasting
from tests.support.program import mock_suite, newest_results, write_tree

SIDE = "{type: program, name: side, config: {command: sh, args: ['-c', 'cat >> \"$SIDE\"']}}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def counted(name: str, trials: int, delay: int = 0) -> str:
    """A task whose trials say who they are; a grader writes that into the side file."""
    said = [f'    - {{output: "{name} {n}\\n", delay_ms: {delay}}}' for n in range(1, trials + 1)]
    return "\n".join(["inputs: {prompt: count}", "mock:", "  executions:", *said])


def counting_suite(
    project: Project, tasks: int, trials: int, *config: str, delay: int = 0
) -> tuple[str, dict[str, str]]:
    """A suite of counted tasks, and the environment that names its side file."""
    texts = {f"t{n:03d}": counted(f"t{n:03d}", trials, delay) for n in range(tasks)}
    mock_suite(project.home, texts, f"graders: [{SIDE}]", [f"trials_per_task: {trials}", *config])
    return "eval.yaml", {"SIDE": str(project.home / "side.txt")}


def executions(project: Project, name: str = "side.txt") -> Counter[tuple[str, int]]:
    """How often each trial was executed."""
    path = project.home / name
    words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return Counter((task, int(number)) for task, number in words)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 8])
def test_killed_at_ten_random_moments_and_resumed(project: Project, workers: int):
    suite, env = counting_suite(project, 100, 3, "parallel: true", f"workers: {workers}", delay=2)
    moments = [*sorted(random.Random(workers).sample(range(1, 290), 7)), 0, 0, 0]
    random.Random(workers).shuffle(moments)  # 0: while resuming, before anything new is finished
    done = Counter[tuple[str, int]]()
    for moment in moments:
        with project.started("run", suite, "--resume", env=env) as live:
            live.until(lambda: "Engine:" in live.err and len(project.finished()) >= moment)
        now, executed = project.finished(), executions(project)
        done.update({key: executed[key] for key in now if key not in done})
    ended = project.run("run", suite, "--resume", env=env)
    assert ended.code == 0, ended.err
    assert len(project.runs) == 1
    assert sorted(project.finished()) == [(f"t{n:03d}", k) for n in range(100) for k in (1, 2, 3)]
    assert len(done) > 1
    executed = executions(project)
    assert {key: executed[key] for key in done} == done  # what was finished was never executed again
    resumed = newest_results(project.home)
    undisturbed = project.run("run", suite, env={"SIDE": str(project.home / "other.txt")})
    assert undisturbed.code == 0
    assert set(executions(project, "other.txt").values()) == {1}
    assert lasting(resumed) == lasting(newest_results(project.home))
    assert project.left == []
