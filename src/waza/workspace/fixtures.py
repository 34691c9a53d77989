"""What mocks answer with: fixture directories of MCP servers, fixture files of programs.

A fixture directory is walked in the order of names, without directories whose name starts with a dot. Each
`.json` file is a bundle, `{"tools": {name: tool}}`, or one tool that is named like the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import ExecutorError
from waza.kit import json_nodes, yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, UnknownKeyHandler
from waza.kit.files import safe_join
from waza.model.base import Keys
from waza.model.mocks import McpMock, McpTool
from waza.problem import Problem, display_path


class _Bundle(Keys, frozen=True, kw_only=True):
    """A fixture file with several tools."""

    tools: dict[str, McpTool]


class ToolFile(msgspec.Struct, frozen=True, kw_only=True):
    """A fixture file: its tools, the path of each in the document, and the problems of the file."""

    document: Document
    tools: dict[str, McpTool] = {}
    places: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []


def tool_files(directory: Path) -> Iterator[Path]:
    """Yield the fixture files of an MCP server; of two tools of one name the later counts. Raises OSError."""
    for path in sorted(directory.iterdir(), key=lambda path: path.name):
        if path.is_dir():
            if not path.is_symlink() and not path.name.startswith("."):
                yield from tool_files(path)
        elif path.suffix == ".json":
            yield path


def read_tool_file(file: Path, unknown: UnknownKeyHandler) -> ToolFile:
    """Read a fixture file; `unknown` says what to make of keys that no tool has."""
    name = display_path(file)
    try:
        if file.exists() and not file.is_file():
            return _unreadable(name, "is no regular file, so no fixture")
        document = Document(name, json_nodes.load(file.read_bytes()))
    except json_nodes.JsonError as error:
        return _unreadable(name, error.message, error.line, error.column)
    except OSError as error:
        return _unreadable(name, f"cannot be read ({error.strerror or error})")
    decoder = Decoder(document, unknown)
    if _is_bundle(document.root):
        bundle, document = decoder.read_partial(_Bundle)
        tools = bundle.tools if bundle else {}
        places: dict[str, tuple[str, ...]] = {tool: ("tools", tool) for tool in tools}
    else:
        tool, document = decoder.read_partial(McpTool)
        tools = {file.stem: tool} if tool else {}
        places = dict.fromkeys(tools, ())
    problems = [msgspec.structs.replace(problem, code="mock-fixture") for problem in decoder.problems]
    return ToolFile(document=document, tools=tools, places=places, problems=problems)


def load_tools(mock: McpMock, home: Path) -> dict[str, McpTool]:
    """Return the tools of a mocked server: those of its fixtures, replaced by those written in the suite.

    `home` is the suite's directory. Raises ExecutorError for a fixture that cannot be used (any more).
    """
    tools: dict[str, McpTool] = {}
    try:
        for file in tool_files(home / mock.fixtures) if mock.fixtures else ():
            found = read_tool_file(file, _ignore_key)
            for problem in found.problems:
                if problem.severity == "error":
                    raise ExecutorError(f"the MCP mock {mock.name!r} cannot be used: {problem}")
            tools |= found.tools
    except OSError as error:
        raise ExecutorError(f"the fixtures of the MCP mock {mock.name!r} cannot be read: {error}") from error
    if not tools and not mock.tools:
        raise ExecutorError(f"the MCP mock {mock.name!r} has no tool: {mock.fixtures!r} holds no fixture")
    return tools | mock.tools


def read_fixture(home: Path, name: str) -> bytes:
    """Return what a mocked program writes. Raises ExecutorError if the file cannot be read (any more)."""
    try:
        return safe_join(home, name).read_bytes()
    except (OSError, ValueError) as error:
        raise ExecutorError(f"the fixture {name!r} of a command mock cannot be read: {error}") from error


def _ignore_key(_struct: type, _key: str, _path: tuple[str | int, ...]) -> UnknownKeyAdvice:
    return UnknownKeyAdvice("warning", "")


def _unreadable(name: str, message: str, line: int = 0, column: int = 0) -> ToolFile:
    """Return a fixture file that holds nothing, for this reason."""
    problem = Problem(code="mock-fixture", file=name, line=line, column=column, message=message)
    return ToolFile(document=Document(name, yaml.Mapping({}, {}, 0, 0)), problems=[problem])


def _is_bundle(root: yaml.Node) -> bool:
    tools = root.entries.get("tools") if isinstance(root, yaml.Mapping) else None
    return isinstance(tools, yaml.Mapping) and bool(tools.entries)
