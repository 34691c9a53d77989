"""Stores whose labels and objects say different things, and what is planted in the queue: no file is taken for what it is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.stores.results import write_result
from tests.stores.test_results_command import Team
from tests.support.program import strict_json


@pytest.fixture
def team(tmp_path: Path) -> Team:
    (tmp_path / "shared").mkdir()
    return Team(tmp_path / "home", "{provider: file, path: ../shared}", {})


def plant(
    team: Team, name: str, data: bytes, *, run_id: str, skill: str = "review", rate: str = "50"
) -> None:
    """Put an object with labels into the store."""
    file = team.home.parent / "shared" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    time = "2026-03-01T10:00:00+00:00"
    labels = {"runid": run_id, "skill": skill, "model": "m", "timestamp": time, "passrate": rate}
    file.with_name(f"{file.name}.labels").write_text(json.dumps({"size": len(data), "labels": labels}))


def files(team: Team) -> list[str]:
    return sorted(
        str(path.relative_to(team.home))
        for path in team.home.rglob("*")
        if path.is_file() and path.name != ".waza.yaml"
    )


def test_labels_of_another_run_are_not_believed(team, tmp_path):
    plant(team, "a/x.json", write_result(tmp_path, "run-other").read_bytes(), run_id="run-good")
    plant(team, "a/y.json", b'{"tasks": [{"command": "evil"}]}', run_id="tasks")
    got = team("results", "get", "run-good")
    assert (got.code, got.out) == (2, "")
    assert "has the results of another run, 'run-other'" in got.err
    got = team("results", "get", "tasks")
    assert "holds no results" in got.err
    assert team("results", "compare", "run-good", "run-good").code == 2
    pulled = team("results", "pull", "-o", "got")
    assert (pulled.code, files(team)) == (2, [])
    assert "error: not fetched: a/x.json: a/x.json in" in pulled.err
    assert "error: not fetched: a/y.json: a/y.json in" in pulled.err
    assert pulled.out == "0 runs fetched into got, 0 there already, 2 not fetched\n"


def test_names_that_no_store_takes_hide_nothing(team, tmp_path):
    for number in range(60):
        data = write_result(tmp_path, f"run-{number}").read_bytes()
        plant(team, f"review/run-{number}.json", data, run_id=f"run-{number}")
    folder = team.home.parent / "shared/review"
    names = [b"a\n::error::b.json", b"\x1b[31m.json", b"\xff.json", b"notes\n.txt"]
    for name in names:
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_text("{}")
    (folder / "loop").symlink_to(folder)
    (folder / "lost.json").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.json")
    listed = team("results", "list", "--limit", "100")
    assert (listed.code, listed.out.count("2026-03-01 10:00 UTC")) == (0, 60)
    shown = r"'review/\x1b[31m.json', 'review/a\n::error::b.json', 'review/\udcff.json'"
    assert listed.err == f"warning: left out: 3 objects that waza did not store: {shown}\n"
    assert team("results", "pull").code == 0


def test_what_is_fetched_is_in_no_hidden_file(team, tmp_path):
    """Files such as `.vscode/settings.json` configure tools."""
    plant(
        team, "a/x.json", write_result(tmp_path, "settings").read_bytes(), run_id="settings", skill=".vscode"
    )
    plant(team, "a/y.json", write_result(tmp_path, ".mcp").read_bytes(), run_id=".mcp", skill="..")
    assert team("results", "pull", "-o", ".").code == 0
    assert team("results", "get", ".mcp").code == 0
    assert files(team) == ["__/_mcp.json", "_mcp.json", "_vscode/settings.json"]


def test_two_runs_are_two_files(team, tmp_path):
    for number, (skill, run_id) in enumerate(
        [("q/r", "run-1"), ("q_r", "run-1"), ("Q_R", "RUN-1"), ("s", "run-1")]
    ):
        data = write_result(tmp_path, run_id, model=f"m{number}").read_bytes()
        plant(team, f"a/{number}.json", data, run_id=run_id, skill=skill)
    pulled = team("results", "pull", "-o", "got")
    assert pulled.out.strip() == "4 runs fetched into got, 0 there already", pulled.err
    found = [json.loads((team.home / name).read_bytes())["config"]["model_id"] for name in files(team)]
    assert sorted(found) == ["m0", "m1", "m2", "m3"]
    assert len({name.casefold() for name in files(team)}) == 4
    assert team("results", "pull", "-o", "got").out.strip() == "0 runs fetched into got, 4 there already"


def test_a_rate_that_is_none_is_not_shown(team, tmp_path):
    plant(team, "a/x.json", write_result(tmp_path, "run-1").read_bytes(), run_id="run-1", rate="9999")
    assert strict_json(team("results", "list", "--json").out)[0]["pass_rate"] is None


def test_pipes_and_links_in_the_queue_are_no_results(team, tmp_path):
    queue = team.home / ".waza/upload-queue"
    queue.mkdir(parents=True)
    os.mkfifo(queue / "pipe.json")
    (queue / "link.json").symlink_to(write_result(tmp_path, "run-1"))
    (queue / "folder.json").mkdir()
    pushed = team("results", "push")
    assert (pushed.code, pushed.err.strip()) == (0, "nothing is left to upload")
