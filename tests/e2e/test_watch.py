"""`waza run --watch`: rounds of real runs, by files that are really saved."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGTERM

import pytest
from tests.support.live import Live, Project
from tests.support.program import mock_suite, newest_results, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}\n"
FAILS = "inputs: {prompt: p}\nmock: {output: nothing}\n"
WATCHING = "Ctrl-C ends"


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: says hello\n---\nSay hello.\n"


def workspace(project: Project, *names: str) -> Path:
    for name in names:
        mock_suite(
            project.home / "evals" / name, {"t": PASSES, "u": PASSES}, f"skill: {name}\n{SAYS}", name=name
        )
        write_tree(project.home, {f"skills/{name}/SKILL.md": skill(name)})
    return project.home


class Watching:
    """A `waza run --watch` that is under way."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.rounds = 0
        self._seen = 0

    def next(self) -> str:
        """Wait until another round is over; return what it said."""
        self.rounds += 1
        self.live.until(lambda: self.live.err.count(WATCHING) >= self.rounds)
        end = self.live.err.replace(WATCHING, "\0", self.rounds - 1).index(WATCHING)
        end += (len(WATCHING) - 1) * (self.rounds - 1)
        told, self._seen = self.live.err[self._seen : end], end
        return told


@contextmanager
def watching(project: Project, *args: object) -> Iterator[Watching]:
    with project.started("run", *args, "--watch") as live:
        yield Watching(live)


def ran(told: str) -> list[str]:
    return re.findall(r"^Benchmark: (.*)$", told, re.MULTILINE)


def test_what_a_saved_file_touches_runs_again(project: Project):
    root = workspace(project, "ada", "bob")
    with watching(project) as rounds:
        assert ran(rounds.next()) == ["ada", "bob"]
        write_tree(root, {"evals/ada/tasks/t.yaml": FAILS})
        told = rounds.next()
        assert ran(told) == ["ada"]
        assert f"Saved: {Path('evals/ada/tasks/t.yaml')}\n" in told
        assert "skipping bob: nothing of it was saved, so nothing of it was run" in told
        assert "[1/2] t" in told
        assert "u [cached]" in told, "what did not change comes from the cache"
        assert newest_results(root)["metadata"]["verdict"]["passed"] is False
        write_tree(root, {"skills/bob/SKILL.md": skill("bob") + "Kindly.\n"})
        assert ran(rounds.next()) == ["bob"]
        write_tree(root, {".waza.yaml": "tokens: {}\n"})
        assert ran(rounds.next()) == ["ada", "bob"]
        rounds.live.send(SIGINT)
        ended = rounds.live.ended()
    assert ended.code == 1, "that of the last round"
    assert ended.err.endswith("No longer watching\n")
    assert ended.out.count("MULTI-SKILL RUN SUMMARY") == 4
    assert len(list((root / ".waza" / "runs").iterdir())) == 6


def test_new_suites_are_found_and_mistakes_are_mended(project: Project):
    root = workspace(project, "ada")
    with watching(project, "--no-cache") as rounds:
        assert ran(rounds.next()) == ["ada"]
        workspace(project, "bob")
        assert ran(rounds.next()) == ["bob"]
        write_tree(root, {"evals/ada/eval.yaml": "a: ["})
        told = rounds.next()
        assert (ran(told), "not valid YAML" in told) == ([], True)
        mock_suite(root / "evals" / "ada", {"t": PASSES}, f"skill: ada\n{SAYS}", name="ada")
        assert ran(rounds.next()) == ["ada"]
        write_tree(root, {".waza.yaml": "paths: ["})
        assert "Error: .waza.yaml:2:1: not valid YAML" in rounds.next()
        (root / ".waza.yaml").unlink()
        assert ran(rounds.next()) == ["ada", "bob"]
        rounds.live.send(SIGINT)
        assert rounds.live.ended().code == 0


