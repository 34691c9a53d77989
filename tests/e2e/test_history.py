"""`waza history`: the runs of a project over time, from an index that is never the truth."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree

from waza.kit.line_file import LineFile

GRADER = "graders: [{type: text, name: says, config: {contains: [one, two]}}]"
NAMES = [f"task-{i:02}" for i in range(10)]


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run of ten tasks, of which the last fails."""
    root = tmp_path_factory.mktemp("one")
    tasks = dict.fromkeys(NAMES[:-1], "inputs: {prompt: p}\nmock: {output: one two}")
    mock_suite(root, {**tasks, NAMES[-1]: "inputs: {prompt: p}\nmock: {output: one}"}, GRADER)
    assert waza("run", "eval.yaml", cwd=root).code == 1
    return root


@pytest.fixture
def project(tmp_path: Path, one_run: Path) -> Path:
    """A copy of that project without its run."""
    shutil.copytree(one_run, tmp_path / "p", ignore=shutil.ignore_patterns("history.sqlite3"))
    shutil.rmtree(tmp_path / "p" / ".waza" / "runs")
    (tmp_path / "p" / ".waza" / "runs").mkdir()
    return tmp_path / "p"


def add(project: Path, one_run: Path, day: int, failing: Collection[str] = (), **metadata: Any) -> Path:
    """Add a run that began on a day of 2026, in which these tasks failed; return its directory."""
    (source,) = (one_run / ".waza" / "runs").iterdir()
    name = f"run-2026{day // 28 + 1:02}{day % 28 + 1:02}T120000Z-{day:06}"
    target = project / ".waza" / "runs" / name
    shutil.copytree(source, target)
    results = strict_json((target / "results.json").read_bytes())
    results["timestamp"] = f"{name[4:8]}-{name[8:10]}-{name[10:12]}T12:00:00Z"
    for task in results["tasks"]:
        status, score = ("failed", 0.5) if task["test_id"] in failing else ("passed", 1)
        task["status"] = status
        for run in task["runs"]:
            run["status"] = status
            run["validations"]["says"].update(score=score, passed=status == "passed")
    results["metadata"].update(metadata)
    (target / "results.json").write_text(json.dumps(results), encoding="utf-8")
    return target


def history(project: Path, *args: str) -> Ended:
    return waza("history", *args, cwd=project)


def series(project: Path, *args: str) -> dict[str, Any]:
    ended = history(project, *args, "--json")
    assert ended.code == 0, ended.err
    (found,) = strict_json(ended.out)["series"]
    return dict(found)


def test_a_run_of_the_program_is_in_the_history(one_run: Path):
    (directory,) = (one_run / ".waza" / "runs").iterdir()
    ended = history(one_run)
    assert (ended.code, ended.err) == (0, "")
    assert "suite on test-model" in ended.out
    (line,) = (one for one in ended.out.splitlines() if one.startswith(directory.name.removeprefix("run-")))
    assert line.split()[1:] == ["9/10", "90%", "60-98", "0.95±0.11", "0s"], "the tokens are not known"
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    (run,) = series(one_run)["runs"]
    assert (run["run"], run["status"], run["flaw"]) == (directory.name, "complete", "")


def test_intervals_are_those_of_others(one_run: Path):
    (run,) = series(one_run)["runs"]
    rate, score = run["figures"]["graded_success_rate"], run["figures"]["score"]
    lower, upper = proportion_confint(9, 10, method="wilson")
    assert (rate["value"], rate["lower"], rate["upper"]) == pytest.approx((0.9, lower, upper))
    values = [1.0] * 9 + [0.5]
    lower, _ = stats.t.interval(0.95, 9, stats.tmean(values), stats.sem(values))
    assert (score["value"], score["lower"], score["upper"]) == pytest.approx((0.95, lower, 1))


def test_a_change_names_its_run_and_commit(project: Path, one_run: Path):
    for day in range(24):
        failing = NAMES[: 1 + day % 2] if day < 12 else NAMES[: 6 + day % 2]
        add(project, one_run, day, failing, git={"commit": f"{day:040}", "branch": "main", "dirty": False})
    found = series(project)
    changes = {change["metric"]: change for change in found["changes"]}
    assert set(changes) == {"graded_success_rate", "score"}
    assert changes["graded_success_rate"]["run"] == found["runs"][12]["run"]
    assert changes["graded_success_rate"]["since"] == found["runs"][11]["run"]
    assert changes["graded_success_rate"]["commit"] == f"{12:040}"
    assert (
        changes["graded_success_rate"]["before"],
        changes["graded_success_rate"]["after"],
    ) == pytest.approx((0.85, 0.35))
    text = history(project).out
    assert (
        f"graded success rate from 85.0% to 35.0% since {found['runs'][12]['run']} (p = 0.003)"
        in " ".join(text.split())
    )
    assert "4 older runs not shown" in text


