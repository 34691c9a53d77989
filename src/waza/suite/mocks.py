"""Mocked MCP servers and programs: the rules of their declarations and fixtures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from waza.graders.base import ExactName
from waza.kit import yaml
from waza.kit.decode import UnknownKeyAdvice, UnknownKeyHandler, fields_of
from waza.kit.files import safe_join
from waza.kit.names import did_you_mean
from waza.kit.pattern import PatternError, compile_pattern
from waza.model.mocks import CommandMock, CommandOutput, CommandResponse, McpMock, McpResponse, McpTool
from waza.problem import Severity
from waza.suite.loading import Place, Scope
from waza.suite.read import UnknownKeyRule
from waza.workspace.fixtures import read_tool_file, tool_files

_MCP_OUTPUT = ("return", "error")
_COMMAND_OUTPUT = ("stdout", "stderr", "exit_code", "fixture")
_WHOLE = ("exit_code", "delay_ms")
_NOT_EMPTY = ("stderr", "exit_code", "fixture", "delay_ms")
_HOOK = "a before_run hook may create it"


def check_mocks(scope: Scope, mcp: Sequence[McpMock] | None, commands: Sequence[CommandMock] | None) -> None:
    """Note what is wrong with the mocks of a suite or task."""
    if mcp:
        _require(scope.child("mcp_mocks"), "mcp", lenient=True)
    if mcp is not None and not scope.loading.version.at_least("1.1"):
        scope.child("mcp_mocks").error("version", "needs schemaVersion 1.1 or newer")
    if commands is not None:
        _check_commands_allowed(scope)
    _check_names(scope, "mcp_mocks", [mock.name for mock in mcp or ()])
    for i, mock in enumerate(mcp or ()):
        name = ExactName("MCP server", mock.name)
        scope.child("mcp_mocks", i, "name").compare_exactly(name)
    _check_names(scope, "command_mocks", [mock.name.lower() for mock in commands or ()])
    for i, mock in enumerate(mcp or ()):
        _check_server(scope.child("mcp_mocks", i), mock)
    for i, command in enumerate(commands or ()):
        _check_command(scope.child("command_mocks", i), command)


def _check_commands_allowed(scope: Scope) -> None:
    if not scope.loading.version.at_least("1.3"):
        scope.child("command_mocks").error("version", "needs schemaVersion 1.3 or newer")
    _require(scope.child("command_mocks"), "command_mocks")


def _require(scope: Scope, capability: str, *, lenient: bool = False) -> None:
    """Report that mocks need a capability which the executor lacks; a script meets them by its calls alone."""
    lack = scope.loading.lack(capability, lenient=lenient)
    if lack is not None:
        but = ", but on calls of its script that have no result" if lack.warning else ""
        scope.report(lack.code, f"{lack.message}{but}", lack.hint, warning=lack.warning)


def _check_names(scope: Scope, key: str, names: list[str]) -> None:
    stripped = [name.strip() for name in names]
    for i, name in enumerate(stripped):
        if name in stripped[:i]:
            scope.child(key, i, "name").error("duplicate-name", f"duplicate mock {name!r}")


def _check_server(scope: Scope, mock: McpMock) -> None:
    if not mock.fixtures and not mock.tools and not scope.has_error:
        scope.error("missing-key", "has no tool", "add 'tools', or a 'fixtures' directory")
    if mock.fixtures:
        _check_fixtures(scope.child("fixtures"), mock)
    for name, tool in mock.tools.items():
        _check_tool(scope.child("tools", name), tool)


def _check_fixtures(scope: Scope, mock: McpMock) -> None:
    """Note what is wrong with the fixture files, except for tools that the suite replaces."""
    directory = scope.loading.directory / mock.fixtures
    if not directory.is_dir():
        missing = f"there is no directory {mock.fixtures!r} beside the suite"
        hooks = scope.loading.hooks_may_create
        scope.report("missing-file", missing, _HOOK if hooks else "", warning=hooks)
        return
    try:
        files = [read_tool_file(file, _unknown_key(scope.loading.keys)) for file in tool_files(directory)]
    except OSError as error:
        scope.error("unreadable-file", f"{mock.fixtures!r} cannot be read ({error.strerror or error})")
        return
    if not files and not mock.tools:
        scope.error("missing-file", "has no tool", "add .json files, one a tool")
    for file in files:
        scope.loading.problems += file.problems
        scope.loading.mock_files.append(file.document.file)
        for name, tool in file.tools.items():
            if name not in mock.tools:
                _check_tool(Scope(scope.loading, file.document, file.places[name]), tool)


def _unknown_key(keys: UnknownKeyRule) -> UnknownKeyHandler:
    """Return the rule for keys of fixture files that no tool has."""
    severity: Severity = "warning" if keys.newer else "error"

    def unknown(struct: type, key: str, _path: Place) -> UnknownKeyAdvice:
        return UnknownKeyAdvice(severity, did_you_mean(key, (field.key for field in fields_of(struct))))

    return unknown


def _check_tool(scope: Scope, tool: McpTool) -> None:
    if not tool.responses and not scope.child("responses").has_error:
        scope.error("missing-key", "has no responses")
    if tool.input_schema:
        _check_schema(scope.child("input_schema"), tool.input_schema)
    for i, response in enumerate(tool.responses):
        if not scope.child("responses", i).has_error:
            _check_response(scope.child("responses", i), response)


def _check_schema(scope: Scope, schema: dict[str, Any]) -> None:
    from waza.kit.schema import SchemaError, compile_schema  # heavy, and few suites need it

    try:
        compile_schema(schema)
    except SchemaError as error:
        scope.error("invalid-value", str(error))


def _check_response(scope: Scope, response: McpResponse) -> None:
    for field, pattern in (response.match_regex or {}).items():
        _check_pattern(scope.child("match_regex", field), pattern)
    if response.match_schema:
        _check_schema(scope.child("match_schema"), response.match_schema)
    if response.error.strip() and response.returns is not None:
        scope.warn("conflicting-keys", "has both 'return' and 'error'; the error is sent")
    _check_sequence(scope, response.sequence or (), _MCP_OUTPUT)
    for i, step in enumerate(response.sequence or ()):
        where = scope.child("sequence", i)
        if where.keys.keys() >= set(_MCP_OUTPUT):
            where.error("conflicting-keys", "has both 'return' and 'error'", "keep one")
        elif "error" in where.keys and not step.error.strip():
            where.child("error").error("invalid-value", "must not be empty")


def _check_command(scope: Scope, mock: CommandMock) -> None:
    plain = mock.name.replace(".", "").replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum() and mock.name[0].isalnum()):
        scope.child("name").error(
            "invalid-value",
            f"{mock.name!r} is not a valid program name",
            "use letters, digits, '.', '_', '-'",
        )
    if not mock.responses and not scope.child("responses").has_error:
        scope.error("missing-key", "has no responses")
    for i, response in enumerate(mock.responses):
        if not scope.child("responses", i).has_error:
            _check_call(scope.child("responses", i), response)


def _check_call(scope: Scope, response: CommandResponse) -> None:
    if (response.args is None) == (response.args_regex is None):
        scope.error("conflicting-keys", "needs either 'args' or 'args_regex'", "args: [] means no arguments")
    for i, pattern in enumerate(response.args_regex or ()):
        _check_pattern(scope.child("args_regex", i), pattern)
    for name in response.environment:
        if not name.strip() or "=" in name or "\0" in name:
            scope.child("environment").error("invalid-value", f"{name!r} is not a valid variable name")
    if response.workdir is not None:
        try:
            safe_join(scope.loading.directory, response.workdir)
        except ValueError as error:
            scope.child("workdir").error("outside-path", str(error))
    _check_output(scope, response)
    _check_sequence(scope, response.sequence or (), _COMMAND_OUTPUT)
    for i, step in enumerate(response.sequence or ()):
        _check_output(scope.child("sequence", i), step)


def _check_output(scope: Scope, output: CommandOutput) -> None:
    if output.fixture is None:
        return
    if output.stdout is not None:
        scope.error("conflicting-keys", "has both 'stdout' and 'fixture'", "keep one")
    where = scope.child("fixture")
    try:
        file = safe_join(scope.loading.directory, output.fixture)
    except ValueError as error:
        where.error("outside-path", str(error))
        return
    if not file.is_file():
        missing = f"there is no file {output.fixture!r} beside the suite"
        hooks = scope.loading.hooks_may_create
        where.report("missing-file", missing, _HOOK if hooks else "", warning=hooks)
    elif not os.access(file, os.R_OK):
        where.error("unreadable-file", f"{output.fixture!r} cannot be read", "give yourself the right to")


def _check_pattern(scope: Scope, pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        scope.error("invalid-value", str(error))


def _check_sequence(scope: Scope, steps: Sequence[object], outputs: Sequence[str]) -> None:
    """Note what is wrong with the keys of a response and its steps; a key counts also without a value."""
    if "sequence" not in scope.keys:
        return
    where = scope.child("sequence")
    if not scope.loading.version.scenario:
        where.error(
            "version", "'sequence' needs a scenario suite", "declare scenario: and schemaVersion: '2.0'"
        )
    if not steps:
        where.error("missing-key", "has no step")
    for key in outputs:
        if key in scope.keys:
            scope.child(key).error(
                "conflicting-keys", f"{key!r} cannot be combined with 'sequence'", "move it into the steps"
            )
    for i in range(len(steps)):
        _check_step(where.child(i), outputs)


def _check_step(scope: Scope, outputs: Sequence[str]) -> None:
    keys = scope.keys
    if not any(key in keys for key in outputs):
        scope.error("missing-key", f"needs one of: {', '.join(outputs)}")
    for key in _NOT_EMPTY:
        node = keys.get(key)
        if isinstance(node, yaml.Scalar) and node.value is None:
            scope.child(key).error("invalid-value", "must not be empty")
        elif isinstance(node, yaml.Scalar) and isinstance(node.value, float) and key in _WHOLE:
            scope.child(key).error("invalid-value", f"must be a whole number, not {node.text}")
