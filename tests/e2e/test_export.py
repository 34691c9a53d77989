"""`waza export` and `waza.load_results`: results as rows, a trial or a verdict each."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

import waza as library

TASKS = {
    "good": "{id: good, tags: [fast, 'a, b'], name: 'The good, and \"quoted\"', inputs: {prompt: p}, mock: {output: one two}}",
    "bad": "{id: bad, name: '=HYPERLINK(1)', inputs: {prompt: p}, mock: {output: one}}",
    "broken": "{id: broken, name: größte 任务, inputs: {prompt: p}, mock: {error: -broken-}}",
}
GRADERS = "graders: [{type: text, name: says, config: {contains: [one, two]}}, {type: text, name: first, weight: 3, config: {contains: [one]}}]"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one run of three tasks, two trials each, in its directory and as `results.json`."""
    root = tmp_path_factory.mktemp("export")
    mock_suite(root, TASKS, GRADERS, config=["trials_per_task: 2"], name="=suite")
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=root).code == 1
    return root


def export(root: Path, *args: str | Path) -> Ended:
    return waza("export", *args, cwd=root)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def read_lines(text: str) -> list[dict[str, Any]]:
    return [strict_json(line) for line in text.splitlines()]


def test_a_row_for_each_trial_of_the_newest_run_as_csv(project: Path):
    ended = export(project)
    rows = read_csv(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert [(row["task"], row["trial"], row["status"]) for row in rows] == [
        ("bad", "1", "failed"),
        ("bad", "2", "failed"),
        ("broken", "1", "error"),
        ("broken", "2", "error"),
        ("good", "1", "passed"),
        ("good", "2", "passed"),
    ]
    bad, broken, good = rows[0], rows[2], rows[4]
    assert (bad["suite"], bad["task_name"]) == ("'=suite", "'=HYPERLINK(1)")
    assert (good["task_name"], broken["task_name"]) == ('The good, and "quoted"', "größte 任务")
    assert (bad["score"], bad["weighted_score"], good["score"]) == ("0.75", "0.875", "1.0")
    assert (broken["score"], broken["weighted_score"]) == ("", "")  # no measurement, and no zero
    assert broken["error"].startswith("'-broken-")
    assert (good["tags"], bad["tags"]) == ("fast, a, b", "")
    assert (good["arm"], good["model"], good["executor"], good["cached"]) == (
        "main",
        "test-model",
        "mock",
        "false",
    )


def test_json_lines_hold_the_data_as_it_is(project: Path):
    found = read_lines(export(project, "results.json", "--format", "jsonl").out)
    results = strict_json((project / "results.json").read_bytes())
    bad = found[0]
    assert (bad["suite"], bad["task_name"], bad["run"]) == ("=suite", "=HYPERLINK(1)", results["eval_id"])
    assert (bad["score"], bad["dirty"], bad["golden"], bad["trial"]) == (0.75, None, False, 1)
    assert (found[-1]["tags"], bad["tags"]) == (["fast", "a, b"], [])
    assert (bad["input_tokens"], bad["output_tokens"]) == (None, None)  # not reported, and no zero
    assert list(bad) == list(read_csv(export(project).out)[0])


def test_a_row_for_each_verdict(project: Path):
    rows = read_lines(export(project, "--rows", "verdicts", "-f", "jsonl").out)
    found = [row for row in rows if row["trial_status"] != "error"]
    assert {row["task"] for row in rows if row not in found} == {"broken"}
    assert [(row["task"], row["trial"], row["grader"], row["passed"], row["score"]) for row in found] == [
        ("bad", 1, "first", True, 1.0),
        ("bad", 1, "says", False, 0.5),
        ("bad", 2, "first", True, 1.0),
        ("bad", 2, "says", False, 0.5),
        *(("good", trial, grader, True, 1.0) for trial in (1, 2) for grader in ("first", "says")),
    ]
    assert {row["grader"]: row["weight"] for row in rows} == {"first": 3, "says": 1}
    assert "two" in rows[1]["feedback"]


def test_verdicts_of_checkpoints_name_their_turn(tmp_path: Path):
    task = "inputs: {prompt: p, follow_up_prompts: [q]}\nmock: {output: one}\ncheckpoints: [{after_turn: 1, graders: [{type: text, name: early, config: {contains: [one]}}]}]"
    mock_suite(tmp_path, {"a": task}, "graders: [{type: text, name: last, config: {contains: [one]}}]")
    waza("run", "eval.yaml", cwd=tmp_path)
    rows = read_lines(export(tmp_path, "--rows", "verdicts", "-f", "jsonl").out)
    assert [(row["grader"], row["after_turn"]) for row in rows] == [("early", 1), ("last", None)]


def test_both_arms_of_a_baseline_have_rows(tmp_path: Path):
    write_tree(tmp_path, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody"})
    mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, "skill: s\nbaseline: true")
    waza("run", "eval.yaml", cwd=tmp_path)
    rows = read_csv(export(tmp_path).out)
    assert [(row["arm"], row["task"], row["skill"]) for row in rows] == [
        ("main", rows[0]["task"], "s"),
        ("baseline", rows[0]["task"], "s"),
    ]


def test_trials_that_did_not_run_have_rows(project: Path, tmp_path: Path):
    results = strict_json((project / "results.json").read_bytes())
    results["metadata"]["run_status"] = "cancelled"
    results["tasks"][1].update(runs=results["tasks"][1]["runs"][1:], missing_trials=1, status="skipped")
    results["tasks"][2].update(runs=[], error_msg="its hook failed", status="error")
    write_tree(tmp_path, {"cut.json": json.dumps(results)})
    rows = read_csv(export(tmp_path, "cut.json").out)
    assert [
        (row["task"], row["trial"], row["status"], row["error"]) for row in rows if row["task"] != "bad"
    ] == [
        ("broken", "2", "error", rows[2]["error"]),
        ("broken", "1", "not_run", ""),
        ("good", "1", "not_run", "its hook failed"),
        ("good", "2", "not_run", "its hook failed"),
    ]
    assert {row["run_status"] for row in rows} == {"cancelled"}


def test_several_runs_go_into_one_file(project: Path, tmp_path: Path):
    shutil.copy(project / "results.json", tmp_path / "a.json")
    shutil.copy(project / "results.json", tmp_path / "b.json")
    ended = export(tmp_path, "a.json", "b.json", "-o", "out/rows.csv")
    assert (ended.code, ended.out, ended.err) == (0, "", "out/rows.csv: 12 rows of 2 runs\n")
    assert len(read_csv((tmp_path / "out" / "rows.csv").read_text(encoding="utf-8"))) == 12


def test_a_run_that_was_cut_off_is_named(project: Path, tmp_path: Path):
    shutil.copytree(project, tmp_path / "p")
    (run,) = (tmp_path / "p" / ".waza" / "runs").iterdir()
    other = run.with_name(run.name[:-1] + ("0" if run.name[-1] != "0" else "1"))
    shutil.copytree(run, other)
    lines = (other / "journal.ndjson").read_bytes().splitlines(keepends=True)
    (other / "journal.ndjson").write_bytes(b"".join(lines[:-1]))
    ended = export(tmp_path / "p", ".waza/runs")
    assert (ended.code, len(read_csv(ended.out))) == (0, 6)
    assert f"warning: left out: .waza/runs/{other.name} was cut off" in ended.err
    assert export(tmp_path / "p", other.name).code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ('{"summary": {}, "tasks": [{"status": "passed"}]}', "tasks[0]"),
        ('{"summary": {}, "tasks": [{"test_id": "a", "status": 3}]}', "tasks[0].status"),
        ('{"summary": {}, "tasks": [{"test_id": "a", "test_id": "a"}]}', "test_id"),
        ('{"schemaVersion": "2.0", "summary": {}, "tasks": []}', "schemaVersion"),
        ('{"summary": {}}', "`tasks`"),
        ("[1]", "Expected `object`"),
        ('{"summary": {}, "tasks": [], "x": NaN}', "is not valid JSON"),
    ],
)
def test_a_broken_file_leaves_no_output(tmp_path: Path, content: str, message: str):
    write_tree(tmp_path, {"bad.json": content})
    ended = export(tmp_path, "bad.json", "-o", "rows.csv")
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "rows.csv").exists()


