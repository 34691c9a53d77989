from __future__ import annotations

from pathlib import Path

import pytest

from waza.model.skill import Target
from waza.suite.definition import read_definition
from waza.suite.policy import implicit_tool_constraint


def agent(tools: tuple[str, ...] | None, kind="agent"):
    return Target(kind=kind, name="x", path=Path("/agents/x.agent.md"), tools=tools)


def test_declared_tools_become_an_allow_list():
    spec = implicit_tool_constraint(agent(("codeSearch", "mcp:db-explain_query")), set(), False)
    assert spec is not None
    assert (spec.type, spec.name, spec.weight) == ("tool_constraint", "allowed_tools", 1.0)
    assert spec.config == {"allow_only": [{"tool": "codeSearch"}, {"tool": "mcp:db-explain_query"}]}
    assert spec.implicit


def test_an_empty_list_denies_every_tool():
    spec = implicit_tool_constraint(agent(()), set(), False)
    assert spec is not None
    assert spec.config == {"allow_only": []}


@pytest.mark.parametrize("target", [None, agent(None), agent(("read",), kind="skill")])
def test_nothing_without_an_agent_that_declares_tools(target):
    assert implicit_tool_constraint(target, set(), False) is None


@pytest.mark.parametrize("tools", [(), ("read",)])
def test_a_declared_constraint_replaces_it(tools):
    assert implicit_tool_constraint(agent(tools), set(), True) is None


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ({"other"}, "allowed_tools"),
        ({"allowed_tools"}, "allowed_tools_2"),
        ({"allowed_tools", "allowed_tools_2", "allowed_tools_3"}, "allowed_tools_4"),
        ({"allowed_tools", "allowed_tools_3"}, "allowed_tools_2"),
        ({"allowed_tools_2"}, "allowed_tools"),
        ({"Allowed_Tools"}, "allowed_tools"),
    ],
)
def test_a_taken_name_gets_a_number(taken, name):
    spec = implicit_tool_constraint(agent(("read",)), taken, False)
    assert spec is not None
    assert spec.name == name


def test_from_the_file_to_the_grader(tmp_path):
    file = tmp_path / "x.agent.md"
    file.write_text("---\ntools: [' codeSearch ', fileRead]\n---\n", encoding="utf-8")
    spec = implicit_tool_constraint(read_definition(file).target, set(), False)
    assert spec is not None
    assert spec.config == {"allow_only": [{"tool": "codeSearch"}, {"tool": "fileRead"}]}
