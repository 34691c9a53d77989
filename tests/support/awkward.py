"""A suite with all that figures have to cope with: errors, failures, retries, stops, odd weights and scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.program import Ended, mock_suite, waza

GRADERS = """
graders:
- {type: text, name: letters, weight: 2, config: {contains: [a, b, c]}}
- {type: text, name: calm, weight: 0, config: {not_contains: [panic]}}
- {type: action_sequence, name: order, weight: -2.5, config: {matching_mode: in_order_match, expected_actions: [view]}}
- {type: text, name: tenth, weight: 0.1, config: {regex_match: [a, '^abc', x]}}
hooks:
  before_task: [{command: 'test "{{.TaskName}}" != stopped', error_on_fail: true}]
"""
GOOD = {"output": "abcx", "tool_calls": [{"name": "view"}]}
CONFIG = ["trials_per_task: 4", "max_attempts: 2", "group_by: tags"]


def text(**keys: Any) -> str:
    """A task file; JSON is YAML."""
    return json.dumps({"inputs": {"prompt": "go"}, **keys})


def awkward_tasks() -> dict[str, str]:
    """The tasks by their names; four trials of two attempts each."""
    outputs = ["a", "ab", "abcx", "panic", "abc", "bx", "", "cab"]
    calls: list[list[str]] = [
        [],
        ["view"],
        ["view"],
        ["view", "bash"],
        ["view"],
        ["bash"],
        ["view", "view"],
        [],
    ]
    mixed = [
        {
            "output": output,
            "tool_calls": [{"name": name, "duration_ms": 7} for name in names],
            "usage": {"input_tokens": 10 * i, "output_tokens": i, "premium_requests": 0.25},
            "delay_ms": i,
            "error": "the engine broke" if i == 4 else None,
        }
        for i, (output, names) in enumerate(zip(outputs, calls, strict=True))
    ]
    judged = {"type": "prompt", "name": "opinion", "weight": 3, "config": {"prompt": "p"}}
    twice = {"judge": {"opinion": [{"pass": "p"}, {"fail": "f"}]}}
    point = {"after_turn": 1, "graders": [{"type": "text", "name": "n", "config": {"contains": ["no"]}}]}
    return {
        "broken": text(mock={**GOOD, "error": "away"}, tags=["x"]),
        "checked": text(mock=GOOD, checkpoints=[point], tags=["y"]),
        "judge-missing": text(mock=GOOD, graders=[judged], tags=["x", "y"]),
        "judge-varies": text(
            mock={
                **GOOD,
                "judge": {"opinion": [{"pass": "p"}]},
                "executions": [{}, {}, twice, twice],
            },
            graders=[judged],
        ),
        "late": text(mock={"executions": [{"output": "b"}, GOOD]}, golden=True, tags=["z"]),
        "mixed": text(mock={"executions": mixed}, tags=["x"]),
        "never": text(
            mock={"executions": [{"output": "a"}, {"output": "b"}, {"output": "panic"}]}, tags=["y"]
        ),
        "steady": text(mock=GOOD, tags=["z", "x"]),
        "stopped": text(mock=GOOD, tags=["z"]),
    }


def run_awkward(root: Path) -> Ended:
    """Run the suite in a directory."""
    ended = waza("run", mock_suite(root, awkward_tasks(), head=GRADERS, config=CONFIG), cwd=root)
    assert ended.code == 1, ended.err
    return ended