def test_tasks_that_flip(project: Path, one_run: Path):
    for day, failing in enumerate([[], ["task-03"], [], ["task-03", "task-05"]]):
        add(project, one_run, day, failing)
    found = series(project)
    flips = [
        (flip["task"], flip["flips"], flip["passed"], flip["runs"], flip["now"]) for flip in found["flips"]
    ]
    assert flips == [("task-03", 3, 2, 4, "failed"), ("task-05", 1, 3, 4, "failed")]
    assert found["flips"][1]["last_flip"] == found["runs"][3]["run"]
    assert "task-03      3     2/4  failed" in history(project).out


def test_flawed_runs_are_marked_and_left_out(project: Path, one_run: Path):
    for day in range(24):
        cut = day % 2 == 1 and day > 12
        add(project, one_run, day, NAMES if cut else [], **({"run_status": "cancelled"} if cut else {}))
    broken = add(project, one_run, 30)
    results = strict_json((broken / "results.json").read_bytes())
    results["tasks"][0]["status"] = results["tasks"][0]["runs"][0]["status"] = "error"
    (broken / "results.json").write_text(json.dumps(results), encoding="utf-8")
    (add(project, one_run, 31) / "results.json").write_bytes(b'{"summary": {}, "ta')
    add(project, one_run, 33, selection={"filters": ["-k x"], "selected": 10, "of": 12})
    killed = add(project, one_run, 32)
    lines = (killed / "journal.ndjson").read_bytes().splitlines(keepends=True)
    (killed / "journal.ndjson").write_bytes(b"".join(lines[:-1]))
    found = series(project)
    assert (found["changes"], found["flips"]) == ([], [])
    flaws = {run["run"][-2:]: run["flaw"] for run in found["runs"] if run["flaw"]}
    assert flaws == {
        **{f"{day}": "cancelled" for day in range(13, 24, 2)},
        "30": "1 of 10 tasks not measured",
        "31": "unreadable",
        "32": "cut off",
        "33": "only 10 of 12 tasks chosen: -k x",
    }
    unreadable = next(run for run in found["runs"] if run["status"] == "unreadable")
    assert "is not valid JSON" in unreadable["error"]
    assert unreadable["figures"] == {}
    text = history(project).out
    assert "LEFT OUT OF CHANGES AND FLIPS" in text
    assert f"{killed.name}: cut off" in text


def test_few_runs_say_that_they_can_hardly_show_a_change(project: Path, one_run: Path):
    for day in range(8):
        add(project, one_run, day, NAMES if day > 3 else ())
    assert series(project)["changes"] == []
    assert "8 runs can hardly show a change: even a clear one takes about 12" in history(project).out
    for day in range(8, 12):
        add(project, one_run, day, NAMES)
    assert series(project)["changes"]
    assert "can hardly show" not in history(project).out


def test_a_run_in_progress_is_one_until_its_process_ends(project: Path, one_run: Path):
    add(project, one_run, 1)
    directory = add(project, one_run, 2)
    (directory / "results.json").unlink()
    journal = LineFile.open(directory / "journal.ndjson")  # as the process that runs it does
    try:
        assert [run["flaw"] for run in series(project)["runs"]] == ["", "in progress"]
    finally:
        journal.close()
    assert [run["flaw"] for run in series(project)["runs"]] == ["", "cut off"]


def test_a_run_without_a_readable_journal_is_named(project: Path, one_run: Path):
    add(project, one_run, 1)
    (add(project, one_run, 2) / "journal.ndjson").write_bytes(b"{}\n")
    ended = history(project)
    assert ended.code == 0
    assert "warning: left out: run-20260103T120000Z-000002 cannot be read" in ended.err


