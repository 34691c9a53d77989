"""`waza serve`: comparisons, trends, experiments, documents and stored runs, as the commands of the same name have them."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tests.support.dashboard import serving
from tests.support.documents import document
from tests.support.program import mock_suite, waza, write_tree

from waza.stores.stored_runs import open_stored_runs
from waza.suite.project import find_project

GRADER = "graders: [{type: text, name: says, config: {contains: [one, two]}}]"


def suite(folder: Path, *outputs: str, name: str = "suite") -> Path:
    tasks = {f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: {text}}}" for i, text in enumerate(outputs)}
    return mock_suite(folder, tasks, GRADER, config=["trials_per_task: 2"], name=name)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with two runs of one suite, of which the second is better, and a document with results."""
    folder = tmp_path_factory.mktemp("project")
    for outputs in (("one", "none", "one two"), ("one two", "one", "one two")):
        waza("run", suite(folder, *outputs), cwd=folder)
    items = [{"prompt": "p", "expected_response": "q"}, {"prompt": "echo", "expected_response": "echo"}]
    write_tree(folder, {"doc/evals.json": document(*items), "doc/notes.json": '{"items": [1]}'})
    waza("m365", "run", "evals.json", "--agent", "mock", "-o", "result.json", cwd=folder / "doc")
    return folder


@pytest.fixture(scope="module")
def served(project):
    with serving(project) as found:
        yield found


@pytest.fixture(scope="module")
def runs(served):
    """The ids of the two runs, the older one first."""
    found = [run["id"] for run in served.data("runs", order="asc") if run["spec"] == "suite"]
    assert len(found) == 2
    return found


def test_a_comparison_is_that_of_the_command(project, served, runs):
    a, b = runs
    page = served.data("compare", a=a, b=b)
    ended = waza("compare", a, b, "--format", "json", cwd=project)
    wanted = json.loads(ended.out)
    found = page["comparison"]
    assert found["comparison"] == wanted["comparison"]
    assert {one["task_id"]: one for one in found["task_deltas"]} == {
        one["task_id"]: one for one in wanted["task_deltas"]
    }
    assert found.keys() == wanted.keys()
    assert [one["task_id"] for one in found["task_deltas"]] == ["t0", "t1", "t2"]  # t2 has not changed
    assert (page["a"]["id"], page["b"]["id"]) == (a, b)
    assert [one["number"] for one in page["trials"]["t0"]] == [1, 2]


def test_a_slice_of_a_comparison_says_how_many_tasks_there_are(served, runs):
    reply = served.get("compare", a=runs[0], b=runs[1], limit=1, offset=2)
    assert reply.total == 3
    assert [one["task_id"] for one in reply.json["comparison"]["task_deltas"]] == ["t2"]
    assert served.get("compare", a=runs[0]).status == 400
    assert served.get("compare", a=runs[0], b="none").status == 404


def test_a_trial_of_two_runs_is_side_by_side(served, runs):
    page = served.data("compare", "trial", a=runs[0], b=runs[1], task="t0", trial=2)
    assert (page["a"]["judgedText"], page["b"]["judgedText"]) == ("one", "one two")
    assert served.get("compare", "trial", a=runs[0], b=runs[1], task="none").status == 404


def test_what_broke_and_what_is_not_known_is_said_where_the_figures_are(tmp_path):
    broken = "inputs: {prompt: p}\nmock: {output: one, error: it fell over}"
    folder = mock_suite(tmp_path, {"a": "inputs: {prompt: p}\nmock: {output: one two}", "b": broken}, GRADER)
    included, left_out = "broken trials included, as 0 without a verdict", "broken trials left out"
    ended = waza("run", folder, "--interpret", cwd=tmp_path)
    shown = " ".join(ended.out.split())
    assert f"Aggregate score: 0.75 ({included})" in shown
    assert f"Mean score of what ran: 75.0% ({included})" in shown
    assert "Input tokens: not known" in shown  # the script states none
    waza("run", folder, "--reporter", "markdown:m.md", cwd=tmp_path)
    assert f"| Aggregate score | 0.75 ({included}) |" in (tmp_path / "m.md").read_text(encoding="utf-8")
    ids = sorted(path.parent.name for path in tmp_path.glob(".waza/runs/*/results.json"))
    compared = " ".join(waza("compare", *ids, cwd=tmp_path).out.split())
    assert f"Over all tasks and trials, {included}; in the comparison: {left_out}" in compared
    assert left_out in waza("history", cwd=tmp_path).out
    with serving(tmp_path) as served:
        newest, oldest = served.data("runs")
        assert (newest["score"], newest["tokens"]) == (0.75, None)
        head = served.data("runs", newest["id"], "head")
        assert (head["scoreNote"], head["before"]) == (included, oldest["id"])
        assert served.data("runs", oldest["id"], "head")["before"] == ""
        page = served.data("compare", a=oldest["id"], b=newest["id"])
        assert page["aggregateNote"].endswith(f"in the comparison: {left_out}")
        assert "tokens" not in {
            one["metric"] for one in page["comparison"]["comparison"]["metrics"].values() if one["n"]
        }
        trial = served.data("runs", newest["id"], "tasks", "a", "trials", "1")
        assert (trial["digest"]["tokensTotal"], trial["digest"]["tokensIn"]) == (None, None)


def test_trends_are_those_of_the_command(project, served):
    wanted = json.loads(waza("history", "--json", cwd=project).out)
    note = {"scoreNote": "broken trials left out"}
    assert served.data("history", suite="suite") == {**wanted, **note}
    assert served.data("history", suite="suite", model="none") == {"series": [], **note}


