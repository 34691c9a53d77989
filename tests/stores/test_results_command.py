"""`waza run` uploads, and `waza results` lists, fetches, pushes, pulls and compares, through the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stores.results import write_result
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree
from tests.support.stores import S3_KEYS, make_bucket

PASSES = "{inputs: {prompt: hello}, expected: {output_contains: [hello]}}"
FAILS = "{inputs: {prompt: hello}, expected: {output_contains: [bye]}}"


class Team:
    """A project with a store."""

    def __init__(self, home: Path, storage: str, env: Mapping[str, str]) -> None:
        self.home, self.env, self.suites = home, env, 0
        write_tree(home, {".waza.yaml": f"storage: {storage}\n"})

    def __call__(self, *args: str | Path) -> Ended:
        return waza(*args, cwd=self.home, env=self.env)

    def run_suite(self, *args: str, name: str = "suite", skill: str = "", **tasks: str) -> tuple[Ended, Path]:
        """Run a suite; return how it ended, and the results file of the run."""
        head = f"skill: {json.dumps(skill)}\n" if skill else ""
        config = ["skill_required: false"]
        self.suites += 1
        suite = mock_suite(
            self.home / f"suite{self.suites}", tasks or {"a": PASSES, "b": FAILS}, head, config, name=name
        )
        before = set(self.home.glob(".waza/runs/*/results.json"))
        ended = self("run", suite, *args)
        (new,) = set(self.home.glob(".waza/runs/*/results.json")) - before
        return ended, new

    def queued(self) -> list[Path]:
        return list(self.home.glob(".waza/upload-queue/*.json"))


@pytest.fixture(params=["file", "s3", "azure-blob"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Team:
    home = tmp_path / "home"
    if request.param == "file":
        (tmp_path / "shared").mkdir()
        return Team(home, "{provider: file, path: ../shared}", {})
    if request.param == "s3":
        address = request.getfixturevalue("s3_address")
        return Team(home, f"{{provider: s3, bucket: {make_bucket(address)}, endpoint: '{address}'}}", S3_KEYS)
    server = request.getfixturevalue("azure_server")
    container = server.make_container()
    storage = f"{{provider: azure-blob, accountName: devstoreaccount1, containerName: {container}}}"
    return Team(home, storage, {"AZURE_STORAGE_CONNECTION_STRING": server.connection})


def provider_of(team: Team) -> str:
    return (team.home / ".waza.yaml").read_text().split("provider: ")[1].split(",")[0]


def test_runs_are_uploaded_and_come_back(team):
    first, first_file = team.run_suite(skill="審査 code")
    second, second_file = team.run_suite(skill="審査 code", a=PASSES, b=PASSES)
    assert (first.code, second.code) == (1, 0), first.err + second.err
    ids = [file.parent.name for file in (first_file, second_file)]
    line = f"Uploaded to {provider_of(team)}: 審査_code/{ids[0]}.json\n"
    assert (first.err.count(line), first.err.count("Uploaded")) == (1, 1)
    assert team.queued() == []

    listed = team("results", "list", "--format", "json")
    runs = strict_json(listed.out)
    assert [(run["run_id"], run["skill"], run["model"], run["pass_rate"], run["verdict"]) for run in runs] == [
        (ids[1], "審査 code", "test-model", 100, "passed"), (ids[0], "審査 code", "test-model", 50, "failed"),
    ]  # fmt: skip
    assert [run["blob_path"] for run in runs] == [f"審査_code/{one}.json" for one in reversed(ids)]
    assert runs[1]["timestamp"] == strict_json(first_file.read_bytes())["timestamp"]
    shown = team("results", "list", "--skill", "審査 code", "--limit", "1")
    assert (shown.code, ids[1] in shown.out, ids[0] in shown.out, "100.0%" in shown.out) == (
        0,
        True,
        False,
        True,
    )

    got = team("results", "get", ids[0], "-o", "back.json")
    assert (got.code, (team.home / "back.json").read_bytes()) == (0, first_file.read_bytes()), got.err
    assert strict_json(team("results", "get", ids[0], "-o", "-").out) == strict_json(first_file.read_bytes())
    team("results", "get", ids[1])
    assert (team.home / f"{ids[1]}.json").read_bytes() == second_file.read_bytes()

    found = strict_json(team("results", "compare", *ids, "--format", "json").out)
    assert (found["Run1"], found["Run2"]) == (runs[1], runs[0])
    assert (found["PassDelta"], found["ScoreDelta"]) == (50, 0.5)
    assert (found["Comparison"]["n"], found["Comparison"]["wins"]) == (2, 1)
    table = team("results", "compare", *ids)
    assert (table.code, found["Comparison"]["sentence"].split(":")[0] in " ".join(table.out.split())) == (
        0,
        True,
    )


def test_pulling_fetches_what_is_not_there(team, tmp_path):
    _, first = team.run_suite(skill="one")
    _, second = team.run_suite(skill="two")
    pulled = team("results", "pull", "--skill", "two", "-o", "got")
    assert pulled.out.strip() == "1 run fetched into got, 0 there already", pulled.err
    assert (team.home / f"got/two/{second.parent.name}.json").read_bytes() == second.read_bytes()
    pulled = team("results", "pull", "-o", "got")
    assert pulled.out.strip() == "1 run fetched into got, 1 there already"
    assert (team.home / f"got/one/{first.parent.name}.json").read_bytes() == first.read_bytes()
    assert team("results", "pull").out.strip().endswith("results, 0 there already")
    assert len(list((team.home / "results").glob("*/*.json"))) == 2
    assert "no run in" in team("results", "list", "--since", "2100-01-01").out
    assert team("results", "list", "--since", "2100-01-01", "--json").out.strip() == "[]"


def test_pushing_takes_files_and_ids(team, tmp_path):
    old = write_result(tmp_path, "run-1700000000", skill="other program")
    _, saved = team.run_suite()
    pushed = team("results", "push", old, saved.parent.name)
    assert pushed.code == 0, pushed.err
    assert f"Uploaded to {provider_of(team)}: other_program/run-1700000000.json (1 of 2)" in pushed.err
    ids = {run["run_id"] for run in strict_json(team("results", "list", "--json").out)}
    assert ids == {"run-1700000000", saved.parent.name}
    nothing = team("results", "push")
    assert (nothing.code, nothing.err.strip()) == (0, "nothing is left to upload")
    clash = write_result(tmp_path, "run-1700000000", skill="other_program")
    refused = team("results", "push", clash)
    assert refused.code == 2
    assert (
        "has other_program/run-1700000000.json already, of the run run-1700000000 with another" in refused.err
    )


def test_what_is_unknown_is_an_error_that_helps(team):
    unknown = team("results", "get", "run-1")
    assert (unknown.code, "there is no run 'run-1' in" in unknown.err, "waza results list" in unknown.err) == (
        2, True, True,
    )  # fmt: skip
    assert team("results", "compare", "run-1", "run-2").code == 2


@pytest.mark.parametrize(
    "args", [("list", "--json"), ("get", "a"), ("push",), ("pull",), ("compare", "a", "b")]
)
def test_without_a_store_commands_say_what_to_write(tmp_path, args):
    ended = waza("results", *args, cwd=tmp_path)
    part = "has no store for results; write into it, for example:\nstorage:\n  provider: azure-blob"
    assert (ended.code, ended.out, part in ended.err) == (2, "", True), ended.err


def test_a_store_that_is_switched_off_is_not_asked(tmp_path):
    write_tree(tmp_path, {".waza.yaml": "storage: {provider: file, path: ., enabled: false}\n"})
    ended = waza("results", "list", cwd=tmp_path)
    assert (ended.code, ended.out, "the store is switched off in" in ended.err) == (2, "", True), ended.err


def test_a_run_without_a_store_uploads_nothing(tmp_path):
    team = Team(tmp_path, "{provider: file, path: ., enabled: false}", {})
    ended, _ = team.run_suite()
    assert (ended.code, "pload" in ended.err, (tmp_path / ".waza/upload-queue").exists()) == (1, False, False)


def test_what_cannot_be_uploaded_is_kept_and_repeated(team, tmp_path):
    shared = tmp_path / "shared"
    if not shared.exists():
        pytest.skip("a directory can go and come back; servers are in test_broken_stores")
    shared.rename(tmp_path / "away")
    ended, first = team.run_suite()
    assert ended.code == 1
    assert "warning: results were not uploaded: there is no directory" in ended.err
    assert "they are kept, and the next run or `waza results push` uploads them" in ended.err
    assert [file.read_bytes() for file in team.queued()] == [first.read_bytes()]
    ended, second = team.run_suite(a=PASSES)
    assert (ended.code, len(team.queued())) == (0, 2)
    failed = team("results", "push")
    assert (failed.code, "there is no directory" in failed.err, len(team.queued())) == (2, True, 2)
    (tmp_path / "away").rename(shared)
    ended, third = team.run_suite(a=PASSES)
    assert (ended.code, ended.err.count("Uploaded to file"), team.queued()) == (0, 3, [])
    listed = strict_json(team("results", "list", "--json").out)
    assert [run["run_id"] for run in listed] == [file.parent.name for file in (third, second, first)]


def test_without_a_queue_results_are_uploaded_all_the_same(tmp_path):
    team = Team(tmp_path / "home", "{provider: file, path: ../shared}", {})
    write_tree(team.home, {".waza/upload-queue": "no directory"})
    ended, _ = team.run_suite()
    assert (ended.code, "are not kept for later: cannot write" in ended.err) == (1, True), ended.err
    assert "warning: results were not uploaded: there is no directory" in ended.err
    (tmp_path / "shared").mkdir()
    ended, file = team.run_suite()
    assert (ended.code, f"Uploaded to file: suite/{file.parent.name}.json" in ended.err) == (1, True), (
        ended.err
    )
    assert (tmp_path / f"shared/suite/{file.parent.name}.json").read_bytes() == file.read_bytes()


def test_a_missing_package_is_named(tmp_path):
    absent = "import sys\nsys.modules['obstore'] = None\n"
    packages = write_tree(tmp_path / "packages", {"sitecustomize.py": absent})
    path = os.pathsep.join(part for part in (str(packages), os.environ.get("PYTHONPATH", "")) if part)
    team = Team(tmp_path / "home", "{provider: file, path: .}", {"PYTHONPATH": path})
    ended, _ = team.run_suite()
    part = 'the store file needs obstore: python3 -m pip install "waza[objects]"'
    assert (ended.code, ended.err.count(part), len(team.queued())) == (1, 2, 1), ended.err
    before, _, after = ended.err.partition(f"warning: the results of this run cannot be uploaded: {part}\n")
    assert (before, "Benchmark: " in after) == ("", True)
    assert (team("results", "list").code, team("results", "push").code, len(team.queued())) == (2, 2, 1)
