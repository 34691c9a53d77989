"""Which run a command means: what `find_results` returns on real runs, and what it says where there is none."""

import os
import shutil
from pathlib import Path

import pytest
from tests.support.journals import rewritten
from tests.support.program import mock_suite, waza, write_tree

from waza.errors import UsageError, WazaError
from waza.kit.line_file import LineFile
from waza.results.invocation_lines import INVOCATIONS, RUNS
from waza.results.saved import FoundRuns, find_results


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of a project, the older one first, whose names and times say the opposite."""
    suite = mock_suite(tmp_path, {"t": "inputs: {prompt: hello}"})
    for _ in range(2):
        assert waza("run", suite, cwd=tmp_path).code == 0
    first, second = (planned(path) for path in sorted((tmp_path / INVOCATIONS).glob("*.ndjson")))
    for old, new in ((first, "run-20300101T000000Z-aaaaaa"), (second, "run-20200101T000000Z-bbbbbb")):
        (tmp_path / RUNS / old).rename(tmp_path / RUNS / new)
        rename(tmp_path, old, new)
    os.utime(tmp_path / RUNS / "run-20200101T000000Z-bbbbbb" / "results.json", (0, 0))
    return tmp_path / RUNS / "run-20300101T000000Z-aaaaaa", tmp_path / RUNS / "run-20200101T000000Z-bbbbbb"


def planned(invocation: Path) -> str:
    found: list[str] = []
    rewritten(invocation, lambda lines: found.extend(one["planned"]["run"] for one in lines[1:]))
    return found[0]


def rename(root: Path, old: str, new: str) -> None:
    def change(lines: list[dict[str, dict[str, str]]]) -> None:
        for line in lines:
            if "planned" in line and line["planned"]["run"] == old:
                line["planned"]["run"] = new
            if "run" in line:
                line["run"]["id"] = new

    for path in [*(root / INVOCATIONS).glob("*.ndjson"), root / RUNS / new / "journal.ndjson"]:
        rewritten(path, change)


def names(found: FoundRuns) -> list[str]:
    return [one.name for one in found.runs]


def test_the_newest_run_is_that_of_the_newest_invocation(two_runs: tuple[Path, Path], tmp_path: Path):
    found = find_results(None, tmp_path)
    assert found.only().directory == two_runs[1]
    assert found.only().load()[0].summary.total_tests == 1
    assert not found.notes
    shutil.rmtree(tmp_path / INVOCATIONS)  # without them there are the names alone
    assert find_results(None, tmp_path).only().directory == two_runs[0]


def test_a_newer_invocation_of_which_nothing_is_kept_is_named(two_runs: tuple[Path, Path], tmp_path: Path):
    first, second = two_runs
    shutil.rmtree(second)
    found = find_results(None, tmp_path)
    assert found.only().directory == first
    assert "inv-000002" in found.notes[0]
    assert "is newer, but no run of it is kept" in found.notes[0]


def test_several_runs_of_one_invocation(tmp_path: Path):
    suite = mock_suite(tmp_path, {"t": "inputs: {prompt: hello}"})
    assert waza("run", suite, "--model", "a", "--model", "b", "--model", "c", cwd=tmp_path).code == 0
    newest = find_results(None, tmp_path)
    assert newest.only().load()[0].config.model_id == "c"
    assert "has 2 more runs: run-" in newest.notes[0]
    invocation = find_results("inv-000001", tmp_path)
    assert [one.load()[0].config.model_id for one in invocation.runs] == ["a", "b", "c"]
    with pytest.raises(UsageError, match=r"inv-000001 holds 3 runs; name one: run-"):
        invocation.only()


def test_ids_and_their_beginnings(two_runs: tuple[Path, Path], tmp_path: Path):
    first, second = two_runs
    for text in (first.name, "run-2030", "2030"):
        assert find_results(text, tmp_path).only().directory == first
    assert names(find_results("inv-000002", tmp_path)) == [second.name]
    with pytest.raises(
        UsageError, match=r"'run-20' is the beginning of 2 ids: run-20200101T\S+, run-20300101T"
    ):
        find_results("run-20", tmp_path)
    for text in ("run-1999", "", "../runs", "*"):
        with pytest.raises(
            UsageError, match="neither a file nor a directory nor the id of a run; the newest run is"
        ):
            find_results(text, tmp_path)


def test_files_and_directories(two_runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = two_runs
    monkeypatch.chdir(tmp_path)
    for path in (first, first / "journal.ndjson", first / "results.json"):
        assert find_results(str(path), Path("elsewhere")).only().directory == first
    assert find_results(str(tmp_path), Path("elsewhere")).only().directory == second  # a project
    assert len(find_results(str(first.parent), Path("elsewhere")).runs) == 2
    copy = tmp_path / "out" / "2026" / "skill" / "m.json"
    copy.parent.mkdir(parents=True)
    shutil.copy(first / "results.json", copy)
    write_tree(tmp_path / "out", {"other.json": "[1]", ".hidden/x.json": "{}", "torn.json": '{"summary": '})
    found = find_results("out", tmp_path)
    assert names(found) == ["out/2026/skill/m.json", "out/torn.json"]
    assert found.notes == ("left out, since they are not results files: out/other.json",)
    assert found.runs[0].load()[0].config.model_id == "test-model"
    with pytest.raises(WazaError, match=r"torn\.json:1:\d+: is not valid JSON"):
        found.runs[1].load()


def test_the_summary_of_several_skills(tmp_path: Path):
    for name in "ab":
        mock_suite(tmp_path / name, {"t": "inputs: {prompt: p}"}, f"skill: {name}", name=name)
        write_tree(tmp_path / name, {"SKILL.md": f"---\nname: {name}\ndescription: d\n---\nbody"})
    assert waza("run", "--discover", "-o", "out/r.json", cwd=tmp_path).code == 0
    summary = tmp_path / "out" / "r_summary.json"
    found = find_results(str(summary), tmp_path)
    assert [one.load()[0].eval_name for one in found.runs] == ["a", "b"]
    assert [one.load()[0].eval_name for one in find_results(str(summary.parent), tmp_path).runs] == ["a", "b"]
    (tmp_path / "out" / "r_a.json").unlink()
    with pytest.raises(UsageError, match=r"names files that are not beside it: r_a\.json"):
        find_results(str(summary), tmp_path)
    summary.write_text("[]")
    with pytest.raises(UsageError, match="is not a summary of results"):
        find_results(str(summary), tmp_path)


def test_a_run_without_results(two_runs: tuple[Path, Path], tmp_path: Path):
    _, second = two_runs
    (second / "results.json").unlink()
    run = find_results(None, tmp_path).only()
    assert not run.in_progress
    with pytest.raises(
        UsageError, match=r"was cut off and has no results; go on with it: waza run \S+ --resume=run-2020"
    ):
        run.load()
    with LineFile.open(second / "journal.ndjson"):
        assert run.in_progress
        with pytest.raises(
            UsageError, match=r"is in progress and has no results yet; .*: waza show run-2020"
        ):
            run.load()


def test_results_from_before_a_run_was_resumed_do_not_count(two_runs: tuple[Path, Path], tmp_path: Path):
    _, second = two_runs
    rewritten(
        second / "journal.ndjson", lambda lines: lines.append({"resumed": {"at": "2026-01-01T00:00:00Z"}})
    )
    run = find_results(None, tmp_path).only()
    assert run.results is None
    with pytest.raises(UsageError, match="was cut off"):
        run.load()


def test_no_run_at_all(tmp_path: Path):
    with pytest.raises(UsageError, match=r"there is no run in .*runs; start one with `waza run`"):
        find_results(None, tmp_path)
    with pytest.raises(UsageError, match="there are no runs in"):
        find_results("run-1", tmp_path)
    with pytest.raises(UsageError, match="has no run and no results file"):
        find_results(str(tmp_path), tmp_path)


def test_a_damaged_invocation_is_no_reason_to_show_an_older_run(two_runs: tuple[Path, Path], tmp_path: Path):
    newest = max((tmp_path / INVOCATIONS).glob("*.ndjson"))
    newest.write_bytes(newest.read_bytes().replace(b"test-model", b"tset-model"))
    with pytest.raises(WazaError, match=r"inv-000002\S+:2: this line is damaged"):
        find_results(None, tmp_path)
    assert find_results("run-2020", tmp_path).only().directory == two_runs[1]


def test_what_of_an_invocation_did_not_start_is_known(tmp_path: Path):
    suite = mock_suite(tmp_path / "greeter", {"t": "inputs: {prompt: hello}"})
    assert waza("run", suite, "--model", "a", "--model", "b", cwd=tmp_path).code == 0
    (invocation,) = (tmp_path / INVOCATIONS).glob("*.ndjson")
    assert find_results(invocation.stem, tmp_path).not_started == ()
    shutil.rmtree(tmp_path / RUNS / planned(invocation))
    found = find_results(invocation.stem, tmp_path)
    assert [(one.name, one.why) for one in found.not_started] == [
        ("greeter on a", "no record of it is kept: it did not start")
    ]
    assert found.notes == (f"1 run of {invocation.stem} did not start",)


def test_what_of_a_summary_did_not_start_is_known(tmp_path: Path):
    for name in ("fine", "broken"):
        mock_suite(tmp_path / "skills" / name, {"t": "inputs: {prompt: hello}"}, f"skill: {name}")
        write_tree(
            tmp_path / "skills" / name,
            {"SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"},
        )
    write_tree(tmp_path / "skills" / "broken", {"eval.yaml": "name: [\n"})
    assert waza("run", "-o", "r.json", cwd=tmp_path).code != 0
    found = find_results(str(tmp_path / "r_summary.json"), tmp_path)
    assert [(one.skill, one.why) for one in found.not_started] == [("broken", "its files have mistakes")]