def test_files_of_other_programs_are_read(tmp_path: Path):
    run = {"run_number": 1, "status": "passed", "duration_ms": 5.0, "validations": None}
    results = {
        "schemaVersion": "1.0",
        "summary": {},
        "tasks": [{"test_id": "a", "status": "passed", "runs": [run]}],
    }
    write_tree(tmp_path, {"old.json": json.dumps(results)})
    (row,) = read_lines(export(tmp_path, "old.json", "-f", "jsonl").out)
    assert (row["task"], row["status"], row["duration_ms"]) == ("a", "passed", 5)


def test_the_results_are_not_overwritten(project: Path):
    before = (project / "results.json").read_bytes()
    ended = export(project, "results.json", "-o", "./results.json")
    assert ended.code == 2
    assert "is one of the results files" in ended.err
    assert (project / "results.json").read_bytes() == before


def test_without_runs_it_says_what_to_do(tmp_path: Path):
    ended = export(tmp_path)
    assert ended.code == 2
    assert "start one with `waza run`" in ended.err


def test_parquet_holds_the_data_with_types(project: Path, tmp_path: Path):
    path = tmp_path / "rows.parquet"
    assert export(project, "results.json", "--format", "parquet", "-o", path).code == 0
    table = parquet.read_table(path)
    assert table.to_pylist() == read_lines(export(project, "results.json", "--format", "jsonl").out)
    assert {str(table.schema.field(name).type) for name in ("score", "trial", "golden", "task")} == {
        "double",
        "int64",
        "bool",
        "string",
    }


def test_parquet_without_its_library_says_what_to_install(project: Path, tmp_path: Path):
    write_tree(tmp_path, {"hidden/pyarrow/__init__.py": "raise ImportError('hidden')"})
    ended = waza(
        "export", "--format", "parquet", "-o", "x", cwd=project, env={"PYTHONPATH": str(tmp_path / "hidden")}
    )
    assert ended.code == 2
    assert "pip install 'waza[parquet]'" in ended.err
    assert not (project / "x").exists()


def test_the_library_loads_results(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project)
    newest, file = library.load_results(), library.load_results(project / "results.json")
    assert newest.to_rows() == file.to_rows() == read_lines(export(project, "-f", "jsonl").out)
    assert len(file.to_rows("verdicts")) == 12
    assert [run.eval_name for run in file.runs] == ["=suite"]
    assert repr(file) == f"<Results of 1 run: {file.runs[0].eval_id}>"
    with pytest.raises(library.UsageError, match="neither a file nor"):
        library.load_results("nothing")


def test_a_notebook_shows_a_table_without_markup_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, name="'<img src=x onerror=alert(1)>'")
    waza("run", "eval.yaml", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = library.load_results()._repr_html_()
    assert "<img" not in shown
    assert "&lt;img src=x" in shown
    assert "<td>1 of 1</td>" in shown
