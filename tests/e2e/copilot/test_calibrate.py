"""`waza assure calibrate` on the real runtime: the judge is asked in sessions of its own, and no agent runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.e2e.copilot.suites import run, task, write_suite
from tests.support.model_server import Call, ModelServer, Reply, Step, Turn
from tests.support.program import strict_json, waza
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow

JUDGE = {"type": "prompt", "name": "judge", "config": {"prompt": "JUDGE THIS"}}


def test_a_judge_is_asked_again_and_no_agent_runs(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def decide(turn: Turn) -> Reply:
        """Pass what is fine, and every second time what is not."""
        answer = "fine" if "all is fine" in turn.user else "bad"
        asked[answer] += 1
        passes = answer == "fine" or asked[answer] % 2 == 0
        return Reply(calls=[Call(f"set_waza_grade_{'pass' if passes else 'fail'}", {"reason": "seen"})])

    judging: dict[str, list[Step]] = {"JUDGE THIS": [decide, Reply("I have said it.")]}
    suite = write_suite(tmp_path, {"good": task("GOOD"), "bad": task("BAD")}, graders=[JUDGE])
    run(
        suite, {**judging, "GOOD": [Reply("all is fine")], "BAD": [Reply("all is bad")]}, "-o", "results.json"
    )
    labelled = waza("label", "results.json", "--terminal", "--rater", "ann", cwd=tmp_path, stdin="p\np\n")
    assert labelled.code == 0, labelled.err

    asked.clear()
    with ModelServer(judging) as server:  # without a script for the agent, which would be found out
        ended = waza(
            "assure", "calibrate", "eval.yaml", "--labels", "labels.json", "--yes", "--json",
            cwd=tmp_path, env=copilot_environment(server),
        )  # fmt: skip
    assert ended.code == 0, ended.err
    assert server.unscripted == []
    assert asked == {"fine": 3, "bad": 3}
    [judge] = strict_json(ended.out)["judges"]
    assert {one["task"]: one["verdicts"] for one in judge["answers"]} == {
        "good": ["pass"] * 3,
        "bad": ["fail", "pass", "fail"],
    }
    assert (judge["consistency"]["equal"]["part"], judge["consistency"]["equal"]["total"]) == (1, 2)
    assert (judge["agreement"]["sensitivity"]["part"], judge["agreement"]["sensitivity"]["total"]) == (1, 2)
    assert "people failed no answer" in judge["pass_rate"]["why"]
    assert "both the same model (test-model)" in judge["warnings"][0]
