"""`waza new eval --scenario`: a suite of schema 2.0 for a workflow, whose outcome is seen in the files that it leaves."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import NewExecutor, Place, schema_comment
from waza.author.scaffold.suite import relative
from waza.author.scaffold.template import fill_file, fill_folder
from waza.errors import UsageError
from waza.model.skill import Target, allowed_by
from waza.registry.scalar import format_scalar

_NEEDED = {"repository": "", "cli": "bash", "mcp": "mcp:inventory-list_items"}
"""The tool that a kind of scenario cannot do without."""
_READS = "- {name: view, args: {path: inventory.csv}, result: 4 lines}"


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that is to be written: `file` is its path, `template` its kind.

    `context` is the skill or custom agent that its agent works with; None: the agent has neither.
    """

    name: str
    template: str
    context: Target | None = None
    place: Place
    executor: NewExecutor
    file: Path


def plan_scenario(scenario: Scenario) -> NewFiles:
    """Return its files. Raises UsageError where the executor, or the custom agent, cannot do what it is about."""
    _check(scenario)
    place, directory = scenario.place, scenario.file.parent
    task = place.task_file(directory, "workflow")
    kind, name = scenario.template, scenario.name
    suite_values = {
        "schema": schema_comment(scenario.file, place.root, "suite"),
        "path": relative(scenario.file, place.root),
        "name": format_scalar(name),
        "suite_name": format_scalar(f"{name}-eval"),
        "target": f"skill: {format_scalar(scenario.context.name)}" if scenario.context else "",
        "executor": format_scalar(scenario.executor.name),
        "executor_options": scenario.executor.config,
        "model": format_scalar(place.keys.defaults.model),
        "timeout": str(place.keys.defaults.timeout),
        "skill_directories": _skill_directories(scenario),
        "task_glob": format_scalar(place.keys.files.taskGlob),
        "mocks": fill_file("scenario/mcp/mocks", {}) if kind == "mcp" else "",
    }
    task_values = {
        "schema": schema_comment(task, place.root, "task"),
        "id": format_scalar(f"{name}-001"),
        "calls": fill_file(f"scenario/{kind}/calls", {})
        if scenario.executor.sees_calls and _NEEDED[kind]
        else "",
        "reads": f"tool_calls:\n  {_READS}" if _may(scenario, "view") else "",
    }
    files = NewFiles()
    files.add(scenario.file, fill_file("scenario/eval.yaml", suite_values))
    files.add(task, fill_file(f"scenario/{kind}/workflow", task_values))
    files.add(directory / "fixtures" / ".gitkeep", "")
    for path, text in fill_folder(f"scenario/{kind}/fixtures", {}):
        files.add(directory / "fixtures" / path, text)
    return files


def _check(scenario: Scenario) -> None:
    can, needed = scenario.executor.capabilities, _NEEDED[scenario.template]
    if scenario.template == "mcp" and not (can.mcp or can.scripted):
        raise UsageError(
            f"the executor {scenario.executor.name} has no MCP servers; choose another template, or --executor"
        )
    if needed and scenario.context and not _may(scenario, needed.removeprefix("mcp:")):
        raise UsageError(
            f"the custom agent {scenario.context.name} may not use {needed!r}, which this scenario is about; "
            "add it to its tools, or choose another --template"
        )


def _may(scenario: Scenario, tool: str) -> bool:
    """Return whether the agent may use a tool."""
    tools = scenario.context.tools if scenario.context else None
    return tools is None or allowed_by(tools, tool)


def _skill_directories(scenario: Scenario) -> str:
    if scenario.context is None:
        return ""
    directory = relative(scenario.context.directory, scenario.file.parent)
    return f"skill_directories: [{format_scalar(directory)}]"
