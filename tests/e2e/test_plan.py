"""`waza plan`: what a run takes and shows, before it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite, waza, write_tree

SAYS = "{type: text, name: says, config: {contains: [good]}}"
JUDGE = "{type: prompt, name: j, config: {prompt: 'Is it good?'}}"
SKILL = "---\nname: s\ndescription: d\n---\nbody\n"


def suite(root: Path, tasks: int, *config: str, graders: str = SAYS, head: str = "") -> None:
    """Write a suite whose tasks pass in every second trial, with 100 tokens each."""
    usage = "usage: {input_tokens: 80, output_tokens: 20}"
    script = f"mock: {{executions: [{{output: good, {usage}}}, {{output: bad, {usage}}}]}}"
    mock_suite(
        root,
        {f"t{i:02}": f"inputs: {{prompt: p}}\n{script}" for i in range(tasks)},
        f"graders: [{graders}]\n{head}",
        config,
    )


def plan(root: Path, *args: str) -> dict[str, Any]:
    ended = waza("plan", "eval.yaml", "--json", *args, cwd=root)
    assert ended.code == 0, ended.err
    (found,) = json.loads(ended.out)
    return found  # type: ignore[no-any-return]


def test_what_nobody_has_seen_is_not_known_and_nothing_is_run(tmp_path: Path):
    suite(
        tmp_path,
        8,
        "trials_per_task: 3",
        graders=f"{SAYS}, {JUDGE}, {{type: evaluator, name: e, config: {{name: ExactMatch}}}}",  # which asks nobody
        head="skill: s\nmock: {triggers: {a: true, b: true}}",
    )
    write_tree(
        tmp_path, {"trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: a}, {prompt: b}]\n"}
    )
    write_tree(tmp_path, {"skills/s/SKILL.md": SKILL})
    found = plan(tmp_path)
    assert found["trials"] == {"least": 3, "most": 3}
    assert found["trigger_prompts"] == 2
    assert found["sessions"] == {"least": 26, "most": 26}
    assert found["judge_calls"] == {"least": 24, "most": 24}
    assert [found[key] for key in ("tokens", "duration_ms", "ai_credits", "runs")] == [None, None, None, []]
    assert found["power"]["trial"] == {"std_dev": 0.5, "source": "assumed"}
    assert found["power"]["task"]["source"] == "assumed"
    assert not (tmp_path / ".waza").exists()
    ended = waza("plan", "eval.yaml", cwd=tmp_path)
    assert "Tokens:            not known" in ended.out
    assert "50.0 points (not known; the most that there can be)" in ended.out
    assert "no earlier run of this suite on this model is known" in ended.out


def test_earlier_runs_say_what_it_takes(tmp_path: Path):
    suite(tmp_path, 8, "trials_per_task: 4")
    prices = "prices: {currency: EUR, models: {test-model: {input: 1, output: 6}}}\n"
    write_tree(tmp_path, {".waza.yaml": prices})
    for _ in range(2):
        waza("run", "eval.yaml", cwd=tmp_path)
    suite(tmp_path, 9, "trials_per_task: 5")
    found = plan(tmp_path)
    assert len(found["runs"]) == 2
    tokens = found["tokens"]
    assert (tokens["expected"], tokens["trials"], tokens["tasks"]) == (4500, 64, 8)
    assert tokens["lower"] == tokens["upper"] == 4500  # they were all alike
    assert found["duration_ms"]["expected"] >= 0
    assert found["power"]["trial"]["source"] == "measured"
    assert found["power"]["trial"]["std_dev"] == pytest.approx((0.25 * 8 / 7) ** 0.5)
    assert "no earlier trial of 1 task, for which the average of the others counts" in found["notes"]
    assert (found["cost"]["expected"], found["currency"]) == (pytest.approx(4500 / 100 * 0.0002), "EUR")
    one = plan(tmp_path, "--from", found["runs"][0])
    assert one["runs"] == found["runs"][:1]
    assert one["tokens"]["trials"] == 32
    other = plan(tmp_path, "--model", "another")
    assert (other["runs"], other["tokens"]) == ([], None)


def test_stop_when_gives_ranges(tmp_path: Path):
    suite(tmp_path, 6, "stop_when: {min_trials: 2, max_trials: 10}", "pass_rule: majority")
    waza("run", "eval.yaml", cwd=tmp_path)
    found = plan(tmp_path)
    assert found["sessions"] == {"least": 12, "most": 60}
    assert (found["tokens"]["expected"], found["tokens"]["lower"], found["tokens"]["upper"]) == (
        None,
        1200,
        6000,
    )
    assert found["power"]["trials"] == 2
    assert plan(tmp_path, "--trials", "3")["sessions"] == {"least": 18, "most": 18}


def test_arms_and_pairwise_judges_are_counted(tmp_path: Path):
    pairwise = "{type: prompt, name: w, config: {prompt: 'Which?', mode: pairwise}}"
    suite(tmp_path, 6, "skill_directories: [skills]", graders=f"{SAYS}, {pairwise}")
    write_tree(tmp_path, {"skills/s/SKILL.md": SKILL})
    found = plan(tmp_path, "--baseline")
    assert found["arms"] == ["baseline", "main"]
    assert found["sessions"]["most"] == 12
    assert found["judge_calls"]["most"] == 12  # in the arm with skills alone, in both orders


def test_what_a_difference_needs(tmp_path: Path):
    suite(tmp_path, 30, "trials_per_task: 2")
    found = plan(tmp_path, "--for-difference", "10")["power"]
    needed = found["needed"]
    assert found["if_alike"] < found["smallest_detectable"]
    assert needed["tasks"] > 30
    assert needed["tasks_sessions"] == needed["tasks"] * 2
    assert needed["trials"] is None or needed["trials_sessions"] == needed["trials"] * 30
    assert needed["cheaper"] == "more tasks"
    assert plan(tmp_path, "--for-difference", "60")["power"]["needed"]["cheaper"] == "as it is"
    ended = waza("plan", "eval.yaml", "--for-difference", "10", cwd=tmp_path)
    assert "TO SHOW A DIFFERENCE OF 10.0 POINTS IN SCORE" in ended.out
    assert "More tasks are the cheaper way" in ended.out
    suite(tmp_path, 4, "trials_per_task: 2")
    for path in (tmp_path / "tasks").iterdir():
        if int(path.stem[1:]) >= 4:
            path.unlink()
    few = plan(tmp_path, "--for-difference", "50")
    assert few["power"]["smallest_detectable"] is None
    assert few["power"]["enough_tasks"] is False
    assert few["power"]["needed"]["trials"] is None
    assert few["power"]["needed"]["tasks"] >= 6
    assert any("so few tasks never show a difference" in note for note in few["notes"])
