"""What the report of a run says on its first screen of causes and figures that are easily misread."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import mock_suite, waza

SAYS = "graders: [{type: text, name: says, config: {contains: [hi]}}]"
RULE = '[ "{{.TaskName}}" != "down" ]'


def test_an_interval_says_which_mean_it_is_about(tmp_path: Path) -> None:
    hooks = f"hooks: {{before_task: [{{command: '{RULE}', error_on_fail: true}}]}}"
    tasks = dict.fromkeys(("one", "two", "down"), "inputs: {prompt: p}\nmock: {output: hi}")
    mock_suite(tmp_path, tasks, f"{SAYS}\n{hooks}", ["trials_per_task: 2"])
    out = waza("run", "eval.yaml", cwd=tmp_path).out
    assert "Aggregate score:      0.67 (broken trials included, as 0 without a verdict)\n" in out
    assert "Score CI95:           [1.00, 1.00] about 1.00, the mean of 2 tasks with trials\n" in out


def test_a_cause_is_stated_once_and_the_output_behind_a_checkpoint_is_the_final_one(tmp_path: Path) -> None:
    slow = "graders: [{type: program, name: slow, config: {command: sh, args: [-c, sleep 60], timeout: 1}}]"
    check = "checkpoints: [{after_turn: 1, graders: [{type: text, name: first, config: {contains: [hi]}}]}]"
    turns = "mock: {turns: [{output: no}, {output: hi}]}"
    tasks = {
        "limit": f"inputs: {{prompt: p}}\n{slow}\nmock: {{output: hi}}",
        "turns": f"inputs: {{prompt: p, follow_up_prompts: [q]}}\n{check}\n{turns}",
    }
    mock_suite(tmp_path, tasks, SAYS)
    failed = waza("run", "eval.yaml", cwd=tmp_path).out.split("FAILED TASKS")[1]
    assert failed.count("the time limit of 1 s was reached") == 1
    assert "    output: hi\n" in failed
    assert "    final output: hi\n" in failed
