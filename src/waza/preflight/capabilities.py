"""What a suite asks of its executor, and whether it can be had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.model.loaded import Suite
from waza.model.preflight import Capability, Dependency, Diagnostic, PreflightState, worst
from waza.preflight.diagnosis import make_diagnostic
from waza.problem import Code, Problem

# The code and the hint of capabilities that are reported where they are unsupported; others are reported by the loader or as dependencies.
_REPORTED: dict[str, tuple[Code, str]] = {
    "mcp_servers": ("mcp-servers", "use executor: chat or copilot-sdk, or remove the servers"),
    "runtime_tool_boundary": (
        "tool-boundary",
        "use executor: chat or copilot-sdk to hold the agent to its tools",
    ),
}


def check_capabilities(suite: Suite, dependencies: Sequence[Dependency]) -> list[Capability]:
    """Return the four capabilities; one that the suite does not ask for is verified."""
    return [
        _check_execution(dependencies),
        _check_servers(suite, dependencies),
        _check_commands(suite, dependencies),
        _check_boundary(suite),
    ]


def report_capabilities(found: Sequence[Capability], suite: Suite, file: str) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each capability that is to be reported; `file` is that of the suite.

    What an executor lacks is a mistake that the loader reports, except with a scripted one.
    """
    for one in found:
        if one.name in _REPORTED and one.state == "unsupported" and suite.capabilities.scripted:
            code, hint = _REPORTED[one.name]
            problem = Problem(code=code, file=file, message=one.meaning, hint=hint)
            yield make_diagnostic(problem, one.state)


def _check_execution(dependencies: Sequence[Dependency]) -> Capability:
    state = worst(one.state for one in dependencies if one.kind == "executor")
    meaning = {
        "verified": "tasks are played from a script, without an agent",
        "unresolved": "tasks are given to an agent, which was not started",
    }.get(state, "there is no executor for the tasks")
    return Capability(name="task_execution", state=state, meaning=meaning)


def _check_servers(suite: Suite, dependencies: Sequence[Dependency]) -> Capability:
    modes = {one.mode for one in dependencies if one.kind == "mcp_server"}
    state: PreflightState = "verified"
    if not modes:
        meaning = "no MCP server is declared"
    elif not suite.capabilities.mcp:
        state = "unsupported"
        meaning = f"MCP servers are declared, and the executor {suite.file.config.executor!r} knows none"
    elif "live" in modes:
        state, meaning = "unresolved", "a live MCP server was not asked"
    else:
        meaning = "every MCP server is mocked"
    return Capability(name="mcp_servers", state=state, meaning=meaning)


def _check_commands(suite: Suite, dependencies: Sequence[Dependency]) -> Capability:
    executor = suite.file.config.executor
    state: PreflightState = "verified"
    if not any(one.kind == "command" for one in dependencies):
        meaning = "no program is mocked"
    elif suite.capabilities.command_mocks:
        meaning = "the agent finds the mocked programs first"
    else:
        state, meaning = "unsupported", f"the executor {executor!r} starts no programs"
    return Capability(name="command_mocks", state=state, meaning=meaning)


def _check_boundary(suite: Suite) -> Capability:
    executor = suite.file.config.executor
    limited = any(task.target and task.target.policy in ("deny_all", "allow_list") for task in suite.tasks)
    state: PreflightState = "verified"
    if not limited:
        meaning = "no agent limits its tools"
    elif not suite.capabilities.tool_policy:
        state = "unsupported"
        meaning = f"the agent limits its tools, and the executor {executor!r} does not hold it to them"
    else:
        state, meaning = "unresolved", "the agent is held to its tools in a run"
    return Capability(name="runtime_tool_boundary", state=state, meaning=meaning)
