"""`waza serve` while runs last: what is running, events as trials finish, through a run that is killed and resumed."""

from __future__ import annotations

import pytest
from tests.support.dashboard import serving
from tests.support.event_stream import events
from tests.support.live import Project, until
from tests.support.program import mock_suite, waza

SCRIPT = '[ "$(cat)" != slow ] || until [ -e "$GATE" ]; do sleep 0.01; done'
WAITS = f"{{type: program, name: waits, config: {{command: sh, args: ['-c', '{SCRIPT}'], cache_inputs: []}}}}"
QUICK = "id: a\nname: The quick one\ninputs: {prompt: p}\nmock: {output: hello, usage: {input_tokens: 7, output_tokens: 3}}"
SLOW = "id: c\nname: The slow one\ninputs: {prompt: p}\nmock: {output: slow}"
FAILS = """
inputs: {prompt: p}
mock: {output: nothing}
graders: [{type: text, name: greets, config: {contains: [hello]}}]
"""


@pytest.fixture
def project(tmp_path):
    """A project with a suite of three tasks; the grader of the last one waits for a file."""
    found = Project(tmp_path)
    mock_suite(found.home, {"a": QUICK, "b": FAILS, "c": SLOW}, f"graders: [{WAITS}]", name="lively")
    return found


def kinds(found):
    return [
        (one["sequence"], one["type"])
        for one in found
        if one["type"] not in ("step_executed", "task_started")
    ]


def runs_now(task):
    def wanted(event):
        running = event["data"].get("live", {}).get("running", [])
        return [(one["task"], one["doing"]) for one in running] == [(task, "grading")]

    return wanted


def says(word):
    return lambda event: word in event["data"].get("message", "")


def test_a_run_is_followed_through_its_death_to_its_end(project):
    gate = project.home / "gate"
    env = {"GATE": str(gate)}
    with serving(project.home) as served:
        with project.started("run", "eval.yaml", env=env) as live:
            live.until(lambda: project.runs and served.data("live"))
            run_id = project.runs[-1].name
            with events(served, f"/api/v1/runs/{run_id}/events") as stream:
                assert stream.status == 200
                assert stream.answer.getheader("Content-Type", "").startswith("text/event-stream")
                seen = stream.until(runs_now("c"))
                assert kinds(seen) == [(1, "run_started"), (2, "task_completed"), (3, "task_completed")]
                first, second = (one["data"] for one in seen if one["type"] == "task_completed")
                assert (first["taskId"], first["outcome"], first["tokens"]) == ("a", "passed", 10)
                assert (second["taskId"], second["graderName"], second["passed"]) == ("b", "greets", False)
                assert second["message"].startswith("greets (text)")
                now = seen[-1]["data"]["live"]
                assert (now["totalTrials"], now["completedTrials"], now["totalTasks"]) == (3, 2, 3)
                assert (now["passed"], now["failed"], now["tokens"]) == (1, 1, 10)
                assert now["leftMs"] is not None
                assert now["running"][0]["name"] == "The slow one"

                (run,) = served.data("runs")
                assert (run["outcome"], run["spec"], run["successRate"]) == ("in progress", "lively", None)
                (now,) = served.data("live")
                assert [one["task"] for one in now["running"]] == ["c"]
                tasks = served.data("runs", run_id, "tasks")
                statuses = {one["name"]: one["status"] for one in tasks}
                assert statuses == {"The quick one": "passed", "b": "failed", "The slow one": "not started"}
                assert served.data("runs", run_id, "tasks", "a", "trials", "1")["inProgress"]
                head = served.data("runs", run_id, "head")
                shown = head["inProgress"], head["verdict"]["word"], head["rates"], head["run"]["taskCount"]
                assert shown == (True, "in progress", [], 3)
                assert head["counts"]["notStarted"] == 1

                live.kill()
                stream.until(says("cut off"))
                (run,) = served.data("runs")
                assert (run["outcome"], run["spec"]) == ("cut off", "lively")
                assert served.data("live") == []
                assert "--resume" in served.data("runs", run_id, "head")["state"]

                gate.touch()
                assert project.run("run", "eval.yaml", "--resume", env=env).code == 1
                rest = stream.until(lambda event: event["type"] in ("run_completed", "run_failed"))
                assert kinds(rest) == [(4, "run_started"), (5, "task_completed"), (6, "run_completed")]
                assert rest[-1]["data"]["outcome"] == "failed"
                assert list(stream) == []
        assert not (project.runs[-1] / "live.json").exists()

    # Another server makes the same numbers of the same files.
    with serving(project.home) as served:
        with events(served, f"/api/v1/runs/{run_id}/events", {"Last-Event-ID": "3"}) as stream:
            again = list(stream)
        assert kinds(again) == kinds(rest)
        assert [one["data"].get("taskId") for one in again] == [None, "c", None]
        assert again[1]["data"]["taskName"] == "The slow one"
        with events(served, f"/api/v1/runs/{run_id}/events?lastEventId=6") as stream:
            assert stream.status == 204
        with events(served, "/api/events?lastEventId=99") as stream:  # a number of another run
            assert kinds(list(stream))[0] == (1, "run_started")


def test_two_runs_at_once_are_both_there(project):
    gate = project.home / "gate"
    env = {"GATE": str(gate)}
    with (
        serving(project.home) as served,
        project.started("run", "eval.yaml", env=env),
        project.started("run", "eval.yaml", "--model", "other", env=env),
    ):
        until(lambda: len(served.data("live")) == 2)
        assert {one["run"]["model"] for one in served.data("live")} == {"test-model", "other"}
        gate.touch()
        until(lambda: served.data("live") == [])
        until(lambda: [one["outcome"] for one in served.data("runs")] == ["failed", "failed"])


def test_a_number_that_is_none_is_refused_and_no_run_is_no_content(tmp_path):
    with serving(tmp_path) as served:
        assert served.request("/api/events").status == 204
        assert served.request("/api/events?lastEventId=x").status == 400
        assert served.request("/api/events", headers={"Last-Event-ID": "-1"}).status == 400
        assert served.request("/api/events", headers={"Last-Event-ID": "9" * 5000}).status == 400
        assert served.request("/api/v1/runs/none/events").status == 404


def test_a_server_that_ends_ends_its_streams(project):
    with (
        serving(project.home) as served,
        project.started("run", "eval.yaml", env={"GATE": str(project.home)}),
    ):
        pass  # the directory is there, so nothing waits
    waza("run", "eval.yaml", cwd=project.home, env={"GATE": str(project.home)})
    journal = project.runs[-1] / "journal.ndjson"
    (project.runs[-1] / "results.json").unlink()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))  # as if it had been killed
    with serving(project.home) as served, events(served, "/api/events") as stream:
        stream.until(says("cut off"))
        code, _ = served.stop()
        assert code == 0


def test_results_without_a_journal_have_events_too(project, tmp_path):
    waza(
        "run",
        "eval.yaml",
        "-o",
        tmp_path / "alone/results.json",
        cwd=project.home,
        env={"GATE": str(project.home)},
    )
    with serving(tmp_path / "alone") as served, events(served, "/api/events") as stream:
        found = list(stream)
    assert kinds(found) == [
        (1, "run_started"),
        *((number, "task_completed") for number in (2, 3, 4)),
        (5, "run_completed"),
    ]
    assert found[-1]["data"]["outcome"] == "failed"