def test_trends_have_results_files_of_other_places(project, tmp_path):
    for number, path in enumerate(sorted(project.glob(".waza/runs/*/results.json"))):
        shutil.copyfile(path, tmp_path / f"{number}.json")
    with serving(tmp_path) as served:
        series = [one for one in served.data("history")["series"] if one["suite"] == "suite"]
    (one,) = series
    assert len(one["runs"]) == 2


def test_a_run_as_a_whole_has_every_trial(served, runs):
    reply = served.get("runs", runs[0])
    run = reply.json
    assert run["id"] == runs[0]
    assert [task["id"] for task in run["tasks"]] == ["t0", "t1", "t2"]
    first = run["tasks"][0]
    assert first["graderResults"] == first["runs"][0]["graderResults"]
    assert first["graderResults"][0]["name"] == "says"
    assert [one["content"] for one in first["transcript"] if one["type"] == "assistant.message"] == ["one"]
    assert first["bootstrapCI"]["confidenceLevel"] == 0.95
    assert [one["number"] for one in first["runs"]] == [1, 2]
    assert first["sessionDigest"]["toolCallCount"] == 0
    reply = served.get("runs", runs[0], limit=1, offset=1)
    assert ([task["id"] for task in reply.json["tasks"]], reply.total) == (["t1"], 3)


def test_a_document_has_its_items_with_what_evaluators_said(served):
    (summary,) = served.data("documents")
    assert (summary["id"], summary["items"], summary["error"]) == ("doc/result.json", 2, "")
    reply = served.get("documents", summary["id"])
    page = reply.json
    assert reply.total == 2
    statuses = [item["status"] for item in page["items"]]
    assert statuses == sorted(statuses, key=["error", "fail", "partial", "pass"].index)
    assert sum(summary["counts"].values()) == 2
    (score,) = page["items"][0]["turns"][0]["scores"]
    assert score["evaluator"]
    assert score["details"]["result"] == score["result"]
    assert served.get("documents", summary["id"], status="none").json["items"] == []
    assert served.get("documents", "doc/evals.json").status == 404


def test_an_experiment_is_shown_with_its_decision(tmp_path):
    for name, outputs in (("old", ["one"] * 6), ("new", ["one two"] * 6)):
        suite(tmp_path / name, *outputs)
    ended = waza(
        *("experiment", "plan", "--baseline-eval", "old/eval.yaml", "--candidate-eval", "new/eval.yaml"),
        *("--allow-change", "mocks", "-o", "plan.json", "--seed", "7", "--rule", "sequential"),
        *("--alpha", "0.4", "--tolerated-loss", "0.9"),
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.err
    assert waza("experiment", "collect", "plan.json", "-o", "ex", cwd=tmp_path).code == 0
    decided = json.loads(waza("experiment", "decide", "ex", "--json", cwd=tmp_path).out)
    (tmp_path / "broken.json").write_text('{"kind": "waza.experiment.plan"}')
    with serving(tmp_path) as served:
        found = {one["path"]: one for one in served.data("experiments")}
        short = {one["path"]: one for one in served.data("release-collections")}
        run = next((tmp_path / "ex").glob(".waza/runs/*/results.json"))
        run.write_bytes(run.read_bytes() + b" ")
        (changed,) = (one for one in served.data("experiments") if one["path"] == "ex")
    assert found["ex"]["outcome"] == decided["outcome"] == "pass"
    assert found["ex"]["reason"] == decided["reason"]
    assert found["ex"]["comparison"] == decided["comparison"]["sentence"]
    assert (found["ex"]["runsWanted"], found["ex"]["error"]) == (0, "")
    assert "is not as it was collected" in changed["error"]
    assert changed["outcome"] is None
    assert found["broken.json"]["error"]
    assert short["ex"] == {"path": "ex", "decision": "pass", "error": ""}


def test_without_a_store_there_is_nothing_stored(served):
    assert served.data("storage", "status") == {"configured": False, "provider": "", "account": ""}
    assert served.data("stored")["runs"] == []


def test_runs_of_the_store_are_listed(project, tmp_path):
    results = sorted(
        path for path in project.glob(".waza/runs/*/results.json") if b'"suite"' in path.read_bytes()
    )
    write_tree(tmp_path, {".waza.yaml": "storage: {provider: file, path: kept}\n"})
    (tmp_path / "kept").mkdir()
    shutil.copytree(results[0].parent, tmp_path / ".waza/runs" / results[0].parent.name)

    async def upload() -> None:
        async with open_stored_runs(find_project(tmp_path)) as stored:
            for path in results:
                await stored.upload(path)

    asyncio.run(upload())
    with serving(tmp_path) as served:
        page = served.data("stored")
        assert page["status"] == {"configured": True, "provider": "file", "account": "kept"}
        assert (len(page["runs"]), page["error"]) == (len(results), "")
        one = next(one for one in page["runs"] if one["id"] == results[0].parent.name)
        assert (one["local"], one["run"], one["verdict"]) == (True, one["id"], "failed")
    with serving(tmp_path, "kept") as served:  # files, which are called after their paths here
        for one in served.data("stored")["runs"]:
            assert served.data("runs", one["run"], "head")["run"]["id"] == one["run"]


def test_a_store_that_is_not_there_is_an_error_and_no_list(tmp_path):
    write_tree(tmp_path, {".waza.yaml": "storage: {provider: file, path: gone}\n"})
    with serving(tmp_path) as served:
        page = served.data("stored")
        assert page["runs"] == []
        assert "gone" in page["error"]
