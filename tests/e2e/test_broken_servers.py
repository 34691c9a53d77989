"""An executor that breaks: nobody is asked for a verdict, and one cause in a row stops the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, waza, write_tree

JUDGED = {"type": "prompt", "name": "judge", "config": {"prompt": "Was it polite?"}}
SAID = {"type": "text", "name": "said", "config": {"contains": ["ok"]}}
GOOD = {"output": "ok", "judge": {"judge": [{"pass": "polite"}]}}
DEAD: dict[str, Any] = {**GOOD, "output": "half", "error": "the model server is away"}


def run(tmp_path: Path, mocks: list[dict[str, Any]], *flags: str, **config: Any) -> Ended:
    suite = {
        "name": "s", "config": {"executor": "mock", "model": "any", **config}, "tasks": ["t*.yaml"],
        "graders": [SAID, JUDGED],
    }  # fmt: skip
    tasks = {
        f"t{i:02d}.yaml": json.dumps({"id": f"t{i:02d}", "inputs": {"prompt": "p"}, "mock": mock})
        for i, mock in enumerate(mocks, 1)
    }
    write_tree(tmp_path, {"eval.yaml": json.dumps(suite), **tasks})
    return waza("run", "eval.yaml", *flags, cwd=tmp_path)


def ran(ended: Ended) -> list[str]:
    return [one["test_id"] for one in ended.results()["tasks"] if one["runs"]]


def test_no_judge_is_asked_about_a_conversation_that_broke(tmp_path: Path):
    ended = run(tmp_path, [DEAD])
    (trial,) = ended.results()["tasks"][0]["runs"]
    verdict = trial["validations"]["judge"]
    assert (trial["status"], verdict["passed"], verdict["score"]) == ("error", False, 0)
    assert verdict["feedback"] == (
        "the judge was not asked, since the executor broke off the conversation: the model server is away"
    )
    assert trial["error_msg"] == "the model server is away"
    assert trial["validations"]["said"]["passed"] is False, "graders without a judge are asked"


def test_five_errors_of_one_cause_in_a_row_stop_the_run(tmp_path: Path):
    ended = run(tmp_path, [GOOD, *[DEAD] * 8])
    assert ended.code == 1
    assert ran(ended) == ["t01", "t02", "t03", "t04", "t05", "t06"]
    assert "5 trials in a row broke for one cause: the model server is away" in ended.err + ended.out
    assert ended.results()["metadata"]["run_status"] == "stopped"


def test_a_stopped_run_goes_on_with_resume(tmp_path: Path):
    run(tmp_path, [*[DEAD] * 5, GOOD, GOOD])
    ended = run(tmp_path, [*[DEAD] * 5, GOOD, GOOD], "--resume")
    assert ran(ended) == [f"t{i:02d}" for i in range(1, 8)]
    assert ended.results()["metadata"]["run_status"] == "complete"


@pytest.mark.parametrize(
    ("mocks", "config"),
    [
        ([DEAD] * 6, {"stop_after_errors": 0}),
        ([DEAD] * 6, {"stop_after_errors": 7}),
        ([DEAD, DEAD, DEAD, DEAD, GOOD, DEAD, DEAD, DEAD, DEAD], {}),
        ([{**DEAD, "error": f"cause {word}"} for word in "abcdef"], {}),
    ],
    ids=["never", "more", "not-in-a-row", "other-causes"],
)
def test_other_errors_do_not_stop_it(tmp_path: Path, mocks: list[dict[str, Any]], config: dict[str, Any]):
    ended = run(tmp_path, mocks, **config)
    assert len(ran(ended)) == len(mocks)
    assert ended.results()["metadata"]["run_status"] == "complete"


def test_the_number_may_change_between_a_run_and_its_resume(tmp_path: Path):
    run(tmp_path, [*[DEAD] * 3, GOOD], stop_after_errors=2)
    ended = run(tmp_path, [*[DEAD] * 3, GOOD], "--resume", stop_after_errors=0)
    assert ended.results()["metadata"]["run_status"] == "complete"
