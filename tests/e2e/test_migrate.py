"""`waza migrate`: versions of suites and results, none of which is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.program import mock_suite, strict_json, waza, write_tree

TASK = "inputs: {prompt: p}\nmock: {output: hello}"
SCENARIO = "schemaVersion: '2.0'\nscenario: greeting\nconfig: {executor: mock}\ntasks: [tasks/*.yaml]\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Suites and results of many versions."""
    suite = mock_suite(tmp_path, {"t": TASK})
    waza("run", suite, "-o", "current.json", "--no-save", cwd=tmp_path)
    text, results = suite.read_text("utf-8"), json.loads((tmp_path / "current.json").read_bytes())
    for version in ("1.0", "1.4", "1.9", "0.9", "2.0", "nine"):
        write_tree(
            tmp_path,
            {
                f"{version}/eval.yaml": f"schemaVersion: '{version}'\n{text}",
                f"{version}/results.json": json.dumps({**results, "schemaVersion": version}),
            },
        )
    without = {key: value for key, value in results.items() if key != "schemaVersion"}
    write_tree(tmp_path, {"old.json": json.dumps(without), "scenario.yaml": SCENARIO})
    return tmp_path


def test_the_same_major_version_changes_nothing_and_says_so(files: Path):
    told = {
        "eval.yaml": "suite without a version, which counts as 1.4; it is read as it is",
        "1.0/eval.yaml": "suite of version 1.0; it is read as it is",
        "1.4/eval.yaml": "suite of version 1.4; it is read as it is",
        "1.9/eval.yaml": "suite of version 1.9; its keys that only a newer waza knows are ignored",
        "scenario.yaml": "suite of version 2.0; it is read as it is",
        "1.0/results.json": "results file of version 1.0; it is read as it is",
        "1.9/results.json": "results file of version 1.9; its keys that only a newer waza knows are ignored",
        "current.json": "results file of version 1.4; it is read as it is",
        "old.json": "results file of version 1.4; it is read as it is",
    }
    names = [Path(name) for name in told]
    before = {name: (files / name).read_bytes() for name in names}
    for more in ((), ("--check",)):
        ended = waza("migrate", *more, *names, cwd=files)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.splitlines() == [
            f"{name}: {what}, and nothing is changed" for name, what in zip(names, told.values(), strict=True)
        ]
    assert {name: (files / name).read_bytes() for name in names} == before
    found = strict_json(waza("migrate", "--json", "1.9/eval.yaml", "old.json", cwd=files).out)
    assert [(one["kind"], one["declared"], one["age"], one["changed"]) for one in found] == [
        ("suite", "1.9", "newer", False),
        ("results", "1.4", "current", False),
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("0.9/eval.yaml", "1:1: schemaVersion: version 0.9 is not readable here, which reads 1.x (1.4)"),
        ("2.0/eval.yaml", "1:1: schemaVersion: version 2.0 is not readable here, which reads 1.x (1.4); 2.0 is for"),
        ("nine/eval.yaml", "1:1: schemaVersion: 'nine' is not a valid version; write MAJOR.MINOR, such as '1.4'"),
        ("0.9/results.json", " schemaVersion: version 0.9 is not readable here, which reads 1.x (1.4); use the version"),
        ("2.0/results.json", " schemaVersion: version 2.0 is not readable here"),
        ("nine/results.json", " schemaVersion: 'nine' is not a valid version"),
        ("missing.yaml", " there is no such suite file"),
        ("missing.json", " cannot be read: "),
        ("tasks/t.yaml", " is a task of waza; tasks are of the version of their suite: name that"),
        ("document.json", " is a Microsoft 365 evaluation document; `waza m365 upgrade document.json` brings it up to date"),
        ("other.md", " is neither a suite nor a results file"),
        ("broken/eval.yaml", "2:1: not valid YAML"),
    ],
)  # fmt: skip
def test_other_versions_and_other_files_are_refused(files: Path, name: str, told: str):
    document = '{"schemaVersion": "1.6.0", "items": [{"prompt": "p"}]}'
    write_tree(files, {"document.json": document, "other.md": "# x\n", "broken/eval.yaml": "a: ["})
    ended = waza("migrate", "--check", "eval.yaml", Path(name), cwd=files)
    assert ended.code == 2
    assert ended.out.startswith("eval.yaml: suite without a version"), "the others are looked at all the same"
    assert ended.err.startswith(f"{Path(name)}:{told}")
    assert ended.err.count("\n") == 1
