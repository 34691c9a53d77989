"""Mocked MCP servers and programs: the rules of their declarations and fixtures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from waza.graders.base import ExactName
from waza.kit import yaml
from waza.kit.decode import Document, UnknownKeyAdvice, UnknownKeyHandler, did_you_mean, fields_of
from waza.kit.files import safe_join
from waza.kit.pattern import PatternError, compile_pattern
from waza.model.mocks import CommandMock, CommandOutput, CommandResponse, McpMock, McpResponse, McpTool
from waza.problem import Severity
from waza.suite.loading import Loading
from waza.suite.read import child
from waza.workspace.fixtures import read_tool_file, tool_files

Path = tuple[str | int, ...]

_MCP_OUTPUT = ("return", "error")
_COMMAND_OUTPUT = ("stdout", "stderr", "exit_code", "fixture")
_NOT_EMPTY = ("stderr", "exit_code", "fixture", "delay_ms")
_HOOK = "a before_run hook may create it"


def check_mocks(
    loading: Loading,
    document: Document,
    mcp: Sequence[McpMock] | None,
    commands: Sequence[CommandMock] | None,
) -> None:
    """Note what is wrong with the mocks of a suite or task."""
    if mcp:
        loading.require(document, ("mcp_mocks",), "mcp", lenient=True)
    if mcp is not None and not loading.version.at_least("1.1"):
        loading.say(document, ("mcp_mocks",), "needs schemaVersion 1.1 or newer")
    if commands is not None:
        _gate_commands(loading, document)
    _names(loading, document, "mcp_mocks", [mock.name for mock in mcp or ()])
    for i, mock in enumerate(mcp or ()):
        name = ExactName("MCP server", mock.name)
        loading.exact_names.append((document, ("mcp_mocks", i, "name"), name))
    _names(loading, document, "command_mocks", [mock.name.lower() for mock in commands or ()])
    for i, mock in enumerate(mcp or ()):
        _check_server(loading, document, mock, ("mcp_mocks", i))
    for i, command in enumerate(commands or ()):
        _check_command(loading, document, command, ("command_mocks", i))


def _gate_commands(loading: Loading, document: Document) -> None:
    if not loading.version.at_least("1.3"):
        loading.say(document, ("command_mocks",), "needs schemaVersion 1.3 or newer")
    loading.require(document, ("command_mocks",), "command_mocks")


def _names(loading: Loading, document: Document, key: str, names: list[str]) -> None:
    stripped = [name.strip() for name in names]
    for i, name in enumerate(stripped):
        if name in stripped[:i]:
            loading.say(document, (key, i, "name"), f"{name!r} is mocked twice")


def _check_server(loading: Loading, document: Document, mock: McpMock, path: Path) -> None:
    if not mock.fixtures and not mock.tools and not document.faulty(*path):
        loading.say(document, path, "has no tool", "add 'tools', or a 'fixtures' directory")
    if mock.fixtures:
        _check_fixtures(loading, document, mock, (*path, "fixtures"))
    for name, tool in mock.tools.items():
        _check_tool(loading, document, tool, (*path, "tools", name))


def _check_fixtures(loading: Loading, document: Document, mock: McpMock, path: Path) -> None:
    """Note what is wrong with the fixture files, except for tools that the suite replaces."""
    directory = loading.directory / mock.fixtures
    if not directory.is_dir():
        missing = f"there is no directory {mock.fixtures!r} beside the suite"
        hooks = loading.hooks_may_create
        loading.say(document, path, missing, _HOOK if hooks else "", warning=hooks)
        return
    try:
        files = [read_tool_file(file, _unknown_key(loading)) for file in tool_files(directory)]
    except OSError as error:
        loading.say(document, path, f"{mock.fixtures!r} cannot be read ({error.strerror or error})")
        return
    if not files and not mock.tools:
        loading.say(document, path, "has no tool", "add .json files, one a tool")
    for file in files:
        loading.problems += file.problems
        for name, tool in file.tools.items():
            if name not in mock.tools:
                _check_tool(loading, file.document, tool, file.places[name])


def _unknown_key(loading: Loading) -> UnknownKeyHandler:
    """Return the rule for keys of fixture files that no tool has."""
    severity: Severity = "warning" if loading.keys.newer else "error"

    def unknown(struct: type, key: str, _path: Path) -> UnknownKeyAdvice:
        return UnknownKeyAdvice(severity, did_you_mean(key, (field.key for field in fields_of(struct))))

    return unknown


def _check_tool(loading: Loading, document: Document, tool: McpTool, path: Path) -> None:
    if not tool.responses and not document.faulty(*path, "responses"):
        loading.say(document, path, "has no responses")
    if tool.input_schema:
        _check_schema(loading, document, tool.input_schema, (*path, "input_schema"))
    for i, response in enumerate(tool.responses):
        if not document.faulty(*path, "responses", i):
            _check_response(loading, document, response, (*path, "responses", i))


def _check_schema(loading: Loading, document: Document, schema: dict[str, Any], path: Path) -> None:
    from waza.kit.schema import SchemaError, compile_schema  # heavy, and few suites need it

    try:
        compile_schema(schema)
    except SchemaError as error:
        loading.say(document, path, str(error))


def _check_response(loading: Loading, document: Document, response: McpResponse, path: Path) -> None:
    for field, pattern in (response.match_regex or {}).items():
        _check_pattern(loading, document, pattern, (*path, "match_regex", field))
    if response.match_schema:
        _check_schema(loading, document, response.match_schema, (*path, "match_schema"))
    if response.error.strip() and response.returns is not None:
        loading.say(document, path, "has both 'return' and 'error'; the error is sent", warning=True)
    _check_sequence(loading, document, response.sequence or (), _MCP_OUTPUT, path)
    for i, step in enumerate(response.sequence or ()):
        where = (*path, "sequence", i)
        keys = _keys(document, where)
        if keys.keys() >= set(_MCP_OUTPUT):
            loading.say(document, where, "has both 'return' and 'error'", "keep one")
        elif "error" in keys and not step.error.strip():
            loading.say(document, (*where, "error"), "must not be empty")


def _check_command(loading: Loading, document: Document, mock: CommandMock, path: Path) -> None:
    plain = mock.name.replace(".", "").replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum() and mock.name[0].isalnum()):
        loading.say(
            document,
            (*path, "name"),
            f"{mock.name!r} is no program name",
            "use letters, digits, '.', '_', '-'",
        )
    if not mock.responses and not document.faulty(*path, "responses"):
        loading.say(document, path, "has no responses")
    for i, response in enumerate(mock.responses):
        if not document.faulty(*path, "responses", i):
            _check_call(loading, document, response, (*path, "responses", i))


def _check_call(loading: Loading, document: Document, response: CommandResponse, path: Path) -> None:
    if (response.args is None) == (response.args_regex is None):
        loading.say(document, path, "needs either 'args' or 'args_regex'", "args: [] means no arguments")
    for i, pattern in enumerate(response.args_regex or ()):
        _check_pattern(loading, document, pattern, (*path, "args_regex", i))
    for name in response.environment:
        if not name.strip() or "=" in name or "\0" in name:
            loading.say(document, (*path, "environment"), f"{name!r} is no variable name")
    if response.workdir is not None:
        try:
            safe_join(loading.directory, response.workdir)
        except ValueError as error:
            loading.say(document, (*path, "workdir"), str(error))
    _check_output(loading, document, response, path)
    _check_sequence(loading, document, response.sequence or (), _COMMAND_OUTPUT, path)
    for i, step in enumerate(response.sequence or ()):
        _check_output(loading, document, step, (*path, "sequence", i))


def _check_output(loading: Loading, document: Document, output: CommandOutput, path: Path) -> None:
    if output.fixture is None:
        return
    if output.stdout is not None:
        loading.say(document, path, "has both 'stdout' and 'fixture'", "keep one")
    where = (*path, "fixture")
    try:
        file = safe_join(loading.directory, output.fixture)
    except ValueError as error:
        loading.say(document, where, str(error))
        return
    if not file.is_file():
        missing = f"there is no file {output.fixture!r} beside the suite"
        hooks = loading.hooks_may_create
        loading.say(document, where, missing, _HOOK if hooks else "", warning=hooks)
    elif not os.access(file, os.R_OK):
        loading.say(document, where, f"{output.fixture!r} cannot be read", "give yourself the right to")


def _check_pattern(loading: Loading, document: Document, pattern: str, path: Path) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        loading.say(document, path, str(error))


def _check_sequence(
    loading: Loading, document: Document, steps: Sequence[object], outputs: Sequence[str], path: Path
) -> None:
    """Note what is wrong with the keys of a response and its steps; a key counts also without a value."""
    keys = _keys(document, path)
    if "sequence" not in keys:
        return
    where = (*path, "sequence")
    if not loading.version.scenario:
        loading.say(
            document, where, "'sequence' needs a scenario suite", "declare scenario: and schemaVersion: '2.0'"
        )
    if not steps:
        loading.say(document, where, "has no step")
    for key in outputs:
        if key in keys:
            loading.say(document, (*path, key), f"{key!r} stands beside 'sequence'", "move it into the steps")
    for i in range(len(steps)):
        _check_step(loading, document, outputs, (*where, i))


def _check_step(loading: Loading, document: Document, outputs: Sequence[str], path: Path) -> None:
    keys = _keys(document, path)
    if not any(key in keys for key in outputs):
        loading.say(document, path, f"needs one of: {', '.join(outputs)}")
    for key in _NOT_EMPTY:
        node = keys.get(key)
        if isinstance(node, yaml.Scalar) and node.value is None:
            loading.say(document, (*path, key), "must not be empty")


def _keys(document: Document, path: Path) -> Mapping[str, yaml.Node]:
    """Return the keys that are written at a place, with their values."""
    node = child(document.root, *path)
    return node.entries if isinstance(node, yaml.Mapping) else {}
