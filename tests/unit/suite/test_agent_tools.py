"""Names of MCP tools in an agent's `tools:` list, held against the servers whose tools are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.problem import Problem
from waza.suite.load import load

TOOLS = ["list_issues", "get_issue"]
RESPONSES = {"responses": [{"return": "1"}]}
MOCK = {"name": "git hub", "tools": dict.fromkeys(TOOLS, RESPONSES)}


def told(tmp_path: Path, tools: list[str], *, suite: Any = None, task: Any = None) -> list[Problem]:
    """What is told of the agent's list, by a suite whose server is mocked unless it says otherwise."""
    keys = {
        "name": "x", "skill": "rev", "config": {"executor": "copilot-sdk", "model": "any"}, "tasks": ["t.yaml"],
        "graders": [{"type": "text", "name": "g", "config": {"contains": ["ok"]}}],
        **({"mcp_mocks": [MOCK]} if suite is None else suite),
    }  # fmt: skip
    files = {
        "eval.yaml": json.dumps(keys),
        "t.yaml": json.dumps({"id": "t", "inputs": {"prompt": "p"}, **(task or {})}),
        "rev.agent.md": f"---\nname: rev\ndescription: d\ntools: {json.dumps(tools)}\n---\nBe good.\n",
        "mocks/close_issue.json": json.dumps(RESPONSES),
    }
    write_tree(tmp_path, files)
    try:
        problems: Any = load(tmp_path / "eval.yaml").warnings
    except SuiteError as error:
        problems = error.problems
    return [problem for problem in problems if problem.path == "tools"]


def test_the_names_of_a_mocked_servers_tools_are_right(tmp_path: Path):
    assert told(tmp_path, ["mcp:git-hub-list_issues", " mcp:git-hub-get_issue ", "view", "custom:x"]) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mcp:git-hub-list_isues", "list_issues"),
        ("mcp:git-hub-List_Issues", "list_issues"),
        ("mcp:git-hub_list_issues", "list_issues"),
        ("mcp:githb-list_issues", "list_issues"),
        ("mcp:git hub-get_issue", "get_issue"),
        ("mcp:get_issue", "get_issue"),
    ],
)
def test_a_misspelt_name_is_refused(tmp_path: Path, name: str, meant: str):
    (problem,) = told(tmp_path, ["view", name])
    assert problem.severity == "error"
    assert problem.message == f"no server has the tool {name!r}"
    assert problem.hint == f"did you mean mcp:git-hub-{meant}?"
    assert problem.file.endswith("rev.agent.md")


def test_fixtures_and_mocks_of_tasks_count_too(tmp_path: Path):
    own = {"mcp_mocks": [{"name": "hub", "fixtures": "mocks"}]}
    assert told(tmp_path, ["mcp:hub-close_issue"], task=own) == []
    (problem,) = told(tmp_path, ["mcp:hub-clos_issue"], task=own)
    assert problem.hint == "did you mean mcp:hub-close_issue?"


def test_a_name_beside_the_right_one_is_taken_for_a_tool_that_is_not_mocked(tmp_path: Path):
    (problem,) = told(tmp_path, ["mcp:git-hub-get_issue", "mcp:git-hub-set_issue", "mcp:git-hub-list_issues"])
    assert problem.severity == "warning"
    assert problem.message == "the mocked server 'git hub' does not have the tool 'mcp:git-hub-set_issue'"
    assert problem.hint == "it has mcp:git-hub-list_issues, mcp:git-hub-get_issue"


@pytest.mark.parametrize("mocked", [True, False])
def test_a_name_without_its_source_grants_nothing_and_that_is_reported(tmp_path: Path, *, mocked: bool):
    servers = {
        "config": {"executor": "copilot-sdk", "model": "any", "mcp_servers": {"git hub": {"command": "x"}}}
    }
    (problem,) = told(tmp_path, ["git-hub-list_issues"], suite=None if mocked else servers)
    assert problem.severity == "warning"
    assert problem.message == "'git-hub-list_issues' grants no tool of a server: their names begin with mcp:"
    assert problem.hint == "write mcp:git-hub-list_issues"


def test_tools_of_servers_that_are_not_mocked_are_not_known(tmp_path: Path):
    servers = {
        "config": {"executor": "copilot-sdk", "model": "any", "mcp_servers": {"hub": {"command": "x"}}}
    }
    assert told(tmp_path, ["mcp:hub-anything", "mcp:other-thing"], suite=servers) == []
