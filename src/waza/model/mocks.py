"""Mocked dependencies of an agent: MCP servers and command line programs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from waza.model.base import Keys, NonBlank, NonNegative


class McpResponse(Keys, frozen=True, kw_only=True, rename={"returns": "return"}):
    """One answer of a mocked MCP tool, and the arguments that it is for."""

    match: dict[str, Any] | None = None
    match_schema: dict[str, Any] | None = None
    match_regex: dict[str, str] | None = None
    returns: Any = None  # the key is `return`, which is no name in Python
    error: str = ""
    sequence: list[dict[str, Any]] | None = None


class McpTool(Keys, frozen=True, kw_only=True):
    """A mocked MCP tool."""

    description: str = ""
    input_schema: dict[str, Any] | None = None
    responses: list[McpResponse] = []


class McpMock(Keys, frozen=True, kw_only=True):
    """A mocked MCP server; `fixtures` is a directory relative to the suite."""

    name: NonBlank
    fixtures: str = ""
    tools: dict[str, McpTool] = {}


class CommandResponse(Keys, frozen=True, kw_only=True):
    """One answer of a mocked program, and the argument vector that it is for."""

    args: list[str] | None = None
    args_regex: list[str] | None = None
    environment: dict[str, str] = {}
    workdir: str | None = None
    stdout: Any = None
    fixture: str | None = None
    stderr: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    sequence: list[dict[str, Any]] | None = None


class CommandMock(Keys, frozen=True, kw_only=True):
    """A mocked program, found on the agent's PATH before the real one."""

    name: NonBlank
    responses: list[CommandResponse] = []
    expect_calls: NonNegative | None = None
