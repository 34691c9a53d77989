"""What executors declare that they can do decides what is refused, whoever wrote the executor."""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
from pathlib import Path

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

import waza as package
from waza.executors import CAPABILITIES, TYPES
from waza.graders import TYPES as GRADERS
from waza.model.capabilities import NOUNS
from waza.plugins import load_class

PLUGIN = """
from waza.model.capabilities import Capabilities
from waza.model.observation import Turn

class Bot:
    {declared}

    def __init__(self, setup):
        pass

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        return self

    async def send(self, prompt, limits):
        return Turn(output="ok")

    def judge(self, attempt):
        return None

    async def aclose(self):
        pass
"""
CALLS = "{id: a, inputs: {prompt: p}, graders: [{type: tool_calls, name: c, config: {forbidden_tools: [x]}}]}"


def run(root: Path, declared: str, *flags: str, task: str = CALLS, head: str = "") -> Ended:
    """Run a suite that judges calls with a plugin whose class has the line `declared`."""
    own = write_tree(
        root / "package",
        {
            "bot.py": PLUGIN.format(declared=declared),
            "bot-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bot\nVersion: 1.0\n",
            "bot-1.0.dist-info/entry_points.txt": "[waza.executors]\nbot = bot:Bot\n",
        },
    )
    path = os.pathsep.join(part for part in (str(own), os.environ.get("PYTHONPATH", "")) if part)
    suite = mock_suite(root, {"a": task}, head)
    return waza("run", suite, "--executor", "bot", *flags, cwd=root, env={"PYTHONPATH": path})


def test_a_plugin_that_declares_what_is_needed_runs_like_a_built_in_executor(tmp_path: Path):
    assert run(tmp_path, "capabilities = Capabilities(tool_calls=True)").code == 0


def test_a_plugin_that_lacks_what_is_needed_is_refused_like_a_built_in_executor(tmp_path: Path):
    ended = run(tmp_path, "capabilities = Capabilities(usage=True)")
    assert ended.code == 2
    lack = "graders[0].config: needs reports of tool calls, which the executor 'bot' does not offer"
    assert f"{lack}; use executor: chat, claude, copilot-sdk or mock, or another grader" in ended.err


def test_a_plugin_that_declares_nothing_is_refused_with_what_to_add(tmp_path: Path):
    ended = run(tmp_path, "capabilities = None")
    assert ended.code == 2
    assert "the executor 'bot' does not declare what it can do; its class Bot needs" in ended.err


def test_a_plugin_that_declares_values_of_other_types_is_refused_with_what_is_wrong(tmp_path: Path):
    ended = run(tmp_path, "capabilities = Capabilities(tool_calls='no')")
    assert ended.code == 2
    assert "the executor 'bot' declares capabilities that are not usable: " in ended.err
    assert "$.tool_calls" in ended.err
    assert run(tmp_path, "capabilities = Capabilities(tool_calls=True, idle_timeout='5m')").code == 2


@pytest.mark.parametrize(
    ("assertion", "language", "lacks"),
    [
        ("len(tool_calls) == 0", "python", "reports of tool calls"),
        ("'rm -rf' not in str(transcript)", "python", "reports of tool calls"),
        ("len(errors) == 0", "python", "reports of tool calls"),
        ("tool_calls.length === 0", "javascript", "reports of tool calls"),
        ("`${errors}` === ''", "javascript", "reports of tool calls"),
        ("'tool_calls' not in output", "python", ""),
        ("!output.includes('errors')", "javascript", ""),
    ],
)
def test_an_assertion_about_what_the_executor_does_not_report_is_refused(
    tmp_path: Path, assertion: str, language: str, lacks: str
):
    config = json.dumps({"assertions": [assertion], "language": language})
    suite = mock_suite(
        tmp_path, {"a": f"{{inputs: {{prompt: p}}, graders: [{{type: code, name: c, config: {config}}}]}}"}
    )
    ended = waza("run", suite, "--executor", "command:cat", cwd=tmp_path)
    assert ("graders[0].config.assertions: needs " + lacks in ended.err) is bool(lacks)
    assert ended.code != 0 if lacks else "needs " not in ended.err


def test_an_assertion_about_mocked_programs_needs_an_executor_that_has_them(tmp_path: Path):
    config = "{assertions: ['len(command_invocations) == 0']}"
    suite = mock_suite(
        tmp_path, {"a": f"{{inputs: {{prompt: p}}, graders: [{{type: code, name: c, config: {config}}}]}}"}
    )
    ended = waza("run", suite, cwd=tmp_path)
    assert ended.code == 2
    assert "graders[0].config.assertions: needs mocked programs" in ended.err


def test_the_tools_of_an_agent_are_no_passed_check_where_no_call_is_reported(tmp_path: Path):
    write_tree(tmp_path, {"a.agent.md": "---\nname: a\ndescription: d\ntools: []\n---\nx\n"})
    task, head = "{inputs: {prompt: p}, expected: {output_contains: [ok]}}", "skill: a.agent.md"
    ended = run(
        tmp_path,
        "capabilities = Capabilities(scripted=True, skills=True)",
        "-o",
        "r.json",
        task=task,
        head=head,
    )
    assert "skill: warning: the tools of 'a' are not checked" in ended.err
    results = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert "_output_contains" in results
    assert "allowed_tools" not in results


def test_every_built_in_executor_declares_its_capabilities():
    assert CAPABILITIES.keys() == TYPES.keys()


def test_the_documentation_lists_what_each_executor_can_do():
    page = (Path(__file__).parents[2] / "docs/other-agents.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines()]
    start = next(i for i, row in enumerate(rows) if row[0] == "can")
    names = [name.strip("`") for name in rows[start][1:]]
    assert sorted(names) == sorted(CAPABILITIES)
    listed = {row[0]: row[1:] for row in rows[start + 2 : start + 2 + len(NOUNS)]}
    for key, noun in NOUNS.items():
        assert listed[noun] == ["yes" if getattr(CAPABILITIES[name], key) else "" for name in names], noun


@pytest.mark.parametrize("folder", ["engine", "suite", "report", "results", "preflight", "graders"])
def test_nothing_asks_for_the_name_of_an_executor(folder: str):
    """Comparing with a name would leave the executors of other packages out."""
    for path in (Path(package.__file__).parent / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                words = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
                assert not words & {"copilot-sdk", "mock", "a2a"}, f"{path.name}:{node.lineno}"


REPORTED = ("tool_events", "tools_used", "skill_invocations")
BY_CONFIG = {"behavior", "code", "program", "wgp"}  # what they read is said, or known, by their configs


@pytest.mark.parametrize("name", sorted(GRADERS.keys() - BY_CONFIG))
def test_a_grader_that_reads_calls_says_that_it_needs_them(name: str):
    """Else it would judge calls of an agent whose executor reports none."""
    kind = load_class("waza.graders", name)
    source = inspect.getsource(sys.modules[kind.__module__])
    reads = any(f"observation.{word}" in source for word in REPORTED)
    assert kind is not None
    declared = vars(kind).get("required_capabilities")
    says = declared is not None and '"tool_calls"' in inspect.getsource(declared)
    assert reads == says
