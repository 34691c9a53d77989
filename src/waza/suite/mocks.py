"""Mocked MCP servers and programs: the rules of their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waza.kit.decode import Document
from waza.kit.files import safe_join
from waza.kit.pattern import PatternError, compile_pattern
from waza.model.mocks import CommandMock, CommandResponse, McpMock, McpResponse
from waza.suite.loading import Loading

Path = tuple[str | int, ...]


def check_mocks(
    loading: Loading,
    document: Document,
    mcp: Sequence[McpMock] | None,
    commands: Sequence[CommandMock] | None,
) -> None:
    """Note what is wrong with the mocks of a suite or task."""
    if mcp is not None and not loading.version.at_least("1.1"):
        loading.say(document, ("mcp_mocks",), "needs schemaVersion 1.1 or newer")
    if commands is not None:
        _gate_commands(loading, document)
    _names(loading, document, "mcp_mocks", [mock.name for mock in mcp or ()])
    _names(loading, document, "command_mocks", [mock.name.lower() for mock in commands or ()])
    for i, mock in enumerate(mcp or ()):
        _check_server(loading, document, mock, ("mcp_mocks", i))
    for i, command in enumerate(commands or ()):
        _check_command(loading, document, command, ("command_mocks", i))


def _gate_commands(loading: Loading, document: Document) -> None:
    if not loading.version.at_least("1.3"):
        loading.say(document, ("command_mocks",), "needs schemaVersion 1.3 or newer")
    config = loading.file.config
    if config.executor != "copilot-sdk" and not loading.request.executor:
        message = f"needs executor: copilot-sdk, not {config.executor!r}"
        loading.say(document, ("command_mocks",), message)


def _names(loading: Loading, document: Document, key: str, names: list[str]) -> None:
    stripped = [name.strip() for name in names]
    for i, name in enumerate(stripped):
        if name in stripped[:i]:
            loading.say(document, (key, i, "name"), f"{name!r} is mocked twice")


def _check_server(loading: Loading, document: Document, mock: McpMock, path: Path) -> None:
    if not mock.fixtures and not mock.tools:
        loading.say(document, path, "has no tool", "add 'tools', or a 'fixtures' directory")
    if mock.fixtures and not (loading.directory / mock.fixtures).is_dir():
        loading.say(
            document, (*path, "fixtures"), f"there is no directory {mock.fixtures!r} beside the suite"
        )
    for name, tool in mock.tools.items():
        where = (*path, "tools", name)
        if not tool.responses:
            loading.say(document, where, "has no responses")
        for i, response in enumerate(tool.responses):
            _check_response(loading, document, response, (*where, "responses", i))


def _check_response(loading: Loading, document: Document, response: McpResponse, path: Path) -> None:
    for field, pattern in (response.match_regex or {}).items():
        _check_pattern(loading, document, pattern, (*path, "match_regex", field))
    if response.match_schema:
        from waza.kit.schema import SchemaError, compile_schema  # heavy, and few suites need it

        try:
            compile_schema(response.match_schema)
        except SchemaError as error:
            loading.say(document, (*path, "match_schema"), str(error))
    if response.sequence is not None:
        _check_sequence(loading, document, response.sequence, ("return", "error"), path)


def _check_command(loading: Loading, document: Document, mock: CommandMock, path: Path) -> None:
    plain = mock.name.replace(".", "").replace("_", "").replace("-", "")
    if not (plain.isascii() and plain.isalnum() and mock.name[0].isalnum()):
        loading.say(
            document,
            (*path, "name"),
            f"{mock.name!r} is no program name",
            "use letters, digits, '.', '_', '-'",
        )
    if not mock.responses:
        loading.say(document, path, "has no responses")
    for i, response in enumerate(mock.responses):
        _check_call(loading, document, response, (*path, "responses", i))


def _check_call(loading: Loading, document: Document, response: CommandResponse, path: Path) -> None:
    if (response.args is None) == (response.args_regex is None):
        loading.say(document, path, "needs either 'args' or 'args_regex'", "args: [] means no arguments")
    for i, pattern in enumerate(response.args_regex or ()):
        _check_pattern(loading, document, pattern, (*path, "args_regex", i))
    if response.stdout is not None and response.fixture is not None:
        loading.say(document, path, "has both 'stdout' and 'fixture'", "keep one")
    for name in response.environment:
        if not name.strip() or "=" in name or "\0" in name:
            loading.say(document, (*path, "environment"), f"{name!r} is no variable name")
    _check_paths(loading, document, response, path)
    if response.sequence is not None:
        _check_sequence(
            loading, document, response.sequence, ("stdout", "stderr", "exit_code", "fixture"), path
        )


def _check_paths(loading: Loading, document: Document, response: CommandResponse, path: Path) -> None:
    for key in ("fixture", "workdir"):
        value = getattr(response, key)
        if value is None:
            continue
        try:
            target = safe_join(loading.directory, value)
        except ValueError as error:
            loading.say(document, (*path, key), str(error))
            continue
        if key == "fixture" and not target.is_file():
            loading.say(document, (*path, key), f"there is no file {value!r} beside the suite")
    if response.sequence is not None:
        _check_sequence(
            loading, document, response.sequence, ("stdout", "stderr", "exit_code", "fixture"), path
        )


def _check_pattern(loading: Loading, document: Document, pattern: str, path: Path) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        loading.say(document, path, str(error))


def _check_sequence(
    loading: Loading, document: Document, steps: list[dict[str, Any]], outputs: tuple[str, ...], path: Path
) -> None:
    where = (*path, "sequence")
    if not loading.version.scenario:
        loading.say(
            document, where, "'sequence' needs a scenario suite", "declare scenario: and schemaVersion: '2.0'"
        )
    if not steps:
        loading.say(document, where, "has no step")
    for i, step in enumerate(steps):
        for key in step:
            if key not in (*outputs, "delay_ms"):
                loading.say(document, (*where, i, key), f"unknown key {key!r}")
        if not any(key in step for key in outputs):
            loading.say(document, (*where, i), f"needs one of: {', '.join(outputs)}")
        delay = step.get("delay_ms", 0)
        if not isinstance(delay, int) or isinstance(delay, bool) or delay < 0:
            loading.say(document, (*where, i, "delay_ms"), "must be a whole number of milliseconds")
