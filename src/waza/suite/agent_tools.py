"""Whether the MCP tools in an agent's `tools:` list are there: a misspelt name would grant nothing, silently."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from waza.errors import ExecutorError
from waza.kit.names import nearest_name
from waza.model.skill import Target, server_prefix
from waza.model.task import Task
from waza.problem import Problem, display_path
from waza.suite.loading import Loading
from waza.workspace.fixtures import load_tools

_MCP = "mcp:"
_NEAR = 0.85  # names of one server begin alike, so that near ones are nearer than elsewhere


def check_agent_tools(loading: Loading, tasks: Iterable[Task]) -> None:
    """Note names of tools that no server has, as far as its tools are known: those of mocks are."""
    declared = tuple(loading.file.config.mcp_servers)
    for task in tasks:
        target = task.target
        if target is not None and target.kind == "agent" and target.tools:
            mocked = dict(_list_mocked_tools(task))
            servers = [server_prefix(name) for name in (*declared, *mocked)]
            found = list(_find_problems(target, target.tools, mocked, servers))
            loading.problems += [problem for problem in found if problem not in loading.problems]


def _list_mocked_tools(task: Task) -> Iterator[tuple[str, list[str]]]:
    """Yield the mocked servers of a task, and their tools as agents call them."""
    for mock in task.mcp_mocks:
        try:
            tools = load_tools(mock, task.home)
        except ExecutorError:
            continue  # was reported, or a hook makes it
        yield mock.name, [f"{server_prefix(mock.name)}{tool}" for tool in tools]


def _find_problems(
    target: Target, declared: Collection[str], mocked: Mapping[str, list[str]], servers: Iterable[str]
) -> Iterator[Problem]:
    known = {tool.lower(): tool for tools in mocked.values() for tool in tools}
    granted = {entry.strip().lower().removeprefix(_MCP) for entry in declared}
    prefixes = {server_prefix(name).lower(): name for name in mocked}
    for entry in declared:
        name = entry.strip()
        lowered = name.lower()
        if not lowered.startswith(_MCP):
            prefix = next((one for one in servers if lowered.startswith(one.lower())), "")
            if prefix and "*" not in name:
                message = f"{name!r} grants no tool of a server: their names begin with {_MCP}"
                yield _make_warning(target, message, f"write {_MCP}{known.get(lowered, name)}")
            continue
        tool = lowered.removeprefix(_MCP)
        if known.get(tool) == name[len(_MCP) :]:
            continue
        if guess := _find_similar(tool, known.keys() - (granted - {tool})):
            hint = f"did you mean {_MCP}{known[guess]}?"
            message = f"no server has the tool {name!r}"
            yield Problem(
                code="unknown-tool", file=display_path(target.path), path="tools", message=message, hint=hint
            )
        elif server := next((prefixes[one] for one in prefixes if tool.startswith(one)), ""):
            has = ", ".join(f"{_MCP}{one}" for one in mocked[server])
            yield _make_warning(
                target, f"the mocked server {server!r} does not have the tool {name!r}", f"it has {has}"
            )


def _find_similar(tool: str, known: Collection[str]) -> str:
    """Return the tool that was probably meant, or an empty text: one that is spelt alike, or lacks its server."""
    without_server = (one for one in sorted(known) if one.endswith(f"-{tool}"))
    return nearest_name(tool, sorted(known), _NEAR) or next(without_server, "")


def _make_warning(target: Target, message: str, hint: str) -> Problem:
    return Problem(
        code="unknown-tool",
        file=display_path(target.path),
        path="tools",
        message=message,
        hint=hint,
        severity="warning",
    )
