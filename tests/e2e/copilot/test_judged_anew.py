"""Judges on the real runtime that are asked about an answer from the result cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, bash, calls_then_fine, run, task, write_suite
from tests.support.model_server import Call, Reply, Step

pytestmark = pytest.mark.slow

JUDGE: dict[str, Any] = {"type": "prompt", "name": "judge", "config": {"prompt": "JUDGE THIS"}}

WRITING: list[Step] = [*calls_then_fine(bash("echo by the agent > made.txt"))]


def judging(name: str) -> list[Step]:
    """A judge that looks at the file of the agent first."""
    looks, says = Call("view", {"path": "made.txt"}), Call(f"set_waza_grade_{name}", {"reason": "seen"})
    return [Reply(calls=[looks]), Reply(calls=[says]), Reply("I have said it.")]


def read(seen: Seen) -> str:
    """What the judge found in the file."""
    return seen.asked("JUDGE THIS")[1].tool_results[0]


def test_only_the_judge_is_asked_about_a_cached_answer(tmp_path: Path):
    suite = write_suite(tmp_path, {"t": task("WRITE", graders=[JUDGE])})
    scripts: dict[str, list[Step]] = {"JUDGE THIS": judging("pass"), "WRITE": WRITING}
    first = run(suite, scripts, "--cache")
    assert first.run("t")["status"] == "passed"
    assert "by the agent" in read(first)
    # Without a script for the agent: whatever asked its model would be found out.
    again = run(suite, {"JUDGE THIS": judging("fail")}, "--cache")
    assert "[cached] [judged again]" in again.ended.err
    assert again.run("t")["status"] == "failed"
    assert "by the agent" in read(again)
    agents = {seen.run("t")["session_digest"]["session_id"] for seen in (first, again)}
    assert len(agents) == 1
    judges = [[one["session_id"] for one in seen.run("t")["grader_sessions"]] for seen in (first, again)]
    assert len(judges[1]) == 1
    assert judges[0] != judges[1]
    assert [one["session_id"] for one in again.results["evaluation_usage"]["sessions"]] == judges[1]


def test_a_judge_that_shares_the_process_of_the_agent_alone_is_not_cached(tmp_path: Path):
    suite = write_suite(tmp_path, {"t": task("WRITE", graders=[JUDGE])}, config={"isolation": "trial"})
    scripts: dict[str, list[Step]] = {"JUDGE THIS": judging("pass"), "WRITE": WRITING}
    for _ in range(2):
        seen = run(suite, scripts, "--cache")
        assert "not cached: 1 task, because with isolation: trial" in seen.ended.err
        assert seen.asked("WRITE")
