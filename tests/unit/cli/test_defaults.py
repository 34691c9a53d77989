"""Options that were not given come from `.waza.yaml`; those that were given win."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from waza.cli.run import command
from waza.cli.run_command import RunArguments, apply_defaults
from waza.suite.project import find_project

SETTINGS = """
paths: {results: kept/here}
defaults: {judgeModel: judge, parallel: true, workers: 3, verbose: true, sessionLog: true}
cache: {enabled: true, dir: shelf}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".waza.yaml").write_text(SETTINGS)
    return tmp_path


def decided(home: Path, *words: str) -> RunArguments:
    options = click.Command.make_context(command, "run", list(words)).params
    return apply_defaults(RunArguments(**options), find_project(home))


def changes(before: RunArguments, after: RunArguments) -> dict[str, Any]:
    fields = RunArguments.__struct_fields__
    return {name: getattr(after, name) for name in fields if getattr(after, name) != getattr(before, name)}


def test_all_that_a_project_may_set(home: Path):
    found = decided(home)
    assert (found.judge_model, found.parallel, found.workers, found.verbose) == ("judge", True, 3, True)
    assert (found.session_log, found.cache, found.cache_dir) == (True, True, str(home / "shelf"))
    assert found.output_dir == home / "kept/here"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--judge-model", "mine"], {"judge_model": "mine"}),
        (["--workers", "9"], {"workers": 9}),
        (["-w", "1"], {"workers": 1}),
        (["--no-cache"], {"cache": False}),
        (["--cache-dir", "other"], {"cache_dir": "other"}),
        (["--output-dir", "o"], {"output_dir": Path("o")}),
        (["-o", "o.json"], {"output": Path("o.json"), "output_dir": None}),
    ],
)
def test_an_option_wins_over_the_project(home: Path, words: list[str], expected: dict[str, Any]):
    assert changes(decided(home), decided(home, *words)) == expected


def test_without_a_project_the_defaults_are_those_of_the_help(tmp_path: Path):
    found = decided(tmp_path)
    assert (found.parallel, found.workers, found.cache, found.output_dir) == (None, 0, False, None)
    assert found.cache_dir == str(tmp_path / ".waza-cache")
    assert decided(tmp_path, "--cache").cache is True


@pytest.mark.parametrize(
    ("words", "resume", "targets"),
    [
        ([], None, ()),
        (["--resume", "eval.yaml"], "", ("eval.yaml",)),
        (["eval.yaml", "--resume"], "", ("eval.yaml",)),
        (["eval.yaml", "--resume=run-1"], "run-1", ("eval.yaml",)),
    ],
)
def test_resume_takes_a_value_only_behind_a_sign(
    tmp_path: Path, words: list[str], resume: str | None, targets: tuple[str, ...]
):
    found = decided(tmp_path, *words)
    assert (found.resume, found.targets) == (resume, targets)
