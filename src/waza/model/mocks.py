"""Mocked dependencies of an agent: MCP servers and command line programs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from waza.model.base import Keys, NonBlank, NonNegative

# Go counts delays in nanoseconds of 64 bits; files must stay readable there.
Delay = Annotated[int, msgspec.Meta(ge=0, le=9_223_372_036_854)]


class McpOutput(Keys, frozen=True, kw_only=True, rename={"returns": "return"}):
    """What a mocked MCP tool answers: a value, or an error if there is one."""

    strict_keys: ClassVar[bool] = True
    returns: Any = None  # the key is `return`, which is no name in Python
    error: str = ""


class McpStep(McpOutput, frozen=True, kw_only=True):
    """One answer of a sequence; `delay_ms` passes before it is sent."""

    delay_ms: Delay = 0


class McpResponse(McpOutput, frozen=True, kw_only=True):
    """One answer of a mocked MCP tool, and the arguments that it is for; a sequence answers once a step."""

    match: dict[str, Any] | None = None
    match_schema: dict[str, Any] | None = None
    match_regex: dict[str, str] | None = None
    sequence: list[McpStep] | None = None


class McpTool(Keys, frozen=True, kw_only=True):
    """A mocked MCP tool."""

    strict_keys: ClassVar[bool] = True
    description: str = ""
    input_schema: dict[str, Any] | None = None
    responses: list[McpResponse] = []


class McpMock(Keys, frozen=True, kw_only=True):
    """A mocked MCP server; `fixtures` is a directory relative to the suite."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    fixtures: str = ""
    tools: dict[str, McpTool] = {}


class CommandOutput(Keys, frozen=True, kw_only=True):
    """What a mocked program writes, and its exit code. `fixture` is a file with the bytes for stdout."""

    strict_keys: ClassVar[bool] = True
    stdout: Any = None
    fixture: str | None = None
    stderr: str = ""
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0


class CommandStep(CommandOutput, frozen=True, kw_only=True):
    """One answer of a sequence; `delay_ms` passes before it is sent."""

    delay_ms: Delay = 0


class CommandResponse(CommandOutput, frozen=True, kw_only=True):
    """One answer of a mocked program, and the calls that it is for; a sequence answers once a step."""

    args: list[str] | None = None
    args_regex: list[str] | None = None
    environment: dict[str, str] = {}
    workdir: str | None = None
    sequence: list[CommandStep] | None = None


class CommandMock(Keys, frozen=True, kw_only=True):
    """A mocked program, found on the agent's PATH before the real one."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    responses: list[CommandResponse] = []
    expect_calls: NonNegative | None = None
