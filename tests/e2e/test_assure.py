"""`waza assure EVAL --references FILE`: graders against answers that must pass or fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.program import Ended, strict_json, waza, write_tree

SUITE = {
    "eval.yaml": """name: s
config: {executor: mock}
tasks: ['tasks/*.yaml']
graders:
  - {type: text, name: polite, config: {contains: [please]}}
""",
    "tasks/sum.yaml": """id: sum
inputs: {prompt: Add}
graders:
  - {type: text, name: says_sum, config: {regex_match: ['\\b42\\b']}}
  - {type: tool_calls, name: calls, config: {required_tools: [bash]}}
""",
}


def assure(directory: Path, cases: str, *options: str) -> tuple[Ended, Any]:
    write_tree(directory, {"cases.yaml": cases})
    ended = waza("assure", "eval.yaml", "--references", "cases.yaml", "--json", *options, cwd=directory)
    return ended, strict_json(ended.out) if ended.out else None


def states(report: Any) -> dict[str, str]:
    return {one["id"]: one["state"] for one in report["cases"]}


def test_cases_that_hold(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    ended, report = assure(
        tmp_path,
        """cases:
  - {id: right, task: sum, output: 42 please, expect: pass, grader: says_sum, reason: It is the sum}
  - {id: wrong, task: sum, output: 420 please, expect: fail, grader: says_sum}
  - {id: rude, task: sum, output: '42', expect: fail, grader: polite}
  - {id: lazy, task: sum, output: 42 please, expect: fail, grader: calls}
  - {id: whole, task: sum, output: 42 please, tool_calls: [{name: bash}], expect: pass}
  - {id: none, task: sum, output: '', expect: fail}
""",
    )
    assert (ended.code, report["passed"], set(states(report).values())) == (0, True, {"held"})
    assert {one["name"]: one["assured"] for one in report["graders"]} == dict.fromkeys(
        ("polite", "says_sum", "calls"), True
    )
    assert not (tmp_path / ".waza").exists()
