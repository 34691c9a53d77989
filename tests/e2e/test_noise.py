"""`waza noise`: false alarms between identical arms, and the data that a difference needs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [hi]}}]"

SKILL = "---\nname: s\ndescription: Does it.\n---\nDo it.\n"


def suite(root: Path, tasks: int = 8, trials: str = "ppf", more: str = "") -> Path:
    script = ", ".join("{output: hi}" if one == "p" else "{output: no}" for one in trials)
    task = f"{more}inputs: {{prompt: p}}\nmock: {{executions: [{script}]}}"
    return mock_suite(root, {f"t{i}": task for i in range(tasks)}, SAYS, [f"trials_per_task: {len(trials)}"])


def noise(root: Path, *args: str) -> Ended:
    return waza("noise", *args, cwd=root)


def test_a_suite_is_run_twice(tmp_path: Path):
    suite(tmp_path)
    ended = noise(tmp_path, "eval.yaml", "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = strict_json(ended.out)
    assert (found["tasks"], found["trials"], found["pooled_trials"]) == (8, 3, 48)
    assert len(found["runs"]) == len(list((tmp_path / ".waza" / "runs").iterdir())) == 2
    assert found["with_replacement"] is False
    # A task has two failed trials of six, and passes in an arm that gets none of them: with 1/5 in either arm.
    falls = found["gates"][0]
    assert (falls["gate"], falls["max_regression_pct"]) == ("pass rate falls by more than 0 points", 0)
    up = 0.2
    chances = [[math.comb(8, a) * math.comb(8 - a, b) * up ** (a + b) * (1 - 2 * up) ** (8 - a - b) for b in range(9 - a)] for a in range(9)]  # fmt: skip
    exact = sum(p for a, row in enumerate(chances) for b, p in enumerate(row) if b < a)
    assert falls["lower"] - 0.01 <= exact <= falls["upper"] + 0.01
    assert [one["false_alarm_probability"] for one in found["gates"]] == sorted(
        (one["false_alarm_probability"] for one in found["gates"]), reverse=True
    )
    # Scores of 0 and 1 with a rate of 2/3, pooled over 8 tasks of 6 trials.
    assert found["trial_std_dev"] == pytest.approx(math.sqrt(8 * 6 * (2 / 9) / (8 * 5)))
    needed = {one["trials"]: one["tasks"] for one in found["needed"]}
    assert list(needed) == [1, 3, 5, 10]
    # (1.96 + 0.84)^2 * 2 * variance/trials / difference^2, and a little more for so few degrees of freedom
    for trials, tasks in needed.items():
        normal = 2.8016**2 * 2 * found["trial_std_dev"] ** 2 / trials / 0.05**2
        assert normal <= tasks <= normal * 1.02 + 4
    # the same, of trials for 8 tasks; few degrees of freedom make it dearer
    normal = 2.8016**2 * 2 * found["trial_std_dev"] ** 2 / 8 / 0.05**2
    assert normal <= found["trials_needed"] <= normal * 1.5


def test_stored_runs_in_every_way_of_naming_them(tmp_path: Path):
    suite(tmp_path)
    for name in ("a.json", "b.json"):
        waza("run", "eval.yaml", "-o", name, cwd=tmp_path)
    newest = strict_json(noise(tmp_path, "--json").out)
    assert newest["with_replacement"] is True
    assert any("drawn several times" in note for note in newest["notes"])
    both = strict_json(noise(tmp_path, "a.json", "b.json", "--json").out)
    stored = strict_json(noise(tmp_path, ".waza/runs", "--json").out)
    for found in (both, stored):
        assert (found["pooled_trials"], found["with_replacement"]) == (48, False)
        assert found["gates"] == both["gates"]
    wider = strict_json(
        noise(tmp_path, "a.json", "b.json", "--trials", "1", "--difference", "0.2", "--json").out
    )
    assert (wider["trials"], wider["difference"]) == (1, 0.2)
    assert wider["needed"][0]["tasks"] < both["needed"][0]["tasks"]


def test_a_model_chooses_among_stored_runs(tmp_path: Path):
    suite(tmp_path)
    assert waza("run", "eval.yaml", "--model", "m1", "--model", "m2", cwd=tmp_path).code == 1
    both = noise(tmp_path, ".waza/runs")
    assert both.code == 2
    assert "choose by --model" in both.err
    found = strict_json(noise(tmp_path, ".waza/runs", "--model", "m2", "--json").out)
    assert (found["model"], found["pooled_trials"]) == ("m2", 24)


def test_for_people(tmp_path: Path):
    suite(tmp_path, more="golden: true\n")
    waza("run", "eval.yaml", "-o", "a.json", cwd=tmp_path)
    ended = noise(tmp_path, "a.json", "a.json")
    assert ended.code == 0, ended.err
    for part in (
        "TWO IDENTICAL ARMS", "8 tasks x 3 trials, of 24 trials", "pass rate falls by more than 0 points",
        "a golden task does not pass", "TO SHOW A DIFFERENCE OF 5.0 POINTS", "Tasks needed", "With these 8 tasks: ",
        "more are needed",
    ):  # fmt: skip
        assert part in ended.out, part
    assert max(map(len, ended.out.splitlines())) <= 80


def test_a_suite_has_its_own_name_whatever_skill_it_tests(tmp_path: Path):
    for name in ("first", "second"):
        mock_suite(tmp_path, {"t": "inputs: {prompt: p}\nmock: {output: hi}"}, SAYS, name=name)
        text = (tmp_path / "eval.yaml").read_text()
        write_tree(tmp_path, {"eval.yaml": f"skill: s\n{text}", "skills/s/SKILL.md": SKILL})
        waza("run", "eval.yaml", "-o", f"{name}.json", cwd=tmp_path)
    assert strict_json(noise(tmp_path, "first.json", "--json").out)["suite"] == "first"
    ended = noise(tmp_path, "first.json", "second.json")
    assert ended.code == 2
    assert "first on test-model, skill s; second on test-model, skill s" in ended.err


def test_runs_without_noise(tmp_path: Path):
    suite(tmp_path, trials="ppp")
    waza("run", "eval.yaml", "-o", "a.json", cwd=tmp_path)
    found = strict_json(noise(tmp_path, "a.json", "--json").out)
    assert {one["false_alarm_probability"] for one in found["gates"]} == {0}
    assert (found["needed"], found["trials_needed"]) == ([], None)
    assert any("no noise was seen" in note for note in found["notes"])


def test_one_trial_says_nothing(tmp_path: Path):
    suite(tmp_path, trials="p")
    waza("run", "eval.yaml", "-o", "a.json", cwd=tmp_path)
    ended = noise(tmp_path, "a.json", "--json")
    found = strict_json(ended.out)
    assert found["trial_std_dev"] is None
    assert any("say nothing of chance" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("a.json", "b.json"), "not of one suite on one model: suite on test-model; other on test-model"),
        (("bare.json",), "the runs have no trials"),
        (("eval.yaml", "a.json"), "name one suite file, or runs"),
        (("a.json", "--executor", "mock"), "--executor is for a suite file"),
        (("a.json", "--model", "m"), "no run is on the model m; the runs are on: test-model"),
        (("a.json", "--difference", "0"), "is not a number above 0 and at most 1"),
        (("nowhere",), "nowhere"),
    ],
)
def test_what_cannot_be_said(tmp_path: Path, args: tuple[str, ...], said: str):
    task = {"t": "inputs: {prompt: p}\nmock: {output: hi}"}
    for file, name in (("a.json", "suite"), ("b.json", "other")):
        mock_suite(tmp_path, task, SAYS, name=name)
        waza("run", "eval.yaml", "-o", file, cwd=tmp_path)
    bare = {"eval_id": "x", "summary": {}, "tasks": [{"test_id": "a", "status": "passed"}]}
    write_tree(tmp_path, {"bare.json": json.dumps(bare)})
    ended = noise(tmp_path, *args)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_mistakes_in_a_suite_are_shown_before_it_is_run(tmp_path: Path):
    suite(tmp_path)
    path = tmp_path / "eval.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("executor: mock", "executor: nothing"), encoding="utf-8"
    )
    ended = noise(tmp_path, "eval.yaml")
    assert (ended.code, "nothing" in ended.err) == (2, True)
    assert not (tmp_path / ".waza").exists()


def test_a_run_that_did_not_end_is_not_run_again(tmp_path: Path):
    task = "inputs: {prompt: p}\nmock: {error: the server is gone}"
    mock_suite(tmp_path, {f"t{i}": task for i in range(6)}, SAYS, ["stop_after_errors: 2"])
    ended = noise(tmp_path, "eval.yaml")
    assert ended.code == 2
    assert "run 1 of eval.yaml did not come to its end (stopped)" in ended.err
    assert "run 2" not in ended.err
