"""`waza show` on failed trials of the real runtime: the cause is on the first screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.copilot.suites import bash, calls_then_fine, definition, run, task, write_suite
from tests.support.model_server import Call, Reply, Scripts
from tests.support.program import waza, write_tree

from waza.report.table import columns

pytestmark = pytest.mark.slow

SCREEN = 24
CRM = {
    "name": "crm",
    "tools": {
        "find": {
            "description": "Finds a customer.",
            "input_schema": {"type": "object", "properties": {"id": {"type": "integer"}}},
            "responses": [{"match": {"id": 1}, "return": {"name": "Ada"}}],
        }
    },
}
AZ = {"name": "az", "responses": [{"args": ["account", "show"], "stdout": {"name": "prod"}}]}
ADA = [{"type": "text", "name": "names_her", "config": {"contains": ["Ada Lovelace"]}}]
SCRIPTS: Scripts = {
    "DENY": calls_then_fine(bash("echo hi > out.txt")),
    "MCP": calls_then_fine(Call("crm-find", {"id": 1}), Call("crm-find", {"id": 7})),
    "CMD": calls_then_fine(bash("az nonsense; az account show")),
    "HANG": [Reply(calls=[bash("echo one")]), Reply(hang=True)],
}
CAUSES = {
    "mcp": [
        "no 'Ada Lovelace' in the output",
        'mocked server: crm-find {"id":7}',
        "no response matches the arguments",
    ],
    "cmd": [
        "no 'Ada Lovelace' in the output",
        "mocked program: az nonsense -> exit 127 (no response matched)",
    ],
    "hang": ["error: the turn did not end within 6 s", "a time limit ended it"],
    "denied": ["error: tool policy violation", "denied: bash: the agent's tools: list does not allow 'bash'"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("show")
    write_tree(root, {"narrow.agent.md": definition("narrow", "[fileRead]")})
    tasks = {name.lower(): task(name, graders=ADA) for name in ("MCP", "CMD", "HANG")}
    run(write_suite(root, tasks, config={"timeout_seconds": 6}, mcp_mocks=[CRM], command_mocks=[AZ]), SCRIPTS)
    denied = {"denied": task("DENY", graders=ADA)}
    run(write_suite(root, denied, "narrow", skill="narrow", config={"timeout_seconds": 60}), SCRIPTS)
    return root


def show(home: Path, task: str) -> str:
    number = "inv-000002" if task == "denied" else "inv-000001"
    ended = waza("show", number, task, cwd=home)
    assert ended.code == 0, ended.err
    assert max(map(columns, ended.out.splitlines())) <= 80
    return ended.out


@pytest.mark.parametrize("task", CAUSES)
def test_the_cause_is_on_the_first_screen(home: Path, task: str):
    screen = " ".join(" ".join(show(home, task).splitlines()[:SCREEN]).split())
    for part in CAUSES[task]:
        assert part in screen


def test_calls_have_arguments_results_and_durations(home: Path):
    page = show(home, "mcp")
    assert '✓ crm-find {"id":1} (' in page
    assert '-> {"name":"Ada"}' in page
    assert '✗ crm-find {"id":7} (' in page
    page = show(home, "cmd")
    assert "✗ az nonsense -> exit 127 (no response matched)" in page
    assert "✓ az account show -> exit 0 (response 1)" in page
    assert "-> one" in show(home, "hang"), "what was seen until the time was up"
    assert "mode: allow_list" in show(home, "denied")
