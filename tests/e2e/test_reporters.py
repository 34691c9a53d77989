"""Reporters of other packages: installed, found by name, and what becomes of their failures."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.documents import document
from tests.support.packages import install_package
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

REPORTER = """
import json

from waza import InvocationResults, Reporter


class Bell(Reporter):
    extension = ".bell"

    def report(self, results: InvocationResults) -> str:
        tasks = {task.test_id: task.status for outcome in results.outcomes for task in outcome.tasks()}
        return json.dumps({"passed": results.verdict.passed, "tasks": tasks}) + "\\n"


class Gong(Reporter):
    def report(self, results: InvocationResults) -> bytes:
        return b"\\x00\\xff"


class Dull(Reporter):
    def report(self, results):
        return None


class Broken(Reporter):
    def report(self, results):
        raise KeyError("bell")


class Stranger:
    pass
"""
NAMES = ("bell", "gong", "dull", "broken", "stranger")
ENTRY_POINTS = {name: f"bell:{name.capitalize()}" for name in NAMES} | {"lost": "bell_that_is_lost:Bell"}
SUMMARY = {"passed": False, "tasks": {"a": "passed", "b": "failed"}}
TASKS = {
    "a": "inputs: {prompt: p}\nmock: {output: good}\ngraders: [{type: text, name: g, config: {contains: [good]}}]",
    "b": "inputs: {prompt: p}\nmock: {output: bad}\ngraders: [{type: text, name: g, config: {contains: [good]}}]",
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the reporters are found as if they were installed."""
    entries = "".join(f"{name} = {place}\n" for name, place in ENTRY_POINTS.items())
    return write_tree(
        tmp_path_factory.mktemp("packages"),
        {
            "bell.py": REPORTER,
            "bell-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bell\nVersion: 1.0\n",
            "bell-1.0.dist-info/entry_points.txt": f"[waza.reporters]\n{entries}",
        },
    )


def run(root: Path, packages: Path, *flags: str | Path) -> Ended:
    return waza("run", mock_suite(root, TASKS), *flags, cwd=root, env=path_of(packages))


def path_of(packages: Path) -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(packages), os.environ.get("PYTHONPATH", "")) if part)
    return {"PYTHONPATH": path}


@pytest.mark.slow
def test_a_reporter_is_installed_with_its_package(tmp_path: Path):
    project = write_tree(
        tmp_path / "project",
        {
            "bell.py": REPORTER,
            "pyproject.toml": (
                '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
                '[project]\nname = "bell"\nversion = "1.0"\n'
                '[project.entry-points."waza.reporters"]\nbell = "bell:Bell"\n'
                '[tool.hatch.build.targets.wheel]\nonly-include = ["bell.py"]\n'
            ),
        },
    )
    python = install_package(project, tmp_path)
    suite = mock_suite(tmp_path, TASKS)
    ended = waza("run", suite, "--reporter", "bell:bell.json", cwd=tmp_path, python=python)
    assert (ended.code, strict_json((tmp_path / "bell.json").read_text())) == (1, SUMMARY)


def test_a_reporter_without_a_path_prints_and_nothing_else_does(tmp_path: Path, packages: Path):
    ended = run(tmp_path, packages, "--reporter", "bell")
    assert (ended.code, ended.out) == (1, json.dumps(SUMMARY) + "\n")


def test_bytes_of_a_reporter_stay_as_they_are(tmp_path: Path, packages: Path):
    run(tmp_path, packages, "--reporter", "gong:gong.bin")
    assert (tmp_path / "gong.bin").read_bytes() == b"\x00\xff"


def test_a_reporter_writes_a_file_for_each_model_into_a_directory(tmp_path: Path, packages: Path):
    run(tmp_path, packages, "--reporter", "bell:out/", "--model", "x", "--model", "y")
    found = {path.name: strict_json(path.read_text()) for path in (tmp_path / "out").iterdir()}
    assert found == {"suite_x.bell": SUMMARY, "suite_y.bell": SUMMARY}


def test_a_broken_reporter_keeps_no_other_file_from_being_written(tmp_path: Path, packages: Path):
    flags = ("--reporter", "broken:b.txt", "--reporter", "dull:d.txt", "--reporter", "bell:bell.json")
    ended = run(tmp_path, packages, *flags)
    assert ended.code == 2
    assert f"the reporter broken broke: KeyError: 'bell' ({packages / 'bell.py'}:" in ended.err
    assert "the reporter dull returned NoneType; it must return str or bytes" in ended.err
    assert strict_json((tmp_path / "bell.json").read_text()) == SUMMARY
    assert not (tmp_path / "b.txt").exists()
    assert "Traceback" not in ended.err
    debugged = run(tmp_path, packages, *flags, "--debug").err
    assert "Traceback (most recent call last):" in debugged
    assert 'raise KeyError("bell")' in debugged


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--reporter", "nope"],
            (
                "there is no reporter 'nope'; use json, json:PATH, bell:PATH, broken:PATH, dull:PATH, gong:PATH, html:PATH, "
                "junit:PATH, lost:PATH, markdown:PATH or stranger:PATH"
            ),
        ),
        (
            ["--reporter", "stranger:x"],
            "the reporter 'stranger' of the package bell cannot be used: bell:Stranger is not a subclass of waza.Reporter",
        ),
        (
            ["--reporter", "lost:x"],
            "cannot be imported from bell_that_is_lost:Bell: ModuleNotFoundError: No module named 'bell_that_is_lost'",
        ),
        (
            ["--reporter", "bell", "--json"],
            (
                "--reporter bell and --json both write to standard output; leave one out, "
                "or use --reporter bell:FILE"
            ),
        ),
    ],
    ids=["unknown", "another class", "not importable", "two that print"],
)
def test_a_reporter_that_cannot_be_is_refused_before_anything_is_run(
    tmp_path: Path, packages: Path, flags: list[str], message: str
):
    ended = run(tmp_path, packages, *flags)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert not (tmp_path / ".waza").exists()


@pytest.mark.parametrize("flag", ["--json", "--reporter=gong"])
def test_the_run_of_a_document_prints_one_report_only(tmp_path: Path, packages: Path, flag: str):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "response": "Lima"})})
    options = ["--agent", "recorded", "--reporter", "bell", flag]
    ended = waza("m365", "run", "evals.json", *options, cwd=tmp_path, env=path_of(packages))
    both = "--reporter bell and --reporter gong" if flag != "--json" else "--reporter bell and --json"
    assert (ended.code, ended.out) == (2, "")
    assert f"{both} both write to standard output; leave one out" in ended.err
