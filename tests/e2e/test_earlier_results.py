"""Results files of an earlier run: none of them is taken for that of a run which did not write it."""

from __future__ import annotations

from pathlib import Path
from signal import SIGINT

import pytest
from tests.support.live import Project
from tests.support.program import mock_suite, strict_json, waza, write_tree

PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
BROKEN = "hooks: {before_run: [{command: exit 7, error_on_fail: true}]}\n"


def skill(root: Path, name: str, more: str = "") -> None:
    mock_suite(root / "skills" / name, {"t": PASSES}, f"skill: {name}\n{more}{SAYS}")
    write_tree(root, {f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})


@pytest.mark.parametrize("trouble", [BROKEN, "hooks: 7\n"], ids=["does not start", "cannot be read"])
def test_results_of_what_did_not_start_replace_earlier_ones(tmp_path: Path, trouble: str):
    targets = ("-o", "r.json", "--reporter", "json:s.json", "--reporter", "json:f/")
    for name in ("ada", "bob"):
        skill(tmp_path, name)
    assert waza("run", *targets, "--model", "m", cwd=tmp_path).code == 0
    files = sorted(tmp_path.glob("[rsf]*/*bob*.json")) + sorted(tmp_path.glob("[rs]_bob.json"))
    assert len(files) == 3
    skill(tmp_path, "bob", trouble)
    assert waza("run", *targets, "--model", "m", cwd=tmp_path).code == 2
    for file in files:
        found = strict_json(file.read_bytes())
        assert found["metadata"]["run_status"] == "not_started", file
        assert found["metadata"]["verdict"]["passed"] is False
        assert found["tasks"] == []


def test_a_suite_that_cannot_be_read_has_the_file_name_of_one_that_can(tmp_path: Path):
    for name in ("ada", "bob"):
        skill(tmp_path, name)
    assert waza("run", "-o", "r.json", cwd=tmp_path).code == 0
    skill(tmp_path, "bob", "hooks: 7\n")
    assert waza("run", "-o", "r.json", cwd=tmp_path).code == 2
    assert sorted(path.name for path in tmp_path.glob("r_*.json")) == [
        "r_ada.json",
        "r_bob.json",
        "r_summary.json",
    ]
    assert strict_json((tmp_path / "r_bob.json").read_bytes())["metadata"]["verdict"]["passed"] is False


def test_files_of_an_earlier_run_are_named_where_the_suite_cannot_be_read(tmp_path: Path):
    mock_suite(tmp_path, {"t": PASSES}, SAYS)
    targets = ("-o", "r.json", "--reporter", "junit:j.xml", "--reporter", "markdown:new.md")
    assert waza("run", "eval.yaml", *targets[:4], cwd=tmp_path).code == 0
    mock_suite(tmp_path, {"t": PASSES}, f"hooks: 7\n{SAYS}")
    ended = waza("run", "eval.yaml", *targets, cwd=tmp_path)
    assert ended.code == 2
    assert "r.json is of an earlier run and was not written" in ended.err
    assert "j.xml is of an earlier run and was not written" in ended.err
    assert "new.md is of" not in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--json", "--format", "github-comment"), "--format github-comment both write"),
        (("--reporter", "json", "--interpret"), "--interpret both write"),
        (
            ("--reporter", "junit:a.xml", "--reporter", "markdown:./a.xml"),
            "is named by two options and would hold only one of both",
        ),
        (
            ("-o", "a.json", "--reporter", "json:a.json"),
            "is named by two options and would hold only one of both",
        ),
        (("--no-session-log", "--session-dir", "logs"), "leave it or --no-session-log out"),
    ],
)
def test_output_that_would_be_lost_is_refused_before_the_run(
    tmp_path: Path, options: tuple[str, ...], said: str
):
    mock_suite(tmp_path, {"t": PASSES}, SAYS)
    before = sorted(tmp_path.rglob("*"))
    ended = waza("run", "eval.yaml", *options, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_for_the_session_log_asks_for_it(tmp_path: Path):
    mock_suite(tmp_path, {"t": PASSES}, SAYS)
    assert waza("run", "eval.yaml", "--session-dir", "logs", cwd=tmp_path).code == 0
    assert len(list((tmp_path / "logs").iterdir())) == 1


def test_a_run_that_is_interrupted_at_its_first_word_writes_what_was_asked_for(project: Project):
    suite = mock_suite(
        project.home,
        {f"t{n}": "inputs: {prompt: p}\nmock: {output: hello, delay_ms: 60000}" for n in range(2)},
        SAYS,
    )
    targets = ["-o", project.home / "r.json", "--reporter", f"junit:{project.home / 'j.xml'}"]
    with project.started("run", suite, *targets) as live:
        live.until((project.home / ".waza" / "runs").exists)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130, ended.err
    found = strict_json((project.home / "r.json").read_bytes())
    assert found["metadata"]["verdict"]["passed"] is False
    assert (project.home / "j.xml").exists()
    assert "Go on with: " in ended.err
