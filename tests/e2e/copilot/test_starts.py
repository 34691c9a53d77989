"""When things began in a trial on the real runtime: in results, and in the timeline of the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import bash, calls_then_fine, run, task, write_suite
from tests.support.dashboard import serving
from tests.support.model_server import Call, Reply, Step

pytestmark = pytest.mark.slow

JUDGE: dict[str, Any] = {"type": "prompt", "name": "judge", "config": {"prompt": "JUDGE THIS"}}
SCRIPTS: dict[str, list[Step]] = {
    "JUDGE THIS": [Reply(calls=[Call("set_waza_grade_pass", {"reason": "seen"})]), Reply("I have said it.")],
    "ONE": [*calls_then_fine(bash("echo one"), bash("echo two"))],
    "TWO": [*calls_then_fine(bash("echo three"))],
}


def test_starts_are_in_order_and_a_cached_trial_keeps_them(tmp_path: Path):
    suite = write_suite(tmp_path, {"t": task("ONE", follow_up_prompts=["TWO"], graders=[JUDGE])})
    first = run(suite, SCRIPTS, "--cache")
    trial = first.run("t")
    assert trial["status"] == "passed"
    turns = [event for event in trial["transcript"] if event["type"] == "user.message"]
    calls, verdict, (judge,) = trial["tool_events"], trial["validations"]["judge"], trial["grader_sessions"]
    assert len(calls) == 3
    # Calls of one message may begin at the same time; those of a turn never before its prompt.
    order = [turns[0], *calls[:2], turns[1], calls[2], verdict, judge]
    starts = [one["started_ms"] for one in order]
    assert starts[0] == 0
    assert starts == sorted(starts)
    for turn, then in ((turns[0], turns[1]), (turns[1], verdict)):
        assert turn["started_ms"] + turn["duration_ms"] <= then["started_ms"] + 2  # all are rounded
    for turn, within in ((turns[0], calls[:2]), (turns[1], calls[2:])):
        ends = [one["started_ms"] + one["duration_ms"] for one in (turn, *within)]
        assert max(ends) <= ends[0] + 2
    assert 0 < judge["duration_ms"] <= verdict["duration_ms"] + 1

    again = run(suite, {"JUDGE THIS": SCRIPTS["JUDGE THIS"]}, "--cache").run("t")
    assert again["tool_events"] == calls
    assert again["transcript"] == trial["transcript"]
    assert (
        "started_ms" not in again["validations"]["judge"]
    )  # it was asked again, about an earlier conversation
    assert "started_ms" not in again["grader_sessions"][0]
    assert again["grader_sessions"][0]["duration_ms"] > 0

    with serving(tmp_path) as served:
        ids = [one["id"] for one in served.get("runs").json]
        lines = [served.get("runs", run_id, "tasks", "t", "trials", "1").json["timeline"] for run_id in ids]
    kinds = ["turn", "tool", "tool", "turn", "tool", "judge"]
    assert [[one["kind"] for one in line] for line in lines] == [kinds, kinds]
    found = [[one["startMs"] for one in line] for line in lines]
    assert sorted(found, key=lambda line: line[-1] is None) == [starts[:-1], [*starts[:-2], None]]
    assert all(one["durationMs"] for line in lines for one in line if one["kind"] in ("turn", "judge"))
