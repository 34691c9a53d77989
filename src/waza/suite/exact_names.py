"""Names that are compared letter by letter: a wrong case would forbid nothing, or require what never comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from waza.errors import ExecutorError
from waza.model.mock import MockTurn
from waza.model.skill import ALIASES, server_prefix
from waza.model.task import Task
from waza.suite.discover import iter_targets
from waza.suite.loading import Loading
from waza.workspace.fixtures import load_tools


def check_exact_names(loading: Loading, tasks: Sequence[Task]) -> None:
    """Warn of names of skills, tools and MCP servers that differ from one that is there by their case only."""
    kinds = {name.kind for _, name in loading.exact_names}
    known = {
        "skill": set(_iter_skills(loading, tasks)) if "skill" in kinds else set(),
        "tool": set(_iter_tools(loading, tasks)) if "tool" in kinds else set(),
        "MCP server": set(loading.file.config.mcp_servers),
    }
    for scope, name in loading.exact_names:
        there = known[name.kind]
        meant = next((one for one in sorted(there) if one.casefold() == name.text.casefold()), "")
        if meant and name.text not in there:
            message = (
                f"there is a {name.kind} {meant!r} and no {name.text!r}, and upper and lower case differ"
            )
            scope.warn("name-case", message, f"did you mean {meant!r}?")


def _iter_skills(loading: Loading, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the names of the skills that tasks have, and those that scripts invoke."""
    yield from (task.target.name for task in tasks if task.target)
    paths = dict.fromkeys(path for task in tasks for path in task.skill_paths)
    yield from (target.name for target in iter_targets(paths))
    for turn in _iter_turns(loading, tasks):
        yield from (skill if isinstance(skill, str) else skill.name for skill in turn.skills or ())


def _iter_tools(loading: Loading, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the names of tools: built-in ones, those of mocked servers, and those that scripts call."""
    if loading.capabilities.tool_policy:
        yield from (name for group in ALIASES for name in group)
    for mock, home in ((mock, task.home) for task in tasks for mock in task.mcp_mocks):
        try:
            tools = load_tools(mock, home)
        except ExecutorError:
            continue  # was reported, or a hook makes it
        yield from (f"{server_prefix(mock.name)}{tool}" for tool in tools)
    for turn in _iter_turns(loading, tasks):
        yield from (call.name for call in turn.tool_calls)


def _iter_turns(loading: Loading, tasks: Iterable[Task]) -> Iterator[MockTurn]:
    """Yield the turns of the scripts that are played."""
    scripts = [task.mock for task in tasks if task.mock] if loading.capabilities.scripted else []
    scripts += [script.without_skills for script in scripts if script.without_skills]
    for script in chain.from_iterable((script, *script.executions) for script in scripts):
        yield from script.turns or ()
