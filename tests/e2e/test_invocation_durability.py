"""Several suites and models that are killed again and again, and resumed by what they printed."""

from __future__ import annotations

import json
import random
import shlex
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.live import Live, Project, lasting, without_doubts
from tests.support.program import write_tree

SIDE = "{type: program, name: side, config: {command: sh, args: ['-c', 'cat >> \"$SIDE\"']}}"
TASKS, TRIALS = 10, 5
SUITES = {"ada": "parallel: true, workers: 4", "bob": "parallel: true, workers: 2", "cy": "workers: 1"}
HINT = "If this is cut off, go on with: "
Key = tuple[str, str, int]  # run, task and number of a trial


def write_suites(root: Path) -> None:
    """Write the suites; one trial of each fails, so that no run is green."""
    for name, config in SUITES.items():
        head = f"name: {name}\nconfig: {{executor: mock, model: a, trials_per_task: {TRIALS}, {config}}}\n"
        fine = "{type: text, name: fine, config: {not_contains: [wrong]}}"  # no word of hexadecimal digits, as ids of runs may hold
        files = {
            "SKILL.md": f"---\nname: {name}\ndescription: d\n---\nbody\n",
            "eval.yaml": f"{head}tasks: ['tasks/*.yaml']\ngraders: [{SIDE}, {fine}]\n",
        }
        for n in range(TASKS):
            said = [
                f'{{output: "{{{{.JobID}}}} t{n} {k}{" wrong" if (n, k) == (3, 2) else ""}\\n", delay_ms: 5}}'
                for k in range(1, TRIALS + 1)
            ]
            files[f"tasks/t{n}.yaml"] = (
                f"id: t{n}\ninputs: {{prompt: p}}\nmock: {{executions: [{', '.join(said)}]}}\n"
            )
        write_tree(root, {f"skills/{name}/{path}": text for path, text in files.items()})


def journals(project: Project) -> dict[str, list[Any]]:
    """The whole lines of every journal, by run."""
    found = {}
    for path in (project.home / ".waza" / "runs").glob("*/journal.ndjson"):
        lines = path.read_bytes().splitlines(keepends=True)
        found[path.parent.name] = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return found


def finished(project: Project) -> list[Key]:
    """Every trial that stands in a journal."""
    return [
        (run, line["trial"]["task"], line["trial"]["run"]["run_number"])
        for run, lines in journals(project).items()
        for line in lines
        if "trial" in line
    ]


def executed(project: Project, side: str) -> Counter[Key]:
    """How often each trial was executed."""
    path = project.home / side
    words = [line.split()[:3] for line in path.read_text().splitlines()] if path.exists() else []
    return Counter((run, task, int(number)) for run, task, number in words)


def has_done(project: Project, live: Live, trials: int) -> bool:
    return HINT in live.err and len(finished(project)) >= trials


def results(project: Project) -> dict[str, Any]:
    """Every results file, by run."""
    found = (project.home / ".waza" / "runs").glob("*/results.json")
    return {path.parent.name: json.loads(path.read_bytes()) for path in found}


def comparable(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Results by suite and model, without what differs from run to run."""
    text = {run: json.loads(json.dumps(lasting(one)).replace(run, "RUN")) for run, one in found.items()}
    return {(one["eval_name"], one["config"]["model_id"]): one for one in text.values()}


@pytest.mark.slow
def test_three_hundred_trials_survive_twenty_kills(project: Project):
    write_suites(project.home)
    moments = sorted(random.Random(8).sample(range(1, 285), 16))
    for place in (3, 8, 13, 18):
        moments.insert(place, 0)  # killed as soon as it says how to go on
    env = {"SIDE": str(project.home / "side.txt")}
    words = ["run", "--discover", "skills", "--model", "a", "--model", "b"]
    done = Counter[Key]()
    for moment in moments:
        with project.started(*words, env=env) as live:
            live.until(partial(has_done, project, live, moment))
            live.kill()
            hint = next(line for line in live.err.splitlines() if line.startswith(HINT))
        words = shlex.split(hint.removeprefix(HINT))
        assert words[1:3] == ["-m", "waza"]
        words = words[3:]
        kept, ran = finished(project), executed(project, "side.txt")
        assert set(Counter(kept).values()) <= {1}
        assert not set(done) - set(kept), "a finished trial was lost"
        done.update({key: ran[key] for key in kept if key not in done})
        for run, one in results(project).items():
            complete = len([key for key in kept if key[0] == run]) == TASKS * TRIALS
            assert (one["metadata"]["run_status"] == "complete") <= complete
            assert not one["metadata"]["verdict"]["passed"]
    assert 0 < len(done) < 300
    ended = project.run(*words, env=env)
    assert ended.code == 1, ended.err
    assert "Evaluated 3 skills: 0 passed, 3 failed" in ended.err
    assert len(finished(project)) == len(set(finished(project))) == 300
    assert len(journals(project)) == len(results(project)) == 6
    ran = executed(project, "side.txt")
    assert {key: ran[key] for key in done} == done, "a finished trial was executed again"
    resumed = comparable(results(project))
    wanted = comparable(results(undisturbed(project)))
    assert wanted.keys() == resumed.keys()
    for key, one in wanted.items():
        assert without_doubts(resumed[key]) == one, key
    assert project.left == []


def undisturbed(project: Project) -> Project:
    """The same suites, run without a kill, in another place."""
    root = project.home.parent / "undisturbed"
    root.mkdir()
    other = Project(root)
    write_suites(other.home)
    env = {"SIDE": str(other.home / "side.txt")}
    assert other.run("run", "--discover", "skills", "--model", "a", "--model", "b", env=env).code == 1
    assert set(executed(other, "side.txt").values()) == {1}
    return other
