"""The scenarios of `waza new eval --scenario` with a real agent: a right and a wrong one, and no skills that nobody declared."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, bash, definition, run
from tests.support.model_server import Call, Reply, Scripts
from tests.support.program import strict_json, waza, write_tree

pytestmark = pytest.mark.slow

PROMPTS = {
    "repository": "Read inventory.csv",
    "cli": "Make a git repository",
    "mcp": 'Ask the server "inventory"',
}
CHAIRS = bash(r"printf '# Out of stock\n\n- chair\n' > report.md")
COMMIT = bash(
    "git init -q && git add notes.md && git -c user.name=a -c user.email=a@b.c commit -q -m 'Count the chairs'"
    " && { echo '# Log'; echo; git log --oneline; } > report.md"
)
ASK = Call("inventory-list_items", {"room": "kitchen"})
RIGHT: dict[str, list[Call]] = {
    "repository": [bash("grep ,0, inventory.csv"), CHAIRS],
    "cli": [COMMIT],
    "mcp": [ASK, CHAIRS],
}
# Each does one thing too many or too few; what graders recorded of the two requirements then.
WRONG: dict[str, tuple[list[Call], list[str]]] = {
    "repository": ([CHAIRS, bash("touch private.md")], ["pass", "failure"]),
    "cli": ([bash(f"{COMMIT.args['command']}; git push")], ["pass", "pass"]),
    "mcp": ([Call("inventory-list_items", {"room": "attic"}), CHAIRS], ["pass", "pass"]),
}


def script(template: str, calls: list[Call]) -> Scripts:
    return {PROMPTS[template]: [*(Reply(calls=[call]) for call in calls), Reply("report.md is written")]}


def requirements(root: Path) -> list[str]:
    (shown,) = strict_json(waza("show", "--requirements", "--json", cwd=root).out)["runs"]
    return [one["state"].removeprefix("grader_recorded_") for one in shown["requirements"]]


def trial(seen: Seen) -> dict[str, Any]:
    (task,) = seen.results["tasks"]
    (found,) = task["runs"]
    return dict(found)


@pytest.mark.parametrize("template", PROMPTS)
def test_a_template_passes_a_right_agent_and_fails_a_wrong_one(tmp_path: Path, template: str):
    made = waza("new", "eval", "work", "--scenario", "--template", template, cwd=tmp_path)
    assert made.code == 0, made.err
    # What a project has, and the scenario does not declare.
    write_tree(tmp_path, {".github/skills/ambient/SKILL.md": definition("ambient")})
    suite = tmp_path / "evals/work/eval.yaml"
    right = run(suite, script(template, RIGHT[template]))
    assert right.ended.code == 0, right.ended.out
    assert (right.results["schemaVersion"], right.results["skill"]) == ("1.4", "")
    assert [event["success"] for event in trial(right)["tool_events"]] == [True] * len(RIGHT[template])
    assert "ambient" not in "".join(turn.system for turn in right.asked(PROMPTS[template]))
    assert requirements(suite.parent) == ["pass", "pass"]
    shutil.rmtree(suite.parent / ".waza", ignore_errors=True)
    calls, states = WRONG[template]
    wrong = run(suite, script(template, calls))
    assert (wrong.ended.code, trial(wrong)["status"]) == (1, "failed")
    assert requirements(suite.parent) == states
    if template == "mcp":
        assert trial(wrong)["tool_events"][0]["result"]["content"] == '{"items":[]}'
