"""Mocked dependencies of an agent: MCP servers and command line programs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from waza.model.base import Keys, NonBlank, NonNegative

SHELLS = frozenset({"bash", "local_shell", "powershell"})
"""Tools of agents that run command lines, and so call mocked programs."""

# Go counts delays in nanoseconds of 64 bits; files must stay readable there.
Delay = Annotated[int, msgspec.Meta(ge=0, le=9_223_372_036_854)]


class McpOutput(Keys, frozen=True, kw_only=True, rename={"returns": "return"}):
    """What a mocked MCP tool answers: a value, or an error if there is one."""

    strict_keys: ClassVar[bool] = True
    returns: Any = None  # the key is `return`, which is no name in Python
    """What the tool answers, as any JSON value."""
    error: str = ""
    """The message of an error that the tool answers with."""


class McpStep(McpOutput, frozen=True, kw_only=True):
    """One answer of a sequence; `delay_ms` passes before it is sent."""

    delay_ms: Delay = 0
    """Milliseconds to wait before the answer."""


class McpResponse(McpOutput, frozen=True, kw_only=True):
    """One answer of a mocked MCP tool, and the arguments that it is for; a sequence answers once a step."""

    match: dict[str, Any] | None = None
    """Arguments of the call, all of them and no others."""
    match_schema: dict[str, Any] | None = None
    """A JSON Schema that the arguments fit."""
    match_regex: dict[str, str] | None = None
    """Patterns (RE2) by argument. Each is found anywhere in its argument."""
    sequence: list[McpStep] | None = None
    """Answers that are given one after the other, in scenarios. After the last one, calls fail."""


class McpTool(Keys, frozen=True, kw_only=True):
    """A mocked MCP tool."""

    strict_keys: ClassVar[bool] = True
    description: str = ""
    """The description of the tool that the agent gets."""
    input_schema: dict[str, Any] | None = None
    """The JSON Schema of the arguments. Default: any object."""
    responses: list[McpResponse] = []
    """Answers, the first that fits is given. A call that none fits is an error of the tool."""


class McpMock(Keys, frozen=True, kw_only=True):
    """A mocked MCP server; `fixtures` is a directory relative to the suite."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """The name of the server."""
    fixtures: str = ""
    """A directory beside the suite with JSON files that define tools."""
    tools: dict[str, McpTool] = {}
    """Tools by name. They win over those of `fixtures`."""


class CommandOutput(Keys, frozen=True, kw_only=True):
    """What a mocked program writes, and its exit code. `fixture` is a file with the bytes for stdout."""

    strict_keys: ClassVar[bool] = True
    stdout: Any = None
    """What is written to stdout. A text as it is, any other value as JSON."""
    fixture: str | None = None
    """A file beside the suite with the bytes for stdout."""
    stderr: str = ""
    """What is written to stderr."""
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    """The exit code."""


class CommandStep(CommandOutput, frozen=True, kw_only=True):
    """One answer of a sequence; `delay_ms` passes before it is sent."""

    delay_ms: Delay = 0
    """Milliseconds to wait before the answer."""


class CommandResponse(CommandOutput, frozen=True, kw_only=True):
    """One answer of a mocked program, and the calls that it is for; a sequence answers once a step."""

    args: list[str] | None = None
    """The arguments of the call, all of them and in this order."""
    args_regex: list[str] | None = None
    """Patterns (RE2), one for each argument, each of which matches its argument as a whole."""
    environment: dict[str, str] = {}
    """Environment variables that must have exactly these values."""
    workdir: str | None = None
    """The directory of the workspace in which the program must be called."""
    sequence: list[CommandStep] | None = None
    """Answers that are given one after the other, in scenarios. After the last one, calls fail."""


class CommandMock(Keys, frozen=True, kw_only=True):
    """A mocked program, found on the agent's PATH before the real one."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """The name of the program."""
    responses: list[CommandResponse] = []
    """Answers, the first that fits is given. A call that none fits ends with exit code 127."""
    expect_calls: NonNegative | None = None
    """How often the program must be called in a trial; any other number makes it an error. 0: it must not be
    called."""
