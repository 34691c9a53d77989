"""`waza serve` on results of every form: with a baseline, of other programs, of many tasks, and still being written."""

from __future__ import annotations

import json

import pytest
from tests.support.dashboard import serving
from tests.support.program import mock_suite, waza

TASKS = 10_000


def foreign(number, status="passed"):
    """A task as a program without our keys writes it: lists are null, whole numbers are floats."""
    return {
        "test_id": f"t{number:05}",
        "display_name": f"Task {number:05}",
        "status": status,
        "runs": [
            {
                "run_number": 1.0,
                "attempts": 1,
                "status": status,
                "duration_ms": 5.0,
                "validations": {
                    "says": {
                        "identifier": "says",
                        "type": "text",
                        "score": 0.0,
                        "weight": 1.0,
                        "passed": False,
                    }
                    if status == "failed"
                    else {"identifier": "says", "type": "text", "score": 1.0, "weight": 1.0, "passed": True}
                },
                "session_digest": {"tool_call_count": 0, "tools_used": None, "errors": None},
                "transcript": None,
                "final_output": "x" * 2000,
            }
        ],
        "stats": None,
        "unknown": {"deep": [1]},
    }


def results(tasks, **more):
    bad = sum(one["status"] == "failed" for one in tasks)
    return {
        "eval_id": "e",
        "novelty": 1,
        "eval_name": "foreign",
        "timestamp": "2026-01-01T00:00:00Z",
        "config": {"runs_per_test": 1, "model_id": "m", "engine_type": "x", "timeout_sec": 1},
        "summary": {
            "total_tests": len(tasks),
            "succeeded": len(tasks) - bad,
            "failed": bad,
            "success_rate": 0.5,
        },
        "metrics": {},
        "tasks": tasks,
        **more,
    }


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline")
    texts = {
        name: f"inputs: {{prompt: p}}\nmock: {{executions: [{{output: {first}}}, {{output: yes}}]}}"
        for name, first in (("a", "yes"), ("b", "no"))
    }
    grader = "graders: [{type: text, name: says, config: {contains: [yes]}}]\nbaseline: true\nskill: s"
    skill = folder / "s/SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: s\ndescription: d\n---\nbody\n")
    done = waza("run", mock_suite(folder, texts, grader), "-o", "out/results.json", cwd=folder)
    assert (folder / "out/results.json").is_file(), done.err
    return folder


def test_both_arms_of_a_baseline_are_there(baseline):
    with serving(baseline / "out") as served:
        (run,) = served.data("runs")
        assert run["hasBaseline"]
        head = served.data("runs", "results.json", "head")
        assert head["arms"] == ["main", "baseline"]
        assert head["impact"]
        for task in served.data("runs", "results.json", "tasks"):
            assert [one["arm"] for one in task["trials"]] == ["main", "baseline"]
            trial = served.data("runs", "results.json", "tasks", task["id"], "trials", "1", arm="baseline")
            assert (trial["arm"], trial["task"]) == ("baseline", task["id"])
            assert {one["arm"] for one in trial["trials"]} == {"main", "baseline"}


def test_results_of_other_programs_are_shown(tmp_path):
    tasks = [foreign(1), foreign(2, "failed")]
    (tmp_path / "old.json").write_text(json.dumps(results(tasks, schemaVersion="1.0")))
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(results(tasks), indent=1).encode())
    (tmp_path / "next.json").write_text(
        json.dumps(results(tasks, schemaVersion="1.9", baseline_outcome=None))
    )
    (tmp_path / "future.json").write_text(json.dumps(results(tasks, schemaVersion="2.0")))
    with serving(tmp_path) as served:
        outcomes = {one["id"]: one["outcome"] for one in served.data("runs")}
        assert outcomes == {
            "old.json": "failed",
            "bom.json": "failed",
            "next.json": "failed",
            "future.json": "unreadable",
        }
        for name in ("old.json", "bom.json", "next.json"):
            first, second = served.data("runs", name, "tasks")
            assert (first["id"], first["trials"][0]["score"], second["id"]) == ("t00002", 0, "t00001")
            trial = served.data("runs", name, "tasks", "t00002", "trials", "1")
            assert (trial["judgedText"], trial["turns"][0]["steps"][0]["kind"]) == ("x" * 2000, "message")
            assert "ignored" in served.data("runs", name, "head")["warnings"][0]


def test_tasks_are_found_where_the_baseline_comes_first_and_begins_alike(tmp_path):
    same = foreign(1)
    other = results([same, foreign(2)])
    whole = {"baseline_outcome": other, **results([same, foreign(3)])}
    (tmp_path / "results.json").write_text(json.dumps(whole))
    with serving(tmp_path) as served:
        found = served.data("runs", "results.json", "tasks", sort="order")
        assert [one["id"] for one in found] == ["t00001", "t00003"]
        assert served.data("runs", "results.json", "tasks", "t00003", "trials", "1")["task"] == "t00003"
        page = served.data("runs", "results.json", "tasks", "t00002", "trials", "1", arm="baseline")
        assert page["task"] == "t00002"


def test_files_that_changed_come_from_the_snapshot(tmp_path):
    task = """
    inputs: {prompt: p, files: [{path: same.txt, content: "1"}, {path: old.txt, content: "1"}]}
    mock:
      output: hello
      files: [{path: old.txt, content: "2"}, {path: new.txt, content: "3"}]
      tool_calls: [{name: create, args: {path: elsewhere.md, file_text: "4"}}]
    graders: [{type: text, name: says, config: {contains: [hello]}}]
    """
    suite = mock_suite(tmp_path, {"a": task})
    ended = waza("run", suite, "--snapshot", "ev", "--evidence-file", "*.txt", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with serving(tmp_path) as served:
        (run,) = served.data("runs")
        trial = served.data("runs", run["id"], "tasks", "a", "trials", "1")
        assert {one["path"]: (one["change"], one["source"], one["diff"]) for one in trial["fileChanges"]} == {
            "old.txt": ("changed", "snapshot", "2"),
            "new.txt": ("written", "snapshot", "3"),
            "elsewhere.md": ("written", "tool calls", "4"),
        }


@pytest.mark.slow
def test_a_slice_of_many_tasks_is_small(tmp_path):
    tasks = [foreign(number, "failed" if number == TASKS - 1 else "passed") for number in range(TASKS)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results(tasks)))
    assert path.stat().st_size > 20_000_000
    with serving(tmp_path) as served:
        reply = served.get("runs", "results.json", "tasks")
        assert (reply.total, len(reply.json)) == (TASKS, 100)
        assert len(reply.body) < 100_000
        assert reply.json[0]["id"] == f"t{TASKS - 1:05}"
        last = served.data("runs", "results.json", "tasks", limit=500, offset=TASKS - 1)
        assert [one["id"] for one in last] == [f"t{TASKS - 2:05}"]
        found = served.get("runs", "results.json", "tasks", q="task 04242")
        assert (found.total, found.json[0]["id"]) == (1, "t04242")
        page = served.data("runs", "results.json", "tasks", "t04242", "trials", "1")
        assert page["judgedText"] == "x" * 2000
        whole = served.get("runs", "results.json", limit=1)
        assert (whole.total, len(whole.json["tasks"])) == (TASKS, 1)