def test_runs_are_found_by_what_they_are_of(project: Path, one_run: Path):
    for day in range(4):
        branch = "main" if day < 2 else "feature"
        add(project, one_run, day, git={"commit": f"{day}abc" + "0" * 36, "branch": branch})
    by = {
        ("eval.yaml",): 0,  # the copy is another file than the one that ran
        ("suite",): 4,
        (str(one_run / "eval.yaml"),): 4,
        (str(one_run),): 4,
        ("--branch", "main"): 2,
        ("--commit", "3ABC"): 1,
        ("--model", "test"): 0,
        ("--skill", "other"): 0,
        ("--until", "2026-01-02"): 2,
        ("--since", "2026-01-02T12:00:00Z", "--until", "2026-01-03"): 2,
        ("--last", "3"): 3,
    }
    for args, count in by.items():
        ended = history(project, *args, "--csv")
        assert len(list(csv.DictReader(io.StringIO(ended.out)))) == count, args
        assert ended.code == (0 if count else 2)
        assert ("there are runs of: suite" in ended.err) == (not count)


def test_csv_has_a_row_for_each_run(project: Path, one_run: Path):
    add(project, one_run, 1, ["task-01"], git={"commit": "c" * 40, "branch": "=main", "dirty": True})
    (row,) = csv.DictReader(io.StringIO(history(project, "--csv").out))
    assert (row["passed"], row["failed"], row["tasks"], row["branch"], row["dirty"]) == (
        "9",
        "1",
        "10",
        "'=main",
        "true",
    )
    assert (row["graded_success_rate"], row["ai_credits"], row["flaw"]) == ("0.9", "", "")
    assert float(row["graded_success_rate_lower"]) < 0.9 < float(row["graded_success_rate_upper"])


def test_only_files_that_changed_are_read(project: Path, one_run: Path):
    results = add(project, one_run, 1) / "results.json"
    assert series(project)["runs"][0]["figures"]["graded_success_rate"]["value"] == 1
    before, text = results.stat(), results.read_text(encoding="utf-8")
    results.write_text(text.replace('"passed"', '"failed"'), encoding="utf-8")
    os.utime(results, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert series(project)["runs"][0]["figures"]["graded_success_rate"]["value"] == 1, (
        "the index was not used"
    )
    os.utime(results, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert series(project)["runs"][0]["figures"]["graded_success_rate"]["value"] == 0
    add(project, one_run, 2)
    assert len(series(project)["runs"]) == 2
    shutil.rmtree(results.parent)
    assert len(series(project)["runs"]) == 1


def test_a_damaged_or_older_index_is_made_again(project: Path, one_run: Path):
    for day in range(3):
        add(project, one_run, day)
    index, expected = project / ".waza" / "history.sqlite3", history(project, "--json").out
    assert index.is_file()
    index.write_bytes(b"no database" * 1000)
    assert history(project, "--json").out == expected
    data = bytearray(index.read_bytes())
    data[100:4096] = b"\xff" * 3996
    index.write_bytes(data)
    assert history(project, "--json").out == expected
    index.unlink()
    with sqlite3.connect(index) as database:
        database.execute("CREATE TABLE runs (name TEXT)")
    database.close()
    assert history(project, "--json").out == expected
    with sqlite3.connect(index) as database:
        database.execute("DROP TABLE runs")
        database.execute("CREATE TABLE runs (name TEXT)")
    database.close()
    assert history(project, "--json").out == expected  # of the same version, with another table
    with sqlite3.connect(index) as database:
        database.execute("UPDATE runs SET entry = X'00'")
    database.close()
    ended = history(project, "--json")
    assert (ended.out, ended.err) == (expected, "")


def test_an_index_that_cannot_be_kept_is_a_warning(project: Path, one_run: Path):
    add(project, one_run, 1)
    write_tree(project, {".waza/history.sqlite3/file": ""})
    ended = history(project)
    assert ended.code == 0
    assert "warning: the index of runs cannot be kept" in ended.err
    assert "10/10" in ended.out


def test_several_processes_make_the_index_at_the_same_time(project: Path, one_run: Path):
    for day in range(12):
        add(project, one_run, day, NAMES[: day // 2])
    started = [
        subprocess.Popen(
            command("history", "--json"),
            cwd=project,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    ended = [(*process.communicate(timeout=120), process.returncode) for process in started]
    assert {(out, err, code) for out, err, code in ended} == {
        (history(project, "--json").out.encode(), b"", 0)
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "there is no run of the project"),
        (("--since", "yesterday"), "is not a date such as"),
        (("--json", "--csv"), "give one of them"),
        (("--last", "0"), "--last"),
    ],
)
def test_what_cannot_be_shown_says_why(tmp_path: Path, args: tuple[str, ...], message: str):
    ended = history(tmp_path, *args)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert not (tmp_path / ".waza").exists()