def test_what_the_run_writes_does_not_run_it_again(project: Project):
    suite = mock_suite(project.home, {"t": PASSES}, SAYS)
    outputs = (
        "-o",
        "r.json",
        "--reporter",
        "junit:j.xml",
        "--transcript-dir",
        "seen",
        "--session-dir",
        "log",
    )
    with watching(project, suite, *outputs) as rounds:
        rounds.next()
        write_tree(project.home, {"README.md": "of the suite's directory"})
        assert f"Saved: {Path('README.md')}\n" in rounds.next()
        write_tree(project.home, {"tasks/t.yaml~": "x", "tasks/.t.yaml.swp": "x", "tasks/t.yaml": FAILS})
        assert f"Saved: {Path('tasks/t.yaml')}\n" in rounds.next()
        assert strict_json((project.home / "r.json").read_bytes())["metadata"]["verdict"]["passed"] is False
        rounds.live.send(SIGINT)
        assert rounds.live.ended().code == 1
    assert len(project.runs) == 3


def test_a_file_that_every_round_writes_is_no_longer_watched(project: Project):
    hook = "hooks: {before_run: [{command: 'date +%s%N > made.txt'}]}"
    suite = mock_suite(project.home, {"t": PASSES}, f"{hook}\n{SAYS}")
    with watching(project, suite) as rounds:
        told = ""
        while "is no longer watched" not in told:
            told = rounds.next()
            assert rounds.rounds < 6
        assert f"{Path('made.txt')} is written in every round" in told
        write_tree(project.home, {"tasks/t.yaml": FAILS})
        assert f"Saved: {Path('tasks/t.yaml')}\n" in rounds.next()
        rounds.live.send(SIGINT)
        assert rounds.live.ended().code == 1


def test_an_interrupted_round_ends_watching(project: Project):
    suite = mock_suite(
        project.home, {"t": "inputs: {prompt: p}\nmock: {output: hello, delay_ms: 100000000}"}, SAYS
    )
    with project.started("run", suite, "--watch", "-v") as live:
        live.until(lambda: "[PROMPT]" in live.err)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    assert WATCHING not in ended.err
    assert "--watch" not in ended.err, "there is nothing to resume"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_signal_ends_watching(project: Project):
    suite = mock_suite(project.home, {"t": PASSES}, SAYS)
    with watching(project, suite) as rounds:
        rounds.next()
        rounds.live.send(SIGTERM)
        assert rounds.live.ended().code == 143
    assert project.left == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--resume"], "--watch runs again and again, and --resume is for one run; leave one of both out"),
        (["--snapshot", "kept"], "and --snapshot is for one run"),
        (["--changed-since", "main"], "and --changed-since is for one run"),
        (["--json"], "and a report on standard output is for one run"),
        (["--no-cache", "--executor", "command:true"], "--watch would ask the agent of eval.yaml everything again in each round; leave --no-cache out"),
        (["nothing"], "there is no skill, agent or suite 'nothing' around here"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(tmp_path: Path, args: list[str], told: str):
    mock_suite(tmp_path, {"t": PASSES}, SAYS)
    ended = waza("run", *(["eval.yaml"] if args != ["nothing"] else []), *args, "--watch", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert not (tmp_path / ".waza").exists()


def test_suites_of_other_tools_are_imported_again(project: Project):
    evals = '{{"skill_name": "ada", "evals": [{{"id": 1, "prompt": "{0}", "expected_output": "x", "expectations": ["The output is x."]}}]}}'
    write_tree(
        project.home,
        {"skills/ada/SKILL.md": skill("ada"), "skills/ada/evals/evals.json": evals.format("one")},
    )
    source = os.path.join("skills", "ada", "evals", "evals.json")  # noqa: PTH118  # as it is typed
    with watching(project, source, "--executor", "mock", "-v") as rounds:
        assert "one" in rounds.next()
        write_tree(project.home, {source: evals.format("another")})
        assert "another" in rounds.next()
        rounds.live.send(SIGINT)
        rounds.live.ended()
