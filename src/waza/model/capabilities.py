"""What executors can do and see. Code that needs something of an agent asks these, never an executor's name."""

from __future__ import annotations

from typing import Literal

import msgspec


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor can do and see; the class of an executor has one of them as `capabilities`.

    A suite that needs what its executor lacks is refused when it is loaded. `scripted` executors play the
    `mock` block: what only a real agent could do is a warning there, and only scripted things are seen.
    """

    judge: bool = False
    """Answers the questions of graders, and plays the user (`inputs.responder`)."""
    skills: bool = False
    """Hands the suite's skill or custom agent, and the listed skills, to its agent."""
    tool_policy: bool = False
    """Holds the agent to the tools that its `.agent.md` declares."""
    tool_calls: bool = False
    """Reports calls of tools and invocations of skills."""
    mcp: bool = False
    """Gives MCP servers to the agent, real ones and mocked ones."""
    command_mocks: bool = False
    """Puts mocked programs in front of the PATH of the agent."""
    usage: bool = False
    """Reports tokens."""
    duration: bool = True
    """It is known how long the agent works: the engine measures it. Only sessions that ran elsewhere may lack it."""
    efforts: bool = False
    """Knows `reasoning_effort`."""
    models: bool = False
    """Asks the model that `--model` names, at the model server of the project where one is configured."""
    repeatable: bool = False
    """The agent depends on the suite and the model alone, so that results may be cached."""
    scripted: bool = False
    """Plays the `mock` block, without an agent."""
    local_program: bool = False
    """The agent is a program that the suite names, run on this machine."""
    wire: bool = False
    """Its agent takes the address and the key of a model server for each attempt, so that waza can stand between them."""
    seen_by_wire: bool = False
    """Tool calls and tokens are known from the requests of the agent alone (`config.wire`)."""
    server_variables: Literal["", "anthropic", "openai"] = ""
    """`openai`: where the project configures no model server, its agent asks the one of OPENAI_BASE_URL and OPENAI_API_KEY. `anthropic`:
    where it configures none of this type, the one of ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN."""
    idle_timeout: float = 0
    """Seconds without an event that end a turn, where the suite sets no `idle_timeout_seconds`; 0: no limit."""


NOUNS = {
    "judge": "a judge",
    "skills": "skills",
    "tool_policy": "limits of tools",
    "tool_calls": "reports of tool calls",
    "mcp": "MCP servers",
    "command_mocks": "mocked programs",
    "usage": "token counts",
    "duration": "durations",
    "efforts": "reasoning efforts",
    "models": "models by name",
    "wire": "a model server by its address",
}
"""What a capability gives, by its name, for messages."""

EVERYTHING = msgspec.structs.replace(Capabilities(repeatable=True), **dict.fromkeys(NOUNS, True))
"""Assumed of an executor that is not known, so that its name is the only mistake that is reported."""
